"""A refusal as a notification reports it to machines: its status (RFC 3463) and the server's reply (RFC 3464 2.3.6).

Programs that read notifications judge by both: an unknown user ends an address, a full mailbox does not.
"""

import re
from collections.abc import Mapping
from typing import Final

from shared.domain.jobs.states import Cell

_ENDS: Final[Mapping[Cell, str]] = {
    Cell.DROPPED: "5.4.7",
    Cell.EXPIRED: "4.4.7",
    Cell.SKIPPED: "5.7.1",
    Cell.UNKNOWN_CLOSED: "4.4.2",
}
"""Status of an end of which nothing more is known."""
_OTHER: Final = "5.0.0"
_OURS: Final = frozenset({Cell.SKIPPED, Cell.UNKNOWN_CLOSED})
"""Ends that no answer explains: what a provider said before is about something else."""
_REFUSED: Final = frozenset({Cell.FAILED, Cell.BOUNCED})
_STATUS: Final = re.compile(r"(?<![\d.])([45]\.[0-7]\.\d{1,3})(?![\d]|\.\d)")
_REPLY: Final = re.compile(r"(?:smtp; ?)?([45]\d\d)(?=[ -])")
_CODES: Final[Mapping[str, str]] = {
    "invalid_recipient": "5.1.3",
    "invalid_mail_from": "5.1.7",
    "invalid_from": "5.1.7",
    "sender_refused": "5.1.8",
    "too_large": "5.3.4",
    "smtputf8_not_offered": "5.6.7",
    "smtputf8_not_supported": "5.6.7",
    "quoted_address_not_supported": "5.3.3",
    "eight_bit_not_offered": "5.6.3",
    "content_gone": "5.6.0",
    "header_not_allowed": "5.6.0",
    "quota_exceeded": "4.7.0",
    "unauthorized": "4.7.0",
    "relay_denied": "5.7.1",
    "account_disabled": "5.7.1",
    "complained": "5.7.1",
}
"""Status of a code of ours."""
_GONE: Final = r"(?:unknown|not found|not exist|n't exist|not available)"
_WORDS: Final = (
    (
        (
            rf"(?:user|recipient|mailbox|account|address)\b.{{0,40}}{_GONE}"
            r"|(?:unknown|no such|invalid|nonexistent) (?:user|recipient|mailbox|account|address|email)"
            r"|no ?(?:mailbox|email)\b(?: here)?"
        ),
        "5.1.1",
    ),
    (r"(?:mailbox|quota|storage).{0,20}(?:full|exceed)|over ?quota", "5.2.2"),
    (r"disabled|inactive|deactivated|suspended", "5.2.1"),
    (rf"(?:host|domain)\b.{{0,30}}{_GONE}|nxdomain", "5.1.2"),
    (r"too (?:large|big)|size limit", "5.3.4"),
    (r"spam|blocked|black ?list|block ?list|policy|reputation|dmarc", "5.7.1"),
)
"""Status of words, the first that fits."""
_REPLIES: Final[Mapping[str, str]] = {
    "421": "4.3.2",
    "450": "4.2.0",
    "451": "4.3.0",
    "452": "4.3.1",
    "550": "5.2.0",
    "551": "5.1.6",
    "552": "5.2.2",
    "553": "5.1.3",
    "554": "5.0.0",
    "555": "5.5.4",
}
"""Status of a reply without one, from the meaning of its code in RFC 5321 4.2.3."""


def status_of(cell: Cell, code: str, words: str) -> str:
    """Return the status of a destination: the one that was answered, or else the nearest that is true.

    Args:
        code: what refused it, a status or in snake_case; empty if nothing did.
        words: of who refused it; empty if it gave none.
    """
    if cell in _OURS:
        return _ENDS[cell]
    found = _STATUS.fullmatch(code) or _STATUS.search(words)
    status = found[1] if found else _nearest(code, words)
    if status and (status[0] == "5" or cell not in _REFUSED):
        return status
    return _ENDS.get(cell, _OTHER)


def _nearest(code: str, words: str) -> str:
    if code in _CODES:
        return _CODES[code]
    text = f"{words} {code}"
    said = next((status for pattern, status in _WORDS if re.search(pattern, text, re.IGNORECASE)), "")
    reply = _reply_of(code, words)
    if said and reply[:1] == "4":
        return "4" + said[1:]
    return said or _REPLIES.get(reply, "")


def _reply_of(code: str, words: str) -> str:
    """Return the three digits of an SMTP reply; empty if it is none."""
    found = _REPLY.match(words)
    return found[1] if found else code.removeprefix("smtp_") if code.startswith("smtp_") else ""


def diagnostic(code: str, words: str) -> str:
    """Return the type and the text of a Diagnostic-Code; empty if nothing is known.

    Args:
        code: what refused the destination, a status or in snake_case.
    """
    if _REPLY.match(words):
        return "smtp; " + words.removeprefix("smtp;").strip()
    if words:
        return f"x-posthaste; {code}: {words}" if code else f"x-posthaste; {words}"
    return f"x-posthaste; {code}" if code else ""
