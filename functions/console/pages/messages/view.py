"""What happened to one message, in the order of time."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from shared.domain.jobs.job import Job
from shared.domain.times import Millis
from shared.engine.reports.message_log import LogLine

CONFIRMED: Final = "confirmed"
"""The provider says again what its answer was: it has accepted the message."""
GOOD: Final = frozenset({"accepted", CONFIRMED, "delivered", "opened", "clicked"})
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
    """Return what happened to a message, oldest first.

    A provider's words have whole seconds, of its own clock: none comes before the attempt that it is about.
    """
    taken = Moment(job.created_at, "taken by Posthaste")
    found = [(taken.at, taken)]
    for a in line.attempts:
        said = a.provider_message_id
        ref = f"{job.id}-{line.message.replace('.', '-')}-{a.n}" if a.outcome in TAKEN else ""
        what = a.outcome.replace("_", " ")
        found.append((a.at_ms, Moment(a.at_ms, what, a.credential_id, a.code, _tone(a.outcome), a.n, said, ref)))
        for w in a.words:
            word = CONFIRMED if a.outcome == w.word == "accepted" else str(w.word)
            moment = Moment(w.at * 1000, word, a.credential_id, w.code or "", _tone(word), a.n)
            found.append((max(moment.at, a.at_ms), moment))
    return [moment for _, moment in sorted(found, key=lambda x: x[0])]


def _tone(word: str) -> str:
    if word in GOOD:
        return "good"
    return "bad" if word in BAD else "plain"
