"""The rules of hooks."""
