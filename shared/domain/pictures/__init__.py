"""Pictures of messages: which files are one, and what of them is kept."""
