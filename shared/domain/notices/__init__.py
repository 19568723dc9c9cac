"""Notices: records that a notifier uploads for delivery now or later, and what becomes of them."""
