"""The adversary: a hypothesis state machine that runs the engine call by call and lets everything go wrong.

Workers, sweeper, log, planner, tracker and the owner's requests are actors; each stops at every call to a store, a
queue or a provider. A rule starts one, lets some go on, or does harm. `Watch` checks the promises after every call; at
the end the harm stops, and all must come to rest.
"""

import json
from typing import Final

from hypothesis import note
from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, precondition, rule

from shared.contracts import ProviderEvent
from shared.domain.ids import Ref
from shared.domain.jobs.feedback import SOFT, ProviderEventKind
from shared.domain.jobs.ledger import LedgerStatus
from shared.domain.jobs.states import Cell
from shared.engine.jobs.control import NotNow
from tests.fakes.world import ACCOUNT, VISIBILITY
from tests.statemachine import ending
from tests.statemachine.cast import Cast
from tests.statemachine.draws import BAD, SAID, WRONG, Batch, Run, answers, batches, includes, runs, some
from tests.statemachine.provider import Answer, AskedProvider
from tests.statemachine.stage import Actor, Fate
from tests.statemachine.watch import Watch
from tests.statemachine.world import Asking, StagedWorld, small

JOBS: Final = 3
SUPPRESSED: Final = 2
"""Recipients suppressed by others in a run, at the most."""


class Machine(Cast):
    """One run of the adversary; see the module. `setting`: the stores it meets."""

    @initialize(
        window=st.integers(1, 3),
        lanes=st.sampled_from([2, 1, 3]),
        per_call=st.integers(1, 2),
        relays=st.booleans(),
        asking=st.sampled_from(Asking),
        recorded=st.booleans(),
        threshold=st.sampled_from([5, 1, 2]),
        weather=st.sampled_from([None, None, None, *BAD]),
        batch=batches,
    )
    def begin(
        self,
        *,
        window: int,
        lanes: int,
        per_call: int,
        relays: bool,
        asking: Asking,
        recorded: bool,
        threshold: int,
        weather: Answer | None,
        batch: Batch,
    ) -> None:
        self.open(
            window=window,
            lanes=lanes,
            per_call=per_call,
            relays=relays,
            asking=asking,
            recorded=recorded,
            threshold=threshold,
            weather=weather,
        )
        self.accepted(batch)

    def open(
        self,
        *,
        window: int,
        lanes: int,
        per_call: int,
        relays: bool,
        asking: Asking,
        recorded: bool,
        threshold: int,
        weather: Answer | None,
        exclusive: bool = False,
    ) -> None:
        """Make the world. `exclusive`: jobs may reserve their credential, so the sweeper looks there, too."""
        self.stack.enter_context(small(window, recorded=recorded, threshold=threshold))
        self.world = StagedWorld(
            self.setting.make, lanes=lanes, per_call=per_call, relays=relays, asking=asking, exclusive=exclusive
        )
        self.stage = self.world.stage
        self.names = list(self.world.staged)
        self.watch = Watch(self.world, window, self.lines.append)
        self.stage.said = self.lines.append
        self.stage.happened = self.watch.happened
        for p in self.world.staged.values():
            p.heard, p.hidden = self.watch.heard, self.watch.hidden
            if isinstance(p, AskedProvider):
                p.found = self.watch.found
        self.stack.enter_context(self.watch.paths.reading())
        if weather is not None:
            self.world.staged[self.names[0]].always = weather

    # The owner

    @precondition(lambda self: len(self.world.jobs) < JOBS)
    @rule(batch=batches)
    def accept(self, batch: Batch) -> None:
        self.accepted(batch)

    @precondition(Cast.room)
    @rule(n=some, then=runs)
    def stop(self, n: int, then: Run) -> None:
        job = self.job(n)
        self.go_on(self.start("stop", lambda: self.world.control.stop(job, ACCOUNT)), then)

    @precondition(Cast.room)
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

    @precondition(Cast.room)
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
        serve = self.ask_about if where.get("resolve") else self.work
        self.go_on(serve(name, where["job"], where["chunk"], after), then)

    @precondition(Cast.room)
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

        def fold() -> None:
            if self.world.logger.fold(record).retrying:
                self.world.retrier.carry_on(record.job, self.world.clock.now() + 20)

        self.go_on(self.start("log", fold), then)

    @precondition(lambda self: self.room() and any(x.having(Cell.UNKNOWN) for x in self.watch.ledgers.values()))
    @rule(n=some, lane=some, then=runs)
    def ask(self, n: int, lane: int, then: Run) -> None:
        """A lane gets a question; mostly that of the first doubt."""
        doubtful = [x for x in self.watch.ledgers.values() if x.having(Cell.UNKNOWN)]
        x = doubtful[n % len(doubtful)]
        first = x.having(Cell.UNKNOWN)[0]
        other = self.names[lane % len(self.names)]
        name = other if lane == WRONG else self.watch.lanes.get(Ref(x.job, x.chunk, first, x.cells[first] >> 4), other)
        self.go_on(self.ask_about(name, x.job, x.chunk), then)

    @precondition(lambda self: self.room() and len(self.barred) < SUPPRESSED)
    @rule(n=some, then=runs)
    def suppress(self, n: int, then: Run) -> None:
        """Somebody is suppressed, by whatever else the account sends."""
        keys = sorted(set(self.watch.people.values()))
        key, now = keys[n % len(keys)], int(self.world.clock.now() * 1000)
        self.barred.add(key)
        work = lambda: self.world.records.suppress(ACCOUNT, key, "complained", now)  # noqa: E731 - reads well
        self.go_on(self.start("suppress", work), then)

    @precondition(Cast.room)
    @rule(seconds=st.sampled_from([0, 151, 61, 3700]), then=runs)
    def sweep(self, seconds: int, then: Run) -> None:
        """The sweeper comes, perhaps after the leases of those who stand still have run out: these are zombies now."""
        self.world.clock.advance(seconds)
        self.go_on(self.start("sweep", lambda: self.world.sweeper.sweep(self.world.clock.now() + 60)), then)

    @precondition(Cast.room)
    @rule(n=some, then=runs)
    def plan(self, n: int, then: Run) -> None:
        job = self.job(n)
        self.go_on(self.start("plan", lambda: self.world.planner.plan(job)), then)

    @rule(lane=some, answer=st.sampled_from(BAD), all_of_them=st.booleans())
    def fail(self, lane: int, answer: Answer, all_of_them: bool) -> None:  # noqa: FBT001 - drawn
        """A provider, or each, fails for a while."""
        for name in self.names if all_of_them else [self.names[lane % len(self.names)]]:
            self.world.staged[name].always = answer

    @precondition(lambda self: any(p.always is not Answer.ACCEPTED for p in self.world.staged.values()))
    @rule()
    def recover(self) -> None:
        """All providers work again."""
        for p in self.world.staged.values():
            p.always = Answer.ACCEPTED

    @rule()
    def calm(self) -> None:
        """Nothing goes wrong for a while, but for providers that fail."""
        for root in list(self.stage.actors):
            self.stage.finish(root)
        self.reap()
        ending.pause(self.world, self.watch)

    # Providers' words

    @precondition(lambda self: self.room() and self.watch.taken)
    @rule(n=some, kinds=st.lists(st.sampled_from(SAID), min_size=1, max_size=3), lane=some, then=runs)
    def word(self, n: int, kinds: list[ProviderEventKind], lane: int, then: Run) -> None:
        """A provider says something of an attempt that it took, however early, late or contradictory."""
        attempts = [(place, a) for place, taken in self.watch.taken.items() for a in taken]
        place, attempt = attempts[-1 - n % len(attempts)]
        wrong = self.names[0] if lane == WRONG else None
        name = wrong or self.watch.lanes[Ref(*place, attempt)]
        words = [ProviderEvent(str(Ref(*place, attempt)), k.value, int(self.world.clock.now())) for k in kinds]
        for kind, word in zip(kinds, words, strict=True):
            self.watch.word(place, attempt, kind)
            self.words.append((name, word))
        self.go_on(self.track(name, *words), then)

    @precondition(lambda self: self.room() and self.accepted_ones())
    @rule(n=some, kind=st.sampled_from(sorted(SOFT)), calls=st.sampled_from([100, 100, 1, 3]))
    def give_up(self, n: int, kind: ProviderEventKind, calls: int) -> None:
        """A provider gives up what it took."""
        ref = self.accepted_ones()[n % len(self.accepted_ones())]
        name, word = self.watch.lanes[ref], ProviderEvent(str(ref), kind.value, int(self.world.clock.now()))
        self.watch.word((ref.job, ref.chunk, ref.index), ref.attempt, kind)
        self.words.append((name, word))
        self.go_on(self.track(name, word), Run(calls))

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
        word = ProviderEvent(str(ref), ProviderEventKind.ABSENT.value, int(self.world.clock.now()))
        name = self.names[0] if lane == WRONG else self.watch.lanes[ref]
        self.words.append((name, word))
        self.go_on(self.track(name, word), then)

    @precondition(Cast.room)
    @rule(n=some, kind=st.sampled_from(ProviderEventKind), how=st.integers(0, 2))
    def foreign_word(self, n: int, kind: ProviderEventKind, how: int) -> None:
        """A word of a credential, a chunk or a recipient that is not the job's changes nothing."""
        ref = Ref(self.job(n), 99 if how == 1 else 0, 499 if how == 2 else 0, 1)
        self.go_on(
            self.track("nobody" if how == 0 else self.names[0], ProviderEvent(str(ref), kind.value, 0)), Run(100)
        )

    # Going on, time and harm

    @precondition(Cast.acting)
    @rule(n=some, then=runs)
    def go(self, n: int, then: Run) -> None:
        """A process makes some calls."""
        self.go_on(self.stage.actors[n % len(self.stage.actors)], then)

    @precondition(Cast.acting)
    @rule(n=some, then=runs)
    def go_as_well(self, n: int, then: Run) -> None:
        """The same, so that it is done as often as all the rest."""
        self.go_on(self.stage.actors[-1 - n % len(self.stage.actors)], then)

    @precondition(Cast.acting)
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

    @precondition(Cast.room)
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
            self.recover()
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
