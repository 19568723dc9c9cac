"""The commands of `posthaste --help`, grouped by what people do with them."""

from collections.abc import Mapping
from typing import Final

GROUPS: Final[Mapping[str, tuple[str, ...]]] = {
    "Begin": ("login", "logout", "whoami"),
    "Send": ("batch", "campaign", "approval-limit", "mail", "event", "schedule", "relay"),
    "See what became of it": ("message", "stats", "quota", "text", "hook"),
    "Prepare": ("template", "program", "digest", "domain", "suppression", "guest"),
    "Operate a deployment: accounts": ("account", "key", "sender", "member", "notifier", "audit", "erase"),
    "Operate a deployment: sending": ("job", "pause", "resume", "credential", "rate", "queue", "redrive"),
    "Operate a deployment: AWS": ("doctor", "logs"),
    "Try it on this machine": ("local",),
}
"""Titles, in the order of the help → commands."""
TITLES: Final[Mapping[str, str]] = {name: title for title, names in GROUPS.items() for name in names}
