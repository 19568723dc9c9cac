"""No partition of DynamoDB is hot at the load of the goal, and the page says what the meter counted."""

import pytest

from benchmarks.__main__ import HOT_MARK, SCALE, printed
from benchmarks.rig.meter import Tally
from benchmarks.scale import hot


def test_the_largest_has_its_share_of_zipf() -> None:
    assert hot.zipf(1) == 1
    assert hot.zipf(2) == pytest.approx(2 / 3)
    assert hot.zipf(10_000) == pytest.approx(0.102, abs=0.001)


@pytest.mark.parametrize(
    ("partition", "name"),
    [
        ("A#acc_0123456789ab#STATS#07", "`A#account#STATS#shard`"),
        ("A#acc_0123456789ab", "`A#account`"),
        ("P#sendgrid-main", "`P#credential`"),
        (f"J#{'a' * 26}u", "`J#job`"),
        ("acc_0123456789ab#batch", "`account#kind`"),
        (f"D#{'a' * 26}#00000", ""),
    ],
)
def test_partitions_are_known_by_their_keys(partition: str, name: str) -> None:
    found = hot.kind_of(partition)
    assert (found.name if found else "") == name


def test_a_shard_has_its_part_and_a_partition_gets_what_all_cases_write() -> None:
    """Two units a message of the account: 16 shards share them, and its own partition has them all."""
    tally = Tally()
    for shard in range(16):
        tally.written_at["records", f"A#acc_0123456789ab#STATS#{shard:02d}"] = 20
    tally.written_at["records/mine", "acc_0123456789ab#batch"] = 320
    rates = hot.Rates(1600.0, 160.0, 320.0)
    found = hot.heats([hot.Case("one", tally, 160, rates), hot.Case("other", tally, 160, rates)])
    assert found["records", "`A#account#STATS#shard`"].writes == 2 * 20
    assert found["records/mine", "`account#kind`"].writes == 2 * 320
    assert found["records/mine", "`account#kind`"].times == pytest.approx(1000 / 640)


@pytest.mark.slow
@pytest.mark.promise(3)
def test_no_partition_gets_more_than_half_of_what_it_takes_at_noon_of_100_million_a_day() -> None:
    found = hot.measured()
    assert {name for name, x in found.items() if x.writes > hot.WRITES or x.reads > hot.READS} == set()
    assert len(found) > 15, "most are not counted"
    assert all(row.met for row in hot.measure())
    assert printed(SCALE, HOT_MARK) == hot.markdown()
