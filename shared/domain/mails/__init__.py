"""Mails: finished messages, delivered byte for byte to each of their destinations."""
