"""Digests: events that are collected in windows, and become one message per recipient instead of hundreds."""
