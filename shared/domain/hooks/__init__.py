"""Hooks: an account's own webhooks."""
