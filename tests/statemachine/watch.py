"""What must hold at every instant: checked after every call that had an effect, against what providers really took."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from shared.domain.campaigns.bounce_guard import singles_of
from shared.domain.ids import Ref
from shared.domain.jobs import ledger as rules
from shared.domain.jobs.feedback import HARD, SOFT, ProviderEventKind
from shared.domain.jobs.job import Job, OnAmbiguous, stats_of
from shared.domain.jobs.ledger import BY_KEYS, Ledger, LedgerStatus
from shared.domain.jobs.outcomes import Absent, Accepted, Finding, Unknown
from shared.domain.jobs.states import ACTIVE, COUNT_KEYS, TRANSITIONS, Cell, JobState
from shared.domain.lanes.breaker import BreakerState
from shared.engine.suppression.suppressed import SLACK_MS
from tests.fakes.world import ACCOUNT
from tests.statemachine.paths import Paths
from tests.statemachine.provider import AGAIN, TAKES, Answer, AskedProvider
from tests.statemachine.stage import running
from tests.statemachine.turns import CampaignQueue
from tests.statemachine.world import StagedWorld

Place = tuple[str, int, int]
"""(job, chunk, index) of a message."""
_LEGAL: Final = frozenset((a, b) for sources, b in TRANSITIONS.values() for a in sources) | {
    (a, JobState.LOGGED) for a in ACTIVE
}
_READS: Final = ("get_item", "query", "read", "list", "job", "control", "load", "detail", "depth", "reserve")
_FAILS: Final = SOFT | {ProviderEventKind.DEFERRED}
_OPEN: Final = (Cell.QUEUED, Cell.RETRY, Cell.CLAIMED)


class Violation(AssertionError):
    """A promise did not hold."""


@dataclass(frozen=True, slots=True)
class _Barred:
    """What a process can know when it begins: who is suppressed since when, and until when its lane is left alone."""

    suppressed: dict[str, int]
    closed_until: int


class Watch:
    """Looks at all that is stored, whenever something may have changed.

    Attributes:
        broken: the first violation, None so far.
        taken: message → the attempts that a provider took, in order.
        named: message → the highest attempt whose unknown fate its owner named for another try.
        asked: jobs that their owner resumed or retried since they were last stopped.
        ended: owners of leases whose work ended without an error.
        asking: jobs whose owner's resume or retry is under way; `naming`: with unknown messages included.
        withdrawn: jobs whose recorded retry their owner took back.
        lanes: attempt → the credential whose provider it came to.
        people: message → its recipient's key.
    """

    def __init__(self, world: StagedWorld, window: int, said: Callable[[str], None]) -> None:
        self.broken: Violation | None = None
        self.taken: dict[Place, list[int]] = {}
        self.named: dict[Place, int] = {}
        self.asked: set[str] = set()
        self.asking: frozenset[str] = frozenset()
        self.naming: frozenset[str] = frozenset()
        self.words: dict[Place, set[tuple[int, ProviderEventKind]]] = {}
        self.answers: dict[Ref, Answer] = {}
        self.ended: set[str] = set()
        self.jobs: dict[str, Job] = {}
        self.ledgers: dict[tuple[str, int], Ledger] = {}
        self.withdrawn: set[str] = set()
        self.lanes: dict[Ref, str] = {}
        self.people: dict[Place, str] = {}
        self._barred: dict[str, _Barred] = {}
        self._resent: set[Ref] = set()
        self.turns = CampaignQueue(world.peek, self.fail)
        self.paths = Paths(world, self.lanes, self.fail)
        self._after_stop: dict[tuple[str, int, int], int] = {}
        self._world = world
        self._window = window
        self._said = said

    # Hearing

    def heard(self, lane: str, ref: Ref, answer: Answer) -> Answer:
        """Note what a provider did with an attempt; returns what its caller hears."""
        self._allowed(ref)
        if ref in self._resent and ref.attempt in self._taken_of(ref):
            return Answer.ACCEPTED  # the same call under the same key
        before = self.answers.get(ref)
        if before is not None and before not in AGAIN and ref not in self._resent:
            self.fail(f"attempt {_short(ref)} reaches a provider a second time")
        self.answers[ref], self.lanes[ref] = answer, lane
        self._said(f"    the provider: {_short(ref)} {answer.value}")
        if answer in TAKES:
            self._takes(ref)
        return answer

    def found(self, lane: str, ref: Ref, answer: Answer) -> Finding:
        """Note that a provider is asked about an attempt; returns what it says."""
        provider = self._world.staged[lane]
        known = self.answers.get(ref)
        self._said(f"    the provider is asked: {_short(ref)}, {known}, {answer.value}")
        if isinstance(provider, AskedProvider) and provider.resends:
            self._allowed(ref)
            if answer not in TAKES:
                return Unknown("timeout")
            self._resent.add(ref)
            if ref.attempt not in self._taken_of(ref):
                self.answers[ref], self.lanes[ref] = Answer.SWALLOWED, lane
                self._takes(ref)
            return Accepted("id") if answer is Answer.ACCEPTED else Unknown("timeout")
        if answer is not Answer.ACCEPTED:
            return Unknown("too_early")
        if known in TAKES:
            return Accepted("id")
        return Absent() if known is Answer.LOST else Unknown("too_early")

    def _taken_of(self, ref: Ref) -> list[int]:
        return self.taken.setdefault((ref.job, ref.chunk, ref.index), [])

    def _takes(self, ref: Ref) -> None:
        place = (ref.job, ref.chunk, ref.index)
        earlier = self._taken_of(ref)
        for attempt in earlier:
            if not self._excused(place, min(attempt, ref.attempt)):
                self.fail(f"DUPLICATE: {_short(ref)} is accepted, and so was attempt {attempt}")
        earlier.append(ref.attempt)

    def _allowed(self, ref: Ref) -> None:
        """Check that the process that calls was not to know better when it began."""
        barred = self._barred.get(running())
        if barred is None:
            return
        since = barred.suppressed.get(self.people[ref.job, ref.chunk, ref.index])
        if since is not None and since >= self.jobs[ref.job].created_at - SLACK_MS:
            self.fail(f"{_short(ref)} is sent to somebody who was suppressed before")
        if self._world.clock.now() * 1000 < barred.closed_until:
            self.fail(f"{_short(ref)} is sent through a provider that is to be left alone")

    def begins(self, process: str, lane: str) -> None:
        """Note what a process that is about to begin in a lane can know."""
        suppressed = {key: at for key, (_, at) in self._world.stores.suppressed(ACCOUNT).items()}
        breaker = self._world.stores.breakers.read([lane])[lane]
        alone = breaker.probe_at if breaker.state is BreakerState.OPEN else 0
        self._barred[process] = _Barred(suppressed, alone)

    def hidden(self, lane: str, ref: Ref) -> None:
        """Note that an adapter's fault hides what came of an attempt: its caller knows nothing of it."""
        self.answers[ref] = Answer.SWALLOWED if self.answers.get(ref) in TAKES else Answer.LOST
        self.lanes[ref] = lane

    def word(self, place: Place, attempt: int, kind: ProviderEventKind) -> None:
        """Note a word that a provider is about to say."""
        self.words.setdefault(place, set()).add((attempt, kind))

    def _reopens(self, job: Job) -> bool:
        """Tell whether words about a job may have it run again."""
        gave_up = any(place[0] == job.id and k in _FAILS for place, said in self.words.items() for _, k in said)
        return not job.stopped and (gave_up or any(ref.job == job.id for ref in self.lost))

    @property
    def lost(self) -> list[Ref]:
        """The attempts that were lost on the way: their provider can prove that it never took them.

        One that takes a message on being asked about it cannot.
        """
        staged = self._world.staged
        resend = {name for name, p in staged.items() if isinstance(p, AskedProvider) and p.resends}
        return [ref for ref, x in self.answers.items() if x is Answer.LOST and self.lanes.get(ref) not in resend]

    def given_up(self, place: Place) -> set[int]:
        """Return the attempts of a message that their provider gave up."""
        return self._said_of(place, SOFT)

    def _said_of(self, place: Place, kinds: frozenset[ProviderEventKind]) -> set[int]:
        return {a for a, k in self.words.get(place, ()) if k in kinds}

    def _ambiguous(self, place: Place, attempt: int) -> bool:
        answer = self.answers.get(Ref(*place, attempt))
        return answer in (Answer.SWALLOWED, Answer.LOST)

    def _excused(self, place: Place, attempt: int) -> bool:
        """Tell whether another try was allowed although a provider took this attempt."""
        risky = self.jobs[place[0]].policy.on_ambiguous is OnAmbiguous.FAIL_OVER
        return (
            attempt in self._said_of(place, SOFT)
            or attempt in self._said_of(place, frozenset(map(ProviderEventKind, self.jobs[place[0]].policy.retry_on)))
            or attempt <= self.named.get(place, 0)
            or (risky and self._ambiguous(place, attempt))
        )

    def fail(self, what: str) -> None:
        """Note a violation."""
        self._said(f"    !!! {what}")
        if self.broken is None:
            self.broken = Violation(what)

    # Looking

    def happened(self, name: str) -> None:
        """Look, after a call that may have changed something."""
        if not name.endswith(_READS) and not name.startswith(("provider.", "queue.", "breakers.")):
            self.look()

    def look(self) -> None:
        """Compare all that is stored with what was, and check it."""
        moved = False
        for job_id in self._world.jobs:
            job = self._world.job(job_id)
            ledgers = self._world.peek.ledgers(job_id)
            old = self.jobs.get(job_id)
            self.jobs[job_id] = job
            changed = old != job
            if changed:
                self._said(f"    job {_name(job_id)}: {job.state.value}")
                self._moved(old, job, ledgers)
                moved = True
            for x in ledgers:
                before = self.ledgers.get((job_id, x.chunk))
                if before != x:
                    changed = True
                    self.ledgers[job_id, x.chunk] = x
                    self._said(f"    {show(x)}")
                    if before is not None:
                        self._stepped(before, x, job)
                    self._truth(x)
            recorded = job.retry is not None and Cell.UNKNOWN in job.retry.states
            if old is not None and old.retry is not None and job.retry is None and job.state is JobState.LOGGED:
                self.withdrawn.add(job_id)
            if job_id in self.naming or recorded:
                self._name_unknown(ledgers)
            if changed:
                self._sums(job, ledgers)
        if moved:
            self._stats()
            self.turns.look(self.jobs)

    def _moved(self, old: Job | None, new: Job, ledgers: list[Ledger]) -> None:
        if old is None or old.state is new.state:
            return
        cells = {state for x in ledgers for state, _ in map(x.cell, range(len(x.cells)))}
        if (old.state, new.state) not in _LEGAL:
            self.fail(f"job {old.state} -> {new.state}")
        if new.state is JobState.READY:
            self._ready(old, new, ledgers)
        if new.state is JobState.STOPPED:
            self.asked.discard(new.id)
            self._after_stop = {k: n for k, n in self._after_stop.items() if k[0] != new.id}
        if new.state in (JobState.SENT, JobState.LOGGED):
            if old.state is not JobState.STOPPED and Cell.CLAIMED in cells:
                self.fail(f"the job is {new.state} with a call under way")
            if new.state is JobState.LOGGED and any(x.status is LedgerStatus.BUSY and x.seq for x in ledgers):
                self.fail("the job is LOGGED with a lease that has claimed")

    def _ready(self, old: Job, new: Job, ledgers: list[Ledger]) -> None:
        """Check why a job is READY.

        Args:
            old: as it was before.
            new: as it is.
            ledgers: its ledgers.
        """
        if old.state in ACTIVE:
            if not new.rests_until or any(x.cell(i)[1] == 0 for x in ledgers for i in x.having(*_OPEN)):
                self.fail("a job gives way before its first tries are over")
        elif new.id not in self.asked | self.asking and not self._reopens(old):
            self.fail("a job runs again without a request")

    def _stepped(self, old: Ledger, new: Ledger, job: Job) -> None:
        if new.version <= old.version:
            self.fail("a ledger's version does not grow")
        self.paths.went(old, new)
        claimed = lost = 0
        for i in range(len(new.cells)):
            (was, at), (now, attempt) = old.cell(i), new.cell(i)
            place = (new.job, new.chunk, i)
            if (was, at) == (now, attempt):
                continue
            claimed += now is Cell.CLAIMED
            lost += now is Cell.UNKNOWN and not self._ambiguous(place, attempt)
            if was in (Cell.SKIPPED, Cell.BOUNCED) or (was is Cell.DELIVERED and now is not Cell.BOUNCED):
                self.fail(f"message {new.chunk}.{i} was {was.name} and is {now.name}")
            if was is Cell.UNKNOWN and now in _OPEN and place not in self.named and not self._disproven(place, at):
                self.fail(f"message {new.chunk}.{i} of unknown fate is {now.name}, and its owner named it not")
            if was in (Cell.QUEUED, Cell.RETRY, Cell.DROPPED) and now is Cell.SENT and at == attempt:
                self.fail(f"message {new.chunk}.{i} says sent of an attempt that was given up")
        if claimed:
            self._claimed(new, job, claimed)
        if lost and (new.epoch == old.epoch or lost > self._window):
            self.fail(f"{lost} messages become unknown, not by one window of a lost lease")
        if lost and (old.owner in self.ended or old.owner.startswith("owner-")):
            self.fail(f"{lost} messages become unknown, and {old.owner} was neither lost nor late")

    def _disproven(self, place: Place, attempt: int) -> bool:
        return attempt in self._said_of(place, _FAILS) or Ref(*place, attempt) in self.lost

    def _claimed(self, x: Ledger, job: Job, n: int) -> None:
        self.turns.claims(job)
        if n > self._window:
            self.fail(f"{n} claimed at once")
        if job.state is JobState.STOPPED:
            lease = (x.job, x.chunk, x.epoch)
            self._after_stop[lease] = self._after_stop.get(lease, 0) + 1
            if self._after_stop[lease] > 1:
                self.fail("a lease claims a second window after the stop")
        elif job.state not in ACTIVE:
            self.fail(f"a claim while the job is {job.state}")

    def _name_unknown(self, ledgers: Iterable[Ledger]) -> None:
        for x in ledgers:
            for i in x.having(Cell.UNKNOWN):
                place = (x.job, x.chunk, i)
                self.named[place] = max(self.named.get(place, 0), x.cells[i] >> 4)

    def _truth(self, x: Ledger) -> None:
        """Check that no cell lies."""
        for i in range(len(x.cells)):
            state, attempt = x.cell(i)
            place = (x.job, x.chunk, i)
            taken = self.taken.get(place, ())
            name = f"message {x.chunk}.{i} is {state.name} at attempt {attempt}"
            if state in (Cell.SENT, Cell.RELAYED) and attempt not in taken:
                self.fail(f"{name}, and no provider has it")
            if state is Cell.DELIVERED and not any(a <= attempt for a in self._said_of(place, _DELIVERED)):
                self.fail(f"{name}, and nobody said so")
            if state is Cell.BOUNCED and attempt not in self._said_of(place, HARD):
                self.fail(f"{name}, and nobody said so")
            if state in (Cell.QUEUED, Cell.RETRY, Cell.FAILED, Cell.DROPPED, Cell.SKIPPED):
                hidden = [a for a in taken if not self._excused(place, a)]
                if hidden:
                    self.fail(f"{name}, and a provider has attempt {hidden[0]}")
            doubt = self._ambiguous(place, attempt) and attempt not in self._said_of(place, _FAILS)
            proven = state is Cell.DROPPED and Ref(*place, attempt) in self.lost
            if state in (Cell.FAILED, Cell.DROPPED) and doubt and not proven:
                self.fail(f"{name}, and nobody knows what came of that")

    def _sums(self, job: Job, ledgers: list[Ledger]) -> None:
        counts = tuple(job.counts[k] for k in COUNT_KEYS)
        by = tuple(n for c in job.route for n in job.by[c])
        if sum(counts) != job.total or min(counts) < 0:
            self.fail(f"counts {counts} of {job.total}")
        folded = tuple(map(sum, zip(*(x.folded for x in ledgers), strict=True)))
        if (*counts, *by) != folded:
            self.fail(f"the job says {(*counts, *by)}, its ledgers added {folded}")
        live = [sum(column) for column in zip(*(rules.histogram(x.cells) for x in ledgers), strict=True)]
        if sum(live) != job.total:
            self.fail(f"live counts {live} of {job.total}")
        if min(n for x in ledgers for n in rules.figures(x)) < 0:
            self.fail("a ledger counts below zero")

    def _stats(self) -> None:
        expected: dict[str, int] = {}
        for job in self.jobs.values():
            if self._waits_for_stats(job):
                continue
            figures = [job.counts[k] for k in COUNT_KEYS]
            for k, v in (stats_of(figures) | singles_of(job, figures)).items():
                expected[k] = expected.get(k, 0) + v
            for c, provider in zip(job.route, job.providers, strict=True):
                for k, v in zip(BY_KEYS, job.by[c], strict=True):
                    name = f"p.{provider}.{k}"
                    expected[name] = expected.get(name, 0) + v
        found = self._world.peek.stats(ACCOUNT)
        if {k: v for k, v in expected.items() if v} != found:
            self.fail(f"stats {found}, jobs say {expected}")

    def _waits_for_stats(self, job: Job) -> bool:
        """Tell whether a job's first fold is to come, which counts all of it in the stats."""
        uncounted = [x.uncounted for (name, _), x in self.ledgers.items() if name == job.id and x.uncounted]
        if uncounted and job.state is JobState.LOGGED:
            self.fail("a job is LOGGED that is in no stats")
        if uncounted and uncounted != [
            (*(job.counts[k] for k in COUNT_KEYS), *(n for c in job.route for n in job.by[c]))
        ]:
            self.fail(f"the stats wait for {uncounted}, the job says {job.counts}")
        return bool(uncounted)


_DELIVERED: Final = frozenset({ProviderEventKind.DELIVERED})


def _name(job_id: str) -> str:
    return job_id[-2]


def _short(ref: Ref) -> str:
    return f"{_name(ref.job)}.{ref.chunk}.{ref.index}#{ref.attempt}"


def show(x: Ledger) -> str:
    """Return a ledger in a line."""
    cells = " ".join(f"{x.cell(i)[0].name}#{x.cell(i)[1]}" for i in range(len(x.cells)))
    lease = f" {x.owner} seq {x.seq}" if x.owner else ""
    return f"ledger {_name(x.job)}.{x.chunk} v{x.version} {x.status.value}{lease} epoch {x.epoch} on {x.lane}: {cells}"
