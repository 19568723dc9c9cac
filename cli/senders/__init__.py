"""Domains at providers, as operators see and remove them."""
