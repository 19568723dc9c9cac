"""Tables on moto that lose what they hold, and get it back from copies of an earlier moment."""

from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from shared.adapters.dynamo.client import Item
from shared.adapters.dynamo.jobs.ledger_writes import JobTables
from shared.adapters.dynamo.restoring.copying import Copying
from shared.adapters.dynamo.restoring.holding import Holding, Settled
from shared.adapters.dynamo.restoring.items import Past
from tests.fakes.tables import MotoStores, Tables, create_tables

ORDER: Final = ("identities", "records", "ops", "audit")
"""In which a restore copies tables."""


class InTurn:
    """Work that is done in turn, in one process."""

    @staticmethod
    @contextmanager
    def pool(workers: int) -> Iterator["InTurn"]:
        """Return what does the work, for any number of workers."""
        yield InTurn()

    def map(self, work: Callable[[Any], Any], items: Iterable[Any]) -> list[Any]:
        """Do a piece of work for each item."""
        return [work(x) for x in items]


def names_of(tables: Tables) -> dict[str, str]:
    """Return the tables by their short names."""
    homes = tables.homes
    return {"identities": homes.identities, "records": tables.records, "ops": tables.ops, "audit": homes.audit}


def items_of(client: Any, table: str) -> list[Item]:
    """Return all items of a table."""
    pages = client.get_paginator("scan").paginate(TableName=table)
    return [item for page in pages for item in page["Items"]]


def copied(client: Any, tables: Tables) -> Tables:
    """Return copies of all tables as they are now."""
    past = create_tables(client)
    for name, table in names_of(tables).items():
        for item in items_of(client, table):
            client.put_item(TableName=names_of(past)[name], Item=item)
    return past


def lose(client: Any, tables: Tables, lost: Collection[str]) -> None:
    """Delete all that some tables hold."""
    for name in lost:
        table = names_of(tables)[name]
        for item in items_of(client, table):
            client.delete_item(TableName=table, Key={"pk": item["pk"], "sk": item["sk"]})


def holding(stores: MotoStores, now: int) -> Holding:
    """Return what settles, shows and releases."""
    return Holding(stores.dynamo, JobTables(stores.tables.records, stores.tables.ops), stores.records, now=now)


def restore(stores: MotoStores, past: Tables, lost: Collection[str], *, now: int, exact: bool = False) -> Settled:
    """Bring lost tables back from their copies, as the command does."""
    living = "records" not in lost
    records = stores.records
    for name in (x for x in ORDER if x in lost):
        Copying(
            stores.dynamo,
            source=names_of(past)[name],
            target=names_of(stores.tables)[name],
            past=Past(now, exact, records.job if living else lambda _: None, records.details),
            mark=name,
            sleep=lambda _: None,
            pools=InTurn.pool,
        ).run()
    return holding(stores, now).settle(living=living)
