"""Requests for exports, and their making: chunk by chunk into parts of a file, after each part a checkpoint.

One invocation at a time holds an export's lease, which each checkpoint renews; every write is a compare-and-swap. An
invocation that dies leaves a checkpoint from which the next one continues. A repeated request continues an export whose
invocation was lost. An invocation that lost its lease notices that at its next checkpoint. A part that it has put
meanwhile has another ETag than the one that counts, and then the file is made anew.
"""

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final

from shared.contracts import export as message
from shared.domain import exports as sheet
from shared.domain.content.personal import PERSONAL
from shared.domain.exports import AGAIN_MS, GIVEN_UP, Export, ExportState, guard
from shared.domain.ids import new_id
from shared.domain.jobs.chunks import Recipient
from shared.domain.jobs.job import Job
from shared.domain.jobs.labels import as_json
from shared.domain.jobs.outcomes import ERASED
from shared.domain.lanes.meanings import meaning_of
from shared.domain.times import DAY_MS, Millis, Seconds
from shared.engine.reports.message_log import LogLine, MessageLog
from shared.engine.work import LeasedWork, LeaseLost, OneByOne, WorkResult
from shared.ports import AccountTurns, Clock, Exports, FileChanged, Multipart, Queue, Records, Retriable, TurnKind

PART: Final = 8 * 1024 * 1024
"""Bytes of a part, at least; S3 takes none under 5 MB but the last, and 10,000 of them: 80 GB."""
LEASE_MS: Final = 120_000
"""Milliseconds without a checkpoint until another invocation may continue an export; a part takes some seconds."""
MARGIN_S: Final = 30.0
"""Seconds before its end in which an invocation begins no other chunk; a quarter of its time where that is less."""
KEPT_MS: Final = 8 * DAY_MS
UPLOAD_MS: Final = 20 * 3_600_000
"""Milliseconds for which parts are continued. The bucket removes unfinished parts after a day. If an older file has the
same name, it would then pass for the finished one."""
TRIES: Final = 5
"""Times that a request looks again because another was faster."""
_LOG: Final = logging.getLogger(__name__)


class ExportService:
    """Where exports are asked for."""

    def __init__(self, *, exports: Exports, queue: Queue, clock: Clock) -> None:
        self._exports = exports
        self._queue = queue
        self._clock = clock

    def ask(self, export: str, account: str, jobs: Sequence[Job]) -> Export:
        """Return the export of jobs: one that is there and still right, or one that is being made.

        Concurrency: of two requests at once one begins it.

        Args:
            export: id of the campaign or job.
            jobs: in the order of the rows, at least one.

        Raises:
            Retriable: nothing may have been begun; ask again.
        """
        wanted = [(job.id, job.version) for job in jobs]
        for _ in range(TRIES):
            now = int(self._clock.now() * 1000)
            found = self._exports.get(export)
            if found is None:
                new = begin(export, account, jobs, now, 1)
            elif _holds(found, wanted, now):
                return found
            elif found.state is ExportState.PREPARING:
                new = found.changed(owner="", until=now + LEASE_MS)  # its worker is lost
            else:
                new = begin(export, account, jobs, now, found.version + 1)
            if self._exports.save(found, new):
                self._queue.send([message(export)], group=account)
                return new
        raise Retriable("exports: busy")


def begin(export: str, account: str, jobs: Sequence[Job], now: Millis, version: int, *, file: str = "") -> Export:
    """Return an export that is to be made.

    Args:
        jobs: the jobs to export, as read.
        version: the version of the export's item.
        file: the file's name; empty for one of the run's own.
    """
    return Export(
        id=export,
        account=account,
        run=new_id(now),
        jobs=tuple(job.id for job in jobs),
        versions=tuple(job.version for job in jobs),
        begun_at=now,
        chunks=sum(job.chunks for job in jobs),
        ttl=(now + KEPT_MS) // 1000,
        until=now + LEASE_MS,
        file=file,
        later=True,
        last=True,
        numbered=True,
        version=version,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Exporter:
    """Makes exports.

    Attributes:
        queue: the export function's own.
        part: bytes of a part, at least.
        turns: of accounts; None: exports of one account are made side by side.
    """

    exports: Exports
    multipart: Multipart
    records: Records
    logs: MessageLog
    queue: Queue
    clock: Clock
    part: int = PART
    turns: AccountTurns | None = None

    def work(self, export: str, *, owner: str, deadline: Seconds) -> WorkResult:
        """Make an export to its end or nearly until `deadline` (Unix seconds); then another invocation continues.

        Concurrency: one lease at a time; a second invocation returns at once. Of an account one export is made at a
        time. Archives wait for no turn: the deployment asks for them, and not their account.

        Args:
            export: id of its campaign or job.
            owner: of this invocation, unique.
            deadline: when the invocation ends.

        Raises:
            Exception: any fault; a repeated request continues the export later, more seldom each time.
        """
        found = self.exports.get(export)
        if found is None:
            return WorkResult.NOTHING
        line = self._line(found)
        if found.state is not ExportState.PREPARING:
            if line is not None:
                line.end(found.account, export)
            return WorkResult.NOTHING
        if self._leased(found):
            return WorkResult.HELD
        if line is None:
            return self._make(found, owner, deadline)
        did = line.run(found.account, export, lambda: self._make(found, owner, deadline))
        if did is WorkResult.WAITING:
            until = int(self.clock.now() * 1000) + LEASE_MS
            self.exports.save(found, found.changed(waits=True, until=until))  # if it has changed, it waits no longer
        return did

    def _make(self, found: Export, owner: str, deadline: Seconds) -> WorkResult:
        return _Making(self, found, deadline).run(owner, waits=False)

    def _leased(self, found: Export) -> bool:
        return bool(found.owner) and found.until > self.clock.now() * 1000

    def _line(self, found: Export) -> OneByOne | None:
        """Return what has an account's exports made one after the other; None for an archive."""
        if self.turns is None or found.file:
            return None
        return OneByOne(self.turns, TurnKind.EXPORTS, self._call, self._under_way)

    def _call(self, account: str, name: str) -> None:
        self.queue.send([message(name)], group=account)

    def _under_way(self, name: str) -> bool:
        found = self.exports.get(name)
        return found is not None and found.state is ExportState.PREPARING and self._leased(found)


class _Gone(Exception):
    """A chunk is no longer kept."""


class _Making(LeasedWork[Export]):
    """One invocation's work on one export."""

    def __init__(self, parts: Exporter, found: Export, deadline: Seconds) -> None:
        super().__init__(found, parts.exports.save, parts.clock, deadline=deadline, last=MARGIN_S)
        self._parts = parts

    def until(self) -> Millis:
        return self._now() + LEASE_MS

    def rest(self, until: Millis) -> None:
        self.save(until=until)  # it keeps its owner: without one, it is free at once

    def give_up(self) -> WorkResult:
        _LOG.warning("export given up", extra={"export": self.held.id})
        return self._end(ExportState.FAILED, GIVEN_UP)

    def work(self) -> WorkResult:
        held = self.held
        if held.upload and self._now() - held.begun_at > UPLOAD_MS:
            return self._anew()
        try:
            return self._make()
        except FileChanged:
            _LOG.warning("export made anew", extra={"export": held.id})
            return self._anew()
        except _Gone:
            return self._end(ExportState.FAILED)

    def _make(self) -> WorkResult:
        if not self.held.upload:
            columns = self._columns()
            self.save(columns=columns, upload=self._parts.multipart.begin(self.held.blob))
        if not self._write_parts():
            return self._hand_over()
        held = self.held
        self._parts.multipart.complete(held.blob, held.upload, held.parts)
        return self._end(ExportState.READY)

    def _anew(self) -> WorkResult:
        """Have the file made from its beginning, under another name."""
        now = self._now()
        self.save(run=new_id(now), begun_at=now, job=0, chunk=0, done=0, rows=0, columns=(), upload="", parts=())
        return self._hand_over()

    def _write_parts(self) -> bool:
        """Write part after part; False if the time was over before the last."""
        held = self.held
        buffer = (
            [] if held.parts else [sheet.header(held.columns, later=held.later, last=held.last, numbered=held.numbered)]
        )
        size = sum(map(len, buffer))
        place = {"job": held.job, "chunk": held.chunk, "done": held.done, "rows": held.rows}
        for index, number, data, count in self._chunks():
            buffer.append(data)
            size += len(data)
            place = {"job": index, "chunk": number + 1, "done": place["done"] + 1, "rows": place["rows"] + count}
            if size >= self._parts.part:
                self._put(b"".join(buffer), **place)
                buffer, size = [], 0
            if self._parts.clock.now() > self.stop:
                return False
        if buffer:
            self._put(b"".join(buffer), **place)
        return True

    def _put(self, data: bytes, **place: int) -> None:
        """Store a part, then the checkpoint behind it."""
        held = self.held
        if held.until <= self._now():
            raise LeaseLost
        etag = self._parts.multipart.put(held.blob, held.upload, len(held.parts) + 1, data)
        self.checkpoint(parts=(*held.parts, etag), **place)

    def _chunks(self) -> Iterator[tuple[int, int, bytes, int]]:
        """Yield what is left: index of the job, number of the chunk, its rows, and how many these are."""
        start = self.held.chunk
        for index in range(self.held.job, len(self.held.jobs)):
            job = self._job(index)
            for number in range(start, job.chunks):
                lines = self._parts.logs.whole(job, number)
                if lines is None:
                    raise _Gone
                yield index, number, sheet.rows(self._row(job.id, *x) for x in lines), len(lines)
            start = 0

    def _row(self, job: str, recipient: Recipient, line: LogLine) -> list[str | int]:
        """Return the row of a message.

        Args:
            recipient: with the list's own values.
        """
        held = self.held
        own = [guard(recipient.values.get(c, "")) for c in held.columns]
        behind: list[str | int] = [*(_later(line) if held.later else ()), *(_last(line) if held.last else ())]
        behind += [line.row or ""] if held.numbered else []
        return [*_cells(job, line), *own, *behind]

    def _job(self, index: int) -> Job:
        job = self._parts.records.job(self.held.jobs[index])
        if job is None:
            raise _Gone
        return job

    def _columns(self) -> tuple[str, ...]:
        """Return the columns of all lists, each once."""
        return tuple(dict.fromkeys(column for name in self.held.jobs for column in self._of_list(name)))

    def _of_list(self, name: str) -> Iterable[str]:
        """Return the columns of one list: each of its recipients has all of them, except erased ones."""
        number = 0
        while (chunk := self._parts.records.chunk(name, number)) is not None:
            known = next((r.values for r in chunk.recipients if r.skip != ERASED), None)
            if known is not None:
                return [name for name in known if name != PERSONAL]
            number += 1
        if not number:
            raise _Gone
        return ()

    def _hand_over(self) -> WorkResult:
        self.save(owner="")
        self._parts.queue.send([message(self.held.id)], group=self.held.account)
        return WorkResult.HANDED_OVER

    def _end(self, state: ExportState, code: str = "") -> WorkResult:
        self.save(state=state, code=code, finished_at=self._now(), owner="", until=0)
        return WorkResult(state.value)

    def _now(self) -> int:
        return int(self._parts.clock.now() * 1000)


def _later(line: LogLine) -> list[str]:
    times = [_time(x) if x else "" for x in (line.sent_at_ms, line.delivered_at_ms)]
    return [*times, guard(line.error_detail)]


def _last(line: LogLine) -> list[str]:
    """Return the code in words, and what a message's owner calls it; tags and metadata as JSON."""
    labels = line.labels
    tags = as_json(labels.tags) if labels.tags else ""
    own = [guard(labels.reference), guard(tags), guard(as_json(dict(labels.metadata))) if labels.metadata else ""]
    return [meaning_of(line.error or ""), *own]


def _cells(job: str, line: LogLine) -> list[str | int]:
    identity = next((a.provider_message_id for a in reversed(line.attempts) if a.provider_message_id), "")
    return [
        job,
        line.message,
        guard(line.recipient),
        line.state.value,
        line.status.value,
        guard(line.error or ""),
        len(line.attempts),
        ";".join(provider for provider, tried in line.providers.items() if tried),
        guard(identity),
        _time(line.updated_at_ms),
    ]


@lru_cache(maxsize=64)
def _time(ms: int) -> str:
    """Return a time of Unix milliseconds as RFC 3339, UTC; those of one window are the same."""
    return datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _holds(found: Export, wanted: Sequence[tuple[str, int]], now: Millis) -> bool:
    """Tell whether an export is usable, being made, or has failed and would fail again. `wanted`: jobs and versions."""
    if found.state is ExportState.FAILED:
        return now - found.finished_at <= AGAIN_MS if found.code else found.of(wanted)
    return found.usable(wanted, now) or (found.state is ExportState.PREPARING and found.until > now)
