"""A provider whose every answer the adversary chooses."""

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Final

from shared.domain.content.content import Content
from shared.domain.ids import Ref
from shared.domain.jobs.outcomes import Accepted, Finding, NotStarted, Outcome, Rejected, Throttled, Unknown
from shared.ports import Target
from tests.statemachine.stage import Stage


class Answer(StrEnum):
    """What a call comes to: what the provider does with the message, and what its caller hears."""

    ACCEPTED = "accepted"
    SWALLOWED = "accepted, answer lost"
    LOST = "lost on the way, nobody knows"
    REFUSED = "refused for good"
    NOT_SENT = "not sent"
    DEAD = "refuses the account"
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
    Answer.DEAD: Rejected("unauthorized", permanent=False, provider_down=True),
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
        self.heard: Callable[[str, Ref, Answer], Answer] = lambda _name, _ref, answer: answer
        self.hidden: Callable[[str, Ref], None] = lambda _name, _ref: None
        self._stage = stage

    def send(self, content: Content, targets: Sequence[Target], *, deadline: float) -> list[Outcome]:
        if len(targets) > self.per_call:
            raise ValueError("too many recipients in one call")
        refs = [ref for t in targets if (ref := Ref.parse(t.ref)) is not None]
        try:
            return self._stage(f"provider.{self.name}", lambda: [self._one(n, ref) for n, ref in enumerate(refs)])
        except RuntimeError:
            for ref in refs:
                self.hidden(self.name, ref)
            raise

    def _one(self, place: int, ref: Ref) -> Outcome:
        answer = self.answer if place == 0 and self.answer is not Answer.ACCEPTED else self.always
        return SAYS[self.heard(self.name, ref, answer)]


class AskedProvider(StagedProvider):
    """A provider that can be asked what became of an attempt: it looks it up, or (`resends`) makes the same call again.

    It tells if `answer` is ACCEPTED; `found` says what.
    """

    resolves_within = 86_400.0

    def __init__(self, stage: Stage, name: str, *, per_call: int, has_feedback: bool, resends: bool) -> None:
        super().__init__(stage, name, per_call=per_call, has_feedback=has_feedback)
        self.resends = resends
        self.found: Callable[[str, Ref, Answer], Finding] = lambda _name, _ref, _answer: Unknown("too_early")

    def resolve(self, content: Content, target: Target, *, at: float, deadline: float) -> Finding:
        ref = Ref.parse(target.ref)
        if ref is None:
            raise ValueError("not a ref")
        try:
            return self._stage(f"provider.{self.name}.resolve", lambda: self.found(self.name, ref, self.answer))
        except RuntimeError:
            return Unknown("fault")
