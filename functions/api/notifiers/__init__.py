"""Notifiers, for their owners."""
