"""The two tables on moto, and the ports' real implementations over them."""

import uuid
from collections.abc import Callable, Mapping
from typing import Any

from moto import mock_aws

import quick_moto
from quick_moto import create_table
from shared.adapters.dynamo import codec, keys
from shared.adapters.dynamo.accounts.spending import KnownRules
from shared.adapters.dynamo.audit import DynamoAcceptances, DynamoJournal
from shared.adapters.dynamo.campaigns.campaigns import DynamoCampaigns
from shared.adapters.dynamo.client import Dynamo
from shared.adapters.dynamo.credentials.breakers import DynamoBreakers
from shared.adapters.dynamo.credentials.lease_hints import DynamoHints
from shared.adapters.dynamo.credentials.pacer import DynamoPacer
from shared.adapters.dynamo.credentials.switchboard import DynamoHolds, Switchboard
from shared.adapters.dynamo.homes import Homes
from shared.adapters.dynamo.jobs.bookmarks import DynamoBookmarks
from shared.adapters.dynamo.jobs.bouncing import DynamoBouncingDays
from shared.adapters.dynamo.jobs.ledger_writes import JobTables
from shared.adapters.dynamo.jobs.ledgers import DynamoLedgers
from shared.adapters.dynamo.jobs.records import DynamoRecords
from shared.adapters.dynamo.jobs.scheduled import DynamoAgenda
from shared.adapters.dynamo.searching.search_pages import DynamoSearchPages
from shared.contracts import INDEX_MINE, INDEX_OPEN, INDEX_OPEN_PROJECTION, MIN_RATE
from shared.domain.audit import SYSTEM
from shared.domain.jobs.ledger import Ledger
from shared.domain.lanes.switches import Switch, Switches
from shared.domain.recipients.suppressions import Reach
from tests.fakes.clock import FakeClock
from tests.fakes.faults import Tap

__all__ = ["FakeBlobs", "MotoStores", "Tables", "TappedClient", "create_tables", "mock_aws"]

quick_moto.install()


class Tables:
    """The names of the tables of one test."""

    def __init__(self, ending: str | None = None) -> None:
        """`ending`: of each name; by default drawn."""
        ending = f"-{uuid.uuid4().hex[:12]}" if ending is None else ending
        self.records = f"records{ending}"
        self.ops = f"ops{ending}"
        self.homes = Homes(f"identities{ending}", f"audit{ending}", both=True)
        """As operators' tools write."""
        self.alone = Homes(self.homes.identities, self.homes.audit)
        """As functions write."""


def create_tables(client: Any, tables: Tables | None = None) -> Tables:
    """Create all tables with their keys and indices, by default under new names."""
    tables = tables or Tables()
    primary = [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}]
    projections: Mapping[str, Any] = {
        INDEX_OPEN: {"ProjectionType": "INCLUDE", "NonKeyAttributes": list(INDEX_OPEN_PROJECTION)},
        INDEX_MINE: {"ProjectionType": "KEYS_ONLY"},
    }
    strings = ("pk", "sk", *(f"{index}_{part}" for index in projections for part in ("pk", "sk")))
    create_table(
        client,
        TableName=tables.records,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": a, "AttributeType": "S"} for a in strings],
        KeySchema=primary,
        GlobalSecondaryIndexes=[
            {
                "IndexName": index,
                "KeySchema": [
                    {"AttributeName": f"{index}_pk", "KeyType": "HASH"},
                    {"AttributeName": f"{index}_sk", "KeyType": "RANGE"},
                ],
                "Projection": projection,
            }
            for index, projection in projections.items()
        ],
    )
    for name in (tables.ops, tables.homes.identities, tables.homes.audit):
        create_table(
            client,
            TableName=name,
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[{"AttributeName": a, "AttributeType": "S"} for a in ("pk", "sk")],
            KeySchema=primary,
        )
    return tables


class FakeBlobs:
    """Large contents in memory."""

    def __init__(self) -> None:
        self.items: dict[str, bytes] = {}

    def put(self, name: str, data: bytes) -> None:
        self.items[name] = data

    def get(self, name: str) -> bytes | None:
        return self.items.get(name)


class TappedClient:
    """A low-level client each of whose calls passes a tap, under the operation's name; `updated` hears of updates."""

    def __init__(self, client: Any, tap: Tap, updated: Callable[[str, Any], None]) -> None:
        self._client = client
        self._tap = tap
        self._updated = updated

    def __getattr__(self, method: str) -> Any:
        operation = getattr(self._client, method)

        def made(**kwargs: Any) -> Any:
            answer = operation(**kwargs)
            if method == "update_item":
                self._updated(kwargs["TableName"], kwargs["Key"])
            return answer

        return lambda **kwargs: self._tap(f"dynamo.{method}", lambda: made(**kwargs))


class MotoStores:
    """The real implementations over tables of their own."""

    def __init__(self, client: Any, clock: FakeClock, tap: Tap | None = None, tables: Tables | None = None) -> None:
        """`tables`: those that are there already."""
        self.client = client
        self.tap = tap or Tap()
        self.tables = tables or create_tables(client)
        self.blobs = FakeBlobs()
        self.heard: set[str] = set()
        self.listener: Callable[[Ledger], None] = lambda _ledger: None
        tapped = TappedClient(client, self.tap, self._updated)
        self.dynamo = Dynamo(tapped, sleep=clock.sleep, homes=self.tables.alone)
        self.ledgers = DynamoLedgers(self.dynamo, JobTables(self.tables.records, self.tables.ops))
        self.records = DynamoRecords(self.dynamo, records=self.tables.records, ops=self.tables.ops, blobs=self.blobs)
        self.pacer = DynamoPacer(self.dynamo, self.tables.ops, clock)
        self.hints = DynamoHints(self.dynamo, self.tables.ops)
        self.holds = DynamoHolds(self.dynamo, records=self.tables.records, ops=self.tables.ops)
        self.switchboard = Switchboard(
            client, records=self.tables.records, ops=self.tables.ops, clock=clock, homes=self.tables.homes
        )
        self.breakers = DynamoBreakers(self.dynamo, self.tables.ops)
        self.bookmarks = DynamoBookmarks(self.dynamo, self.tables.ops)
        self.agenda = DynamoAgenda(self.dynamo, self.tables.records)
        self.journal = DynamoJournal(self.dynamo, self.tables.records)
        self.acceptances = DynamoAcceptances(self.dynamo, self.tables.records, clock)
        self.lists = DynamoCampaigns(self.dynamo, records=self.tables.records, blobs=self.blobs)
        self.bouncing = DynamoBouncingDays(self.dynamo, self.tables.records)
        rules = KnownRules(self.dynamo, self.tables.records, clock)
        self.search_pages = DynamoSearchPages(self.dynamo, self.tables.records, rules.of)

    def _updated(self, table: str, key: Any) -> None:
        """Tell the listener of a ledger that was written, as the stream does."""
        if keys.ledger_place(key) is not None and (table == self.tables.ops or keys.is_job(key)):
            item = self.client.get_item(TableName=table, Key=key, ConsistentRead=True)["Item"]
            self.listener(codec.ledger(item))

    def pause(self, account: str) -> None:
        """Pause an account, or everything if the name is empty."""
        self.switchboard.pause(Switch(account=account), by=SYSTEM, reason="why")

    def hear(self, namespace: str) -> None:
        """Let a namespace have an endpoint."""
        item = {**keys.listeners(namespace), "namespaces": {"SS": [namespace]}}
        self.client.put_item(TableName=self.tables.records, Item=item)
        self.heard.add(namespace)

    def unpause(self, account: str) -> None:
        """End a pause."""
        self.switchboard.resume(Switch(account=account), by=SYSTEM, reason="why")

    def quiet(self, account: str, channel: str, text: str) -> None:
        """Set an account's quiet hours of a channel."""
        self.client.update_item(
            TableName=self.tables.records,
            Key=keys.account_control(account),
            UpdateExpression="SET #quiet = :quiet",
            ExpressionAttributeNames={"#quiet": codec.quiet_name(channel)},
            ExpressionAttributeValues={":quiet": codec.s(text)},
        )

    def switch(self, credential: str, switches: Switches) -> None:
        """Set what operators may set of a credential."""
        switch = Switch(credential=credential)
        move = self.switchboard.pause if switches.paused else self.switchboard.resume
        move(switch, by=SYSTEM, reason="why")
        ceiling = max(switches.rate, MIN_RATE)
        self.switchboard.set_rate(credential, switches.rate, ceiling=ceiling, by=SYSTEM, reason="why")

    def expire(self, job: str) -> None:
        """Remove a job, as happens when its retention is over."""
        self.client.delete_item(TableName=self.tables.records, Key=keys.job(job))

    def stats(self, account: str) -> dict[str, int]:
        """Return the sums of all stats of an account."""
        out: dict[str, int] = {}
        for item in (x for pk in keys.stats_pks(account) for x in self._partition(pk)):
            for name, value in item.items():
                if "N" in value and int(value["N"]):
                    out[name] = out.get(name, 0) + int(value["N"])
        return out

    def suppressed(self, account: str, reach: Reach = Reach.ALL) -> dict[str, tuple[str, int]]:
        """Return address key → (reason, since) of an account."""
        rows = self._partition(keys.suppression(account, "", reach)["pk"]["S"])
        return {x["address"]["S"]: (x["reason"]["S"], int(x["at"]["N"])) for x in rows}

    def _partition(self, pk: str) -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = self.client.query(
            TableName=self.tables.records,
            KeyConditionExpression="pk = :pk",
            ExpressionAttributeValues={":pk": {"S": pk}},
            ConsistentRead=True,
        )["Items"]
        return items
