"""The adversary: a hypothesis state machine that runs the engine call by call and lets everything go wrong.

Workers, sweeper, log, planner, tracker and the owner's requests are actors; each stops at every call to a store, a
queue or a provider. A rule starts one, lets some go on, or does harm. `Watch` checks the promises after every call; at
the end the harm stops, and all must come to rest.
"""

import json
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from hypothesis import note
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from shared.contracts import Word
from shared.domain.feedback import WordKind
from shared.domain.ids import Ref
from shared.domain.jobs import OnAmbiguous, Policy
from shared.domain.ledger import LedgerStatus
from shared.engine.control import NotNow
from shared.engine.track import LATER
from shared.ports import Retriable
from tests.fakes.faults import Crash
from tests.fakes.stores import FakeStores
from tests.fakes.world import ACCOUNT, INVOCATION, VISIBILITY
from tests.statemachine import ending
from tests.statemachine.provider import Answer
from tests.statemachine.stage import Actor, Fate
from tests.statemachine.watch import Watch
from tests.statemachine.world import Setting, StagedWorld, small

JOBS: Final = 3
ACTORS: Final = 5


@dataclass(frozen=True, slots=True)
class Run:
    """A process makes `calls` calls, and one more that goes by `fate`; providers give all of them `answer`."""

    calls: int
    fate: Fate = Fate.GOES
    answer: Answer = Answer.ACCEPTED


@dataclass(frozen=True, slots=True)
class Batch:
    """What is accepted. `seconds`: until it is due."""

    messages: int
    attempts: int
    on_ambiguous: OnAmbiguous
    seconds: int


SAID: Final = tuple(k for k in WordKind if k is not WordKind.ABSENT)
"""What providers say by themselves."""
some = st.integers(0, 7)
answers = st.sampled_from([Answer.ACCEPTED, Answer.ACCEPTED, *Answer])
runs = st.builds(
    Run,
    st.sampled_from([100, 1, 0, 2, 3, 4, 5, 6, 8, 10, 13]),
    st.sampled_from([Fate.GOES, Fate.GOES, *Fate]),
    answers,
)
includes = st.sampled_from([("unsent",), ("failed",), ("failed", "unsent"), ("unknown",), ("failed", "unknown")])
batches = st.builds(
    Batch,
    st.integers(1, 7),
    st.integers(1, 3),
    st.sampled_from([OnAmbiguous.HOLD, OnAmbiguous.HOLD, OnAmbiguous.FAIL_OVER]),
    st.sampled_from([0, 0, 0, 5]),
)


@dataclass(slots=True)
class _Started:
    """An actor and what follows when it is done. `asks`: the job it resumes or retries; `names`: unknown ones too."""

    actor: Actor
    after: Callable[[Actor], None]
    asks: str = ""
    names: bool = False


class Machine(RuleBasedStateMachine):
    """One run of the adversary; see the module. `setting`: the stores it meets."""

    setting: ClassVar[Setting] = Setting(FakeStores, lambda _stores: None)

    def __init__(self) -> None:
        super().__init__()
        self.stack = ExitStack()
        self.lines: list[str] = []
        self.started: list[_Started] = []
        self.words: list[tuple[str, Word]] = []
        self.later: list[tuple[float, str, tuple[Word, ...]]] = []
        self.doubted: set[str] = set()
        self.broken = False
        self.numbers = 0

    @initialize(
        window=st.integers(1, 3),
        lanes=st.integers(1, 2),
        per_call=st.integers(1, 2),
        relays=st.booleans(),
        batch=batches,
    )
    def begin(self, window: int, lanes: int, per_call: int, relays: bool, batch: Batch) -> None:  # noqa: FBT001 - drawn
        self.stack.enter_context(small(window))
        self.world = StagedWorld(self.setting.make, lanes=lanes, per_call=per_call, relays=relays)
        self.stage = self.world.stage
        self.names = list(self.world.staged)
        self.watch = Watch(self.world, window, self.lines.append)
        self.stage.said = self.lines.append
        self.stage.happened = self.watch.happened
        for p in self.world.staged.values():
            p.heard, p.hidden = self.watch.heard, self.watch.hidden
        self.accepted(batch)

    def room(self) -> bool:
        return len(self.stage.actors) < ACTORS

    def acting(self) -> bool:
        return bool(self.stage.actors)

    # The owner

    @precondition(lambda self: len(self.world.jobs) < JOBS)
    @rule(batch=batches)
    def accept(self, batch: Batch) -> None:
        self.accepted(batch)

    @precondition(room)
    @rule(n=some, then=runs)
    def stop(self, n: int, then: Run) -> None:
        job = self.job(n)
        self.go_on(self.start("stop", lambda: self.world.control.stop(job, ACCOUNT)), then)

    @precondition(room)
    @rule(n=some, include=includes, then=runs)
    def retry(self, n: int, include: tuple[str, ...], then: Run) -> None:
        job = self.job(n)
        self.watch.asked.add(job)

        def after(actor: Actor) -> None:
            if actor.error is not None or isinstance(actor.result, NotNow):
                self.doubted.add(job)  # its owner was not told that it goes on, so asks again

        work = lambda: self.world.control.retry(job, ACCOUNT, frozenset(include))  # noqa: E731 - reads well
        self.go_on(self.start("retry", work, after, asks=job, names="unknown" in include), then)

    # The deployment

    @precondition(room)
    @rule(lane=some, then=runs)
    def serve(self, lane: int, then: Run) -> None:
        """A worker receives a pointer, from the queue or, if that has none, an old one of a chunk that is idle."""
        name = self.names[lane % len(self.names)]
        queue = self.world.lanes[name]
        message = queue.receive()
        if message is None:
            idle = [x for x in self.watch.ledgers.values() if x.status is LedgerStatus.IDLE]
            if idle:
                x = idle[lane % len(idle)]
                self.go_on(self.work(x.lane, x.job, x.chunk), then)
            return

        def after(actor: Actor) -> None:
            if message in queue.in_flight and actor.error is None:
                queue.delete(message)
            elif message in queue.in_flight:
                queue.restore(message, self.world.clock.now() + VISIBILITY)

        where = json.loads(message.body)
        self.go_on(self.work(name, where["job"], where["chunk"], after), then)

    @precondition(room)
    @rule(n=some, lane=some, then=runs)
    def serve_stale(self, n: int, lane: int, then: Run) -> None:
        """A worker receives a pointer that is old, doubled, redriven, or of another lane."""
        x = list(self.watch.ledgers.values())[n % len(self.watch.ledgers)]
        self.go_on(self.work(self.names[lane % len(self.names)], x.job, x.chunk), then)

    @precondition(lambda self: self.room() and self.world.history)
    @rule(n=some, then=runs)
    def fold(self, n: int, then: Run) -> None:
        """A record of the stream comes: a new, an old or a repeated one."""
        record = self.world.history[-1 - n % len(self.world.history)]
        self.go_on(self.start("log", lambda: self.world.logger.fold(record)), then)

    @precondition(room)
    @rule(seconds=st.sampled_from([0, 151, 61, 3700]), then=runs)
    def sweep(self, seconds: int, then: Run) -> None:
        """The sweeper comes, perhaps after the leases of those who stand still have run out: these are zombies now."""
        self.world.clock.advance(seconds)
        self.go_on(self.start("sweep", lambda: self.world.sweeper.sweep(self.world.clock.now() + 60)), then)

    @precondition(room)
    @rule(n=some, then=runs)
    def plan(self, n: int, then: Run) -> None:
        job = self.job(n)
        self.go_on(self.start("plan", lambda: self.world.planner.plan(job)), then)

    @rule()
    def calm(self) -> None:
        """Nothing goes wrong for a while."""
        for root in list(self.stage.actors):
            self.stage.finish(root)
        self.reap()
        ending.pause(self.world, self.watch)

    # Providers' words

    @precondition(lambda self: self.room() and self.watch.taken)
    @rule(n=some, kinds=st.lists(st.sampled_from(SAID), min_size=1, max_size=3), lane=some, then=runs)
    def word(self, n: int, kinds: list[WordKind], lane: int, then: Run) -> None:
        """A provider says something of an attempt that it took, however early, late or contradictory."""
        attempts = [(place, a) for place, taken in self.watch.taken.items() for a in taken]
        place, attempt = attempts[-1 - n % len(attempts)]
        name = self.names[lane % len(self.names)]
        words = [Word(str(Ref(*place, attempt)), k.value, int(self.world.clock.now())) for k in kinds]
        for kind, word in zip(kinds, words, strict=True):
            self.watch.word(place, attempt, kind)
            self.words.append((name, word))
        self.go_on(self.track(name, *words), then)

    @precondition(lambda self: self.room() and self.words)
    @rule(n=st.integers(0, 20), then=runs)
    def repeat_word(self, n: int, then: Run) -> None:
        due = [x for x in self.later if x[0] <= self.world.clock.now()]
        if due:
            self.later.remove(due[0])
            self.go_on(self.track(due[0][1], *due[0][2]), then)
        else:
            self.go_on(self.track(*self.words[-1 - n % len(self.words)]), then)

    @precondition(lambda self: self.room() and self.watch.lost)
    @rule(n=some, lane=some, then=runs)
    def absent(self, n: int, lane: int, then: Run) -> None:
        """A provider is asked about an attempt that it never took, and proves it."""
        ref = self.watch.lost[-1 - n % len(self.watch.lost)]
        word = Word(str(ref), WordKind.ABSENT.value, int(self.world.clock.now()))
        name = self.names[lane % len(self.names)]
        self.words.append((name, word))
        self.go_on(self.track(name, word), then)

    @precondition(room)
    @rule(n=some, kind=st.sampled_from(WordKind), how=st.integers(0, 2))
    def foreign_word(self, n: int, kind: WordKind, how: int) -> None:
        """A word of a credential, a chunk or a recipient that is not the job's changes nothing."""
        ref = Ref(self.job(n), 99 if how == 1 else 0, 499 if how == 2 else 0, 1)
        self.go_on(self.track("nobody" if how == 0 else self.names[0], Word(str(ref), kind.value, 0)), Run(100))

    # Going on, time and harm

    @precondition(acting)
    @rule(n=some, then=runs)
    def go(self, n: int, then: Run) -> None:
        """A process makes some calls."""
        self.go_on(self.stage.actors[n % len(self.stage.actors)], then)

    @precondition(acting)
    @rule(n=some, then=runs)
    def go_as_well(self, n: int, then: Run) -> None:
        """The same, so that it is done as often as all the rest."""
        self.go_on(self.stage.actors[-1 - n % len(self.stage.actors)], then)

    @precondition(acting)
    @rule(n=some, answer=answers, fate=st.sampled_from(Fate))
    def step(self, n: int, answer: Answer, fate: Fate) -> None:
        """One of all calls that wait goes somehow, be it of several that a window makes at once."""
        ready = self.stage.ready()
        self.resume_one(ready[n % len(ready)], fate, answer)

    @rule(seconds=st.sampled_from([1, 16, 61, 151, 400, 3700]))
    def wait(self, seconds: int) -> None:
        self.world.clock.advance(seconds)

    @rule(lane=some, pointers=st.booleans())
    def lose(self, lane: int, pointers: bool) -> None:  # noqa: FBT001 - drawn
        """Pointers or stream records are lost."""
        if pointers:
            self.world.lanes[self.names[lane % len(self.names)]].lose()
        else:
            self.world.stream.clear()

    @precondition(room)
    @rule(n=some, then=runs)
    def look(self, n: int, then: Run) -> None:
        """Somebody polls the counts while all goes on."""
        job = self.job(n)

        def counts() -> None:
            found = self.world.records.job(job)
            if found is not None:
                live = self.world.logs.counts(found).counts
                if sum(live.values()) != found.total or min(live.values()) < 0:
                    self.watch.fail(f"polled counts {live} of {found.total}")

        self.go_on(self.start("look", counts), then)

    # After every rule

    @invariant()
    def told(self) -> None:
        """Write down what happened, and stop at the first promise that does not hold."""
        for line in self.lines:
            note(line)
        self.lines.clear()
        if self.watch.broken is not None:
            self.broken = True
            raise self.watch.broken

    def teardown(self) -> None:
        """End the harm: all must come to rest, and every message be final or unknown."""
        if not hasattr(self, "world"):
            return
        try:
            if not self.broken:
                for root in list(self.stage.actors):
                    self.stage.finish(root)
                self.reap()
                note("-- the harm ends --")
                ending.settle(self.world, self.watch, self.words, self.doubted)
                self.told()
        finally:
            self.stage.happened = lambda _name: None
            self.stage.close()
            self.setting.clean(self.world.stores)
            self.stack.close()

    # Helpers

    def job(self, n: int) -> str:
        return self.world.jobs[n % len(self.world.jobs)]

    def accepted(self, batch: Batch) -> None:
        self.stage.happened = lambda _name: None  # until the world knows the job's name
        policy = Policy(max_attempts=batch.attempts, on_ambiguous=batch.on_ambiguous)
        due = self.world.clock.ms + 1000 * batch.seconds if batch.seconds else 0
        self.world.accept(batch.messages, policy=policy, not_before=due)
        self.stage.happened = self.watch.happened
        self.watch.look()

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
        return self.start("worker", lambda: sender.work(job, chunk, owner=name, deadline=deadline), after)

    def track(self, lane: str, *words: Word) -> Actor:
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
