import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.domain.ids import (
    Ref,
    is_id,
    is_small,
    is_unlisted,
    made_at,
    message_id,
    minute_of,
    new_id,
    pack_id,
    parse_message_id,
    small_id,
    unpack_id,
)
from shared.domain.jobs.job import first_credential

MS = st.integers(0, 2**48 - 1)


@given(MS, MS, st.integers(0, 2**80 - 1), st.integers(0, 2**80 - 1))
def test_ids_sort_by_time(a: int, b: int, x: int, y: int) -> None:
    first, second = new_id(a, x), new_id(b, y)
    assert is_id(first)
    assert is_id(second)
    assert (first < second) == ((a, x) < (b, y))


@given(MS, st.integers(0, 2**80 - 1))
def test_an_id_says_when_it_was_made(ms: int, x: int) -> None:
    assert made_at(new_id(ms, x)) == ms
    with pytest.raises(ValueError, match="not an id"):
        made_at(new_id(ms, x)[1:])


@given(MS, st.integers(0, 2**80 - 1), st.booleans())
def test_a_small_job_s_id_is_an_id_of_its_minute(ms: int, x: int, listed: bool) -> None:  # noqa: FBT001 - drawn
    name = small_id(new_id(ms, x), listed=listed)
    assert is_id(name)
    assert is_small(name)
    assert is_unlisted(name) != listed
    assert not is_small(new_id(ms, x))
    assert (made_at(name), minute_of(name)) == (ms, ms // 60_000)
    assert unpack_id(pack_id(name)) == name
    assert Ref.parse(f"{name}-0-0-1") == Ref(name, 0, 0, 1)


def test_ids_of_the_same_millisecond_differ() -> None:
    assert len({new_id(1_790_000_000_000) for _ in range(1000)}) == 1000


@given(MS, st.integers(0, 99_999), st.integers(0, 499), st.integers(1, 15))
def test_a_ref_survives_its_text(ms: int, chunk: int, index: int, attempt: int) -> None:
    ref = Ref(new_id(ms), chunk, index, attempt)
    assert Ref.parse(str(ref)) == ref
    assert "." not in str(ref)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "01J00000000000000000000000-0-0-1",
        "01j00000000000000000000000-0-0",
        "01j00000000000000000000000-0-0-1\n",
    ],
)
def test_what_is_not_a_ref(text: str) -> None:
    assert Ref.parse(text) is None


def test_message_ids() -> None:
    assert parse_message_id(message_id(12, 499)) == (12, 499)
    assert parse_message_id("12") is None
    assert parse_message_id("12.x") is None


def test_chunks_start_round_robin_over_the_route() -> None:
    route = ("one", "two", "three")
    job = new_id(1_790_000_000_000, 7)
    starts = [first_credential(job, chunk, route) for chunk in range(6)]
    assert sorted(starts[:3]) == sorted(route)
    assert starts[3:] == starts[:3]
    assert len({first_credential(new_id(1, n), 0, route) for n in range(50)}) == 3
