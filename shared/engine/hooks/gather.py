"""Makes deliveries of changed messages: what a ledger has now, less what was handed on before.

Everything may be done again, by any number of processes: the same change has the same id.
"""

from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from math import inf
from typing import Final, Protocol, TypeVar

from shared.domain.hooks import announced as rules
from shared.domain.hooks.announced import AnnouncedStates, CellChange
from shared.domain.hooks.endpoint import Endpoint
from shared.domain.hooks.kinds import MESSAGE_KINDS, HookKind, HookPace, message_event_id
from shared.domain.jobs.details import Detail, FeedbackDetail
from shared.domain.jobs.job import Job
from shared.domain.jobs.ledger import Ledger
from shared.domain.jobs.queue import LedgerQueue
from shared.domain.jobs.states import Cell
from shared.domain.times import Millis, Seconds
from shared.engine.hooks.outbox import CellEvent, HookOutbox
from shared.engine.pool import Pool
from shared.engine.reports.attempts import Attempt, attempts_of, error_of, skipped_early
from shared.frozen import dataclass
from shared.ports import Announcements, Clock, Retriable

KNOWN_JOBS: Final = 256
SLICE: Final = {HookPace.NOW: 4_000, HookPace.LATER: 20_000}
"""Messages, for each endpoint, whose changes are handed on, and noted, before the next ones. They make up to so many
deliveries of single events, or a hundredth of batches. A chunk is never divided."""
MOST: Final = 100
"""Chunks that one slice has at most."""
SIDE_BY_SIDE: Final = 8
"""Calls of stores at a time."""

AT_WORK_MS: Final[Millis] = 3_000
"""So long it is left to the process that began it to hand on what it has begun."""
PAUSE: Final[Seconds] = 0.1
PATIENCE: Final[Seconds] = 10.0
"""Seconds for which chunks whose changes others hand on are checked again."""

Place = tuple[str, int]
"""A chunk: job and number."""
Events = dict[HookKind, list[CellEvent]]
T = TypeVar("T")
R = TypeVar("R")


class Chunks(Protocol):
    """The gatherer's reads of jobs: `ports.Records` has them."""

    def read_jobs(self, names: Collection[str]) -> dict[str, Job]:
        """Return those of the jobs that there are."""

    def details(self, job: str, chunk: int) -> tuple[list[Detail], list[FeedbackDetail]]:
        """Return all details of a chunk."""


@dataclass(frozen=True, slots=True)
class Gathered:
    """The result of hints.

    Attributes:
        events: changes that were handed on.
        deliveries: what was stored of them.
        left: chunks for which there was no time.
    """

    events: int = 0
    deliveries: int = 0
    left: tuple[Place, ...] = ()


class Gatherer:
    """Hands changes of messages on to endpoints.

    Args:
        pool: makes the threads in which stores are called side by side.
    """

    def __init__(
        self,
        *,
        records: Chunks,
        ledgers: LedgerQueue,
        told: Announcements,
        outbox: HookOutbox,
        clock: Clock,
        pool: Callable[[int], Pool] = ThreadPoolExecutor,
    ) -> None:
        self._records = records
        self._ledgers = ledgers
        self._told = told
        self._outbox = outbox
        self._clock = clock
        self._pool = pool
        self._known: OrderedDict[str, Job] = OrderedDict()

    def gather(self, namespace: str, places: Iterable[Place], pace: HookPace, *, until: Seconds = inf) -> Gathered:
        """Hand on what has changed of chunks.

        Args:
            namespace: whose jobs they are; others' are left out.
            places: the chunks, as (job, number).
            until: Unix seconds after which no further chunks are begun.

        Raises:
            Retriable: a store fails. Nothing is lost: the hint is to be repeated.
        """
        endpoints = self._outbox.at_pace(namespace, pace)
        wanted = list(dict.fromkeys(places)) if endpoints else []
        jobs = self._jobs(namespace, {name for name, _ in wanted})
        mine = [place for place in wanted if place[0] in jobs]
        events = deliveries = 0
        done = 0
        for some in _slices(jobs, mine, SLICE[pace] // max(1, len(endpoints))):
            if self._clock.now() > until:
                return Gathered(events, deliveries, tuple(mine[done:]))
            found, stored = self._slice(endpoints, jobs, some, pace)
            events, deliveries, done = events + found, deliveries + stored, done + len(some)
        return Gathered(events, deliveries)

    def _slice(
        self, endpoints: Sequence[Endpoint], jobs: Mapping[str, Job], places: Sequence[Place], pace: HookPace
    ) -> tuple[int, int]:
        """Hand on the changes of some chunks, and note that; return how many events and deliveries that were.

        Raises:
            Retriable: others hand on these chunks' changes all the time.
        """
        events = deliveries = 0
        until = self._clock.now() + PATIENCE
        kinds = _kinds(endpoints)
        while places:
            begun, places = self._begin(jobs, places, kinds, pace)
            claims = {(x.job, x.chunk): claim for x, claim in begun}
            found, stored = self._hand_on(endpoints, jobs, [x for x, _ in begun], claims)
            events, deliveries = events + found, deliveries + stored
            self._each(lambda x: self._told.finish(x, pace), list(claims.values()))
            if places and not begun:
                if self._clock.now() > until:
                    raise Retriable("changes of messages: others hand them on")
                self._clock.sleep(PAUSE)
        return events, deliveries

    def _begin(
        self, jobs: Mapping[str, Job], places: Sequence[Place], kinds: frozenset[HookKind], pace: HookPace
    ) -> tuple[list[tuple[Ledger, AnnouncedStates]], list[Place]]:
        """Note what is handed on of chunks; return their ledgers as of then, with that, and the chunks left for later.

        Changes that another process began a moment ago are left to it. If it takes long, it may have died: its changes
        are handed on here, exactly as it began them. Later changes follow.

        Args:
            kinds: wanted by an endpoint at least.
        """
        told = self._told.read(places, pace)  # before the ledgers: what another hands on since then is older
        now = self._now()
        begun: list[tuple[Ledger, AnnouncedStates]] = []
        later: list[Place] = []
        read = ((told.get((x.job, x.chunk)) or _nothing(x), x) for x in self._ledgers.read_these(places))
        new = [(was, x) for was, x in read if _is_new(jobs[x.job], was, x, kinds)]
        for (_, x), claim in zip(new, self._each(lambda pair: self._claim(*pair, now, pace), new), strict=True):
            if claim is not None:
                begun.append((replace(x, cells=claim.begun), claim))
            if claim is None or claim.begun != x.cells:
                later.append((x.job, x.chunk))
        return begun, later

    def _claim(self, was: AnnouncedStates, ledger: Ledger, now: Millis, pace: HookPace) -> AnnouncedStates | None:
        """Return what is to be handed on of a chunk; None: it is left to another for now, or something else was noted.

        Args:
            was: what was handed on, as read.
        """
        if _is_at_work(was, now):
            return None
        claim = self._told.begin(was, ledger.cells, now, pace)
        if claim is None or (claim.begun_at != now and _is_at_work(claim, now)):
            return None
        return claim

    def _hand_on(
        self,
        endpoints: Sequence[Endpoint],
        jobs: Mapping[str, Job],
        changed: Sequence[Ledger],
        told: Mapping[Place, AnnouncedStates],
    ) -> tuple[int, int]:
        """Store deliveries of changes; return how many events and deliveries these were.

        Args:
            told: what was handed on of them, and since when the rest is.
        """
        events = self._events(endpoints, jobs, changed, told)
        stored = self._each(lambda x: self._outbox.changed(x, events), self._outbox.apart_last(endpoints))
        return sum(map(len, events.values())), sum(stored)

    def _each(self, call: Callable[[T], R], some: Sequence[T]) -> list[R]:
        """Call something with each of some things, a few side by side, and return the results in their order."""
        lanes = min(SIDE_BY_SIDE, len(some))
        if lanes < 2:  # noqa: PLR2004 - one needs no thread
            return [call(x) for x in some]
        with self._pool(lanes) as pool:
            pending = [pool.submit(lambda part: [call(x) for x in part], some[n::lanes]) for n in range(lanes)]
            found = [x.result() for x in pending]
        return [found[n % lanes][n // lanes] for n in range(len(some))]

    def _events(
        self,
        endpoints: Sequence[Endpoint],
        jobs: Mapping[str, Job],
        changed: Sequence[Ledger],
        told: Mapping[Place, AnnouncedStates],
    ) -> Events:
        kinds = _kinds(endpoints)
        since = min(x.created_at for x in endpoints)
        events: Events = {}
        for ledger in changed if kinds else ():
            job, before = jobs[ledger.job], told.get((ledger.job, ledger.chunk))
            changes = rules.untold(_before(told, ledger), ledger.cells)
            older = rules.is_older(job, before, since)
            at = before.begun_at if before is not None else 0
            for event, kind in self._explained(job, ledger, changes, kinds, since if older else 0):
                events.setdefault(kind, []).append(replace(event, at=at))
        return events

    def _explained(
        self, job: Job, ledger: Ledger, changes: Sequence[CellChange], kinds: frozenset[HookKind], since: int
    ) -> Iterable[tuple[CellEvent, HookKind]]:
        """Yield the events of a chunk's changes. `since`: those before it are left out; 0: none is."""
        if not changes:
            return
        windows: list[Detail] = []
        words: list[FeedbackDetail] = []
        if since or rules.needs_details(rules.with_mails(job, changes), kinds):
            windows, words = self._records.details(job.id, ledger.chunk)
        if since:
            changes = rules.happened_since(changes, since, windows, words)
        found = [x for x in rules.with_mails(job, rules.with_complaints(changes, words)) if x.kind in kinds]
        errors = _errors(job, ledger, found, windows, words)
        for x in found:
            name = message_event_id(job.id, ledger.chunk, x.index, x.attempt, x.kind)
            note = errors.get(x.index, "") if x.kind in rules.EXPLAINED else ""
            yield CellEvent(name, job.id, ledger.chunk, (x.index, x.byte), note), x.kind

    def _now(self) -> Millis:
        return int(self._clock.now() * 1000)

    def _jobs(self, namespace: str, names: set[str]) -> dict[str, Job]:
        """Return those jobs of a namespace. Only what never changes of them is used, so they are read once."""
        found = {name: self._known[name] for name in names if name in self._known}
        missing = names - found.keys()
        found |= self._records.read_jobs(missing) if missing else {}
        for name in missing & found.keys():
            self._known[name] = found[name]
            if len(self._known) > KNOWN_JOBS:
                self._known.popitem(last=False)
        return {name: job for name, job in found.items() if job.namespace == namespace}


def _slices(jobs: Mapping[str, Job], places: Sequence[Place], messages: int) -> Iterator[list[Place]]:
    """Yield chunks, a few at a time: with so many messages at most, if one has not more by itself."""
    some: list[Place] = []
    weight = 0
    for job, chunk in places:
        size = -(-jobs[job].total // jobs[job].chunks)
        if some and (weight + size > messages or len(some) >= MOST):
            yield some
            some, weight = [], 0
        some.append((job, chunk))
        weight += size
    if some:
        yield some


def _nothing(ledger: Ledger) -> AnnouncedStates:
    """Return that nothing of a chunk was handed on."""
    return AnnouncedStates(ledger.job, ledger.chunk, b"", 0, ledger.ttl)


def _kinds(endpoints: Iterable[Endpoint]) -> frozenset[HookKind]:
    """Return the kinds of changes of messages that endpoints want."""
    return frozenset(kind for x in endpoints for kind in MESSAGE_KINDS if x.wants(kind))


def _is_new(job: Job, was: AnnouncedStates, ledger: Ledger, kinds: frozenset[HookKind]) -> bool:
    """Tell whether there is something to hand on of a chunk, or to note.

    The change of an only message that no endpoint wants is not noted, which saves writes. One of several messages would
    be handed on with the next change of the chunk, to an endpoint that wants it by then.
    """
    if len(ledger.cells) > 1 or was.begun_at:
        return was.cells != ledger.cells or bool(was.begun_at)
    return bool(rules.possible(job, rules.untold(was.cells, ledger.cells)) & kinds)


def _is_at_work(told: AnnouncedStates, now: Millis) -> bool:
    """Tell whether another process began to hand on changes a moment ago."""
    return bool(told.begun_at) and now - told.begun_at < AT_WORK_MS


def _before(told: Mapping[Place, AnnouncedStates], ledger: Ledger) -> bytes:
    before = told.get((ledger.job, ledger.chunk))
    return before.cells if before is not None else b""


def _errors(
    job: Job,
    ledger: Ledger,
    changes: Sequence[CellChange],
    windows: Sequence[Detail],
    words: Sequence[FeedbackDetail],
) -> dict[int, str]:
    """Return the codes that explain the states of messages, by index.

    The code of a message that was skipped at its acceptance is not among them: its chunk has it.
    """
    wanted = frozenset(x.index for x in changes if x.kind in rules.EXPLAINED)
    attempts = attempts_of(windows, words, wanted) if wanted else {}
    skips = _skips(windows)
    known = skips.keys() | attempts.keys()
    some = [i for i in wanted if i in known or ledger.cell(i)[0] is not Cell.SKIPPED]
    return {i: error_of(job, ledger, i, _in_order(attempts.get(i, {})), skips.get(i, "")) or "" for i in some}


def _skips(windows: Iterable[Detail]) -> dict[int, str]:
    """Return why messages were skipped before a claim, by index."""
    return {e.index: e.code for w in windows for e in w.entries if skipped_early(e)}


def _in_order(by_number: Mapping[int, Attempt]) -> list[Attempt]:
    return [by_number[n] for n in sorted(by_number)]
