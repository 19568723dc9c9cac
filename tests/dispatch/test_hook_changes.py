"""Hints about changed messages cross process borders."""

import pytest

from shared.contracts import MAX_HINTED, HookChanges

JOB = "01khooks000000000000000000"


def test_a_hint_is_read_as_it_was_written() -> None:
    hint = HookChanges("acme#TEST", {JOB: (0, 7), "other": (1,)}, "later")
    assert HookChanges.loads(hint.dumps()) == hint


@pytest.mark.parametrize(
    "body", ["", "{}", '{"hooks": []}', '{"hooks": {"namespace": 1, "pace": "now", "places": {}}}']
)
def test_anything_else_is_refused(body: str) -> None:
    with pytest.raises((ValueError, KeyError, TypeError)):
        HookChanges.loads(body)


def test_many_chunks_are_named_by_several_hints() -> None:
    places = {"one": tuple(range(MAX_HINTED - 1)), "two": tuple(range(MAX_HINTED + 5))}
    cut = HookChanges("acme", places, "now").cut()
    assert [sum(map(len, x.places.values())) for x in cut] == [MAX_HINTED, MAX_HINTED, 4]
    assert {(job, n) for x in cut for job, some in x.places.items() for n in some} == {
        (job, n) for job, some in places.items() for n in some
    }
    assert all(len(x.dumps()) < 200_000 for x in cut)
    assert HookChanges("acme", {}, "now").cut() == []
