"""The index `open`: jobs that are not LOGGED, LOGGED ones with doubts, and those to be archived.

A small job comes into it once it has waited (ADR 287). Until then its key, which is its minute, finds it.
"""

from collections.abc import Iterable
from itertools import islice
from typing import Final

from shared.adapters.dynamo import codec, indices, keys
from shared.adapters.dynamo.client import Dynamo, Item
from shared.adapters.dynamo.codec import n, s
from shared.adapters.dynamo.jobs import transitions
from shared.contracts import INDEX_OPEN
from shared.domain.jobs.job import SHARDS, shard_of
from shared.domain.jobs.states import JobState
from shared.domain.times import MINUTE_MS
from shared.ports import OpenJob

REMOVED: Final = " REMOVE open_pk, open_sk"


class OpenIndex:
    """The readers and writers of the index `open`. `archive`: milliseconds as of `transitions.place`."""

    def __init__(self, dynamo: Dynamo, *, records: str, archive: int | None = None) -> None:
        self._db = dynamo
        self._records = records
        self._archive = archive

    def open_jobs(self, slots: Iterable[str], *, after: str = "") -> Iterable[OpenJob]:
        """Walk the index of open jobs, oldest first within each slot; eventually consistent, so a hint."""
        further = " AND open_sk > :after" if after else ""
        beside = {":after": s(after)} if after else {}
        for slot in slots:
            for item in self._db.query(
                self._records,
                IndexName=INDEX_OPEN,
                KeyConditionExpression="open_pk = :pk" + further,
                ExpressionAttributeValues={":pk": s(slot), **beside},
            ):
                yield _entry(item)

    def open_at_once(self, slots: Iterable[str]) -> list[OpenJob] | None:
        """Return the open jobs of some slots by one read of the index, in no order; None if the index is too large.

        One read returns 1 MB, some thousand entries. The index also has entries of finished jobs.
        """
        page = self._db.call("scan", TableName=self._records, IndexName=INDEX_OPEN)
        wanted = set(slots)
        found = [_entry(item) for item in page["Items"] if item["open_pk"]["S"] in wanted]
        return None if "LastEvaluatedKey" in page else found

    def open_on(self, credential: str, *, running: bool) -> Iterable[OpenJob]:
        return self.open_jobs([indices.open_slot(credential, 0, running=running)])

    def unlisted(self, minute: int, part: str) -> Iterable[str]:
        for item in self._db.query(
            self._records,
            KeyConditionExpression="pk = :pk",
            FilterExpression="attribute_not_exists(open_pk) AND #state <> :logged",
            ProjectionExpression="sk",
            ExpressionAttributeNames={"#state": "state"},
            ExpressionAttributeValues={":pk": s(keys.minute_pk(minute, part)), ":logged": s(JobState.LOGGED.value)},
            ConsistentRead=True,
        ):
            yield keys.job_of(item)

    def enlist(self, job: str) -> None:
        self._db.attempt("update_item", **transitions.enlist_late(self._records, job))  # unless it has ended

    def doubts(self, now: int) -> Iterable[str]:
        for shard in _shards(now):
            for item in self._db.due(self._records, indices.doubt_slot(shard), now):
                yield item["open_sk"]["S"].partition("#")[2]

    def look_again(self, job: str, at: int | None) -> None:
        values: Item = {":doubt": s("doubt#")}
        change = REMOVED
        if at is not None:
            change, values[":at"] = ", open_sk = :at", s(keys.aged(at, job))
        elif self._archive is not None:
            change, values[":slot"] = ", open_pk = :slot", s(indices.archive_slot(shard_of(job)))
        self._move(job, change, "begins_with(open_pk, :doubt)", values)

    def notice_runs(self, now: int) -> Iterable[str]:
        for shard in _shards(now):
            for item in self._db.due(self._records, indices.notice_slot(shard), now):
                yield item["open_sk"]["S"].partition("#")[2]

    def mail_jobs(self, now: int) -> Iterable[str]:
        for shard in _shards(now):
            for item in self._db.due(self._records, indices.mail_slot(shard), now):
                yield item["open_sk"]["S"].partition("#")[2]

    def look_at_run_again(self, job: str, at: int | None) -> None:
        values: Item = {":notice": s("notice#"), ":mail": s("mail#")}
        change = REMOVED
        if at is not None:
            change, values[":at"] = ", open_sk = :at", s(keys.aged(at, job))
        elif self._archive is not None:
            change, values[":slot"] = ", open_pk = :slot", s(indices.archive_slot(shard_of(job)))
        self._move(job, change, "(begins_with(open_pk, :notice) OR begins_with(open_pk, :mail))", values)

    def unarchived(self, now: int, limit: int) -> Iterable[tuple[str, int]]:
        for shard in _shards(now):
            for item in islice(self._db.due(self._records, indices.archive_slot(shard), now, Limit=limit), limit):
                at, _, job = item["open_sk"]["S"].partition("#")
                yield job, int(at)

    def archive_again(self, job: str, at: int, later: int | None) -> None:
        values: Item = {":archive": s("archive#"), ":at": s(keys.aged(at, job))}
        change = REMOVED
        if later is not None:
            change, values[":later"] = ", open_sk = :later", s(keys.aged(later, job))
        self._move(job, change, "begins_with(open_pk, :archive) AND open_sk = :at", values)

    def _move(self, job: str, change: str, condition: str, values: Item) -> None:
        """Change a LOGGED job's place in the index `open`, if the place is as expected."""
        self._db.attempt(
            "update_item",
            TableName=self._records,
            Key=keys.job(job),
            UpdateExpression="SET version = version + :one" + change,
            ConditionExpression=f"#state = :logged AND attribute_not_exists(retry) AND {condition}",
            ExpressionAttributeNames={"#state": "state"},
            ExpressionAttributeValues={":one": n(1), ":logged": s(JobState.LOGGED.value), **values},
        )  # unless its owner or feedback has reopened it


def _shards(now: int) -> Iterable[int]:
    """Walk the shards, from another one each minute: walks that end early then do not leave out the same shards."""
    first = now // MINUTE_MS
    return ((first + i) % SHARDS for i in range(SHARDS))


def _entry(item: Item) -> OpenJob:
    slot = item["open_pk"]["S"]
    created_at, _, job_id = item["open_sk"]["S"].partition("#")
    return OpenJob(
        job=job_id,
        running="#RUN" in slot,
        not_before=codec.number(item, "not_before"),
        created_at=int(created_at),
        campaign=codec.text(item, "campaign"),
        credential=indices.slot_credential(slot),
    )
