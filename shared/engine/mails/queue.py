"""The eleven steps of a queue of mails over ledgers: each destination is a chunk of one, each step a compare-and-swap.

The name of a queued destination is its mail's job and its chunk. The lanes' senders take these steps by their own
leases (`shared.domain.jobs.queue`); this queue takes them one destination at a time, by one credential.
"""

import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import IO, BinaryIO, Final, cast
from uuid import uuid4

from shared.contracts import MAIL_CONTENTS
from shared.domain.content.content import Content, Finished, Mailbox
from shared.domain.ids import new_id
from shared.domain.jobs.job import MAIL
from shared.domain.jobs.ledger import Ledger, LedgerStatus
from shared.domain.jobs.outcomes import Entry, Kind
from shared.domain.jobs.passes import PassContext
from shared.domain.jobs.queue import LedgerQueue
from shared.domain.jobs.states import Cell
from shared.domain.mails.destination import is_pending, metadata_of, waits
from shared.domain.mails.mail import StoredMail, opened
from shared.domain.mails.queue import (
    InflightMail,
    MailSchedule,
    NewDestination,
    PendingCleanup,
    QueuedMail,
    ReadMail,
)
from shared.domain.times import Millis
from shared.engine.mails.ends import MailCompletion
from shared.engine.mails.queueing import MailQueuer, OutgoingMail
from shared.ports import Clock, MailFiles, Records, Retriable

LEASE_MS: Final = 600_000
"""A lease runs out so long after it began, if its worker has died."""
IN_MEMORY: Final = 1024 * 1024
"""Bytes of a content that are in memory; more are on disk."""


class LedgerMailQueue:
    """`ports.MailQueue` of one account, over its mails and the engine's ledgers.

    Args:
        route: the credential that sends them.
        ends: notes what has an end, and removes contents.
        open_jobs: names of the jobs that are open now.
    """

    def __init__(
        self,
        *,
        account: str,
        route: str,
        records: Records,
        ledgers: LedgerQueue,
        files: MailFiles,
        queuer: MailQueuer,
        ends: MailCompletion,
        open_jobs: Callable[[], Iterable[str]],
        clock: Clock,
    ) -> None:
        self._account = account
        self._route = (route,)
        self._records = records
        self._ledgers = ledgers
        self._files = files
        self._queuer = queuer
        self._ends = ends
        self._open_jobs = open_jobs
        self._clock = clock

    # Walks

    def list_queue(self) -> Iterable[QueuedMail]:
        found = [_queued(x) for x in self._all() if x.status is LedgerStatus.IDLE and waits(x)]
        return iter(sorted(found, key=lambda x: (x.schedule.at, x.mail, x.n)))

    def find_inflight(self) -> Iterable[InflightMail]:
        return (_inflight(x) for x in self._all() if x.having(Cell.CLAIMED))

    def find_pending_cleanup(self) -> Iterable[PendingCleanup]:
        return (PendingCleanup(x.job, x.chunk) for x in self._all() if is_pending(x))

    def _all(self) -> Iterator[Ledger]:
        names = dict.fromkeys([*self._open_jobs(), *self._records.mail_jobs(self._now())])
        for name in names:
            job = self._records.job(name)
            if job is not None and job.kind == MAIL and job.account == self._account:
                yield from self._ledgers.read_all(name)

    # Steps

    @contextmanager
    def enqueue(self) -> Iterator["_Draft"]:
        with tempfile.SpooledTemporaryFile(IN_MEMORY) as file:
            yield _Draft(file, self._commit)

    def _commit(self, sender: str, destinations: Sequence[NewDestination], data: bytes) -> Sequence[QueuedMail]:
        now = self._now()
        name = new_id(now)
        last = max(x.schedule.at for x in destinations)
        mail = opened(
            mail=name,
            account=self._account,
            test=False,
            mail_from=sender,
            addresses=[x.address for x in destinations],
            by="",
            now=max(now, last),
            until=0,
        )
        mail = replace(mail, created_at=now)
        self._files.put(f"{MAIL_CONTENTS}{name}", data)
        facts = self._files.facts(f"{MAIL_CONTENTS}{name}")
        if facts is None:
            raise Retriable("the content was not stored")
        finished = Finished(sender, f"{MAIL_CONTENTS}{name}", facts.etag, facts.size)
        content = Content(Mailbox(sender), "", finished=finished)
        asked = OutgoingMail(mail, content, destinations, self._route, new=True)
        stored = self._queuer.queue(asked, None)
        if not isinstance(stored, StoredMail):
            raise Retriable("the mail was not queued")
        return [QueuedMail(stored.job, n, replace(x.schedule, attempts=0)) for n, x in enumerate(destinations)]

    @contextmanager
    def read_inflight(self, mail: InflightMail) -> Iterator[ReadMail]:
        held = self._held(mail)
        content = self._records.content(mail.mail)
        chunk = self._records.chunk(mail.mail, mail.n)
        finished = content.finished if content is not None else None
        if held is None or finished is None or chunk is None:
            raise LookupError(f"destination {mail.n} of {mail.mail} is not in flight")
        one = chunk.recipients[0]
        with tempfile.SpooledTemporaryFile(IN_MEMORY) as file:
            for block in self._files.read(finished.name, etag=finished.etag, start=0):
                file.write(block)
            file.seek(0)
            yield ReadMail(finished.mail_from, one.address, metadata_of(one), finished.size, cast("BinaryIO", file))

    def reschedule(self, mail: QueuedMail, schedule: MailSchedule) -> QueuedMail | None:
        found = self._waiting(mail)
        if found is None:
            return None
        moved = self._ledgers.reschedule(
            mail.mail, mail.n, not_before=schedule.at, lane=found.lane, at=mail.schedule.at
        )
        done = moved is not None and waits(moved) and moved.not_before == schedule.at
        return _queued(moved) if moved is not None and done else None

    def send_start(self, mail: QueuedMail) -> InflightMail | None:
        found = self._waiting(mail)
        if found is None:
            return None
        now = self._now()
        held = self._ledgers.send_start(
            mail.mail, mail.n, lane=found.lane, owner=uuid4().hex, now=now, until=now + LEASE_MS
        )
        if not isinstance(held, Ledger):
            return None
        claimed = self._ledgers.claim(held, (), 1, route=self._route)
        return _inflight(claimed[0]) if claimed is not None and claimed[1] else None

    def send_done(self, mail: InflightMail) -> PendingCleanup | None:
        ended = self._release(mail, Kind.RELAYED, 0)
        return PendingCleanup(mail.mail, mail.n) if ended is not None else None

    def send_cancel(self, mail: InflightMail, schedule: MailSchedule) -> QueuedMail | None:
        ended = self._release(mail, Kind.NOT_SENT, schedule.at)
        return _queued(ended) if ended is not None and waits(ended) else None

    def _release(self, mail: InflightMail, kind: Kind, at: Millis) -> Ledger | None:
        held = self._held(mail)
        if held is None:
            return None
        now = self._now()
        passing = PassContext(self._route, now, delay=lambda _n: at - now)
        result = Entry(0, held.cells[0] >> 4, kind)
        if kind is Kind.RELAYED:
            return self._ledgers.send_done(held, [result], passing)
        return self._ledgers.send_cancel(held, [result], (), passing)

    def drop(self, mail: QueuedMail) -> PendingCleanup | None:
        if self._waiting(mail) is None:
            return None
        dropped = self._ledgers.drop(mail.mail, mail.n, [0], Cell.WITHDRAWN)
        done = dropped is not None and bool(dropped.having(Cell.WITHDRAWN))
        return PendingCleanup(mail.mail, mail.n) if done else None

    def cleanup(self, mail: PendingCleanup) -> bool:
        found = self._ledgers.read(mail.mail, mail.n)
        job = self._records.job(mail.mail)
        if found is None or job is None or not is_pending(found):
            return False
        self._ledgers.tell(mail.mail, mail.n, {0: found.cell(0)[0]})
        self._ends.finish(job, told=True)
        return True

    def _waiting(self, mail: QueuedMail) -> Ledger | None:
        """Return the ledger of a destination that waits as it was read."""
        found = self._ledgers.read(mail.mail, mail.n)
        idle = found is not None and found.status is LedgerStatus.IDLE and waits(found)
        return found if found is not None and idle and _queued(found) == mail else None

    def _held(self, mail: InflightMail) -> Ledger | None:
        """Return the ledger of a destination that is in flight as it was read."""
        found = self._ledgers.read(mail.mail, mail.n)
        return found if found is not None and found.having(Cell.CLAIMED) and _inflight(found) == mail else None

    def _now(self) -> Millis:
        return int(self._clock.now() * 1000)


class _Draft:
    """A mail that is not queued yet."""

    def __init__(
        self, file: IO[bytes], commit: Callable[[str, Sequence[NewDestination], bytes], Sequence[QueuedMail]]
    ) -> None:
        self._file = file
        self._commit = commit

    def write(self, block: bytes) -> None:
        self._file.write(block)

    def commit(self, sender: str, destinations: Sequence[NewDestination]) -> Sequence[QueuedMail]:
        self._file.seek(0)
        return self._commit(sender, destinations, self._file.read())


def _queued(x: Ledger) -> QueuedMail:
    return QueuedMail(x.job, x.chunk, MailSchedule(x.not_before, x.cells[0] >> 4))


def _inflight(x: Ledger) -> InflightMail:
    return InflightMail(x.job, x.chunk, MailSchedule(x.not_before, (x.cells[0] >> 4) - 1))
