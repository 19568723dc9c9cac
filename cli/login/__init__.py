"""Logins: the address and the key of an API, kept for this user."""
