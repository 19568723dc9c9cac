"""The state of a campaign or batch for people: draft, ready, sending, stopped, done. --json has the API's states."""

from collections.abc import Mapping
from typing import Any, Final

from shared.domain.jobs.states import JobState, MessageState

UNSENT: Final = (MessageState.QUEUED, MessageState.SENDING)
"""States of messages that no provider has had."""
SENDING: Final = "sending"
STATES: Final[Mapping[str, str]] = {
    "draft": "draft",
    "uploading": "reading its list",
    "ready": "ready",
    JobState.READY: SENDING,
    JobState.ENQUEUED: SENDING,
    JobState.SENDING: SENDING,
    JobState.SENT: SENDING,
    JobState.STOPPED: "stopping",
}
WAITS: Final[Mapping[str, str]] = {
    "scheduled": "its time",
    "hours": "its hours",
    "credential": "another campaign to end",
    "paused": "the end of a pause",
    "breaker": "its provider, which fails",
    "quota": "a quota, which is used up",
    "retry": "its retry to be prepared",
    "rate": "",
}
"""What a job waits for. A job that waits only for its rate sends as fast as it should."""
REASONS: Final[Mapping[str, str]] = {
    "user": "by a command or a client",
    "operator": "by an operator",
    "bounce_guard": "by the bounce guard: too many messages bounced",
    "expired": "because it waited for a year",
    "key_revoked": "because its API key was revoked",
    "sender_removed": "because the account lost its sender",
    "restored": "because it came back from a copy: operators release it",
}


def left_of(counts: object) -> int:
    """Return how many messages of `counts` no provider has had."""
    return sum(int(counts.get(state) or 0) for state in UNSENT) if isinstance(counts, Mapping) else 0


def state_words(state: object, left: int = 0, *, scheduled: bool = False) -> str:
    """Return a state of a job or a campaign for people.

    Args:
        state: as the API names it.
        left: messages that are not sent.
        scheduled: whether it waits for its time.
    """
    if state == JobState.LOGGED:
        return f"stopped ({left:,} left)" if left else "done"
    return "scheduled" if scheduled and state == JobState.READY else STATES.get(str(state), str(state))


def job_words(job: Mapping[str, Any]) -> str:
    """Return the state of a job as the API describes it, for people."""
    return state_words(job.get("state"), left_of(job.get("counts")), scheduled=job.get("waiting_for") == "scheduled")


def waiting_words(waiting_for: object) -> str:
    """Return what a job waits for, for people; empty if only its rate holds it up."""
    return WAITS.get(str(waiting_for), str(waiting_for)) if waiting_for else ""


def figures(counts: object) -> str:
    """Return the counts of messages that are not 0, for people: `1,000 sent, 5 failed`."""
    known = counts if isinstance(counts, Mapping) else {}
    return ", ".join(f"{n:,} {state}" for state, n in known.items() if n)


def text_of_field(found: Mapping[str, Any], name: str) -> str:
    """Return a field of an answer as text, empty if it has no value."""
    return str(found.get(name) or "")


def ends_words(found: Mapping[str, Any]) -> str:
    """Return when the last message goes out, empty if that is not known."""
    return f"about {found['eta']}" if found.get("eta") else ""


def stopped_words(job: Mapping[str, Any]) -> str:
    """Return why a job was stopped that has messages left; else empty."""
    reason = job.get("stop_reason")
    return REASONS.get(str(reason), str(reason)) if reason and left_of(job.get("counts")) else ""


def trial_words(found: Mapping[str, Any]) -> str:
    """Return that something was made with a test key; else empty."""
    return "made with a test key: no provider gets it" if found.get("test") else ""


def until_words(job: Mapping[str, Any]) -> str:
    """Return until when a job waits for its hours or a quota; empty if it does not."""
    return str(job.get("until") or "") if job.get("waiting_for") in ("hours", "quota") else ""
