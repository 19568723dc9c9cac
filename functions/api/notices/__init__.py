"""Notices: what notifiers upload and ask for."""
