"""Limits of what accounts spend, and prices of messages."""
