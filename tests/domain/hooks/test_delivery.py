"""When deliveries are tried again, and how they are stored."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from shared.domain.hooks.delivery import (
    DELAYS_MS,
    EXPIRES_MS,
    MAX_KEPT_ATTEMPTS,
    Cells,
    DeliveryState,
    HookAttempt,
    HookDelivery,
    again,
    attempted,
    ended,
    next_due,
    parse_name,
    unpack_delivery,
)
from tests.domain.hooks.examples import HOOK, JOB, delivery
from tests.domain.ledgers import NOW


def test_ten_attempts_are_made_within_76_hours() -> None:
    one, now, delays = delivery(), NOW, []
    while True:
        one = attempted(one, HookAttempt(now, 500))
        due = next_due(one, now, 0.5)
        if due is None:
            break
        delays.append(due - now)
        now = due
    assert tuple(delays) == tuple(DELAYS_MS)
    assert len(one.attempts) == 10
    assert round((now - NOW) / 3_600_000) == 76


@given(st.floats(0, 1), st.integers(1, 9))
def test_a_delay_is_spread_by_a_fifth(draw: float, tries: int) -> None:
    due = next_due(delivery(tries=tries), NOW, draw)
    assert due is not None
    assert 0.8 * DELAYS_MS[tries - 1] - 1 <= due - NOW <= 1.2 * DELAYS_MS[tries - 1]


def test_an_endpoint_may_ask_for_an_hour_at_most() -> None:
    first = delivery(tries=1)
    assert next_due(first, NOW, 0.5, 60_000) == NOW + 60_000
    assert next_due(first, NOW, 0.5, 1_000) == NOW + 5_000
    assert next_due(first, NOW, 0.5, 86_400_000) == NOW + 3_600_000


def test_what_waited_too_long_fails() -> None:
    old = delivery(tries=1)
    assert next_due(old, NOW + EXPIRES_MS, 0.5) is None
    replayed = again(old, NOW + EXPIRES_MS)
    assert (replayed.tries, replayed.id, replayed.created_at) == (0, old.id, old.created_at)
    assert next_due(replace(replayed, tries=1), NOW + EXPIRES_MS, 0.5) is not None


def test_the_latest_attempts_are_kept() -> None:
    one = delivery()
    for n in range(MAX_KEPT_ATTEMPTS + 3):
        one = attempted(one, HookAttempt(n))
    assert [x.at for x in one.attempts] == list(range(3, MAX_KEPT_ATTEMPTS + 3))
    assert one.tries == MAX_KEPT_ATTEMPTS + 3
    assert ended(one, DeliveryState.FAILED, NOW + 1).due == NOW + 1


CELLS = st.builds(
    Cells,
    st.just(JOB),
    st.integers(0, 9_999),
    st.lists(st.tuples(st.integers(0, 499), st.integers(0, 255)), max_size=5).map(tuple),
    st.dictionaries(st.integers(0, 499), st.text(max_size=9), max_size=3),
)
ATTEMPTS = st.builds(
    HookAttempt, st.integers(0), st.integers(0, 599), st.integers(0), st.text(max_size=9), st.text(max_size=9)
)


@given(
    cells=st.lists(CELLS, max_size=3).map(tuple),
    data=st.text(max_size=20),
    batch=st.booleans(),
    attempts=st.lists(ATTEMPTS, max_size=3).map(tuple),
    tries=st.integers(0, 15),
)
def test_a_delivery_is_read_as_it_was_written(
    cells: tuple[Cells, ...], data: str, *, batch: bool, attempts: tuple[HookAttempt, ...], tries: int
) -> None:
    one = HookDelivery("evt_1", HOOK, "message.sent", NOW, NOW, cells, data, batch, attempts, tries)
    assert HookDelivery(one.id, HOOK, created_at=NOW, due=NOW, **unpack_delivery(one.pack())) == one


def test_a_hundred_cells_take_about_a_kilobyte() -> None:
    cells = Cells(JOB, 12, tuple((i, 0x19) for i in range(100, 200)))
    assert len(delivery(cells=(cells,), batch=True).pack()) < 1_000


def test_a_delivery_has_a_name_of_its_time_and_id() -> None:
    one = delivery(id="evt_1-0-3-1-9")
    assert parse_name(one.name) == (NOW, "evt_1-0-3-1-9")
    assert [parse_name(x) for x in ("", ".", "1.", "x.evt", "²1.evt", "1" * 16 + ".evt", "1.a b")] == [None] * 7
