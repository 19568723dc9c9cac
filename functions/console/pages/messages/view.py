"""What happened to one message, in the order of time."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from shared.domain.jobs.job import Job
from shared.domain.times import Millis
from shared.engine.reports.message_log import LogLine

GOOD: Final = frozenset({"accepted", "delivered", "opened", "clicked"})
TAKEN: Final = frozenset({"accepted", "unknown"})
BAD: Final = frozenset({"refused", "invalid", "bounced", "dropped", "failed", "complained"})


@dataclass(frozen=True, slots=True)
class Moment:
    """Something that happened.

    Attributes:
        at: Unix milliseconds.
        what: in a word or two.
        by: the credential; empty: Posthaste.
        code: of the provider, or ours.
        tone: good, bad or plain.
        attempt: its number; 0: none.
        name: the provider's id of the message.
        ref: of the attempt, if a provider took the message or may have; empty: it did not.
    """

    at: Millis
    what: str
    by: str = ""
    code: str = ""
    tone: str = "plain"
    attempt: int = 0
    name: str = ""
    ref: str = ""


def moments(job: Job, line: LogLine) -> Sequence[Moment]:
    """Return what happened to a message, oldest first."""
    found = [Moment(job.created_at, "taken by Posthaste")]
    for a in line.attempts:
        said = a.provider_message_id
        ref = f"{job.id}-{line.message.replace('.', '-')}-{a.n}" if a.outcome in TAKEN else ""
        what = a.outcome.replace("_", " ")
        found.append(Moment(a.at_ms, what, a.credential_id, a.code, _tone(a.outcome), a.n, said, ref))
        found += [
            Moment(w.at * 1000, str(w.word), a.credential_id, w.code or "", _tone(str(w.word)), a.n) for w in a.words
        ]
    return sorted(found, key=lambda x: (x.at, x.attempt))


def _tone(word: str) -> str:
    if word in GOOD:
        return "good"
    return "bad" if word in BAD else "plain"
