"""The engine over fakes, or over the real stores on moto, with every step callable by itself.

A step is what one invocation does: a pointer served, a stream record folded, a job planned, a sweep. `run` takes steps
until nothing is left to do but wait for the sweeper; `settle` sweeps too, until every job is LOGGED.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from shared.bootstrap import Deployment
from shared.contracts import ProviderEvent, ResumeTask
from shared.domain.content.content import Content, Mailbox
from shared.domain.ids import Ref
from shared.domain.jobs.chunks import Recipient
from shared.domain.jobs.feedback import SOFT
from shared.domain.jobs.job import Job, Policy
from shared.domain.jobs.states import Cell, JobState
from shared.domain.lanes.backoff import redelivery_delay
from shared.domain.lanes.switches import Switch
from shared.engine.intake.accept import AcceptedJob, BatchRequest
from shared.engine.jobs.wake import SECONDS
from shared.engine.lane.access import LaneStores
from shared.engine.lane.group import GroupSender
from shared.engine.lane.send import Sender
from shared.engine.lane.start import PointerResult
from shared.engine.outcome.fold import Folded
from shared.engine.outcome.resolve import Resolution, Resolved
from shared.engine.outcome.track import LATER, Tracked
from shared.engine.sweeper.sweep import Swept
from shared.ports import Retriable
from tests.fakes.clock import FakePool
from tests.fakes.links import FakeLinks
from tests.fakes.parts import LEASE_MARGIN, Held, Parts, credential
from tests.fakes.queues import Message, following

__all__ = [
    "ACCOUNT",
    "CONTENT",
    "INVOCATION",
    "LEASE_MARGIN",
    "RECEIVES",
    "VISIBILITY",
    "World",
    "credential",
    "recipients",
]

ACCOUNT = "acc_000000000001"
INVOCATION = 120.0
"""Seconds that a sender's invocation lasts at the most."""
RECEIVES = 5
"""How often a pointer that fails is delivered before it is a dead letter."""
VISIBILITY = 150.0
"""Seconds after which a pointer that was not acknowledged is delivered again."""
CONTENT = Content(Mailbox("news@example.com", "News"), "Hello", text="Hello!")


def _tried(step: Callable[[], object]) -> bool:
    """Take a step; a retriable fault counts as something done, since its event source repeats it."""
    try:
        return bool(step())
    except Retriable:
        return True


def recipients(n: int, skip: Iterable[int] = ()) -> tuple[Recipient, ...]:
    """Return n recipients; those at the given places are not to be sent to."""
    left_out = frozenset(skip)
    return tuple(
        Recipient(f"r{i}@example.com", f"r{i}@example.com", skip="suppressed" if i in left_out else "")
        for i in range(n)
    )


class World(Parts):
    """A deployment in memory. Everything in it is public: tests look at and touch what they like."""

    fold_listeners = Deployment.fold_listeners
    ledgers_in = staticmethod(Deployment.ledgers_in)

    # Steps

    def request(self, who: int | Sequence[Recipient] = 1, **changes: Any) -> BatchRequest:
        """Return a batch to n recipients, or to those given."""
        people = recipients(who) if isinstance(who, int) else tuple(who)
        route = tuple(c.id for c in self.settings.credentials)
        fields: dict[str, Any] = {
            "account": ACCOUNT,
            "test": False,
            "channel": "email",
            "route": route,
            "content": CONTENT,
            "recipients": people,
            "duplicates": 0,
            "policy": Policy(),
        }
        return BatchRequest(**{**fields, **changes})

    def accept(self, who: int | Sequence[Recipient] = 1, **changes: Any) -> Job:
        """Accept a batch and return its job."""
        accepted = self.acceptor.accept(self.request(who, **changes))
        assert isinstance(accepted, AcceptedJob), accepted
        self.jobs.append(accepted.job.id)
        return accepted.job

    def send(
        self,
        lane: str,
        sender: Sender | None = None,
        *,
        express: bool | None = None,
        spare: Callable[[], None] = lambda: None,
    ) -> PointerResult | None:
        """Serve the next pointer that is due, of one of the lane's queues or of both; None if there is none.

        A crash leaves the pointer in flight until its visibility ends. After a fault it is delivered again, later each
        time, and in the end it is a dead letter.
        """
        message = self.lanes[lane].receive(express=express)
        return None if message is None else self._serve(lane, message, sender or self.senders[lane], spare)

    def send_together(
        self, lane: str, sender: GroupSender | None = None, *, spare: Callable[[], None] = lambda: None
    ) -> Sequence[PointerResult | Exception]:
        """Serve the next pointers to small jobs together, as many as are due and a group takes; as `send` does."""
        messages = self.receive_together(lane)
        return self.serve_together(lane, messages, sender, spare=spare) if messages else ()

    def receive_together(self, lane: str) -> list[Message]:
        """Take the next pointers to small jobs that are due, as many as a group takes."""
        messages: list[Message] = []
        while len(messages) < self.settings.credential(lane).group:
            message = self.lanes[lane].receive(express=True)
            if message is None:
                break
            if "resolve" in message.body:
                self._serve(lane, message, self.senders[lane], lambda: None)
            else:
                messages.append(message)
        return messages

    def serve_together(
        self,
        lane: str,
        messages: Sequence[Message],
        sender: GroupSender | None = None,
        *,
        spare: Callable[[], None] = lambda: None,
    ) -> Sequence[PointerResult | Exception]:
        """Serve pointers that were taken together."""
        pointers = [(x["job"], x["chunk"]) for x in map(json.loads, (m.body for m in messages))]
        visible_at, deadline = self.clock.now() + VISIBILITY, self.clock.now() + INVOCATION
        owner = f"owner-{next(self._owners)}"
        try:
            did = (sender or self.senders[lane]).work_together(pointers, owner=owner, deadline=deadline, spare=spare)
        except BaseException:
            for message in messages:
                self.lanes[lane].restore(message, visible_at)
            raise
        for message, result in zip(messages, did, strict=True):
            if isinstance(result, Exception):
                self._failed(lane, message)
            else:
                self.lanes[lane].delete(message)
        return did

    def _failed(self, lane: str, message: Message) -> None:
        if message.receives < RECEIVES:
            self.lanes[lane].restore(message, self.clock.now() + redelivery_delay(message.receives))
        else:
            self.lanes[lane].bury(message)

    def _serve(self, lane: str, message: Message, worker: Sender, spare: Callable[[], None]) -> PointerResult:
        where = json.loads(message.body)
        if where.get("resolve"):
            self.lanes[lane].delete(message)
            with following(message):
                self.resolve(lane, where["job"], where["chunk"], where.get("after", -1))
            return PointerResult.NOTHING
        visible_at = self.clock.now() + VISIBILITY
        deadline = self.clock.now() + INVOCATION
        try:
            with following(message):
                owner = f"owner-{next(self._owners)}"
                did = worker.work(where["job"], where["chunk"], owner=owner, deadline=deadline, spare=spare)
        except Exception:
            self._failed(lane, message)
            raise
        except BaseException:
            self.lanes[lane].restore(message, visible_at)
            raise
        self.lanes[lane].delete(message)
        return did

    def resolve(self, lane: str, job: str, chunk: int, after: int = -1) -> Resolved:
        """Ask a lane's provider about the doubts of a chunk."""
        resolution = Resolution(
            stores=LaneStores(self.records, self.ledgers, self.pacer, self.lanes, lambda: self.standings),
            tracker=self.tracker,
            provider=self.providers[lane],
            credential=self.settings.credential(lane),
            breaker_cache=self.breaker_cache,
            clock=self.clock,
            links=FakeLinks(),
            pool=FakePool,
        )
        return resolution.resolve(job, chunk, deadline=self.clock.now() + INVOCATION, after=after)

    def log(self) -> Folded | None:
        """Fold the next record of the ledgers' stream; None if there is none."""
        if not self.stream:
            return None
        folded = self.logger.fold(self.stream[0])
        if folded.retrying:
            self.retrier.carry_on(self.stream[0].job, self.clock.now() + 20)
        self.stream.popleft()
        return folded

    def plan(self) -> int:
        """Plan the jobs that are READY and due, as the stream of jobs would have it; returns how many were."""
        return sum(len(self.planner.react(job)) for job in self.jobs)

    def sweep(self) -> Swept:
        """Let the sweeper run for a minute at most."""
        return self.sweeper.sweep(self.clock.now() + 60)

    def wake(self, switch: Switch) -> int:
        """Wake what a switch held back, by as many messages as it takes; returns how many pointers were sent."""
        self.waker.begin(switch)
        return sum(self.waken(seconds=SECONDS))

    def waken(self, seconds: float) -> Iterator[int]:
        """Take the messages of wakings, with some seconds for each; yields how many pointers each sent."""
        while (message := self.due_queue.receive()) is not None:
            way = ResumeTask.loads(message.body)
            assert way is not None
            try:
                yield self.waker.go_on(way, until=self.clock.now() + seconds)
            except BaseException:
                self.due_queue.restore(message, self.clock.now())
                raise
            self.due_queue.delete(message)

    def track(self, lane: str, *words: ProviderEvent) -> Tracked:
        """Join a provider's words; those that must wait are kept for later."""
        self.failed |= {w.ref for w in words if w.word in SOFT}
        tracked = self.tracker.track(lane, words)
        if tracked.later:
            self.held.append(Held(self.clock.now() + LATER, lane, tracked.later))
        return tracked

    def again(self) -> int:
        """Join the words that had to wait and are due; returns how many deliveries that were."""
        now = self.clock.now()
        due = [h for h in self.held if h.due <= now]
        for h in due:
            self.track(h.credential, *h.words)
            self.held.remove(h)
        return len(due)

    def step(self) -> bool:
        """Do whatever is due now; False if nothing was."""
        steps: list[Callable[[], object]] = [partial(self.send, lane) for lane in self.senders]
        done = [_tried(step) for step in (*steps, self.log, self.plan, self.again)]
        return any(done)

    def run(self, seconds: float = 7200, *, endless: bool = False) -> None:
        """Take steps until nothing is due, waiting for what comes within `seconds`.

        Args:
            seconds: so long, at the most, nothing need be due.
            endless: something may be due for ever, as while all providers throttle: then it ends after `seconds`.
        """
        end = self.clock.now() + seconds
        for _ in range(100_000):
            if endless and self.clock.now() > end:
                return
            if self.step():
                continue
            coming = [q.waiting[0].due for q in self.lanes.values() if q.waiting] + [h.due for h in self.held]
            if not coming or min(coming) > end:
                return
            self.clock.sleep(min(coming) - self.clock.now())
        raise AssertionError("the world never becomes quiet")

    def settle(self, *, seconds: float = 60, sweeps: int = 180) -> None:
        """Run, with the sweeper every some seconds, until every job is LOGGED for good and the stream is empty.

        A job with a recorded retry is LOGGED, too, but not for good.
        """
        for _ in range(sweeps):
            self.run(seconds=seconds)
            if all(self._ended(self.job(j)) for j in self.jobs) and not self.stream:
                return
            self.clock.sleep(seconds)
            _tried(self.sweep)
        raise AssertionError(f"not LOGGED: {[self.job(j) for j in self.jobs]}")

    def _ended(self, job: Job) -> bool:
        return job.state is JobState.LOGGED and job.retry is None

    # What a test sees

    def longest_chain(self) -> int:
        """Return how many invocations of lanes' functions followed one another by messages of their own, at the most.

        AWS ends a chain after 16, unless the function's recursive loops are allowed.
        """
        return max((m.link for q in self.lanes.values() for m in q.sent), default=0)

    def job(self, job: str) -> Job:
        """Return a job as it is stored."""
        found = self.records.job(job)
        if found is None:
            raise AssertionError("no such job")
        return found

    def cells(self, job: str) -> list[tuple[Cell, int]]:
        """Return (state, attempt) of every recipient, in list order."""
        return [x.cell(i) for x in self.ledgers.read_all(job) for i in range(len(x.cells))]

    def states(self, job: str) -> list[Cell]:
        """Return the state of every recipient, in list order."""
        return [state for state, _ in self.cells(job)]

    def counts(self, job: str) -> dict[str, int]:
        """Return the live counts without zeros, having checked that they add up."""
        found = self.job(job)
        counts = self.logs.counts(found).counts
        if sum(counts.values()) != found.total:
            raise AssertionError(f"{counts} do not add up to {found.total}")
        return {k: v for k, v in counts.items() if v}

    def word(
        self, job: str, index: int, word: str, *, attempt: int = 1, chunk: int = 0, **fields: Any
    ) -> ProviderEvent:
        """Return a provider's word about an attempt."""
        at = fields.pop("at", int(self.clock.now()))
        return ProviderEvent(str(Ref(job, chunk, index, attempt)), word, at, **fields)

    def check(self) -> None:
        """Check what holds at every instant.

        Counts add up, folded ones too, and nothing was taken twice unless it had failed between.
        """
        for name in self.jobs:
            self.counts(name)
            job = self.job(name)
            if sum(job.counts.values()) != job.total or min(job.counts.values()) < 0:
                raise AssertionError(f"folded counts {job.counts} of {job.total}")
            twice = {k: n for k, n in self.oracle.times(name, but=self.failed).items() if n > 1}
            if twice:
                raise AssertionError(f"taken more than once: {twice}")
