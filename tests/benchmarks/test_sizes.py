"""The rules and worked examples of AWS's documentation (see benchmarks/rig/sizes.py for the pages)."""

import pytest

from benchmarks.rig.sizes import index_units, moved_units, read_units, write_units
from shared.adapters.dynamo.jobs.sizes import item_size, value_size

KB = 1024


def of_size(size: int) -> dict[str, dict[str, str]]:
    return {"pk": {"S": "x" * (size - 2)}}


@pytest.mark.parametrize(
    ("value", "size"),
    [
        ({"S": "abc"}, 3),
        ({"S": "é"}, 2),
        ({"S": ""}, 0),
        ({"B": b"\x00\x01"}, 2),
        ({"B": "AAE="}, 2),
        ({"BOOL": True}, 1),
        ({"NULL": True}, 1),
        ({"N": "0"}, 1),
        ({"N": "7"}, 2),
        ({"N": "27"}, 2),
        ({"N": "123"}, 3),
        ({"N": "1000"}, 2),
        ({"N": "0.5"}, 2),
        ({"N": "-27"}, 3),
        ({"N": "1790000000000"}, 3),
        ({"L": []}, 3),
        ({"M": {}}, 3),
        ({"L": [{"S": "ab"}, {"N": "1"}]}, 3 + (1 + 2) + (1 + 2)),
        ({"M": {"k": {"S": "ab"}}}, 3 + 1 + 1 + 2),
        ({"SS": ["a", "bc"]}, 3),
    ],
)
def test_a_value_has_the_documented_size(value: dict[str, object], size: int) -> None:
    assert value_size(value) == size


def test_names_count_in_bytes() -> None:
    assert item_size({"Name": {"S": "Ann"}, "größe": {"N": "12"}}) == 4 + 3 + 7 + 2


def test_an_unknown_type_is_refused() -> None:
    with pytest.raises(ValueError, match="no DynamoDB type"):
        value_size({"Q": 1})


def test_writes_round_up_to_the_next_kb() -> None:
    assert write_units(None, of_size(500)) == 1
    assert write_units(None, of_size(KB)) == 1
    assert write_units(None, of_size(KB + 1)) == 2
    assert write_units(None, of_size(int(3.5 * KB))) == 4


def test_an_overwrite_costs_the_larger_of_old_and_new() -> None:
    assert write_units(of_size(5 * KB), of_size(10)) == 5
    assert write_units(of_size(10), of_size(5 * KB)) == 5


def test_a_delete_costs_what_it_removes_and_a_delete_of_nothing_one_unit() -> None:
    assert write_units(of_size(int(2.5 * KB)), None) == 3
    assert write_units(None, None) == 1


def test_reads_round_up_to_the_next_4_kb() -> None:
    assert read_units(3500, consistent=True) == 1
    assert read_units(8 * KB, consistent=True) == 2
    assert read_units(8 * KB, consistent=False) == 1
    assert read_units(10 * KB, consistent=True) == 3
    assert read_units(0, consistent=False) == 0.5


def test_an_index_costs_by_what_becomes_of_its_entry() -> None:
    entry, changed = {**of_size(100), "a": {"N": "1"}}, {**of_size(100), "a": {"N": "2"}}
    assert index_units(None, entry) == 1
    assert index_units(entry, None) == 1
    assert index_units(entry, changed) == 1
    assert index_units(entry, dict(entry)) == 0
    assert index_units(None, None) == 0
    assert moved_units(entry, changed) == 2
