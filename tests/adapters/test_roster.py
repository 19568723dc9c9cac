"""Which credentials were ever declared: the set only grows, and noting is safe to repeat."""

from typing import Any

from shared.adapters.dynamo import indices, keys
from shared.adapters.dynamo.client import Dynamo
from shared.adapters.dynamo.credentials.known import KnownCredentials, OpenSlots
from tests.fakes.tables import create_tables


def test_what_was_ever_declared_is_known(moto_dynamo: Any) -> None:
    roster = KnownCredentials(Dynamo(moto_dynamo), create_tables(moto_dynamo).ops)
    assert roster.note(["old", "main"]) == ["main", "old"]
    assert roster.note(["main", "other"]) == ["main", "old", "other"]
    assert roster.note(["main", "other"]) == ["main", "old", "other"]


def test_jobs_of_credentials_that_have_gone_are_walked_and_nothing_is_asked_before(moto_dynamo: Any) -> None:
    tables = create_tables(moto_dynamo)
    db = Dynamo(moto_dynamo)
    KnownCredentials(db, tables.ops).note(["old"])
    slots = OpenSlots(KnownCredentials(db, tables.ops), ["main"])
    assert moto_dynamo.get_item(TableName=tables.ops, Key=keys.roster())["Item"]["ids"]["SS"] == ["old"]
    walked = list(slots)
    assert walked == list(slots)
    assert {indices.open_slot("old", 0, running=False), indices.open_slot("main", 0, running=True)} < set(walked)
    assert len(set(walked)) == len(walked)
    waits = slots.serving("main")
    assert sorted(waits) == sorted(x for x in walked if x == "main#RUN" or x.startswith("shared#RUN#"))
    assert slots.serving("") == walked
