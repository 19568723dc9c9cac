"""Notices: what notifiers upload, and the notifiers themselves."""
