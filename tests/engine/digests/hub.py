"""What makes digests, in memory: windows, hints, the walk of every minute, and the engine that sends their jobs."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

from shared.contracts import Credential, DueKind, DueMinute, load_digest_hint
from shared.domain.content.content import Mailbox
from shared.domain.digests.events import DigestEvent, pack, raw_size
from shared.domain.digests.policy import DigestPolicy
from shared.domain.digests.window import DigestWindow, EventPart, WindowState, joining, opened, urgent
from shared.domain.jobs.states import JobState
from shared.engine.digests.add import DigestAdder
from shared.engine.digests.clean import WindowCleaner
from shared.engine.digests.close import WindowCloser
from shared.engine.digests.hints import AnnouncedHints
from shared.engine.digests.make import DigestFault, DigestMaker, DigestStores
from shared.engine.digests.overdue import OverdueWindows
from shared.engine.minutes import MinuteAnnouncer, MinuteRelay
from shared.engine.sweeper.overdue import OverdueWork
from shared.ports import Clock
from tests.domain.digests.examples import policy
from tests.fakes.clock import FakePool
from tests.fakes.digests.jobs import FakeDigestJobs
from tests.fakes.digests.policies import FakeDigestPolicies
from tests.fakes.digests.windows import FakeWindows
from tests.fakes.faults import Crash
from tests.fakes.queues import FakeQueue
from tests.fakes.schedules import FakeScheduler
from tests.fakes.world import ACCOUNT, World, credential

__all__ = ["ACCOUNT", "KEY", "LINE", "DigestHub", "event"]

KEY = "acme/production"
LINE = re.compile(r"<i>(.*?)</i>")
UNSUBSCRIBE = "https://mail.example.com/unsubscribe/"


def event(name: str, *to: str, at: int | None = None, id: str = "") -> DigestEvent:  # noqa: A002 - as the field
    """Return an event whose line shows its name; `to`: people, by their local parts."""
    people = tuple(x if "@" in x else f"{x}@example.com" for x in to)
    return DigestEvent("task_failed", people, at or 1_790_000_000_000, {"name": name}, id)


@dataclass(frozen=True, slots=True)
class DigestProcess:
    """The code of a function, with a memory of its own."""

    adder: DigestAdder
    maker: DigestMaker
    closer: WindowCloser
    cleaner: WindowCleaner


class DigestHub:
    """Everything in it is public: tests look at and touch what they like."""

    def __init__(
        self, *credentials: Credential, provider_limit: int = 50, account: str = ACCOUNT, **changes: Any
    ) -> None:
        self.account = account
        self.world = World(*(credentials or (credential("one", 2_500),)), provider_limit=provider_limit)
        self.clock, self.tap, self.records = self.world.clock, self.world.tap, self.world.records
        self.windows = FakeWindows(self.tap)
        self.policies = FakeDigestPolicies(tap=self.tap)
        self.jobs = FakeDigestJobs(self.windows, self.records, self.world.ledgers, self.tap)  # type: ignore[arg-type]
        self.queue = FakeQueue(self.clock, self.tap)
        self.due_queue = FakeQueue(self.clock, self.tap)
        self.scheduler = FakeScheduler(self.tap)
        self.hints = AnnouncedHints(self.queue, self.announcer(self.clock), self.clock)
        self.late: list[str] = []
        self.overdue: list[DueKind] = []
        self.policies.put(
            policy(
                sender=Mailbox("digest@example.com"),
                subject="{{ count }} events of {{ batch_key }}",
                template="{{ events }}",
                line="<i>{{ name }}</i>",
                namespace=account,
                **changes,
            )
        )
        self._parts = count()
        self.reboot()

    def reboot(self) -> None:
        """Start the functions anew: what they knew in memory is gone."""
        self.world.reboot()
        own = self.process(self.clock)
        self.maker, self.closer, self.cleaner = own.maker, own.closer, own.cleaner

    def process(self, clock: Clock) -> DigestProcess:
        """Return a function that remembers nothing. `clock`: its own."""
        hints = AnnouncedHints(self.queue, self.announcer(clock), clock)
        stores = DigestStores(
            windows=self.windows,
            keeping=self.windows,
            policies=self.policies,
            records=self.records,
            standings=self.world.standings,
            jobs=self.jobs,
        )
        maker = DigestMaker(
            stores=stores,
            acceptor=self.world.acceptor,
            lanes=self.world.lanes,
            settings=self.world.settings,
            clock=clock,
            unsubscribe=UNSUBSCRIBE,
        )
        closer = WindowCloser(
            windows=self.windows,
            keeping=self.windows,
            policies=self.policies,
            hints=hints,
            maker=maker,
            clock=clock,
            late=lambda window: self.late.append(window.id),
        )
        adder = DigestAdder(
            windows=self.windows, keeping=self.windows, policies=self.policies, hints=hints, clock=clock, pool=FakePool
        )
        return DigestProcess(adder, maker, closer, WindowCleaner(self.windows, self.windows, clock))

    def announcer(self, clock: Clock) -> MinuteAnnouncer:
        """Return what a process announces minutes by. `clock`: its own."""
        return MinuteAnnouncer(scheduler=self.scheduler, queue=self.due_queue, clock=clock)

    @property
    def relay(self) -> MinuteRelay:
        """Return what wakes the digest function."""
        wake = {DueKind.DIGESTS: lambda minute: self.queue.send([minute.dumps()])}
        return MinuteRelay(wake=wake, queue=self.due_queue, clock=self.clock)

    @property
    def net(self) -> OverdueWork:
        """Return the sweeper's look."""
        looks = {DueKind.DIGESTS: OverdueWindows(self.windows, self.clock).found}
        return OverdueWork(looks, self.due_queue, self.overdue.append)

    @property
    def policy(self) -> DigestPolicy:
        """The policy of the keys."""
        return self.policies.latest[self.account, "acme/"]

    # What adders do

    def part(self, *events: DigestEvent) -> EventPart:
        """Store a part."""
        ttl = self.clock.ms // 1000 + int(self.policy.kept_for)
        made = EventPart(f"part{next(self._parts)}", pack(events), len(events), sum(map(raw_size, events)), ttl)
        self.windows.put_parts([made])
        return made

    def add(self, *events: DigestEvent, key: str = KEY, test: bool = False) -> str:
        """Add events to the open window of a key, or to a new one; return its id."""
        part, now = self.part(*events), self.clock.ms
        last = self.windows.last(f"{self.account}#TEST" if test else self.account, key)
        if last is not None and last.state is WindowState.OPEN:
            assert self.windows.join(last.id, joining(last, part, self.policy, now)) == (True, None)
            return last.id
        number = last.number + 1 if last else 1
        window = self.windows.open(opened((self.account, test), key, number, self.policy, part, now))
        self.hints.opened(window.id, window.closes_at)
        return window.id

    def urgent(self, one: DigestEvent, key: str = KEY) -> str:
        """Store an urgent event."""
        window = urgent((self.account, False), key, self.policy, self.part(one), self.clock.ms)
        self.hints.at(window.id, self.clock.ms)
        return self.windows.open_urgent(window, "", 0).id

    # Steps

    def serve(self) -> int:
        """Serve what schedules and queues bring now; return how many messages of the digest function that were."""
        self.scheduler.fire(self.clock.now(), self.due_queue)
        while (due := self.due_queue.receive()) is not None:
            minute = DueMinute.loads(due.body)
            assert minute is not None
            self.relay.arrived(minute)
            self.due_queue.delete(due)
        served = 0
        while (message := self.queue.receive()) is not None:
            try:
                self.one(message.body)
            except DigestFault:
                pass  # the walk tries again
            except Crash:
                self.queue.restore(message, self.clock.now() + 720)
                raise
            self.queue.delete(message)
            served += 1
        return served

    def one(self, body: str) -> None:
        """Serve a message."""
        minute = DueMinute.loads(body)
        if minute is None:
            self.closer.arrived(load_digest_hint(body))
        elif minute.at:
            self.closer.minute(minute.at)
        else:
            self.minute()

    def live(self, seconds: int) -> None:
        """Let each second pass, and the sweeper look once a minute."""
        for _ in range(seconds):
            self.clock.advance(1)
            if self.clock.ms // 1000 % 60 == 0:
                for _, look in self.net.walk():
                    look()
            self.serve()

    def minute(self) -> None:
        """Let the walks run."""
        for _, act in [*self.closer.walk(), *self.cleaner.walk()]:
            act()

    def close(self, seconds: float = 0) -> None:
        """Let the windows' time pass, and serve their hints."""
        self.clock.advance(seconds or self.policy.window)
        self.serve()

    def send(self) -> None:
        """Send what is to be sent."""
        jobs = self.records.jobs  # type: ignore[attr-defined]
        self.world.jobs[:] = [name for name, job in jobs.items() if job.state is not JobState.LOGGED]
        self.world.run()

    # What is seen

    def window(self, window_id: str) -> DigestWindow:
        """Return a window as it is stored."""
        return self.windows.items[window_id]

    def mails(self) -> dict[str, list[tuple[str, ...]]]:
        """Return for each person the mails that providers really took: the names of their events."""
        out: dict[str, list[tuple[str, ...]]] = {}
        for taken in self.world.oracle.taken:
            chunk = self.records.chunk(taken.ref.job, taken.ref.chunk)
            content = self.records.content(taken.ref.job)
            assert chunk is not None
            assert content is not None
            assert content.digest is not None
            lines = content.digest.groups[int(chunk.recipients[taken.ref.index].values["group"])]
            names = tuple(LINE.sub(r"\1", content.digest.html[n]) for n in lines)
            out.setdefault(taken.address.partition("@")[0], []).append(names)
        return out

    def said(self) -> list[tuple[int, Sequence[str]]]:
        """Return for each call how many people it reached, and the names of the events that it listed."""
        calls = self.world.oracle.calls
        bodies = [x for c in self.world.settings.credentials for x in self.world.providers[c.id].said]
        return [(n, LINE.findall(x.html)) for (_, _, n), x in zip(calls, bodies, strict=True)]
