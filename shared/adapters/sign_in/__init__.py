"""Providers of identities for the console."""
