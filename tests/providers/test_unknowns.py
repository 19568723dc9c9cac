"""How many messages of unknown fate are settled within a day: real adapters, webhooks and engine, and the simulator.

More than every other call is disturbed, the questions too: its connection is lost or a gateway breaks, after the
message was taken or before. A fifth of the webhooks never comes, and Mailgun's list of events is 25 minutes
late, as its pages allow. The engine's time passes by itself, and the simulator's with it. The simulator's log is the
oracle.
"""

import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest

from functions.webhooks.receive import receive
from functions.webhooks.services import Services
from shared.adapters.http.transport import HttpClient
from shared.contracts import Credential, load_feedback
from shared.domain.ids import Ref
from shared.domain.jobs.chunks import Recipient
from shared.domain.jobs.job import Policy
from shared.domain.jobs.outcomes import Kind
from shared.domain.jobs.states import Cell, JobState
from shared.engine.outcome.resolve import Resolved
from shared.ports import Seal
from shared.providers import registry
from shared.providers.registry import Needs
from simulator.run import Simulator
from tests.fakes.clock import FakeClock
from tests.fakes.queues import FakeQueue
from tests.fakes.world import World
from tests.simulator.conftest import Target, listening

DAY = 24 * 3600.0
MINUTE = 60.0
FAULTS: list[dict[str, Any]] = [
    {"mode": "accept_and_drop", "probability": 0.25},
    {"mode": "reset", "probability": 0.2},
    {"mode": "500", "status": 502, "accept": True, "probability": 0.1},
    {"mode": "500", "status": 502, "probability": 0.1},
]
EVENTS_LATE = 1_500.0
LOST_WEBHOOKS = 0.2
GOOD = frozenset({Cell.SENT, Cell.DELIVERED})
BAR = 0.99
Doubts = dict[str, dict[tuple[int, int], str]]


class Wire:
    """The engine's time for a transport: it goes on while an answer is waited for, so that a call can time out."""

    def __init__(self, clock: FakeClock) -> None:
        self._clock = clock
        self._seen = clock.now()
        self._since = time.monotonic()

    def now(self) -> float:
        if self._clock.now() != self._seen:
            self._seen, self._since = self._clock.now(), time.monotonic()
        return self._seen + time.monotonic() - self._since

    def sleep(self, seconds: float) -> None:
        raise AssertionError


class Far(World):
    """The engine with the real adapters of some providers; each credential bears its provider's name."""

    def __init__(self, simulator: Simulator, clock: FakeClock, posts: Mapping[str, Target], per_call: int) -> None:
        super().__init__(*(Credential(n, n, "email", 100, per_call=per_call) for n in posts), clock=clock)
        self.simulator = simulator
        self.posts = posts
        self.asked: Counter[str] = Counter()
        self._http = HttpClient(Wire(clock))
        self._secrets: dict[str, dict[str, str]] = {}
        self._read = Counter[str]()
        self._seals: dict[str, str] = {}
        self._feedback = FakeQueue(clock)
        for name in posts:
            known = simulator.control.keys(name)
            self._secrets[name] = {"api_key": known.pop("keys")[0], **known}
            needs = Needs(self._http, clock, self._secrets[name], simulator.base_url(name, name))
            self.providers[name] = registry.provider(name)(needs)  # type: ignore[assignment]
        self.reboot()
        self._services = Services(
            self.settings, self._secrets.__getitem__, self._feedback, clock, registry.webhooks, self._first
        )

    def resolve(self, lane: str, job: str, chunk: int, after: int = -1) -> Resolved:
        found = super().resolve(lane, job, chunk, after)
        self.asked += Counter(asked=found.asked, accepted=found.accepted, absent=found.absent)
        return found

    def _first(self, seal: Seal) -> bool:
        return self._seals.setdefault(seal.signed, seal.said) == seal.said

    def hear(self) -> None:
        """Let the webhook function take what the providers have posted, and the tracker join it."""
        assert self.simulator.control.flush(now=True)["failed"] == 0
        for name, target in self.posts.items():
            for post in target.posts[self._read[name] :]:
                event = {
                    "pathParameters": {"provider": name, "credential_id": name},
                    "headers": post.headers,
                    "body": post.body.decode(),
                }
                assert receive(event, self._services)["statusCode"] == 200
            self._read[name] = len(target.posts)
        words: dict[str, list[Any]] = {}
        while (message := self._feedback.receive()) is not None:
            credential, some = load_feedback(message.body)
            words.setdefault(credential, []).extend(some)
            self._feedback.delete(message)
        for credential, some in words.items():
            self.track(credential, *some)

    def live(self, job: str, seconds: float) -> None:
        """Let time pass until nothing is left to find out, at most so long."""
        end = self.clock.now() + seconds
        while self.clock.now() < end:
            self.run(seconds=0)
            self.hear()
            over = self.job(job).state is JobState.LOGGED
            if over and Cell.UNKNOWN not in self.states(job):
                return
            self.clock.sleep(MINUTE)
            self.sweep()

    def close(self) -> None:
        self._http.close()


@contextmanager
def far(*names: str, per_call: int = 0) -> Iterator[Far]:
    clock = FakeClock(float(int(time.time())))
    with ExitStack() as stack:
        simulator = stack.enter_context(Simulator(seed="unknowns", now=clock.now))
        posts = {name: stack.enter_context(listening()) for name in names}
        for name, target in posts.items():
            hooks = {"url": target.url, "loss": LOST_WEBHOOKS, "delay": {"ms": 0}, "batch_ms": 0, "parallel": 8}
            simulator.control.webhooks(name, name, **hooks)
            simulator.control.faults(name, name, rules=FAULTS, events_late_s=EVENTS_LATE)
        world = Far(simulator, clock, posts, per_call)
        stack.callback(world.close)
        yield world


def people(n: int) -> tuple[Recipient, ...]:
    """Return addresses as they are: some with capitals, some with a plus."""
    kinds = ("r{}@example.com", "R{}.Ada+news@Example.com", "r_{}-b@mail.example.org")
    addresses = [kinds[i % len(kinds)].format(i) for i in range(n)]
    return tuple(Recipient(a, a.lower()) for a in addresses)


def doubted(world: World, job: str) -> Doubts:
    """Return by credential (chunk, index) → code of the messages that an attempt left in doubt there."""
    out: Doubts = {}
    for x in world.ledgers.read_all(job):
        for w in world.records.details(job, x.chunk)[0]:
            out.setdefault(w.credential, {}).update(
                {(x.chunk, e.index): e.code for e in w.entries if e.kind is Kind.UNKNOWN}
            )
    return out


def report(world: Far, doubts: Doubts, cells: Mapping[tuple[int, int], Cell], minutes: float, seconds: float) -> str:
    """Return how many were settled, and each that is left with its reason."""
    lines = [""]
    for name, those in sorted(doubts.items()):
        left = {place: code for place, code in those.items() if cells[place] not in GOOD}
        lines.append(f"unknowns of {name}: {len(those)}, settled {len(those) - len(left)}, left {len(left)}")
        lines += [f"  {place}: {cells[place].name}, {code}" for place, code in left.items()]
    asked, accepted, absent = (world.asked[what] for what in ("asked", "accepted", "absent"))
    lines.append(f"  {asked} questions, {accepted} found, {absent} absent; {minutes:.0f} min in {seconds:.1f} s")
    return "\n".join(lines) + "\n"


@pytest.mark.slow
@pytest.mark.promise(1)
@pytest.mark.parametrize(
    ("route", "count", "per_call", "least"),
    [(("mailgun",), 400, 4, 180), (("resend",), 350, 1, 180), (("mailgun", "resend"), 120, 1, 15)],
    ids=["mailgun", "resend", "both"],
)
def test_nearly_all_unknowns_are_settled_within_a_day_and_none_is_sent_twice(
    capsys: pytest.CaptureFixture[str], route: tuple[str, ...], count: int, per_call: int, least: int
) -> None:
    began = time.perf_counter()
    with far(*route, per_call=per_call) as world:
        job = world.accept(people(count), policy=Policy(max_attempts=15)).id
        start = world.clock.now()
        world.run(seconds=0)
        world.live(job, DAY)
        taken = Counter(
            (ref.chunk, ref.index)
            for line in world.simulator.control.log()
            if (ref := Ref.parse(line["ref"])) is not None and ref.job == job
        )
        cells = {(x.chunk, i): x.cell(i)[0] for x in world.ledgers.read_all(job) for i in range(len(x.cells))}
        doubts = doubted(world, job)
        with capsys.disabled():
            sys.stdout.write(
                report(world, doubts, cells, (world.clock.now() - start) / 60, time.perf_counter() - began)
            )
        assert max(taken.values()) == 1
        assert {place for place, state in cells.items() if state in GOOD} <= set(taken)
        assert set(doubts) == set(route)
        for name, those in doubts.items():
            assert len(those) >= least
            settled = [place for place in those if cells[place] in GOOD]
            assert len(settled) >= BAR * len(those), name
        assert sum(world.counts(job).values()) == count


@pytest.mark.slow
@pytest.mark.promise(1)
def test_much_of_what_sendgrid_took_is_found_in_its_logs_and_the_rest_stays_unknown(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Its logs prove no absence: what was never taken is not sent again."""
    began = time.perf_counter()
    with far("sendgrid", per_call=1) as world:
        world.simulator.control.webhooks("sendgrid", "sendgrid", mix={"silent": 1})
        job = world.accept(people(80), policy=Policy(max_attempts=15)).id
        start = world.clock.now()
        world.run(seconds=0)
        world.live(job, 8 * 3600)
        log = world.simulator.control.log()
        taken = Counter((ref.chunk, ref.index) for line in log if (ref := Ref.parse(line["ref"])) and ref.job == job)
        cells = {(x.chunk, i): x.cell(i)[0] for x in world.ledgers.read_all(job) for i in range(len(x.cells))}
        doubts = doubted(world, job)
        with capsys.disabled():
            sys.stdout.write(
                report(world, doubts, cells, (world.clock.now() - start) / 60, time.perf_counter() - began)
            )
        assert max(taken.values()) == 1
        good = {place for place, state in cells.items() if state in GOOD}
        assert good <= set(taken)
        assert {state for place, state in cells.items() if place not in good} <= {Cell.UNKNOWN, Cell.DROPPED}
        lost = {place for place in doubts["sendgrid"] if place in taken}
        assert len(lost & good) == world.asked["accepted"] >= len(lost) / 2, "most questions are disturbed, too"
        assert world.asked["absent"] == 0
