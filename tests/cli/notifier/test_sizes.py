"""The size rule of uploads, for any link and any records."""

from hypothesis import given
from hypothesis import strategies as st

from cli.notifier import sizes

SIZES = st.lists(st.integers(1, 9_000), max_size=60)


@given(SIZES, st.integers(sizes.LEAST, sizes.MOST))
def test_a_payload_is_as_large_as_the_limit_allows_and_holds_at_least_one_record(found: list[int], limit: int) -> None:
    count = sizes.fitting(found, limit)
    assert (count > 0) == bool(found)
    body = 1 + sum(x + 1 for x in found[:count])
    assert count <= 1 or body <= limit
    assert count == len(found) or body + found[count] + 1 > limit or count == sizes.MAX_RECORDS


def test_a_payload_holds_no_more_records_than_the_hub_takes() -> None:
    assert sizes.fitting([1] * 20_000, sizes.MOST) == sizes.MAX_RECORDS


@given(st.integers(2 * sizes.LEAST, sizes.MOST), st.integers(sizes.LEAST, sizes.MOST))
def test_sizes_follow_any_link(capacity: int, limit: int) -> None:
    """Uploads of full size: the size that the link carries is found soon, and then six of seven uploads pass."""
    for _ in range(12):
        if limit <= capacity:
            break
        limit = sizes.smaller(limit)
    assert limit <= capacity
    passed = failed = 0
    for _ in range(200):
        assert sizes.LEAST <= limit <= sizes.MOST
        if limit <= capacity:
            passed, limit = passed + 1, sizes.larger(limit, limit)
        else:
            failed, limit = failed + 1, sizes.smaller(limit)
    assert failed * 6 <= passed + 6
    assert limit * 2 >= capacity


@given(st.integers(sizes.LEAST, sizes.MOST))
def test_a_small_upload_shows_nothing_about_larger_ones(limit: int) -> None:
    assert sizes.larger(limit, limit // 2 - 1) == limit
