"""What the adversary draws from."""

from dataclasses import dataclass
from typing import Final

from hypothesis import strategies as st

from shared.domain.jobs.feedback import SOFT, ProviderEventKind
from shared.domain.jobs.job import OnAmbiguous
from tests.statemachine.provider import Answer
from tests.statemachine.stage import Fate

WRONG: Final = 7
"""Of 0 to 7, what makes a word come from the first credential, whoever's attempt it is about."""


@dataclass(frozen=True, slots=True)
class Run:
    """A process makes `calls` calls, and one more that goes by `fate`; providers give all of them `answer`."""

    calls: int
    fate: Fate = Fate.GOES
    answer: Answer = Answer.ACCEPTED


@dataclass(frozen=True, slots=True)
class Batch:
    """What is accepted. `seconds`: until it is due; `deferred`: of those from which a deferred message may go on."""

    messages: int
    attempts: int
    on_ambiguous: OnAmbiguous
    seconds: int
    deferred: int | None


SAID: Final = (*sorted(SOFT), *(k for k in ProviderEventKind if k is not ProviderEventKind.ABSENT))
"""What providers say by themselves; what moves a message on more often."""
BAD: Final = (Answer.NOT_SENT, Answer.DEAD, Answer.LOST, Answer.SWALLOWED, Answer.THROTTLED)
"""What a provider may come to for a while."""
some = st.integers(0, 7)
answers = st.sampled_from([Answer.ACCEPTED, Answer.ACCEPTED, *Answer])
runs = st.builds(
    Run,
    st.sampled_from([100, 1, 0, 2, 3, 4, 5, 6, 8, 10, 13]),
    st.sampled_from([Fate.GOES, Fate.GOES, *Fate]),
    answers,
)
includes = st.sampled_from([("unsent",), ("failed",), ("failed", "unsent"), ("unknown",), ("failed", "unknown")])
batches = st.builds(
    Batch,
    st.integers(1, 7),
    st.integers(1, 3),
    st.sampled_from([OnAmbiguous.HOLD, OnAmbiguous.HOLD, OnAmbiguous.FAIL_OVER]),
    st.sampled_from([0, 0, 0, 5]),
    st.sampled_from([None, None, 0, 60]),
)
