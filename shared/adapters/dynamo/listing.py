"""Lists of an account's things, newest first, on DynamoDB: keys from the index `mine`, then the items themselves."""

import heapq
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from shared.adapters.dynamo import codec, indices, keys
from shared.adapters.dynamo.client import BATCH_READ, Dynamo, Item
from shared.adapters.dynamo.codec import s
from shared.contracts import INDEX_MINE
from shared.domain.jobs.job import Job
from shared.domain.namespaces import TEST, namespace
from shared.ports import After, Clock, Limit

SIDE_BY_SIDE: Final = 15
"""Queries at once: those of every kind of job, with live, team and test keys."""


class Listing:
    """Pages of jobs by account; safe for threads.

    Args:
        client: a low-level boto3 DynamoDB client.
    """

    def __init__(self, client: Any, table: str, clock: Clock) -> None:
        self._db = Dynamo(client, sleep=clock.sleep)
        self._table = table
        self._pool = ThreadPoolExecutor(SIDE_BY_SIDE, "listing")  # without a thread until the first page

    def page(
        self, account: str, kinds: Sequence[str], *, tests_only: bool = False, after: str = "", limit: Limit
    ) -> tuple[list[Job], str]:
        """Return up to `limit` of the account's jobs, newest first, and the place to continue from, empty at the end.

        Args:
            tests_only: only those of test keys, else all.
            after: what the page before returned (`created_at#job`), or empty.
        """
        tests = namespace(account, test=True)
        spaces = (tests,) if tests_only else tuple(dict.fromkeys((account, tests)))  # a team space has no other
        return self.among(spaces, kinds, after=after, limit=limit)

    def among(
        self, spaces: Sequence[str], kinds: Sequence[str], *, after: str = "", limit: int
    ) -> tuple[list[Job], str]:
        """Return up to `limit` jobs of some namespaces, newest first, and the place to continue from, empty at the end.

        The index is eventually consistent: a new job may be missing for a moment. One query per kind and
        namespace, all at once, then one read per 100 jobs.
        """
        pks = [indices.jobs_pk(x.removesuffix(TEST), k, test=x.endswith(TEST)) for k in kinds for x in spaces]
        found_by = self._pool.map(lambda pk: newest(self._db, self._table, pk, after, limit + 1), pks)
        places = list(heapq.merge(*found_by, reverse=True))
        wanted = [place.partition("#")[2] for place in places[:limit]]
        found = self.jobs(wanted)
        jobs = [found[x] for x in wanted if x in found and found[x].namespace in spaces]
        return jobs, places[limit - 1] if len(places) > limit else ""

    def places(self, space: str, kind: str, *, after: After, limit: Limit) -> list[str]:
        """Return places (`created_at#job`) of jobs of a kind in a namespace, newest first; a moment old."""
        pk = indices.jobs_pk(space.removesuffix(TEST), kind, test=space.endswith(TEST))
        return newest(self._db, self._table, pk, after, limit)

    def jobs(self, wanted: Sequence[str]) -> dict[str, Job]:
        """Return those of some jobs that are still there, by id: one read per 100, a moment old."""
        items = self._db.batch_get(self._table, [keys.job(x) for x in dict.fromkeys(wanted)], consistent=False)
        return {job.id: job for job in map(codec.job, items)}


def newest(db: Dynamo, table: str, pk: str, after: str, limit: Limit) -> list[str]:
    """Return places in a partition of the index `mine`, newest first; eventually consistent.

    Args:
        after: the place that the page before ended with, or empty.
    """
    condition, values = "mine_pk = :pk", {":pk": s(pk)}
    if after:
        condition, values = "mine_pk = :pk AND mine_sk < :after", {**values, ":after": s(after)}
    page = db.call(
        "query",
        TableName=table,
        IndexName=INDEX_MINE,
        KeyConditionExpression=condition,
        ExpressionAttributeValues=values,
        ScanIndexForward=False,
        Limit=limit,
    )
    return [x["mine_sk"]["S"] for x in page["Items"]]


def entries(
    db: Dynamo,
    table: str,
    pk: str,
    place: Callable[[str], keys.Key],
    fields: Sequence[str],
    *,
    after: After,
    limit: Limit,
) -> tuple[list[Item], str]:
    """Return a page of an account's things, newest first, with some attributes each, and the place to continue from.

    Args:
        pk: partition of the index `mine`.
        place: the primary key of an id.
        fields: names of the attributes that are read besides the primary key, those that a list shows.
    """
    found = newest(db, table, pk, after, limit + 1)
    wanted = [place(x.partition("#")[2]) for x in found[:limit]]
    names = {f"#{i}": name for i, name in enumerate(("pk", "sk", *fields))}
    items: dict[tuple[str, str], Item] = {}
    for start in range(0, len(wanted), BATCH_READ):
        request = {
            "Keys": wanted[start : start + BATCH_READ],
            "ProjectionExpression": ", ".join(names),
            "ExpressionAttributeNames": names,
        }
        items |= {_name(x): x for x in db.batch_get_from({table: request})}
    there = [items[_name(key)] for key in wanted if _name(key) in items]
    return there, found[limit - 1] if len(found) > limit else ""


def _name(item: Item) -> tuple[str, str]:
    return item["pk"]["S"], item["sk"]["S"]
