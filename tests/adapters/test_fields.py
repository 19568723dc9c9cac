"""Fields of an entity as attributes of its item: what is written, what is left out, what an older item lacks."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

import pytest

from shared.adapters.dynamo.fields import Fields


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


@dataclass(frozen=True, slots=True)
class Thing:
    id: str
    name: str
    size: int = 3
    open: bool = False
    tags: tuple[str, ...] = ()
    sizes: tuple[int, ...] = ()
    colour: Colour = Colour.RED
    more: Mapping[str, str] | None = None


FIELDS = Fields(Thing, always=("size", "tags"), apart=("id", "more"), names={"colour": "paint"})
FULL = Thing("x", "n", 7, open=True, tags=("a", "b"), sizes=(1, 0), colour=Colour.BLUE)


def test_each_type_has_its_attribute_and_is_read_back() -> None:
    item = FIELDS.item(FULL)
    assert item == {
        "name": {"S": "n"},
        "size": {"N": "7"},
        "open": {"BOOL": True},
        "tags": {"L": [{"S": "a"}, {"S": "b"}]},
        "sizes": {"L": [{"N": "1"}, {"N": "0"}]},
        "paint": {"S": "blue"},
    }
    assert Thing(id="x", **FIELDS.read(item)) == FULL
    assert FIELDS.names == tuple(item)


def test_an_empty_value_is_left_out_unless_it_is_always_written() -> None:
    nothing = Thing("x", "", 0)
    assert FIELDS.item(nothing) == {"size": {"N": "0"}, "tags": {"L": []}, "paint": {"S": "red"}}
    assert Thing(id="x", **FIELDS.read(FIELDS.item(nothing))) == nothing


def test_what_an_older_item_lacks_has_its_default_if_it_is_always_written_and_is_empty_otherwise() -> None:
    assert FIELDS.read({"paint": {"S": "red"}}) == {
        "name": "",
        "size": 3,
        "open": False,
        "tags": (),
        "sizes": (),
        "colour": Colour.RED,
    }


def test_a_field_of_another_type_must_be_left_to_its_caller() -> None:
    with pytest.raises(KeyError):
        Fields(Thing)
