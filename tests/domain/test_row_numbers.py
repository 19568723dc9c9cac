"""Numbers of rows, kept with a chunk in a few bytes."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.domain.lists.row_numbers import number_at, pack, place_of
from tests.tiers import examples

NUMBERS = st.lists(st.integers(1, 10_000_000), max_size=500, unique=True).map(sorted)


@settings(max_examples=examples(100))
@given(NUMBERS)
def test_each_number_is_read_as_it_was(numbers: list[int]) -> None:
    data = pack(numbers)
    assert [number_at(data, i) for i in range(len(numbers))] == numbers


@pytest.mark.parametrize(("numbers", "size"), [([], 0), (range(2, 502), 1), (range(90_000, 90_500), 3)])
def test_rows_without_a_gap_take_a_byte_or_three(numbers: list[int], size: int) -> None:
    assert len(pack(list(numbers))) == size


def test_the_worst_rows_take_two_bytes_for_each_gap() -> None:
    assert len(pack(range(2, 1002, 2))) <= 1001


def test_a_row_that_is_not_kept_leads_to_the_next_one() -> None:
    data = pack([3, 5, 6, 9])
    assert [place_of(data, n, 4) for n in range(1, 11)] == [0, 0, 0, 1, 1, 2, 3, 3, 3, None]
    assert (place_of(b"", 1, 4), number_at(b"", 2)) == (None, 0)
