"""The write that adds a part does what the model's does."""

from dataclasses import replace

from hypothesis import assume, given
from hypothesis import strategies as st

from shared.domain.digests import window as rules
from shared.domain.digests.window import WindowState
from tests.domain.digests.examples import NOW, part, policy, window
from tests.model.digests.windows import ADD, CLOSED, EXTEND, MAX_AGE, NEAR, OPEN, WINDOW, Adder, Digests, Win

S = 1000
POLICY = policy(window=WINDOW, near=NEAR, extend=EXTEND, max_age=MAX_AGE)
STATES = {OPEN: WindowState.OPEN, CLOSED: WindowState.CLOSED}


@given(
    state=st.sampled_from((OPEN, CLOSED)),
    held=st.integers(1, 4),
    room=st.integers(1, 4),
    closes=st.integers(1, MAX_AGE),
    remembered=st.integers(1, MAX_AGE),
    clock=st.integers(0, MAX_AGE + 1),
    own=st.booleans(),
)
def test_a_part_joins_as_in_the_model(
    *, state: str, held: int, room: int, closes: int, remembered: int, clock: int, own: bool
) -> None:
    assume(held < room or state == CLOSED)  # what fills a window closes it
    model = Digests(room=room)
    parts = [(n, 0) for n in range(held)]
    adder = Adder(at=ADD, part=parts[0] if own else (9, 0), win=0, closes=min(remembered, closes))
    theirs = Win(state, tuple(parts), 0, closes)
    takes = model._fits(theirs, clock) and adder.part not in parts
    wanted = model._join(theirs, adder, clock) if takes else None

    limits = replace(POLICY, max_events=room)
    stored = window(
        state=STATES[state],
        parts=tuple(part(n).id for n in range(held)),
        events=held,
        closes_at=NOW + closes * S,
        version=7,
    )
    known = replace(stored, state=WindowState.OPEN, closes_at=NOW + adder.closes * S)
    join = rules.joining(known, part(adder.part[0]), limits, NOW + clock * S)
    assert rules.admits(stored, join) is (wanted is not None)
    if wanted is not None:
        got = rules.joined(stored, join)
        assert (got.closes_at, got.state) == (NOW + wanted.closes * S, STATES[wanted.state])
        assert len(got.parts) == len(wanted.parts)
