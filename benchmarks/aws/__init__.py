"""A stand-in for AWS that answers quickly, for benchmarks whose processor time counts."""
