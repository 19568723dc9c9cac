"""Accounts, keys, senders and audit entries that a released version stored are read by this one, in either table.

The files in tests/fixtures/identities are what the version in their name wrote, to `records`; see `test_formats`.
"""

import json
from pathlib import Path
from typing import Any, Final

import pytest

from shared.adapters.dynamo.accounts.accounts import Accounts
from shared.adapters.dynamo.accounts.moving import Mover
from shared.adapters.dynamo.audit import DynamoJournal
from shared.adapters.dynamo.client import Dynamo
from shared.domain.accounts import Scope
from shared.domain.audit import Log
from tests.fakes.clock import FakeClock
from tests.fakes.tables import Tables, create_tables

RECORDED: Final = sorted((Path(__file__).parents[1] / "fixtures" / "identities").glob("*.json"))
LATER: Final = {"from_a_later_version": {"S": "x"}}


@pytest.fixture
def tables(moto_dynamo: Any) -> Tables:
    return create_tables(moto_dynamo)


@pytest.mark.parametrize("file", RECORDED, ids=lambda f: f.stem)
@pytest.mark.parametrize("later", [{}, LATER], ids=["as written", "with what a later version adds"])
@pytest.mark.parametrize("moved", [False, True], ids=["left", "moved"])
def test_identities_of_a_released_version_are_read(
    moto_dynamo: Any, tables: Tables, file: Path, later: dict[str, Any], *, moved: bool
) -> None:
    recorded = json.loads(file.read_text("utf-8"))
    for item in recorded["items"]:
        moto_dynamo.put_item(TableName=tables.records, Item={**item, **later})
    if moved:
        assert Mover(Dynamo(moto_dynamo, homes=tables.homes), tables.records).move(1) == len(recorded["items"])
        for item in moto_dynamo.scan(TableName=tables.records)["Items"]:
            moto_dynamo.delete_item(TableName=tables.records, Key={"pk": item["pk"], "sk": item["sk"]})
    accounts = Accounts(moto_dynamo, tables.records, FakeClock(), homes=tables.alone)
    (listed,) = accounts.list_accounts()
    assert (listed.id, listed.name, listed.region) == (recorded["account"], "Ann & Co", "DE")
    assert accounts.get(recorded["account"]) == listed
    assert accounts.list_senders(listed.id) == ["example.com"]
    assert accounts.check_sender(listed.id, "news@example.com").allowed
    key = accounts.find_by_key(recorded["key"])
    assert key is not None
    assert (key.account, key.test, key.scopes, key.name) == (listed.id, True, frozenset({Scope.READ}), "ci")
    assert (key.expires, key.used) == (1_890_000_000_000, 1_790_000_000_500)
    assert accounts.list_keys(listed.id) == [key]
    journal = DynamoJournal(Dynamo(moto_dynamo, homes=tables.alone), tables.records)
    (entry,) = journal.since(listed.id, Log.AUDIT, 0)
    assert (entry.kind, entry.actor, entry.data["scopes"]) == ("key.created", "operator:1:ann", "read")
