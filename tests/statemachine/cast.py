"""The processes of a run: how they are started, go on, and what follows when they are done."""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from hypothesis.stateful import RuleBasedStateMachine

from shared.contracts import ProviderEvent
from shared.domain.ids import Ref, is_small
from shared.domain.jobs.feedback import ProviderEventKind
from shared.domain.jobs.job import Job, Policy
from shared.domain.jobs.states import Cell
from shared.engine.lane.start import PointerResult
from shared.engine.outcome.track import LATER
from shared.ports import Retriable
from tests.fakes.faults import Crash
from tests.fakes.stores import FakeStores
from tests.fakes.world import INVOCATION
from tests.statemachine.draws import Batch, Run
from tests.statemachine.provider import Answer
from tests.statemachine.stage import Actor, Fate, Stage
from tests.statemachine.watch import Watch
from tests.statemachine.world import Setting, StagedWorld

ACTORS: Final = 5


@dataclass(slots=True)
class _Started:
    """An actor and what follows when it is done. `asks`: the job it resumes or retries; `names`: unknown ones too."""

    actor: Actor
    after: Callable[[Actor], None]
    asks: str = ""
    names: bool = False


class Cast(RuleBasedStateMachine):
    """What the adversary's rules do it with. `setting`: the stores that it meets."""

    setting: ClassVar[Setting] = Setting(FakeStores, lambda _stores: None)

    def __init__(self) -> None:
        super().__init__()
        self.stack = ExitStack()
        self.lines: list[str] = []
        self.started: list[_Started] = []
        self.words: list[tuple[str, ProviderEvent]] = []
        self.later: list[tuple[float, str, tuple[ProviderEvent, ...]]] = []
        self.doubted: set[str] = set()
        self.barred: set[str] = set()
        self.broken = False
        self.numbers = 0
        self.names: list[str] = []
        self.world: StagedWorld
        self.stage: Stage
        self.watch: Watch

    def room(self) -> bool:
        return len(self.stage.actors) < ACTORS

    def accepted_ones(self) -> list[Ref]:
        """Return the attempts that are SENT."""
        ledgers = self.watch.ledgers.values()
        return [Ref(x.job, x.chunk, i, x.cells[i] >> 4) for x in ledgers for i in x.having(Cell.SENT)]

    def acting(self) -> bool:
        return bool(self.stage.actors)

    def job(self, n: int) -> str:
        return self.world.jobs[n % len(self.world.jobs)]

    def accepted(self, batch: Batch) -> None:
        self.stage.happened = lambda _name: None  # until the world knows the job's name
        soft = Policy().retry_on
        policy = Policy(
            max_attempts=batch.attempts,
            on_ambiguous=batch.on_ambiguous,
            retry_on=soft if batch.deferred is None else (*soft, ProviderEventKind.DEFERRED),
            deferred_after=batch.deferred or 0,
        )
        due = self.world.clock.ms + 1000 * batch.seconds if batch.seconds else 0
        job = self.stored(batch, policy, due)
        for number in range(job.chunks):
            chunk = self.world.records.chunk(job.id, number)
            for i, r in enumerate(chunk.recipients if chunk else ()):
                self.watch.people[job.id, number, i] = r.key
        self.stage.happened = self.watch.happened
        self.watch.look()

    def stored(self, batch: Batch, policy: Policy, due: int) -> Job:
        """Have a batch accepted that may begin at `due` (Unix ms)."""
        return self.world.accept(batch.messages, policy=policy, not_before=due)

    def go_on(self, root: Actor, then: Run) -> None:
        """Let a process make some calls, and the next one as told."""
        for n in range(then.calls + 1):
            if not root.done and not self.watch.broken:
                one = next(a for a in root.family if a.call)
                last = n == then.calls
                if not last or then.fate is not Fate.GOES:
                    self.resume_one(one, then.fate if last else Fate.GOES, then.answer)

    def work(self, lane: str, job: str, chunk: int, after: Callable[[Actor], None] = lambda _actor: None) -> Actor:
        sender = self.world.sender(lane)
        name = f"worker{self.numbers + 1}"
        deadline = self.world.clock.now() + INVOCATION
        self.watch.begins(name, lane)

        def together() -> PointerResult:
            [did] = sender.work_together([(job, chunk)], owner=name, deadline=deadline)
            if isinstance(did, Exception):
                raise did
            return did

        def alone() -> PointerResult:
            return sender.work(job, chunk, owner=name, deadline=deadline)

        return self.start("worker", together if is_small(job) else alone, after)

    def ask_about(self, lane: str, job: str, chunk: int, after: Callable[[Actor], None] = lambda _actor: None) -> Actor:
        self.watch.begins(f"ask{self.numbers + 1}", lane)
        return self.start("ask", lambda: self.world.resolve(lane, job, chunk), after)

    def track(self, lane: str, *words: ProviderEvent) -> Actor:
        def after(actor: Actor) -> None:
            again = actor.result.later if actor.error is None else words  # the queue delivers them again
            if again:
                self.later.append((self.world.clock.now() + LATER, lane, tuple(again)))

        return self.start("track", lambda: self.world.tracker.track(lane, words), after)

    def start(
        self,
        what: str,
        work: Callable[[], Any],
        after: Callable[[Actor], None] = lambda _actor: None,
        *,
        asks: str = "",
        names: bool = False,
    ) -> Actor:
        self.numbers += 1
        self.watch.turns.begins(f"{what}{self.numbers}")
        actor = self.stage.start(f"{what}{self.numbers}", work)
        self.started.append(_Started(actor, after, asks, names))
        self.reap()
        if names:
            self.watch.look()
        return actor

    def resume_one(self, actor: Actor, fate: Fate, answer: Answer = Answer.ACCEPTED) -> None:
        for p in self.world.staged.values():
            p.answer = answer
        self.stage.resume(actor, fate)
        for p in self.world.staged.values():
            p.answer = Answer.ACCEPTED
        self.reap()

    def reap(self) -> None:
        """See to the actors that are done."""
        for x in [x for x in self.started if x.actor.done]:
            self.started.remove(x)
            if x.actor.error is not None and not isinstance(x.actor.error, Crash | Retriable):
                self.watch.fail(f"{x.actor.name} raises {x.actor.error!r}")
            else:
                if x.actor.error is None:
                    self.watch.ended.add(x.actor.name)
                x.after(x.actor)
        self.watch.asking = frozenset(x.asks for x in self.started)
        self.watch.naming = frozenset(x.asks for x in self.started if x.names)
