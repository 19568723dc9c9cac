"""A provider whose every answer the adversary chooses."""

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Final

from shared.domain.content import Content
from shared.domain.ids import Ref
from shared.domain.outcomes import Accepted, NotStarted, Outcome, Rejected, Throttled, Unknown
from shared.ports import Target
from tests.statemachine.stage import Stage


class Answer(StrEnum):
    """What a call comes to: what the provider does with the message, and what its caller hears."""

    ACCEPTED = "accepted"
    SWALLOWED = "accepted, answer lost"
    LOST = "lost on the way, nobody knows"
    REFUSED = "refused for good"
    NOT_SENT = "not sent"
    THROTTLED = "throttled"
    NOT_STARTED = "not started"


TAKES: Final = frozenset({Answer.ACCEPTED, Answer.SWALLOWED})
AGAIN: Final = frozenset({Answer.THROTTLED, Answer.NOT_STARTED})
"""The attempt was never made: its number is used again."""
SAYS: Final[dict[Answer, Outcome]] = {
    Answer.ACCEPTED: Accepted("id"),
    Answer.SWALLOWED: Unknown("timeout"),
    Answer.LOST: Unknown("timeout"),
    Answer.REFUSED: Rejected("bad", permanent=True),
    Answer.NOT_SENT: Rejected("down", permanent=False),
    Answer.THROTTLED: Throttled(2),
    Answer.NOT_STARTED: NotStarted(),
}


class StagedProvider:
    """`ports.Provider`. The first recipient of a call gets `answer`, the others `always`."""

    def __init__(self, stage: Stage, name: str, *, per_call: int, has_feedback: bool) -> None:
        self.name = name
        self.per_call = per_call
        self.has_feedback = has_feedback
        self.answer = self.always = Answer.ACCEPTED
        self.heard: Callable[[Ref, Answer], None] = lambda _ref, _answer: None
        self.hidden: Callable[[Ref], None] = lambda _ref: None
        self._stage = stage

    def send(self, content: Content, targets: Sequence[Target], *, deadline: float) -> list[Outcome]:
        if len(targets) > self.per_call:
            raise ValueError("too many recipients in one call")
        refs = [ref for t in targets if (ref := Ref.parse(t.ref)) is not None]
        try:
            return self._stage(f"provider.{self.name}", lambda: [self._one(n, ref) for n, ref in enumerate(refs)])
        except RuntimeError:
            for ref in refs:
                self.hidden(ref)
            raise

    def _one(self, place: int, ref: Ref) -> Outcome:
        answer = self.answer if place == 0 and self.answer is not Answer.ACCEPTED else self.always
        self.heard(ref, answer)
        return SAYS[answer]
