"""Answers of a 5xx by which a vendor itself says that it has taken nothing; every other 5xx leaves the fate open.

Source: docs/providers/taken-or-not.md, with the sentence of each vendor. A test compares this table with that page.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from shared.domain.jobs.outcomes import Outcome, Rejected
from shared.frozen import dataclass
from shared.providers._common import fault


@dataclass(frozen=True, slots=True)
class NotTaken:
    """A vendor's own answer. `code`: of the refusal; `said`: whether an answer is that one."""

    code: str
    said: Callable[[Mapping[str, Any]], bool]


def _has_errors(answer: Mapping[str, Any]) -> bool:
    errors = answer.get("errors")
    return isinstance(errors, list) and any(isinstance(e, dict) and isinstance(e.get("message"), str) for e in errors)


def _has_message(answer: Mapping[str, Any]) -> bool:
    return isinstance(answer.get("message"), str)


NOT_TAKEN: Final[Mapping[tuple[str, int], NotTaken]] = {
    ("mailgun", 503): NotTaken("unavailable", _has_message),
    ("postmark", 503): NotTaken("maintenance", lambda answer: answer.get("ErrorCode") == 100),  # noqa: PLR2004
    ("sendgrid", 503): NotTaken("unavailable", _has_errors),
    ("twilio", 503): NotTaken("unavailable", lambda x: x.get("code") == 20503 and _has_message(x)),  # noqa: PLR2004
}
"""Vendor and status → the answer that is a refusal. A gateway gives the same statuses, in other words."""


def unlisted(vendor: str, status: int, answer: Mapping[str, Any]) -> Outcome:
    """Judge an answer outside a provider's own table: as a refusal if `NOT_TAKEN` has it, else by `fault`.

    Args:
        status: of the answer.
        answer: its JSON object; empty if it has none.
    """
    found = NOT_TAKEN.get((vendor, status))
    return Rejected(found.code, permanent=False) if found is not None and found.said(answer) else fault(status)
