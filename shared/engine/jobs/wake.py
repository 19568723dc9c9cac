"""Waking what a pause has kept: pointers that came meanwhile were acknowledged, so new ones are sent when it ends.

One message begins it. The function that receives it walks the index of open jobs for some seconds, a page at a time.
It sends the rest of the walk as the next message. Source: docs/protocol.md, "Kill switches"; docs/adr/0075.
"""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from shared.contracts import ResumeTask, pointer
from shared.domain.jobs.job import Job
from shared.domain.jobs.ledger import Ledger, LedgerStatus
from shared.domain.jobs.queue import LedgerQueue
from shared.domain.jobs.states import ACTIVE
from shared.domain.lanes.switches import Switch
from shared.domain.namespaces import owner
from shared.domain.times import Seconds
from shared.engine.jobs.ledgers import only_ledgers
from shared.engine.jobs.plan import Planner
from shared.engine.pool import Pool
from shared.ports import Clock, Lanes, OpenJob, Queue, Records

SECONDS: Final = 20.0
"""How long one message's part of the way takes, and a page."""
PAGE: Final = 100
"""Jobs read at once: what one call of DynamoDB returns."""
LEDGERS: Final = 1_000
"""Ledgers of a large job read at once."""
TEN: Final = 10
"""Pointers that one call of SQS takes."""
WIDTH: Final = 8
"""Such calls side by side."""
LINKS: Final = 14
"""Messages of one way. AWS ends a chain of invocations after 16; at 27,000 jobs a message or more, that is far."""
SLACK_MS: Final = 60_000
"""Jobs made this much later than the resume need no waking: despite clock skew, their pointers met no pause."""
_LOG: Final = logging.getLogger(__name__)


class PauseResumer:
    """Sends the pointers of what waits, within seconds of a resume; the sweeper does what is left.

    Waking twice, or what no switch held back, only duplicates pointers.

    Args:
        slots: returns the partitions of the index `open` in which jobs wait for a credential; all for an empty name.
        queue: brings each part of the way.
    """

    def __init__(
        self,
        *,
        records: Records,
        ledgers: LedgerQueue,
        lanes: Lanes,
        planner: Planner,
        clock: Clock,
        slots: Callable[[str], Iterable[str]],
        queue: Queue,
        pool: Callable[[int], Pool],
    ) -> None:
        self._records = records
        self._ledgers = ledgers
        self._lanes = lanes
        self._planner = planner
        self._clock = clock
        self._slots = slots
        self._queue = queue
        self._pool = pool

    def begin(self, switch: Switch) -> None:
        """Have all woken that a switch held back."""
        way = ResumeTask(credential=switch.credential, account=switch.account, at=self._now())
        self._queue.send([way.dumps()])

    def go_on(self, way: ResumeTask, *, until: Seconds) -> int:
        """Send a pointer for each chunk that is due and was held back, page by page until a time (Unix seconds).

        The rest of the walk is another message, also after a fault, unless the fault is in the first page. So a fault
        repeats only its own page. A page that always fails ends among the dead letters.

        Returns:
            How many pointers were sent.
        """
        sent, place = 0, way
        try:
            for step, pointers in self._steps(way):
                place = step
                sent += pointers
                if self._clock.now() > until:
                    break
            else:
                return sent
        except Exception:  # any fault: raised again, or logged and left to the next message
            if place == way:
                raise
            _LOG.exception("page not woken", extra={"slot": place.slot, "after": place.after})
        if way.link < LINKS:
            self._queue.send([replace(place, link=way.link + 1).dumps()])
        else:
            _LOG.warning("not all woken: the sweeper does the rest", extra={"slot": place.slot, "after": place.after})
        return sent

    # The way

    def _steps(self, way: ResumeTask) -> Iterator[tuple[ResumeTask, int]]:
        """Go through the slots; yields after each step how far it came, and how many pointers it sent."""
        slots = sorted(self._slots(way.credential), reverse=True)  # running jobs before READY ones, which then run
        for slot in (x for x in slots if not way.slot or x <= way.slot):
            place = way if slot == way.slot else replace(way, slot=slot, after="", job="", chunk=0)
            for page in self._pages(place):
                if page[0].running:
                    yield from self._running(place, page)
                    continue
                entry = page[0]
                started = self._planner.start(entry)
                place = replace(place, after=entry.key)
                yield place, sum(job.chunks for job in started)
                if entry.credential:
                    break  # it stands for all of its slot

    def _pages(self, place: ResumeTask) -> Iterator[Sequence[OpenJob]]:
        """Yield what of a slot may have been held back: what runs by the hundred, what is READY and due one by one."""
        page: list[OpenJob] = []
        now = self._now()
        for entry in self._records.open_jobs([place.slot], after=place.after):
            if entry.created_at > place.at + SLACK_MS:
                break
            if entry.running:
                page.append(entry)
                if len(page) == PAGE:
                    yield page
                    page = []
            elif not place.credential and entry.not_before <= now:
                yield [entry]
        if page:
            yield page

    def _wakeable(self, place: ResumeTask, page: Sequence[OpenJob]) -> dict[str, Job]:
        """Return the jobs of a page that are under way and that the switch held back."""
        found = self._records.read_jobs([entry.job for entry in page])
        return {x.id: x for x in found.values() if x.state in ACTIVE and _held(x, place)}

    def _running(self, place: ResumeTask, page: Sequence[OpenJob]) -> Iterator[tuple[ResumeTask, int]]:
        """Send the pointers of a page of jobs under way; a job of many chunks is a step for each thousand of them."""
        jobs = self._wakeable(place, page)
        only = only_ledgers(self._ledgers, jobs.values())
        waiting: list[tuple[Job, Ledger]] = []
        for entry in page:
            job = jobs.get(entry.job)
            if job is not None and job.chunks > 1:
                for ledgers in self._parts(job, place.chunk if place.job == job.id else 0):
                    sent = self._send(place, [*waiting, *((job, x) for x in ledgers)])
                    waiting = []
                    place = replace(place, job=job.id, chunk=ledgers[-1].chunk + 1)
                    yield place, sent
            elif entry.job in only and job is not None:
                waiting.append((job, only[entry.job]))
            place = replace(place, after=entry.key, job="", chunk=0)
        yield place, self._send(place, waiting)

    def _parts(self, job: Job, chunk: int) -> Iterator[Sequence[Ledger]]:
        while chunk < job.chunks:
            some = self._ledgers.read_some(job.id, chunk, LEDGERS)
            if not some:
                return
            yield some
            chunk = some[-1].chunk + 1

    def _send(self, place: ResumeTask, waiting: Iterable[tuple[Job, Ledger]]) -> int:
        """Send the pointers of chunks that are due, in tens of one account; one that is not has a pointer under way."""
        now = self._now()
        bodies: dict[tuple[str, str, bool], list[str]] = {}
        for job, x in waiting:
            due = x.status is LedgerStatus.IDLE and x.not_before <= now
            if due and place.credential in ("", x.lane):
                bodies.setdefault((x.lane, job.account, job.express), []).append(pointer(job.id, x.chunk))
        self._send_all(bodies)
        return sum(map(len, bodies.values()))

    def _send_all(self, bodies: Mapping[tuple[str, str, bool], Sequence[str]]) -> None:
        def send(way: tuple[str, str, bool], ten: Sequence[str]) -> None:
            lane, account, express = way
            self._lanes[lane].send(ten, group=account, express=express)

        calls = [(way, ten) for way, some in bodies.items() for ten in _tens(some)]
        if calls:
            with self._pool(WIDTH) as pool:
                for pending in [pool.submit(send, *call) for call in calls]:
                    pending.result()

    def _now(self) -> int:
        return int(self._clock.now() * 1000)


def _tens(bodies: Sequence[str]) -> Iterator[Sequence[str]]:
    return (bodies[i : i + TEN] for i in range(0, len(bodies), TEN))


def _held(job: Job, way: ResumeTask) -> bool:
    """Tell whether a job may have been held back by what was resumed."""
    return way.account in ("", owner(job.account)) and (not way.credential or way.credential in job.route)
