"""Notices: records that a notifier uploads for delivery now or later, and their results."""
