"""Unicode properties of single characters."""
