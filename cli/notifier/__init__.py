"""The notifier's side: a spool that works offline, and its sync with the hub. Source: docs/adr/0115.

Nothing here imports an AWS library.
"""
