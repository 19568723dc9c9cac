"""What is stored, read past the engine's own reads: by the watch, which looks after every write."""

from typing import Any, Protocol

from shared.adapters.dynamo import codec, keys
from shared.domain.ids import is_small
from shared.domain.jobs.job import Job
from shared.domain.jobs.ledger import Ledger
from tests.fakes.held import items_of
from tests.fakes.stores import FakeStores, Stores
from tests.fakes.tables import MotoStores


class Peek(Protocol):
    """Reads that pass no tap."""

    def job(self, job: str) -> Job | None:
        """Return a job."""

    def ledgers(self, job: str) -> list[Ledger]:
        """Return a job's ledgers by number."""

    def holder(self, credential: str) -> tuple[str, frozenset[str]]:
        """Return the campaign that took a credential last, and its jobs that hold it."""

    def stats(self, account: str) -> dict[str, int]:
        """Return the sums of an account's stats, without zeros."""


def peek(stores: Stores) -> Peek:
    """Return the way to look into stores."""
    if isinstance(stores, FakeStores):
        return _Memory(stores)
    if isinstance(stores, MotoStores):
        return _Moto(stores)
    raise TypeError(type(stores))


class _Memory:
    def __init__(self, stores: FakeStores) -> None:
        self._stores = stores

    def job(self, job: str) -> Job | None:
        return self._stores.records.jobs.get(job)

    def ledgers(self, job: str) -> list[Ledger]:
        items = self._stores.ledgers.items
        return [items[k] for k in sorted(items) if k[0] == job]

    def holder(self, credential: str) -> tuple[str, frozenset[str]]:
        return self._stores.records.holders.items.get(credential, ("", frozenset()))

    def stats(self, account: str) -> dict[str, int]:
        return self._stores.stats(account)


class _Moto:
    """moto's own memory: a call through the client takes it 9 ms."""

    def __init__(self, stores: MotoStores) -> None:
        self._tables = stores.tables

    def job(self, job: str) -> Job | None:
        found = self._job(job)
        return codec.job(found[0]) if found else None

    def _job(self, job: str) -> list[dict[str, Any]]:
        key = keys.job(job)
        return [x for x in self._items(self._tables.records, key["pk"]["S"]) if x["sk"] == key["sk"]]

    def ledgers(self, job: str) -> list[Ledger]:
        items = self._job(job) if is_small(job) else self._items(self._tables.ops, keys.job_pk(job))
        found = [x for x in items if "cells" in x or "l_cells" in x]
        return sorted(map(codec.ledger, found), key=lambda x: x.chunk)

    def holder(self, credential: str) -> tuple[str, frozenset[str]]:
        key = keys.holder(credential)
        found = [x for x in self._items(self._tables.ops, key["pk"]["S"]) if x["sk"] == key["sk"]]
        jobs = found[0]["jobs"]["SS"] if found and "jobs" in found[0] else []
        return (found[0]["holder"]["S"] if found else "", frozenset(jobs))

    def stats(self, account: str) -> dict[str, int]:
        out: dict[str, int] = {}
        for item in (x for pk in keys.stats_pks(account) for x in self._items(self._tables.records, pk)):
            for name, value in item.items():
                if "N" in value and int(value["N"]):
                    out[name] = out.get(name, 0) + int(value["N"])
        return out

    def _items(self, table: str, pk: str) -> list[dict[str, Any]]:
        return items_of((table,), pk)
