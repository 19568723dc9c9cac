"""The history of one message, in the order of time."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from shared.domain.jobs.job import Job
from shared.domain.times import Millis
from shared.engine.reports.message_log import LogLine
from shared.frozen import dataclass

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
        provider: of the credential; empty: Posthaste.
        code: of the provider, or ours.
        said: what the provider wrote about it later; empty: nothing.
        tone: good, bad or plain.
        attempt: its number; 0: none.
        name: the provider's id of the message.
        ref: of the attempt, if a provider took the message or may have; empty: it did not.
    """

    at: Millis
    what: str
    by: str = ""
    provider: str = ""
    code: str = ""
    said: str = ""
    tone: str = "plain"
    attempt: int = 0
    name: str = ""
    ref: str = ""


def moments(job: Job, line: LogLine) -> Sequence[Moment]:
    """Return what happened to a message, oldest first."""
    taken = Moment(job.created_at, "taken by Posthaste")
    found = [(taken.at, taken)]
    providers = dict(zip(job.route, job.providers, strict=True))
    for a in line.attempts:
        answer = Moment(
            a.at_ms,
            a.outcome.replace("_", " "),
            by=a.credential_id,
            provider=providers.get(a.credential_id, ""),
            code=a.code,
            tone=_tone(a.outcome),
            attempt=a.n,
            name=a.provider_message_id,
            ref=f"{job.id}-{line.message.replace('.', '-')}-{a.n}" if a.outcome in TAKEN else "",
        )
        found.append((a.at_ms, answer))
        for w in a.words:
            word = CONFIRMED if a.outcome == w.word == "accepted" else str(w.word)
            moment = replace(answer, at=w.at * 1000, what=word, code=w.code, said=w.detail, tone=_tone(word))
            found.append((a.heard(w), replace(moment, name="", ref="")))
    return [moment for _, moment in sorted(found, key=lambda x: x[0])]


def _tone(word: str) -> str:
    if word in GOOD:
        return "good"
    return "bad" if word in BAD else "plain"
