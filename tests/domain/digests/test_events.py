import json
import zlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.domain.digests import events
from shared.domain.digests.events import DigestEvent, cut, event_id, flatten, pack, raw_size, unpack
from tests.domain.digests.examples import event

TEXTS = st.text(max_size=20)
EVENTS = st.builds(
    DigestEvent,
    type=TEXTS,
    recipients=st.lists(TEXTS, max_size=3).map(tuple),
    at=st.integers(0, 2**48),
    data=st.dictionaries(TEXTS, TEXTS, max_size=3),
    id=TEXTS,
)


@given(st.lists(EVENTS, max_size=5))
def test_a_part_is_read_as_it_was_written(some: list[DigestEvent]) -> None:
    assert unpack(pack(some)) == tuple(some)


def test_half_a_surrogate_pair_is_kept() -> None:
    one = event(data={"name": "\ud800"})
    assert unpack(pack([one])) == (one,)


def test_a_part_is_read_with_what_a_later_version_adds() -> None:
    rows = json.loads(zlib.decompress(pack([event()])))
    later = zlib.compress(json.dumps([[*row, "later"] for row in rows]).encode())
    assert unpack(later) == (event(),)


@given(st.lists(EVENTS, max_size=9), st.integers(1, 4))
def test_pieces_hold_each_event_once_in_order(some: list[DigestEvent], most: int) -> None:
    pieces = list(cut(some, most))
    assert [x for piece in pieces for x in piece.events] == some
    assert all(len(x.events) <= most and unpack(x.data) == x.events for x in pieces)
    assert [x.size for x in pieces] == [sum(map(raw_size, x.events)) for x in pieces]


def test_a_piece_fits_into_a_window_and_into_an_item(monkeypatch: pytest.MonkeyPatch) -> None:
    some = [event(i, data={"x": f"{i:0500d}"}) for i in range(20)]
    monkeypatch.setattr(events, "MAX_BYTES", 3 * raw_size(some[-1]))
    assert [len(x.events) for x in cut(some, 100)] == [3] * 6 + [2]
    monkeypatch.setattr(events, "MAX_PART", len(pack(some[:2])) + 5)
    pieces = list(cut(some, 100))
    assert all(len(x.data) <= events.MAX_PART for x in pieces)
    assert [x for piece in pieces for x in piece.events] == some
    monkeypatch.setattr(events, "MAX_BYTES", 10)
    monkeypatch.setattr(events, "MAX_PART", 10)
    assert [len(x.events) for x in cut(some, 100)] == [1] * 20, "one event is never cut"


def test_similar_events_take_a_third_of_the_room_together() -> None:
    some = [
        event(i, data={"task": f"import {i}", "error": "The disk is full.", "url": "https://example.com/tasks"})
        for i in range(100)
    ]
    assert len(pack(some)) < 0.35 * sum(len(pack([x])) for x in some)


@pytest.mark.parametrize(
    ("data", "flat"),
    [
        ({"a": 1, "b": {"c": True, "d": None}}, {"a": "1", "b_c": "true", "b_d": ""}),
        ({"a": ["x", {"y": 1.5}]}, {"a_0": "x", "a_1_y": "1.5"}),
        ({"a": {}, "b": []}, {}),
    ],
)
def test_data_are_flattened(data: Any, flat: dict[str, str]) -> None:
    assert flatten(data) == flat


def test_data_that_are_too_deep_are_refused() -> None:
    data: Any = {"x": 1}
    for _ in range(events.MAX_DEPTH - 1):
        data = {"x": data}
    assert flatten(data)
    with pytest.raises(ValueError, match="more than 8 levels"):
        flatten({"x": data})


def test_ids_are_the_events_own_or_the_requests() -> None:
    assert event_id("", "", 3) == ""
    assert event_id("a", "k", 0) == event_id("a", "", 1) != event_id("b", "", 0)
    assert event_id("", "k", 0) == event_id("", "k", 0) != event_id("", "k", 1)
    assert len({event_id("", "k", 0), event_id("k", "", 0), event_id("0\0k", "", 0)}) == 3
    assert len(event_id("a", "", 0)) == 22
