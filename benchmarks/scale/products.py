"""Notices, digests and finished mails of a scene, by the functions that deliver them, over the real stores.

Clients post until a scene's posts end: a notifier uploads records for the next full hour, an account posts events, and
another queues mails. Each function runs as its event source or its schedule starts it.
"""

import random
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from typing import Final, Protocol

from benchmarks.counting import cost
from benchmarks.rig import prices
from benchmarks.scale.cloud import Function
from shared.adapters.dynamo.notices.updates import DynamoUpdates
from shared.bootstrap import Deployment
from shared.contracts import MAIL_CONTENTS, load_digest_hint
from shared.domain.audit import SYSTEM, Event, audited
from shared.domain.campaigns.campaign import Message, StoredTemplate
from shared.domain.content.content import Content, Finished, Mailbox
from shared.domain.digests.events import DigestEvent, event_id
from shared.domain.digests.policy import DigestPolicy
from shared.domain.ids import new_id
from shared.domain.mails.mail import StoredMail, opened
from shared.domain.mails.queue import MailSchedule, NewDestination
from shared.domain.notices.notifier import Notifier, new_id_space
from shared.domain.times import DAY_MS, Seconds
from shared.engine.digests.add import DigestAdder, NoPolicy, OtherContent, PostedEvent
from shared.engine.digests.hints import AnnouncedHints
from shared.engine.mails.queueing import OutgoingMail
from shared.ports import Retriable
from tests.fakes.clock import FakeClock, FakePool
from tests.fakes.queues import FakeQueue

NOTIFIER: Final = "clinic"
TEXTS: Final = "texts"
"""The credential for text messages."""
PAYLOAD: Final = 50
"""Records of an upload."""
MINUTE_S: Final = 60.0
POLL: Final = 0.1
WINDOW_S: Final = 20
"""Seconds that a window of events is open."""
PEOPLE: Final = 3
"""Recipients of an event, of the WATCHERS of its key."""
WATCHERS: Final = 20
KEYS: Final = 10
"""Keys whose events are collected apart."""
WORK_S: Final = 45.0
MAIL: Final = b"From: clinic@example.com\r\nSubject: Hello\r\n\r\nHello!\r\n.\r\n"
SENDER: Final = "bounces@example.com"
API_CPU: Final = 0.012
AGAIN_S: Final = 1.0


class Scenery(Protocol):
    """The scene that products are part of."""

    clock: FakeClock
    deployment: Deployment
    api: Function

    @property
    def posting(self) -> bool:
        """Tell whether clients still post."""

    @property
    def over(self) -> bool:
        """Tell whether the scene has ended."""

    def expect(self, count: int) -> None:
        """Note messages that are to be sent."""

    def begin(self, job: str, kind: str, at: Seconds) -> None:
        """Note what the messages of a job are, and since when they wait, in Unix seconds."""


class Products:
    """The three products beside batches.

    Args:
        per_second: records, events and mails that are posted a second, each.
        account: whose they are; it has no endpoint.
    """

    def __init__(self, scene: Scenery, per_second: float, account: str, email: tuple[str, ...]) -> None:
        self._scene = scene
        self._clock, self._d = scene.clock, scene.deployment
        self._rate, self._account, self._email = per_second, account, email
        self._rng = random.Random(7)
        self.take_function = Function(self._clock, 2)
        self.minute_function = Function(self._clock, 2)
        self.digest_function = Function(self._clock, 2)
        self._windows: set[str] = set()
        self._made: set[str] = set()
        self.due = (self._clock.now() // 3600 + 1) * 3600
        """When the notices are due, Unix seconds."""
        self._prepare()

    @property
    def ended(self) -> bool:
        """Tell whether all that was posted has become jobs."""
        return self._clock.now() > self.due and self._windows == self._made

    def _prepare(self) -> None:
        """Make a notifier, its template and a policy, as they have been there for long."""
        now = self._clock.ms
        self._notifier = Notifier(NOTIFIER, self._account, new_id_space(), "Etc/UTC", now, opens=0, closes=24)
        created = Event(self._account, now, NOTIFIER, "notifier.created", SYSTEM, {})
        self._d.notifiers.create(self._notifier, event=created)
        DynamoUpdates(self._d.dynamo, records=self._d.records_table).purge(NOTIFIER, 0, again=now + DAY_MS)
        self._template = new_id(now)
        text = Message(body="Hello {{ first_name }}, we expect you tomorrow. Please answer YES if you will come.")
        template = StoredTemplate(self._template, self._account, "reminder", "sms", text, now, now)
        self._d.templates.create(template, None)
        sender = Mailbox("news@example.com")
        policy = DigestPolicy(
            self._account, "team", 1, now, now, sender, subject="{{ count }} events", window=WINDOW_S, near=0
        )
        saved = audited(self._account, now, "policy", "digest_policy.created", SYSTEM)
        self._d.digesting.policies.save(None, policy, None, event=saved)
        d = self._d.digesting
        self._adder = DigestAdder(
            windows=d.windows,
            keeping=d.keeping,
            policies=d.policies,
            hints=AnnouncedHints(d.queue, self._d.minutes, self._clock),
            clock=self._clock,
            pool=FakePool,
        )

    def work(self) -> list[Callable[[], None]]:
        """Return clients and workers."""
        return [self._upload, self._post_events, self._queue_mails, self._take, self._digest, self._each_minute]

    # Clients

    def _times(self, each: int) -> Iterator[int]:
        """Wait for the moments of requests of so many things each; yields their numbers."""
        n = 0
        while self._scene.posting:
            self._clock.sleep(self._rng.expovariate(self._rate / each))
            if self._scene.posting:
                yield n
                n += 1

    def _asked(self, request: Callable[[], object]) -> None:
        """Make a request, again and again until it is served."""
        while True:
            with self._scene.api.invocation():
                self._clock.sleep(API_CPU)
                try:
                    request()
                except Retriable:
                    self._clock.sleep(AGAIN_S)
                else:
                    return

    def _upload(self) -> None:
        for n in self._times(PAYLOAD):
            if self._clock.now() > self.due - 5:
                return
            records = [self._record(n * PAYLOAD + i) for i in range(PAYLOAD)]
            self._scene.expect(PAYLOAD)
            self._asked(lambda some=records: self._d.notice_service.receive(self._notifier, some))  # type: ignore[misc]

    def _record(self, number: int) -> dict[str, str]:
        due = datetime.fromtimestamp(self.due, UTC)
        return {
            "id": f"appointment-{number:07d}",
            "action": "NEW",
            "first_name": "Ada",
            "phone_number": f"+1415555{number % 10_000:04d}",
            "template_id": self._template,
            "delivery_method": "SMS",
            "delivery_date": due.date().isoformat(),
            "preferred_time": f"{due.hour}-{due.hour + 1}",
        }

    def _post_events(self) -> None:
        for n in self._times(1):
            people = tuple(f"p{i}@example.com" for i in self._rng.sample(range(WATCHERS), PEOPLE))
            event = DigestEvent(
                "task_failed", people, self._clock.ms, {"task": f"t{n}"}, event_id(f"event-{n}", "", 0), dated=True
            )
            posted = PostedEvent(f"team/{n % KEYS}", event, named=True)

            def add(one: PostedEvent = posted) -> None:
                added = self._adder.add(self._account, [one], test=False)
                if isinstance(added, NoPolicy | OtherContent):
                    raise TypeError("the event has no window")
                self._windows.update(x.window_id for x in added)

            self._asked(add)

    def _queue_mails(self) -> None:
        for _ in self._times(1):
            begun = self._clock.now()
            name = new_id(self._clock.ms)
            address = f"d{self._rng.randrange(1000)}@d{self._rng.randrange(50)}.example.org"
            mail = opened(
                mail=name,
                account=self._account,
                test=False,
                mail_from=SENDER,
                addresses=[address],
                by="key_1",
                now=self._clock.ms,
                until=0,
            )
            files = self._d.mailing.files
            files.put(f"{MAIL_CONTENTS}{name}", MAIL)
            facts = files.facts(f"{MAIL_CONTENTS}{name}")
            if facts is None:
                raise RuntimeError("the mail has no bytes")
            finished = Finished(SENDER, f"{MAIL_CONTENTS}{name}", facts.etag, facts.size)
            content = Content(Mailbox("clinic@example.com"), "Hello", finished=finished)
            to = [NewDestination(address, MailSchedule(0))]
            asked = OutgoingMail(mail, content, to, self._email, new=True)
            self._scene.expect(1)

            def queue(one: OutgoingMail = asked, at: Seconds = begun) -> None:
                stored = self._d.mailing.queuer.queue(one, None)
                if not isinstance(stored, StoredMail):
                    raise TypeError("the mail is not queued")
                self._scene.begin(stored.job, "mail", at)

            self._asked(queue)

    # Functions

    def _take(self) -> None:
        """Be the worker of the queue of inboxes."""
        queue: FakeQueue = self._d.inbox_queue  # type: ignore[assignment]
        while not self._scene.over:
            message = queue.receive()
            if message is None:
                self._clock.sleep(POLL)
                continue
            with self.take_function.invocation():
                try:
                    self._d.noticing.taker.take(self._notifier, self._clock.now() + WORK_S)
                except Retriable:
                    queue.restore(message, self._clock.now() + AGAIN_S)
                else:
                    queue.delete(message)

    def _digest(self) -> None:
        """Be the worker of the queue of windows."""
        queue: FakeQueue = self._d.digesting.queue  # type: ignore[assignment]
        while not self._scene.over:
            message = queue.receive()
            if message is None:
                self._clock.sleep(POLL)
                continue
            with self.digest_function.invocation():
                name = load_digest_hint(message.body)
                try:
                    self._d.digesting.closer.arrived(name)
                except Retriable:
                    queue.restore(message, self._clock.now() + AGAIN_S)
                else:
                    queue.delete(message)
            self._look(name)

    def _look(self, name: str) -> None:
        """Note what a window has become."""
        window = self._d.digesting.windows.get(name)
        if window is None or not window.job or name in self._made:
            return
        job = self._d.records.job(window.job)
        if job is None:
            raise RuntimeError("the digest is no job")
        self._made.add(name)
        self._scene.expect(job.total)
        self._scene.begin(job.id, "digest", window.closes_at / 1000)

    def _each_minute(self) -> None:
        """Be the function of notices that runs every minute, and the sweeper's look for windows, on the minute."""
        while not self._scene.over:
            self._clock.sleep(MINUTE_S - self._clock.now() % MINUTE_S)
            with self.minute_function.invocation(), suppress(Retriable):  # the next minute's run continues
                self._d.noticing.sweeper.sweep(self._clock.now() + WORK_S)
                if self._d.digesting.overdue.found():
                    self._d.digesting.sweeper.sweep(self._clock.now() + WORK_S)

    def bill(self, out: cost.Bill) -> None:
        """Add what the products' functions cost beside DynamoDB."""
        for function in (self.take_function, self.minute_function, self.digest_function):
            cost.function(out, function.invocations, 0, seconds=function.billed)
            out.add("SQS", 3 * function.invocations * prices.SQS_REQUEST)
