"""Who gets which events of a window."""

from collections.abc import Sequence
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from shared.domain.digests.events import DigestEvent
from shared.domain.digests.grouping import DigestGroup, group
from tests.domain.digests.examples import event

PEOPLE = [f"p{n}@example.com" for n in range(6)]
EVENTS = st.lists(
    st.builds(
        DigestEvent,
        type=st.sampled_from(("failed", "done")),
        recipients=st.lists(st.sampled_from(PEOPLE), max_size=5).map(tuple),
        at=st.integers(0, 5),
        id=st.uuids().map(str),
    ),
    max_size=12,
)


def to(n: int, *people: str, at: int = 0) -> DigestEvent:
    return replace(event(n), recipients=people, at=at)


def test_three_events_and_three_people_are_two_groups() -> None:
    found = group([to(1, "ann", "bob"), to(2, "ann", "bob"), to(3, "cid")])
    assert found.groups == (DigestGroup(("ann", "bob"), (0, 1)), DigestGroup(("cid",), (2,)))


def test_events_are_in_the_order_of_their_time_and_then_of_their_arrival() -> None:
    found = group([to(1, "ann", at=5), to(2, "ann", at=3), to(3, "ann", at=5)])
    assert [x.data["task"] for x in found.events] == ["t2", "t1", "t3"]


def test_a_person_who_is_named_twice_by_an_event_gets_it_once() -> None:
    assert group([to(1, "ann", "ann")]).groups == (DigestGroup(("ann",), (0,)),)


@given(EVENTS)
def test_groups_are_a_partition_of_those_who_are_named(events: Sequence[DigestEvent]) -> None:
    found = group(events)
    everybody = [who for x in found.groups for who in x.recipients]
    assert len(everybody) == len(set(everybody))
    assert set(everybody) == {who for x in events for who in x.recipients}
    assert len({x.events for x in found.groups}) == len(found.groups), "two groups with the same events"


@given(EVENTS)
def test_each_person_gets_exactly_the_events_that_name_them(events: Sequence[DigestEvent]) -> None:
    found = group(events)
    assert sorted(found.events, key=lambda x: x.id) == sorted(events, key=lambda x: x.id)
    assert [x.at for x in found.events] == sorted(x.at for x in events)
    for one in found.groups:
        assert list(one.events) == sorted(set(one.events))
        for who in one.recipients:
            assert {found.events[n].id for n in one.events} == {x.id for x in events if who in x.recipients}
