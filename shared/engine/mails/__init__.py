"""Mails: their commit, the results of their destinations, and their end."""
