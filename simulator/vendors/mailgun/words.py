"""The fates of a message at Mailgun, and their events."""

from collections.abc import Mapping
from typing import Any, Final

_FAILED: Final = {"event": "failed", "log-level": "error"}
WORDS: Final = {
    "deliver": ("accepted", "delivered"),
    "bounce": ("accepted", "bounce"),
    "blocked": ("accepted", "blocked"),
    "drop": ("accepted", "suppressed"),
    "reject": ("rejected",),
    "defer": ("accepted", "deferred", "delivered"),
    "expire": ("accepted", "deferred", "expired"),
    "spam": ("accepted", "delivered", "complained"),
    "unsubscribe": ("accepted", "delivered", "unsubscribed"),
    "left": ("accepted", "left"),
    "silent": (),
}
DETAILS: Final[Mapping[str, Mapping[str, Any]]] = {
    "accepted": {"event": "accepted", "log-level": "info", "method": "HTTP"},
    "rejected": {
        "event": "rejected",
        "log-level": "warn",
        "reject": {"reason": "Message contains a virus", "description": ""},
    },
    "delivered": {
        "event": "delivered",
        "log-level": "info",
        "delivery-status": {"attempt-no": 1, "code": 250, "enhanced-code": "2.0.0", "message": "OK", "tls": True},
    },
    "deferred": {
        **_FAILED,
        "log-level": "warn",
        "severity": "temporary",
        "reason": "generic",
        "delivery-status": {
            "attempt-no": 1,
            "code": 451,
            "enhanced-code": "4.7.1",
            "message": "4.7.1 try again later",
            "retry-seconds": 600,
        },
    },
    "bounce": {
        **_FAILED,
        "severity": "permanent",
        "reason": "bounce",
        "delivery-status": {
            "attempt-no": 1,
            "bounce-type": "hard",
            "code": 550,
            "enhanced-code": "5.1.1",
            "message": "5.1.1 The email account that you tried to reach does not exist",
        },
    },
    "blocked": {
        **_FAILED,
        "severity": "permanent",
        "reason": "generic",
        "delivery-status": {
            "attempt-no": 1,
            "code": 550,
            "enhanced-code": "5.7.1",
            "message": "5.7.1 Message rejected due to content",
        },
    },
    "suppressed": {
        **_FAILED,
        "severity": "permanent",
        "reason": "suppress-bounce",
        "delivery-status": {
            "attempt-no": 1,
            "code": 605,
            "enhanced-code": "",
            "message": "",
            "description": "Not delivering to previously bounced address",
        },
    },
    "expired": {
        **_FAILED,
        "severity": "permanent",
        "reason": "old",
        "delivery-status": {"attempt-no": 9, "code": 602, "message": "", "description": "Too old"},
    },
    "complained": {"event": "complained", "log-level": "warn"},
    "unsubscribed": {"event": "unsubscribed", "log-level": "warn"},
    "left": {
        **_FAILED,
        "severity": "permanent",
        "reason": "suppress-unsubscribe",
        "delivery-status": {
            "attempt-no": 1,
            "code": 606,
            "enhanced-code": "",
            "message": "",
            "description": "Not delivering to unsubscribed address",
        },
    },
}
"""Our word → what Mailgun's event says."""
