"""`posthaste restore …` on tables of moto: what it says, refuses and asks."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import boto3
import pytest

from cli.errors import NotFound
from cli.restoring.tables import TABLES, CopySource, made, span
from shared.adapters.dynamo import keys
from shared.adapters.dynamo.credentials.switchboard import Switchboard
from shared.domain.lanes.switches import EVERYTHING
from tests.cli.conftest import TABLE
from tests.cli.fakes import FakeClock, Run, around
from tests.contracts.conftest import Parts
from tests.fakes import restoring as fakes
from tests.fakes.clock import FakeClock as StoreClock
from tests.fakes.tables import MotoStores, Tables, create_tables

pytestmark = pytest.mark.usefixtures("aws")


@pytest.fixture
def stores(aws: None, clock: FakeClock, monkeypatch: pytest.MonkeyPatch) -> MotoStores:
    """A stage whose tables the environment names, with a large and a small job."""
    client = boto3.client("dynamodb", region_name="us-east-1")
    client.delete_table(TableName=TABLE)
    tables = create_tables(client)
    monkeypatch.setenv("POSTHASTE_RECORDS_TABLE", tables.records)
    monkeypatch.setenv("POSTHASTE_OPS_TABLE", tables.ops)
    monkeypatch.setenv("POSTHASTE_IDENTITIES_TABLE", tables.homes.identities)
    monkeypatch.setenv("POSTHASTE_AUDIT_TABLE", tables.homes.audit)
    same = StoreClock(clock.now())
    found = MotoStores(client, same, tables=tables)
    for sizes in ((3, 2), (1,)):
        Parts(same, sizes).store(found)
    return found


def lost(stores: MotoStores, *names: str) -> Tables:
    """Let the stage lose some tables; return copies of before."""
    past = fakes.copied(stores.client, stores.tables)
    fakes.lose(stores.client, stores.tables, names)
    return past


def paused(stores: MotoStores, clock: FakeClock) -> bool:
    tables = stores.tables
    board = Switchboard(stores.client, records=tables.records, ops=tables.ops, clock=clock)
    return board.read(EVERYTHING)[EVERYTHING].switches.paused


def test_a_plan_names_the_tables_and_since_when_they_have_a_past(run: Run, stores: MotoStores) -> None:
    found = {x["table"]: x for x in run("restore", "plan", "--json").lines}
    assert [*found] == [x for x in TABLES if x != "people"]
    assert found["ops"]["name"] == stores.tables.ops
    shown = run("restore", "plan")
    assert (shown.code, "posthaste restore copy TABLE" in shown.out) == (0, True)


def test_a_copy_pauses_everything_and_brings_back_what_was_lost(run: Run, stores: MotoStores, clock: FakeClock) -> None:
    past = lost(stores, "records", "ops")
    asked = run("restore", "copy", f"ops={past.ops}", f"records={past.records}", input="n\n", terminal=True)
    assert (asked.code, paused(stores, clock)) == (1, False)
    assert "Restore records, ops of" in asked.err
    done = run("restore", "copy", f"ops={past.ops}", f"records={past.records}", "--yes")
    assert done.code == 0, done.err
    assert "paused" in done.err
    assert paused(stores, clock)
    again = run("restore", "copy", f"ops={past.ops}", f"records={past.records}", "--yes", "--json").json
    assert {x["table"]: (x["read"], x["put"]) for x in again["tables"]} == {"records": (0, 0), "ops": (0, 0)}
    shown = run("restore", "review", "--json").json
    assert {(x["waiting"], x["doubtful"]) for x in shown["held"]} == {(0, 5), (0, 1)}
    assert shown["lost"] == []
    assert "doubtful" in run("restore", "review").out


def test_a_job_that_waits_is_released_once_it_is_at_rest(run: Run, stores: MotoStores, clock: FakeClock) -> None:
    past = lost(stores, "records")
    later = Parts(StoreClock(clock.now()), (2, 2))
    stores.client.put_item(TableName=stores.tables.ops, Item={**keys.ledger(later.job.id, 0), "cells": {"B": b"\0\0"}})
    assert run("restore", "copy", f"records={past.records}", "--yes").code == 0
    shown = run("restore", "review")
    assert f"lost: job {later.job.id}, of which only the states of 2 messages are left" in shown.out
    assert "posthaste restore release" in shown.out
    [job] = [x["job_id"] for x in run("restore", "review", "--json").json["held"] if x["waiting"] == 5]
    early = run("restore", "release", "--all", "--yes")
    assert (early.code, "not at rest yet: 2 jobs" in early.err) == (1, True)
    stores.client.update_item(
        TableName=stores.tables.records,
        Key=keys.job(job),
        UpdateExpression="SET #state = :logged",
        ExpressionAttributeNames={"#state": "state"},
        ExpressionAttributeValues={":logged": {"S": "LOGGED"}},
    )
    refused = run("restore", "release", job, input="n\n", terminal=True)
    assert (refused.code, "Release 5 messages of 1 job" in refused.err) == (1, True)
    assert run("restore", "release", job, "--yes").code == 0
    found = stores.records.job(job)
    assert found is not None
    assert (found.state, found.resumed_by.startswith("operator:")) == ("READY", True)


def test_what_waits_can_be_ended(run: Run, stores: MotoStores, clock: FakeClock) -> None:
    past = lost(stores, "records")
    assert run("restore", "copy", f"records={past.records}", "--yes").code == 0
    for item in fakes.items_of(stores.client, stores.tables.records):
        if item["sk"]["S"] == "JOB":
            stores.client.put_item(TableName=stores.tables.records, Item={**item, "state": {"S": "LOGGED"}})
    done = run("restore", "release", "--all", "--discard", "--yes", "--json")
    assert done.json == {"discarded": 6, "not_at_rest": []}
    held = run("restore", "review", "--json").json["held"]
    assert sum(x["waiting"] for x in held) == 0


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("copy", "people=x", "--yes"), "no table 'people'"),
        (("copy", "ops", "--yes"), "name the copy of ops"),
        (("copy", "ops", "--at", "noon", "--yes"), "no time of RFC 3339"),
        (("release", "--yes"), "add a job's id, or --all"),
        (("release", "x", "--yes"), "no id of a job"),
        (("release", "--all"), "not a terminal"),
        (("copy", "ops=x"), "not a terminal"),
    ],
)
def test_a_wrong_use_changes_nothing(
    run: Run, stores: MotoStores, clock: FakeClock, words: tuple[str, ...], says: str
) -> None:
    done = run("restore", *words)
    assert (done.code, says in " ".join(done.err.split())) == (2, True), done.err
    assert not paused(stores, clock)


def test_the_table_itself_is_no_copy_and_an_unknown_job_is_not_found(run: Run, stores: MotoStores) -> None:
    done = run("restore", "copy", f"ops={stores.tables.ops}", "--yes")
    assert (done.code, "is the table itself" in " ".join(done.err.split())) == (2, True)
    assert run("restore", "release", "0123456789abcdefghjkmnpqrs", "--yes").code == 3


def test_dynamodb_makes_the_copy_of_a_moment(run: Run, stores: MotoStores, clock: FakeClock) -> None:
    client, at = stores.client, datetime.now(UTC) - timedelta(minutes=1)
    client.update_continuous_backups(
        TableName=stores.tables.ops, PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True}
    )
    done = run("restore", "copy", "ops", "--at", at.isoformat(timespec="seconds"), "--yes", "--json")
    assert done.code == 0, done.err
    copies = [x for x in client.list_tables()["TableNames"] if x.startswith(f"{stores.tables.ops}-restored-")]
    assert len(copies) == 1
    source = CopySource("ops", stores.tables.ops)
    assert made(client, source, at, around(clock)) == replace(source, copy=copies[0]), "it is used again"


def test_a_table_that_is_gone_says_what_else_can_be_done(stores: MotoStores, clock: FakeClock) -> None:
    with pytest.raises(NotFound, match="restore its last backup"):
        made(stores.client, CopySource("ops", "gone"), datetime.now(UTC), around(clock))
    assert span(stores.client, "gone") == (None, None)
