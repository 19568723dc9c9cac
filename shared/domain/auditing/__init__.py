"""Seals of audit logs."""
