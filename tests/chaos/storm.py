"""A storm over a deployment in memory: batches come in, providers fail, workers die, webhooks are late or lost.

Everything is drawn from one seed and happens in fake time, so a seed replays its run call by call.
"""

import random
from collections import Counter
from dataclasses import dataclass, field
from typing import Final
from unittest.mock import patch

from shared.contracts import Word
from shared.domain.ids import new_id
from shared.domain.jobs.job import OnAmbiguous, Policy
from shared.domain.jobs.states import OPEN, Cell, JobState
from shared.engine.intake import accept
from shared.ports import Retriable
from tests.chaos.weather import StormyProvider
from tests.fakes.faults import Crash, When, is_store
from tests.fakes.world import World, credential

LANES: Final = (("north", 40.0), ("south", 25.0), ("west", 60.0))
STORM_S: Final = 900.0
"""Seconds in which batches come in and all goes wrong."""
CALM_S: Final = 2 * 86_400.0
"""Seconds after it: time for every round, redelivery and look."""
ALONE: Final = 0.4
"""Share of what comes in that comes as messages of their own."""
MOST_ALONE: Final = 20
FAULTS: Final = (Crash, Retriable)
WORDS: Final = (("delivered", 70), ("bounced", 5), ("dropped", 8), ("blocked", 4), ("deferred", 5), ("lost", 8))
"""A webhook's last word → how often; `lost` is one that never comes."""
GIVEN_UP: Final = frozenset({Cell.FAILED, Cell.DROPPED, Cell.SKIPPED})
TAKEN: Final = frozenset({Cell.SENT, Cell.DELIVERED, Cell.BOUNCED})


@dataclass(slots=True)
class Report:
    """What came of a storm."""

    seed: int
    messages: int
    crashes: int = 0
    states: Counter[str] = field(default_factory=Counter)
    attempts: int = 0
    taken: int = 0
    words: int = 0
    lost_words: int = 0
    doubted: int = 0
    broken: Counter[str] = field(default_factory=Counter)
    """Vendor → messages that were taken and answered with a 500, 502 or 504 in its own words."""
    chain: int = 0
    """Invocations of a lane's function that followed one another by its own messages, at the most."""
    probes: int = 0
    """Calls to the only provider while it was down."""
    back: float = 0.0
    """Seconds from its return until what had waited for it was sent."""
    unknown: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    """What must not be: empty if every promise was kept."""

    def line(self) -> str:
        """Return the report in a line."""
        states = ", ".join(f"{n} {state}" for state, n in sorted(self.states.items()))
        return (
            f"seed {self.seed}: {self.messages} messages, {self.attempts} calls, {self.taken} taken, "
            f"{self.crashes} crashes, {self.words} words and {self.lost_words} lost ones: {states}; "
            f"{self.broken.total()} were taken and answered with 500, 502 or 504 in {len(self.broken)} vendors' words; "
            f"{self.doubted} were in doubt, {len(self.unknown)} still are; the longest chain has {self.chain} links; "
            + (f"{self.probes} calls while it was down, sent {self.back:.0f} s after; " if self.probes else "")
            + f"{len(self.faults)} faults"
        )


def anywhere(_name: str) -> bool:
    """Accept every call."""
    return True


class Storm:
    """One run.

    Args:
        seed: what all is drawn from.
        messages: in all, over batches of many and of one.
        outage: seconds for which, after the storm, the only provider of further single messages is down.
    """

    def __init__(self, seed: int, messages: int, outage: float = 0.0) -> None:
        self._outage = outage
        self._rng = random.Random(seed)  # noqa: S311 - weather
        self._world = World(*(credential(n, r) for n, r in LANES), seed=seed, provider=StormyProvider)
        self._report = Report(seed, messages)
        self._heard = 0
        self._mail: list[tuple[float, str, Word]] = []
        self._policies: dict[str, Policy] = {}
        self._stormy = True
        for p in self._providers:
            p.settle_on(seed)

    @property
    def _providers(self) -> list[StormyProvider]:
        return [p for p in self._world.providers.values() if isinstance(p, StormyProvider)]

    def run(self) -> Report:
        """Blow, calm down, and account for every message; jobs' names are drawn as well, as much depends on them."""
        names = random.Random(self._report.seed)  # noqa: S311 - not secret here
        with patch.object(accept, "new_id", lambda now: new_id(now, names.getrandbits(80))):
            return self._run()

    def _run(self) -> Report:
        left = self._report.messages
        began = self._world.clock.now()
        while self._world.clock.now() < began + STORM_S or left:
            if left and self._rng.random() < 0.2:
                size = min(left, self._rng.randint(1, 120))
                if self._rng.random() < ALONE:
                    size = min(size, MOST_ALONE)
                    for _ in range(size):
                        self._accept(1)
                else:
                    self._accept(size)
                left -= size
            self._advance(self._rng.choice((1.0, 5.0, 20.0, 60.0)))
            self._look()
        since = self._go_without(LANES[0][0]) if self._outage else 0.0
        for p in self._providers:
            p.calm = True
        self._stormy = False
        self._world.tap.disarm()
        end = self._world.clock.now() + CALM_S
        while self._world.clock.now() < end:
            self._advance(600.0)
        self._account()
        if since:
            waited = {n for n in self._world.jobs if self._world.job(n).route == (LANES[0][0],)}
            sent = [t.at for t in self._world.oracle.taken if t.ref.job in waited and t.at >= since]
            self._report.back = max(sent, default=since) - since
        return self._report

    def _go_without(self, name: str) -> float:
        """Take one provider away from messages that have no other, and return when it came back (Unix seconds)."""
        world = self._world
        began = world.clock.now()
        self._turn(name, down=True)
        while world.clock.now() < began + self._outage:
            self._accept(1, (name,))
            self._advance(60.0)
        self._turn(name, down=False)
        self._report.probes = sum(who == name and at >= began for at, who, _ in world.oracle.calls)
        return world.clock.now()

    def _turn(self, name: str, *, down: bool) -> None:
        for p in self._providers:
            p.down = down and p.name == name

    def _look(self) -> None:
        """Check that the counts add up, live and folded; what fails in storms is what follows, not this look."""
        self._world.tap.disarm()
        for name in self._world.jobs:
            counts = self._world.job(name).counts
            if sum(self._world.counts(name).values()) != sum(counts.values()) or min(counts.values()) < 0:
                self._report.faults.append(f"job {name} counts {counts}")

    def _accept(self, size: int, only: tuple[str, ...] = ()) -> None:
        self._world.tap.disarm()
        risky = self._rng.random() < 0.15
        policy = Policy(on_ambiguous=OnAmbiguous.FAIL_OVER if risky else OnAmbiguous.HOLD)
        route = [name for name, _ in LANES]
        self._rng.shuffle(route)
        drawn = tuple(route[: self._rng.randint(1, 3)])
        job = self._world.accept(size, policy=policy, route=only or drawn)
        self._report.messages += size if only else 0
        self._policies[job.id] = policy

    def _advance(self, seconds: float) -> None:
        """Let things happen for some seconds; a crash ends the process where it stands, and a new one goes on."""
        world = self._world
        end = world.clock.now() + seconds
        while world.clock.now() < end:
            if self._stormy and self._rng.random() < 0.6:
                when, fault = self._rng.choice(list(When)), self._rng.choice(FAULTS)
                where = (
                    is_store if when is When.REPEATED else anywhere
                )  # no transport of ours repeats a provider's call
                world.tap.arm(self._rng.randrange(200), when, fault, where=where)
            try:
                world.run(seconds=max(0.0, end - world.clock.now()))
                self._sweep()
            except Crash:
                self._report.crashes += 1
                world.reboot()
            self._post()
            world.clock.sleep(min(60.0, max(1.0, end - world.clock.now())))

    def _sweep(self) -> None:
        try:
            self._world.sweep()
        except Retriable:
            return  # the next minute is its retry

    # Webhooks

    def _post(self) -> None:
        """Have providers say what became of what they took, and deliver what is due in any order, often twice."""
        now = self._world.clock.now()
        for t in self._world.oracle.taken[self._heard :]:
            kinds, weights = zip(*WORDS, strict=True)
            word = self._rng.choices(kinds, weights)[0]
            if word == "lost":
                self._report.lost_words += 1
                continue
            delay = self._rng.expovariate(1 / 40)
            said = Word(str(t.ref), word, int(t.at), f"{t.provider}-{t.ref}")
            self._mail.append((now + delay, t.provider, said))
            if word == "deferred":
                self._mail.append((now + delay * 3, t.provider, Word(str(t.ref), "delivered", int(t.at + delay))))
            if self._rng.random() < 0.3:
                self._mail.append((now + delay * 2, t.provider, said))
        self._heard = len(self._world.oracle.taken)
        due = [m for m in self._mail if m[0] <= now]
        self._mail = [m for m in self._mail if m[0] > now]
        self._rng.shuffle(due)
        for when, lane, word in due:
            self._report.words += 1
            try:
                self._world.track(lane, word)
            except Retriable:
                self._mail.append((when + 30, lane, word))
            except Crash:
                self._report.crashes += 1
                self._world.reboot()
                self._mail.append((when + 30, lane, word))

    # The account

    def _account(self) -> None:
        world, report = self._world, self._report
        report.attempts = len(world.oracle.calls)
        report.taken = len(world.oracle.taken)
        report.chain = world.longest_chain()
        report.broken = sum((p.broken for p in self._providers), Counter())
        for name in world.jobs:
            job = world.job(name)
            if job.state is not JobState.LOGGED:
                report.faults.append(f"job {name} ends as {job.state}")
            if sum(job.counts.values()) != job.total or sum(world.counts(name).values()) != job.total:
                report.faults.append(f"job {name}: its counts do not add up")
            for x in world.ledgers.read_all(name):
                for i in range(len(x.cells)):
                    self._one(name, x.chunk, i, *x.cell(i))
        if sum(report.states.values()) != report.messages:
            report.faults.append(f"{sum(report.states.values())} of {report.messages} messages are there")

    def _one(self, job: str, chunk: int, index: int, state: Cell, attempt: int) -> None:
        world, report = self._world, self._report
        taken = [t for t in world.oracle.of(job) if (t.ref.chunk, t.ref.index) == (chunk, index)]
        standing = sum(str(t.ref) not in world.failed for t in taken)
        risky = self._policies[job].on_ambiguous is OnAmbiguous.FAIL_OVER
        line = world.logs.line(world.job(job), chunk, index)
        name = f"message {job[-4:]}.{chunk}.{index} is {state.name} at attempt {attempt}"
        report.states[state.name.lower()] += 1
        if line is None:
            report.faults.append(f"{name}, and has no line in the log")
            return
        report.doubted += any(a.outcome == "unknown" or a.code in ("timeout", "worker_lost") for a in line.attempts)
        if state is Cell.UNKNOWN:
            report.unknown.append(f"{name}: {line.error}")
        broken = {
            "was taken more than once, and the log does not say that it may be": standing > 1
            and not line.may_duplicate,
            "was taken more than once, and its owner wanted that never": standing > 1 and not risky,
            "and no provider has it": state in TAKEN and not taken,
            "and a provider took it": state in GIVEN_UP and standing > 0 and not risky,
            "without a reason": state in (*GIVEN_UP, Cell.UNKNOWN) and not line.error,
            "for ever": state in OPEN,
        }
        report.faults += [f"{name}, {what}" for what, holds in broken.items() if holds]
