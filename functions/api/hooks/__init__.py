"""Hooks: the account's own webhooks."""
