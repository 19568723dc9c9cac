"""Mails: their commit, what becomes of their destinations, and their end."""
