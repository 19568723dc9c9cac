"""A small world: how many jobs, chunks, messages and workers there are, and what may happen to them."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Generic, NamedTuple, TypeVar

from tests.model.state import (
    ACTIVE,
    CLAIMED,
    DELIVERED,
    DONE,
    DROPPED,
    EARLY,
    FAILED,
    FREE,
    LOGGED,
    QUEUED,
    READY,
    RETRY,
    SENT,
    SENT_CLOSED,
    STOPPED,
    UNKNOWN,
    WITHDRAWN,
    Broken,
    Budget,
    Carrier,
    Client,
    Job,
    Ledger,
    Past,
    State,
    Truth,
    Worker,
    finished,
    histogram,
)

S = TypeVar("S")
T = TypeVar("T")


class Step(NamedTuple, Generic[S]):
    """One step. `fair`: it happens sooner or later where it can; the adversary's steps need not."""

    fair: bool
    label: str
    after: S


@dataclass(frozen=True)
class World:
    """A configuration.

    Attributes:
        campaigns: the campaign of each job; jobs of one campaign share the credential.
        chunks: of each job; `messages` of each chunk; `window` is the most that are claimed together.
        slow: calls, at the most, whose answers are to come when a worker claims its next window; 0: answers are prompt.
        exclusive: jobs reserve the credential.
        yields: a job of which all that is left waits for another try lets another campaign have the credential.
        turns: a job may have had its turn at any moment, while another campaign waits.
        outcomes: what calls may give: s accepted, p refused, t not sent, h throttled, U in doubt and accepted,
            N in doubt and not accepted.
        fail_over: a doubt is risked (`on_ambiguous: fail_over`).
        limit: tries of a message (`max_attempts`).
        reopens: a soft word tries a message again.
        feedback: delivered and accepted words come, at any time and repeatedly.
        stale: pointers may be delivered again at any time.
        clients: owners who retry at the same time.
        route: credentials of the route, where passes by message are told apart; 0: any number, alike.
        unable: the credentials of the route, a bit for each, whose adapter refuses all messages before any call.
        asking: what providers do that are asked about a doubt: "look" it up, or "send" it again under its key; or
            nothing.
        carriers: those who carry out recorded retries, which all are then; 0: retries are made while owners wait.
        scheduled: jobs wait for their time at first.
        names_unknown: recorded retries name messages of unknown fate, too.
        without: rules that are left out.
    """

    campaigns: tuple[int, ...] = (0,)
    chunks: int = 1
    messages: int = 2
    window: int = 1
    slow: int = 0
    workers: int = 2
    limit: int = 1
    exclusive: bool = True
    yields: bool = False
    turns: bool = False
    outcomes: str = "sU"
    fail_over: bool = False
    reopens: bool = False
    feedback: bool = True
    stale: bool = True
    clients: int = 1
    route: int = 0
    unable: int = 0
    asking: str = ""
    carriers: int = 0
    names_unknown: bool = False
    scheduled: bool = False
    budget: Budget = field(default_factory=Budget)
    without: frozenset[str] = frozenset()

    @cached_property
    def job_of(self) -> tuple[int, ...]:
        """Chunk to job."""
        return tuple(c // self.chunks for c in range(len(self.campaigns) * self.chunks))

    @cached_property
    def chunks_of(self) -> tuple[range, ...]:
        """Job to its chunks."""
        return tuple(range(j * self.chunks, (j + 1) * self.chunks) for j in range(len(self.campaigns)))

    @property
    def in_flight(self) -> int:
        """The most messages that a worker's death may leave claimed."""
        return self.window + self.slow

    @property
    def total(self) -> int:
        """Messages of a job."""
        return self.messages * self.chunks

    @property
    def most(self) -> int:
        """The highest attempt that a message may come to."""
        return self.limit * (1 + self.budget.retry)

    def start(self) -> State:
        """Return the first state: every job is stored and READY."""
        cells = ((QUEUED, 0),) * self.messages
        jobs, chunks = len(self.campaigns), len(self.job_of)
        counts = (self.total, 0, 0, 0, 0, 0)
        truth = Truth(lanes=(-1,) * (self.most + 1) if self.route else ())
        return State(
            jobs=(Job(READY, False, counts, early=EARLY if self.scheduled else ""),) * jobs,
            holders=(),
            ledgers=(Ledger(cells, FREE, self.limit, histogram(cells)),) * chunks,
            workers=(Worker(),) * self.workers,
            pointers=(False,) * chunks,
            ever=(False,) * chunks,
            truth=((truth,) * self.messages,) * chunks,
            details=((None,) * self.messages,) * chunks,
            finals=(0,) * jobs,
            clients=(Client(),) * (0 if self.carriers else self.clients),
            left=self.budget,
            pasts=((Past(),) * self.messages,) * chunks if self.route else (),
            carriers=(Carrier(),) * self.carriers,
            copies=(None,) * (chunks if self.budget.lose else 0),
        )

    # What must hold

    def check(self, s: State) -> None:
        """Raise Broken if a promise does not hold in a state."""
        if len({self.campaigns[j] for j in s.holders}) > 1:
            raise Broken("two campaigns hold the credential")
        for j, job in enumerate(s.jobs):
            self._check_job(s, j, job)
        if not set(self.outcomes) & set("UN") and not self.budget.lose:
            self._check_unknown(s)
        spent = s.left.stop < self.budget.stop and s.left[3:5] == self.budget[3:5]
        if len(s.jobs) == 1 and spent and s.jobs[0].state not in (STOPPED, LOGGED):
            raise Broken("a stopped job runs again, and nobody asked")
        for c, ledger in enumerate(s.ledgers):
            for i, (state, attempt) in enumerate(ledger.cells):
                self._check_cell(f"message {c}.{i} is {state}{attempt}", state, attempt, s.truth[c][i])

    def _check_job(self, s: State, j: int, job: Job) -> None:
        if sum(job.counts) != self.total or min(job.counts) < 0:
            raise Broken(f"counts {job.counts} of job {j} do not add up to {self.total}")
        folded = tuple(map(sum, zip(*(s.ledgers[c].folded for c in self.chunks_of[j]), strict=True)))
        if folded != job.counts:
            raise Broken(f"job {j} says {job.counts}, its ledgers added {folded}")
        if job.state == LOGGED and j in s.holders:
            raise Broken("a LOGGED job keeps the credential")
        if job.state in ACTIVE and self.exclusive and j not in s.holders:
            raise Broken("a job runs without the credential")

    def _check_unknown(self, s: State) -> None:
        lost = self.budget.crash - s.left.crash + self.budget.freeze - s.left.freeze
        if sum(x == UNKNOWN for ledger in s.ledgers for x, _ in ledger.cells) > self.in_flight * lost:
            raise Broken("more is unknown than a window, and slow answers, for each lost lease")

    def _check_cell(self, name: str, state: str, attempt: int, truth: Truth) -> None:
        bit = 1 << attempt
        if state in (SENT, SENT_CLOSED) and not (truth.took | truth.gave_up) & bit:
            raise Broken(f"{name}, and no provider has it")
        if state in (QUEUED, RETRY, FAILED, DROPPED, WITHDRAWN) and truth.took & ~self.excused(truth):
            raise Broken(f"{name}, and a provider has it")
        if state in (FAILED, DROPPED) and truth.doubt & bit and not truth.gave_up & bit:
            raise Broken(f"{name}, and nobody knows what came of that attempt")
        if state == DELIVERED and not truth.took | truth.gave_up:
            raise Broken(f"{name}, and no provider had it")

    def excused(self, truth: Truth) -> int:
        """Return the attempts after which another was allowed although a provider took them."""
        return truth.named | (truth.doubt if self.fail_over else 0)

    def is_goal(self, s: State) -> bool:
        """Tell whether all is done: every job LOGGED with nothing left (unless it was stopped), everything at rest."""
        return (
            not s.holders
            and not any(s.pointers)
            and all(w.at == "idle" for w in s.workers)
            and all(c.step == 0 for c in s.clients)
            and not s.askers
            and all(c.at == "idle" for c in s.carriers)
            and all(x.holder == FREE and x.folded == histogram(x.cells) for x in s.ledgers)
            and not any(state == CLAIMED for x in s.ledgers for state, _ in x.cells)
            and all(job.state == LOGGED and not (job.retry or job.paused or job.moving) for job in s.jobs)
            and all(self._may_wait(s, j) or finished(x.cells) for j, x in zip(self.job_of, s.ledgers, strict=True))
        )

    def _may_wait(self, s: State, j: int) -> bool:
        """Tell whether a job may end with messages that wait: it was stopped, or its recorded retry withdrawn."""
        return s.jobs[j].stopped or (self.carriers > 0 and s.left.stop < self.budget.stop)

    # Common to several rules

    def void(self, s: State, j: int) -> tuple[int, ...]:
        """Return the finalisers after a write to a job: the version that one of them read has gone."""
        unchecked = "the_finaliser_checks_the_version" in self.without or s.finals[j] < 0
        return s.finals if unchecked else put(s.finals, j, 0)

    def change_job(self, s: State, j: int, **changes: Any) -> State:
        """Write a job: it is no more as anybody has read it."""
        rests = s.jobs[j].rests and "who_gives_way_is_as_read" in self.without
        written = s.jobs[j]._replace(**{"rests": rests, **changes})
        return s._replace(jobs=put(s.jobs, j, written), finals=self.void(s, j))

    def change_ledger(self, s: State, c: int, **changes: Any) -> State:
        """Write a ledger: it is no more as those who carry out a retry have read it."""
        if s.carriers:
            j = self.job_of[c]
            old = tuple(x._replace(fresh=x.fresh and not (x.job == j and x.at == "read")) for x in s.carriers)
            s = s._replace(carriers=old)
        return s._replace(ledgers=put(s.ledgers, c, s.ledgers[c]._replace(**changes)))

    def point(self, s: State, c: int) -> State:
        """Send a pointer."""
        return s._replace(pointers=put(s.pointers, c, True), ever=put(s.ever, c, True))

    def may_work(self, s: State, c: int, after: int) -> int:
        """Check that a window may be claimed of a chunk; returns the windows of that lease since the stop."""
        j = self.job_of[c]
        state = s.jobs[j].state
        if self.exclusive and j not in s.holders:
            raise Broken(f"a window of job {j} ({state}) is claimed without the credential ({s.holders} hold it)")
        if state in (LOGGED, DONE) or (state == READY and j not in s.holders):  # one that gives way may have a lease
            raise Broken(f"a window is claimed while job {j} is {state}")
        if s.jobs[j].early:
            raise Broken(f"a window of job {j} ({state}) is claimed before its time")
        after += state == STOPPED
        if after > 1:
            raise Broken("a lease claims two windows after the stop")
        return after


def put(row: tuple[T, ...], i: int, value: T) -> tuple[T, ...]:
    """Return a row with one value replaced."""
    return (*row[:i], value, *row[i + 1 :])


def spend(s: State, what: str) -> State:
    """Let the adversary use up one of its possibilities."""
    return s._replace(left=s.left._replace(**{what: getattr(s.left, what) - 1}))


Steps = Iterator[Step[State]]
