"""A window stays small enough to be cheap to write."""

from dataclasses import replace

from shared.adapters.dynamo.digests.window_codec import window_item
from shared.domain.digests.window import MAX_PARTS
from tests.domain.digests import examples
from tests.domain.digests.examples import policy


def test_a_full_window_takes_at_most_three_write_units() -> None:
    one = examples.window(key="organisation/environment", parts=tuple(f"{i:016d}" for i in range(MAX_PARTS)))
    item = window_item(replace(one, id=one.id))
    plain = sum(len(k) + len(next(iter(v.values()))) for k, v in item.items() if "L" not in v)
    parts = sum(1 + len(x["B"]) for x in item["parts"]["L"]) + len("parts") + 3
    assert plain + parts < 3 * 1024
    assert policy().max_events
