"""Daily stats of an account on DynamoDB: sums over the shards that folding adds to."""

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Final

from shared.adapters.dynamo import keys
from shared.adapters.dynamo.client import Dynamo, Item, between
from shared.domain.stats import Day
from shared.ports import Clock

AMOUNTS: Final = ("success", "failure", "queued", "skipped")
"""Figures that add up to the messages accepted on that day."""
SIDE_BY_SIDE: Final = 17
"""Queries at once: those of all partitions of an account."""
_PROVIDER: Final = "p."


@dataclass(slots=True)
class _Sum:
    amounts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(AMOUNTS, 0))
    channels: dict[str, dict[str, int]] = field(default_factory=dict)
    providers: dict[str, dict[str, int]] = field(default_factory=dict)


class Stats:
    """Stats by account and day; safe for threads.

    Args:
        client: a low-level boto3 DynamoDB client.
    """

    def __init__(self, client: Any, table: str, clock: Clock) -> None:
        self._db = Dynamo(client, sleep=clock.sleep)
        self._table = table
        self._pool = ThreadPoolExecutor(SIDE_BY_SIDE, "stats")  # without a thread until they are asked for

    def days(self, account: str, first: date, last: date) -> list[Day]:
        """Return the days on which messages were accepted, newest first.

        Args:
            first: the first day, UTC.
            last: the last day, UTC, included.
        """
        sums: dict[str, _Sum] = {}
        for item in self._items(account, f"{first.isoformat()}#", f"{last.isoformat()}$"):  # $ comes after #
            day, channel, *_ = item["sk"]["S"].split("#")
            _add(sums.setdefault(day, _Sum()), channel, item)
        return [
            Day(date.fromisoformat(day), x.amounts, x.channels, x.providers)
            for day, x in sorted(sums.items(), reverse=True)
            if any(x.amounts.values())
        ]

    def _items(self, account: str, first: str, last: str) -> Iterable[Item]:
        """Return the items of all shards with sort keys in a range."""

        def of(pk: str) -> list[Item]:
            return list(self._db.query(self._table, **between(pk, first, last)))

        return (item for items in self._pool.map(of, keys.stats_pks(account)) for item in items)


def _add(total: _Sum, channel: str, item: Item) -> None:
    of_channel = total.channels.setdefault(channel, dict.fromkeys(AMOUNTS, 0))
    for name, value in item.items():
        amount = int(value.get("N", 0))
        if name in AMOUNTS:
            total.amounts[name] += amount
            of_channel[name] += amount
        elif name.startswith(_PROVIDER):
            provider, _, what = name[len(_PROVIDER) :].rpartition(".")
            numbers = total.providers.setdefault(provider, {})
            numbers[what] = numbers.get(what, 0) + amount
