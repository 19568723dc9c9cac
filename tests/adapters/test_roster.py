"""Which credentials were ever declared: the set only grows, and noting is safe to repeat."""

from typing import Any

from shared.adapters.dynamo.client import Dynamo
from shared.adapters.dynamo.roster import Roster
from tests.fakes.tables import create_tables


def test_what_was_ever_declared_is_known(moto_dynamo: Any) -> None:
    roster = Roster(Dynamo(moto_dynamo), create_tables(moto_dynamo).ops)
    assert roster.note(["old", "main"]) == ["main", "old"]
    assert roster.note(["main", "other"]) == ["main", "old", "other"]
    assert roster.note(["main", "other"]) == ["main", "old", "other"]
