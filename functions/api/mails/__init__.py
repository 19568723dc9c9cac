"""Mails: finished messages that are handed in with their envelope."""
