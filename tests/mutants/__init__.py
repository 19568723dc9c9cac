"""Named sabotages of the shipped code, each of which must turn a promise test red (`python -m tests.mutants`)."""
