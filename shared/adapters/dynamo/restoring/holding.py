"""Held jobs after a restore: their figures, the messages that may have been sent, and the release."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from shared.adapters.dynamo import codec, keys
from shared.adapters.dynamo.client import Dynamo, Item
from shared.adapters.dynamo.codec import n, s
from shared.adapters.dynamo.jobs import ledger_writes
from shared.adapters.dynamo.jobs.ledger_writes import JobTables
from shared.adapters.dynamo.jobs.ledgers import DynamoLedgers
from shared.adapters.dynamo.jobs.records import DynamoRecords
from shared.adapters.dynamo.restoring.items import counts_of
from shared.domain.audit import Act, audited
from shared.domain.ids import is_small
from shared.domain.jobs import ledger as rules
from shared.domain.jobs.chunks import Chunk
from shared.domain.jobs.job import Job, StopReason, first_credential
from shared.domain.jobs.ledger import Ledger
from shared.domain.jobs.states import ACTIVE, OPEN, Cell, Change, JobState
from shared.domain.restoring import past as restoring
from shared.domain.times import Millis
from shared.frozen import dataclass
from shared.ports import Retriable

TRIES: Final = 10
"""Writes of a job or a ledger that others write at the same time."""
_JOBS: Final[Item] = {
    "FilterExpression": "sk = :job AND attribute_exists(#state)",
    "ExpressionAttributeNames": {"#state": "state"},
    "ExpressionAttributeValues": {":job": s(keys.JOB)},
}
_LEDGERS: Final[Item] = {
    "FilterExpression": "begins_with(sk, :ledger) AND begins_with(pk, :job)",
    "ProjectionExpression": "pk, sk, cells, epoch, #ingest",
    "ExpressionAttributeNames": {"#ingest": "ingest"},
    "ExpressionAttributeValues": {":ledger": s(keys.LEDGER_PREFIX), ":job": s(keys.job_pk(""))},
}
_TAKEN: Final = (Cell.SENT, Cell.RELAYED, Cell.DELIVERED, Cell.BOUNCED, Cell.SENT_CLOSED)
_DOUBTS: Final = (Cell.UNKNOWN, Cell.UNKNOWN_CLOSED)


@dataclass(frozen=True, slots=True)
class HeldJob:
    """A job that waits for its release, with its messages.

    Attributes:
        waiting: certainly not sent: its release sends them.
        sent: taken by a provider.
        doubtful: may have been sent since the moment of the copy; nothing sends them again by itself.
        rest: failed or skipped.
    """

    job: Job
    waiting: int
    sent: int
    doubtful: int
    rest: int


@dataclass(frozen=True, slots=True)
class Settled:
    """The figures of what a restore settles: jobs that it holds, and ledgers that it makes again."""

    held: int = 0
    rebuilt: int = 0


class Holding:
    """Settles, shows and releases jobs that a restore has brought back."""

    def __init__(self, dynamo: Dynamo, tables: JobTables, records: DynamoRecords, *, now: Millis) -> None:
        self._db = dynamo
        self._tables = tables
        self._records = records
        self._ledgers = DynamoLedgers(dynamo, tables)
        self._now = now

    def settle(self, *, living: bool) -> Settled:
        """Make ledgers again that are in no copy, and each job's figures those of its ledgers.

        Args:
            living: the table of jobs was not lost; each of them that is under way is stopped, to be released.
        """
        found = Settled()
        for job in self._jobs():
            if is_small(job.id):
                continue
            ledgers = self._ledgers.read_all(job.id)
            rebuilt = self._rebuilt(job, ledgers) if living else []
            ledgers = [*ledgers, *rebuilt]
            if ledgers:
                self._count(job, ledgers)
            held = self._hold(job, living=living, waits=any(x.unfinished for x in ledgers))
            found = Settled(found.held + held, found.rebuilt + len(rebuilt))
        return found

    def _jobs(self) -> Iterator[Job]:
        for item in self._scan(self._tables.records, _JOBS):
            yield codec.job(item)

    def _scan(self, table: str, request: Item) -> Iterator[Item]:
        start: Item = {}
        while True:
            page = self._db.call("scan", TableName=table, ConsistentRead=True, **request, **start)
            yield from page["Items"]
            if "LastEvaluatedKey" not in page:
                return
            start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}

    def _rebuilt(self, job: Job, ledgers: Sequence[Ledger]) -> list[Ledger]:
        """Store the ledgers that a job lacks, made of its chunks and of what its details show; return them."""
        known = {x.chunk for x in ledgers}
        made = []
        for number in range(job.chunks):
            chunk = self._records.chunk(job.id, number) if number not in known else None
            if chunk is None:
                continue
            new = made_again(job, chunk)
            if not restoring.never_began(job):
                new = restoring.doubted(new, *self._records.details(job.id, number))
            new = replace(new, folded=rules.figures(new), dirty=True)
            put = {"TableName": self._tables.ops, "Item": codec.ledger_item(new)}
            self._db.attempt("put_item", **put, ConditionExpression="attribute_not_exists(pk)")
            made.append(new)
        return made

    def _count(self, job: Job, ledgers: Sequence[Ledger]) -> None:
        """Make a job's figures the sums of what its ledgers have added to them."""
        current: Job | None = job
        for _ in range(TRIES):
            if current is None:
                return
            wanted = counts_of(ledgers, current)
            stored = codec.job_item(current)
            if all(stored[name] == value for name, value in wanted.items()):
                return
            if self._change(current, wanted):
                return
            current = self._records.job(job.id)
            ledgers = self._ledgers.read_all(job.id)
        raise Retriable("a job is written all the time: is everything paused?")

    def _hold(self, job: Job, *, living: bool, waits: bool) -> bool:
        """Stop a living job that is under way; note it of one that has ended, and whose ledgers do not know.

        A job ends early when it has no ledgers, and a copy may be of before its last retry. Returns whether that holds
        it.
        """
        if job.owned:
            return False
        if living and job.state in (JobState.READY, *ACTIVE):
            return self._records.change(job, Change.STOP, self._now, reason=StopReason.RESTORED).won
        if not waits or job.stopped or job.state is not JobState.LOGGED:
            return False
        marks = {"stopped": {"BOOL": True}, "stopped_at": n(self._now), "stop_reason": s(StopReason.RESTORED)}
        return self._change(self._records.job(job.id) or job, marks)

    def _change(self, job: Job, changes: Item) -> bool:
        """Set attributes of a job, if it is as it was read."""
        later = {**changes, "version": n(job.version + 1)}
        update = codec.guarded(self._tables.records, keys.job(job.id), later, [], "version", job.version)
        return self._db.attempt("update_item", **update)

    def held(self) -> Iterator[HeldJob]:
        """Walk the jobs that wait for their release, and those that were released and hold doubts."""
        request = {
            **_JOBS,
            "FilterExpression": f"{_JOBS['FilterExpression']} AND stop_reason = :restored",
            "ExpressionAttributeValues": {**_JOBS["ExpressionAttributeValues"], ":restored": s(StopReason.RESTORED)},
        }
        for item in self._scan(self._tables.records, request):
            yield self.look(codec.job(item))

    def find(self, job: str) -> HeldJob | None:
        """Return a job that a restore has held; None if there is none."""
        found = self._records.job(job)
        return self.look(found) if found is not None and found.stop_reason == StopReason.RESTORED else None

    def look(self, job: Job) -> HeldJob:
        """Count a job's messages."""
        cells = [x for ledger in self._ledgers.read_all(job.id) for x in ledger.cells]
        amounts = [Cell(x & 15) for x in cells]
        waiting = sum(x in OPEN for x in amounts)
        sent, doubtful = sum(x in _TAKEN for x in amounts), sum(x in _DOUBTS for x in amounts)
        return HeldJob(job, waiting, sent, doubtful, len(amounts) - waiting - sent - doubtful)

    def lost(self) -> dict[str, int]:
        """Return the messages of each job of which only ledgers are left: it was accepted after the moment of the copy.

        A list that was read and not sent has no job, either.
        """
        messages: dict[str, int] = {}
        for item in self._scan(self._tables.ops, _LEDGERS):
            begun = "ingest" not in item or codec.number(item, "epoch") > 0
            if begun:
                job = item["pk"]["S"].removeprefix(keys.job_pk(""))
                messages[job] = messages.get(job, 0) + len(codec.binary(item, "cells"))
        wanted = list(messages)
        known = {x["job"]["S"] for x in self._db.batch_get(self._tables.records, [keys.job(x) for x in wanted])}
        return {job: number for job, number in messages.items() if job not in known}

    def release(self, held: HeldJob, by: str) -> bool:
        """Let a job's waiting messages be sent once nothing is paused; False if it is not at rest, or nothing waits.

        Args:
            by: the operator, for the audit log.
        """
        job = held.job
        if not held.waiting or job.state is not JobState.LOGGED:
            return False
        campaign = {"campaign": job.campaign} if job.campaign else {}
        event = audited(job.namespace, self._now, job.id, Act.JOB_RESUMED, by, campaign)
        return self._records.change(job, Change.RESUME, self._now, event=event).won

    def discard(self, held: HeldJob) -> int:
        """End a job's waiting messages as of unknown fate; return how many. Nothing sends them again by itself."""
        return sum(self._discard(x) for x in self._ledgers.read_all(held.job.id))

    def _discard(self, ledger: Ledger) -> int:
        current: Ledger | None = ledger
        for _ in range(TRIES):
            if current is None or not current.unfinished:
                return 0
            new = restoring.doubted(current)
            if self._db.attempt("update_item", **ledger_writes.replaced(self._tables, current, new)):
                return len(current.having(*OPEN))
            current = self._ledgers.read(ledger.job, ledger.chunk)
        raise Retriable("a ledger is written all the time: is everything paused?")


def made_again(job: Job, chunk: Chunk) -> Ledger:
    """Return the ledger that a chunk had at its acceptance."""
    made = rules.create(
        job=job.id,
        chunk=chunk.number,
        skipped=[i for i, x in enumerate(chunk.recipients) if x.skip],
        size=len(chunk.recipients),
        lane=first_credential(job.id, chunk.number, job.route),
        route=job.route,
        limit=job.policy.max_attempts,
        ttl=job.ttl,
    )
    if not job.owned:
        return made
    limits = [x.not_after for x in chunk.recipients if x.not_after]
    return replace(made, told=bytes(len(made.cells)), not_after=min(limits, default=0))
