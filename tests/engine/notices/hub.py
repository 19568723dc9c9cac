"""A hub in memory: the engine over fakes, with notices, their notifier and every step of a run."""

import json
from collections import deque
from dataclasses import replace
from datetime import date
from typing import Any, Final
from uuid import UUID, uuid5

from shared.contracts import Credential, DueKind, DueMinute
from shared.domain.jobs.labels import NO_LABELS, Labels
from shared.domain.jobs.ledger import Ledger
from shared.domain.jobs.states import Cell
from shared.domain.notices.actions import NoticeOwner, take
from shared.domain.notices.notice import DeliveryMethod, Notice, NoticeData, Verb
from shared.domain.notices.notifier import Notifier
from shared.domain.notices.records import NoticeAction
from shared.domain.notices.times import moment
from shared.domain.notices.updates import Span, link_range
from shared.engine.minutes import MinuteAnnouncer, MinuteRelay
from shared.engine.notices.announced import AnnouncedNotices, NoticeTimes
from shared.engine.notices.due import DueNotices
from shared.engine.notices.look import NoticeRuns
from shared.engine.notices.overdue import OverdueNotices
from shared.engine.notices.purge import NoticePurge
from shared.engine.notices.texts import NoticeText
from shared.engine.notices.updates import UpdateReader, UpdatesRead
from shared.engine.notices.words import NoticeWords
from shared.engine.sweeper.overdue import OverdueWork
from shared.engine.walks.doubts import Asking
from shared.ports import Retriable
from tests.fakes.clock import FakeClock
from tests.fakes.notices.notices import FakeNotices
from tests.fakes.notices.notifiers import FakeNotifiers
from tests.fakes.notices.runs import FakeRunStarts
from tests.fakes.notices.updates import FakeUpdates
from tests.fakes.queues import FakeQueue
from tests.fakes.schedules import FakeScheduler
from tests.fakes.world import ACCOUNT, World

ZONE: Final = "Australia/Sydney"
DAY: Final = date(2026, 11, 24)
TEN: Final = moment(ZONE, DAY, 600)
"""Ten o'clock of that day."""
HOUR: Final = 3_600
FEEDBACK_TIMEOUT: Final = 12 * HOUR


class Hub:
    """Everything in it is public: tests look at and touch what they like."""

    def __init__(self, rate: float = 100, *, at: int = TEN, calls: bool = True) -> None:
        credentials = [Credential("text", "text", "sms", rate), Credential("call", "call", "voice", rate)]
        credentials = credentials if calls else credentials[:1]
        self.world = World(*credentials, clock=FakeClock(at / 1000))
        routes: dict[str, tuple[str, ...]] = {"sms": ("text",), "voice": ("call",) if calls else ()}
        self.settings = replace(self.world.settings, routes=routes)
        self.clock, self.ledgers, self.records = self.world.clock, self.world.ledgers, self.world.records
        self.log = FakeUpdates(self.world.tap, journal=self.records.journal)  # type: ignore[attr-defined]
        self.store = FakeNotices(self.world.tap, self.log)
        self.starts = FakeRunStarts(self.store, self.records, self.ledgers, self.world.tap)  # type: ignore[arg-type]
        self.notifiers = FakeNotifiers(self.records.journal, self.world.tap, self.log)  # type: ignore[attr-defined]
        self.notifier = Notifier("clinic", ACCOUNT, "11111111-2222-3333-8444-555555555555", ZONE, at)
        self.texts = {
            "reminder": {
                DeliveryMethod.SMS: NoticeText("Hello {{ first_name }}, see you soon."),
                DeliveryMethod.IVR: NoticeText("Good day {{ first_name }}."),
            }
        }
        self.stream: deque[Ledger] = deque()
        before = self.world.stores.listener

        def streamed(ledger: Ledger) -> None:
            before(ledger)
            if ledger.told:
                self.stream.append(ledger)

        self.world.stores.listener = streamed
        self.due_queue = FakeQueue(self.clock)
        self.scheduler = FakeScheduler()
        self.woken: list[int] = []
        self.overdue: list[DueKind] = []
        self.asked: list[str] = []
        self.part = 3
        self.log.walks["clinic"] = at + 24 * HOUR * 1000
        self.reboot()

    def reboot(self) -> None:
        """Start the functions anew: what they knew in memory is gone."""
        self.world.reboot()
        minutes = MinuteAnnouncer(scheduler=self.scheduler, queue=self.due_queue, clock=self.clock)
        self.notices = AnnouncedNotices(self.store, NoticeTimes(minutes, self.clock, lambda at: at))
        self.words = NoticeWords(
            notices=self.notices, notifiers=self.notifiers, records=self.records, ledgers=self.ledgers, clock=self.clock
        )
        self.due = DueNotices(
            notices=self.notices,
            starts=self.starts,
            notifiers=self.notifiers,
            texts=lambda _namespace, template: self.texts.get(template, {}),
            records=self.records,
            acceptor=self.world.acceptor,
            lanes=self.world.lanes,
            settings=self.settings,
            words=self.words,
            clock=self.clock,
        )
        self.runs = NoticeRuns(
            records=self.records,
            ledgers=self.ledgers,
            notices=self.store,
            words=self.words,
            asking=Asking(self.records, self.world.lanes, lambda _credential: False),
            clock=self.clock,
            feedback_timeout=FEEDBACK_TIMEOUT,
        )
        self.purge = NoticePurge(
            log=self.log, notices=self.store, notifiers=self.notifiers, clock=self.clock, part=self.part
        )

    @property
    def notifier(self) -> Notifier:
        """The only notifier."""
        return self.notifiers.items["clinic"]

    @notifier.setter
    def notifier(self, notifier: Notifier) -> None:
        self.notifiers.items["clinic"] = notifier

    # What notifiers do

    def data(self, n: int = 0, **changes: Any) -> NoticeData:
        """Return the data of a notice; each n has a number of its own."""
        made = NoticeData("Ada", f"+61412{n:06d}", "reminder", DeliveryMethod.SMS, DAY, date(2026, 12, 1))
        return replace(made, **changes)

    def ask(self, verb: Verb, name: str = "n0", data: NoticeData | None = None, labels: Labels = NO_LABELS) -> Notice:
        """Take one record in, and return the notice afterwards."""
        uuid = str(uuid5(UUID(self.notifier.id_space), name))
        owner = NoticeOwner(self.notifier.name, self.notifier.account, uuid, name)
        action = NoticeAction(verb, verb.value, data, labels)
        for _ in range(5):
            stored = self.store.items.get(uuid)
            change = take(stored, action, owner, self.notifier.hours, self.clock.ms)
            if change is None or self.notices.write(stored, change):
                return self.store.items[uuid]
        raise AssertionError("others write all the time")

    def new(self, n: int = 0, **changes: Any) -> Notice:
        """Take a new notice in."""
        return self.ask(Verb.NEW, f"n{n}", self.data(n, **changes))

    def update(self, n: int = 0, **changes: Any) -> Notice:
        """Take an update in."""
        return self.ask(Verb.UPDATE, f"n{n}", self.data(n, **changes))

    def cancel(self, n: int = 0) -> Notice:
        """Take a cancellation in."""
        return self.ask(Verb.CANCEL, f"n{n}")

    # Steps

    def minute(self) -> None:
        """Let the function of every minute run, then the engine and its streams until they rest."""
        self.begin()
        self.engine()

    def live(self, seconds: int) -> None:
        """Let each second pass, with schedules, the sweeper's look once a minute, and the engine."""
        relay = MinuteRelay(wake={DueKind.NOTICES: self._wake}, queue=self.due_queue, clock=self.clock)
        found = OverdueNotices(self.store, self.records, self.log, self.clock).found
        net = OverdueWork({DueKind.NOTICES: found}, self.due_queue, self.overdue.append)
        for _ in range(seconds):
            self.clock.advance(1)
            self.scheduler.fire(self.clock.now(), self.due_queue)
            if self.clock.ms // 1000 % 60 == 0:
                net.look(DueKind.NOTICES)
            while (message := self.due_queue.receive()) is not None:
                minute = DueMinute.loads(message.body)
                assert minute is not None
                relay.arrived(minute)
                self.due_queue.delete(message)

    def _wake(self, _minute: DueMinute) -> None:
        self.woken.append(self.clock.ms)
        self.minute()

    def begin(self) -> None:
        """Begin what is due, look at finished runs, and walk the log of what was collected."""
        for _, act in [*self.due.walk(), *self.runs.walk()]:
            act()
        for _, act in self.purge.walk(self.clock.now() + 60):
            act()

    def collect(self, since: int = 0) -> list[str]:
        """Have the notifier read its updates up to now, from a moment on (Unix ms); return the notices' names."""
        reader = UpdateReader(log=self.log, clock=self.clock)
        found = reader.read(self.notifier, link_range(Span(since, self.clock.ms)))
        assert isinstance(found, UpdatesRead)
        return [x["id"] for x in json.loads(found.body)]

    def engine(self) -> None:
        """Let senders and streams work until nothing is left."""
        self.world.jobs[:] = list(self.records.jobs)  # type: ignore[attr-defined]
        self.world.run()
        self.tell()
        self.world.run()

    def tell(self) -> None:
        """Tell the words of the stream."""
        while self.stream:
            try:
                self.words.tell(self.stream.popleft())
            except Retriable:
                return  # the look finds them

    def pass_time(self, seconds: float, step: float = 300) -> None:
        """Let time pass, with the function and the sweeper at every step."""
        end = self.clock.now() + seconds
        while self.clock.now() < end:
            self.clock.advance(min(step, end - self.clock.now()))
            self.minute()
            self.world.sweep()
            self.engine()

    def feedback(self, job: str, index: int, word: str) -> None:
        """Let the provider say what became of a message."""
        lane = self.ledgers.read_all(job)[0].lane
        attempt = self.world.cells(job)[index][1]
        self.world.track(lane, self.world.word(job, index, word, attempt=attempt))
        self.engine()

    # What is seen

    def notice(self, n: int = 0) -> Notice:
        """Return a notice."""
        return self.store.items[str(uuid5(UUID(self.notifier.id_space), f"n{n}"))]

    def said(self, n: int = 0) -> list[tuple[str, str]]:
        """Return status and error of a notice's entries."""
        return [(x.status, x.error) for x in self.store.log if x.id == f"n{n}"]

    def taken(self) -> list[str]:
        """Return the numbers that providers really took, in order."""
        return [x.address for x in self.world.oracle.taken]

    def cell(self, n: int = 0) -> Cell:
        """Return the cell of a notice's last run."""
        run = self.notice(n).runs[-1]
        return self.world.states(run.job)[run.index]
