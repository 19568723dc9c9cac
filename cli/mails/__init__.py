"""Finished messages on the command line."""
