"""An account's scheduled jobs by their time, on DynamoDB."""

from contextlib import suppress
from typing import Final

from shared.adapters.dynamo import codec, keys
from shared.adapters.dynamo.client import ConditionFailed, Dynamo, Item
from shared.adapters.dynamo.codec import n, number, s
from shared.domain.jobs.job import Job
from shared.domain.namespaces import namespace
from shared.domain.spending import limits
from shared.domain.times import Millis
from shared.ports import Retriable

DAY_S: Final = 86_400
COUNTED_S: Final = 400 * DAY_S
"""Seconds that a count is kept after its last job, which waits for a year at most."""
TRIES: Final = 5


class DynamoAgenda:
    """`ports.Agenda` over the table `records`."""

    def __init__(self, dynamo: Dynamo, table: str) -> None:
        self._db = dynamo
        self._table = table

    def note(self, account: str, job: str, at: Millis, *, test: bool = False) -> None:
        for place in _places(account, job, at, test=test):
            self._db.call("put_item", TableName=self._table, Item={**place, "ttl": n(at // 1000 + DAY_S)})

    def drop(self, account: str, job: str, at: Millis, *, test: bool = False) -> None:
        for place in _places(account, job, at, test=test):
            with suppress(ConditionFailed):
                self._db.call(
                    "update_item",
                    TableName=self._table,
                    Key=place,
                    UpdateExpression="SET dropped = :yes",
                    ConditionExpression="attribute_exists(pk)",
                    ExpressionAttributeValues={":yes": {"BOOL": True}},
                )

    def take(self, account: str, now: Millis, *, test: bool = False) -> int:
        place = keys.schedules(namespace(account, test=test))
        for _ in range(TRIES):
            full = self._add(place, now)
            if full is None:
                return 0
            if number(full, "counted_at") + limits.RECOUNT_MS > now:
                return number(full, "places")
            waiting = self._waiting(account, now, test=test)
            self._recount(place, full, waiting, now)
            if waiting >= limits.MAX_SCHEDULES:
                return waiting
        raise Retriable("agenda: busy")

    def _add(self, place: keys.Key, now: Millis) -> Item | None:
        """Count one more; return the item if there are as many as may be."""
        try:
            self._db.call(
                "update_item",
                TableName=self._table,
                Key=place,
                UpdateExpression="SET #ttl = :ttl ADD places :one",
                ConditionExpression="attribute_not_exists(places) OR places < :most",
                ExpressionAttributeNames={"#ttl": "ttl"},
                ExpressionAttributeValues={
                    ":one": n(1),
                    ":most": n(limits.MAX_SCHEDULES),
                    ":ttl": n(now // 1000 + COUNTED_S),
                },
                ReturnValuesOnConditionCheckFailure="ALL_OLD",
            )
        except ConditionFailed as lost:
            return lost.item or {}
        return None

    def _recount(self, place: keys.Key, full: Item, waiting: int, now: Millis) -> None:
        """Store how many wait, unless another process has meanwhile."""
        with suppress(ConditionFailed):
            self._db.call(
                "update_item",
                TableName=self._table,
                Key=place,
                UpdateExpression="SET places = :waiting, counted_at = :now",
                ConditionExpression="places = :places",
                ExpressionAttributeValues={
                    ":waiting": n(waiting),
                    ":now": n(now),
                    ":places": n(number(full, "places")),
                },
            )

    def _waiting(self, account: str, now: Millis, *, test: bool) -> int:
        """Count the places of jobs that wait: those of test keys, or the others. A page of 1 MB has some 10,000."""
        tests = self._later(account, now, test=True)
        return tests if test else self._later(account, now, test=False) - tests

    def _later(self, account: str, now: Millis, *, test: bool) -> int:
        beginning = keys.due(account, now + 1, "", test=test)
        return self._db.count(
            self._table,
            KeyConditionExpression="pk = :pk AND sk > :now",
            FilterExpression="attribute_not_exists(dropped)",
            ExpressionAttributeValues={":pk": beginning["pk"], ":now": beginning["sk"]},
        )

    def page(
        self, account: str, *, tests_only: bool = False, since: int, after: str, limit: int
    ) -> tuple[list[Job], str]:
        """Return the account's scheduled jobs, soonest first, and the place of the next page.

        A job has one place, that of its own time. One query, and one read per 100 jobs.
        """
        beginning = keys.due(account, since + 1, "", test=tests_only)
        page = self._db.call(
            "query",
            TableName=self._table,
            KeyConditionExpression="pk = :pk AND sk > :after",
            ExpressionAttributeValues={
                ":pk": beginning["pk"],
                ":after": s(max(after, beginning["sk"]["S"])),
            },
            ConsistentRead=True,
            Limit=limit + 1,
        )
        places = [x["sk"]["S"] for x in page["Items"]]
        wanted = dict.fromkeys(place.partition("#")[2] for place in places[:limit])
        items = self._db.batch_get(self._table, [keys.job(x) for x in wanted])
        # By the time it has: somebody may have noted another, and not have got the job stored with it.
        found = {keys.due(account, job.not_before, job.id)["sk"]["S"]: job for job in map(codec.job, items)}
        return [found[x] for x in places[:limit] if x in found], places[limit - 1] if len(places) > limit else ""


def _places(account: str, job: str, at: Millis, *, test: bool) -> list[keys.Key]:
    return [keys.due(account, at, job), *([keys.due(account, at, job, test=True)] if test else [])]
