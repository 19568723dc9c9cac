"""A notifier, its inbox and notices in memory, and what takes records."""

from collections.abc import Mapping, Sequence
from typing import Any

from shared.domain.campaigns.campaign import Message, StoredTemplate
from shared.domain.campaigns.variants import Variants
from shared.domain.notices.notice import Notice
from shared.domain.notices.notifier import Notifier
from shared.engine.notices.announced import NoticeTimes
from shared.engine.notices.take import NoticeIntake, NoticeService
from tests.domain.notices.examples import NOW, OWNER, record
from tests.fakes.clock import FakeClock
from tests.fakes.faults import Tap
from tests.fakes.journal import FakeAcceptances, FakeJournal
from tests.fakes.notices.notices import FakeInboxes, FakeNotices
from tests.fakes.queues import FakeQueue
from tests.fakes.schedules import FakeMinutes

TEMPLATE = "01hzzzzzzzzzzzzzzzzzzzzzzz"
NOTIFIER = Notifier(
    OWNER.notifier, OWNER.account, "11111111-2222-4333-8444-555555555555", "Australia/Sydney", 0, country="AU"
)


class OneTemplate:
    """`ports.Templates` with one template for text messages, and one for e-mail; `broken`: a fault to raise."""

    def __init__(self) -> None:
        self.broken: Exception | None = None

    def get(self, template: str, version: int | None = None) -> StoredTemplate | None:
        if self.broken is not None:
            raise self.broken
        email, rich = TEMPLATE.replace("01", "02"), TEMPLATE.replace("01", "03")
        channel = {TEMPLATE: "sms", email: "email", rich: "email"}.get(template)
        if channel is None:
            return None
        variants = Variants(say="Hello") if template == rich else Variants()
        return StoredTemplate(template, OWNER.account, "reminder", channel, Message(body="Hi"), 0, 0, variants=variants)

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"the intake has no use for {name}")


def upload(**changes: Any) -> dict[str, Any]:
    """Return a record whose template is there."""
    return record(template_id=TEMPLATE) | changes


class NoticeWorld:
    """One notifier's intake."""

    def __init__(self) -> None:
        self.clock = FakeClock(NOW / 1000)
        self.tap = Tap()
        self.notices = FakeNotices(self.tap)
        self.inboxes = FakeInboxes(self.notices, self.tap)
        self.queue = FakeQueue(self.clock, self.tap)
        self.templates = OneTemplate()
        self.begun: list[list[str]] = []
        self.minutes = FakeMinutes()
        self.journal = FakeJournal(self.tap)
        acceptances = FakeAcceptances(self.journal, self.clock)
        self.service = NoticeService(inboxes=self.inboxes, queue=self.queue, clock=self.clock, acceptances=acceptances)
        self.taker = NoticeIntake(
            inboxes=self.inboxes,
            notices=self.notices,
            templates=self.templates,
            queue=self.queue,
            clock=self.clock,
            at_once=self._begin,
            times=NoticeTimes(self.minutes, self.clock, lambda at: at),
        )

    def _begin(self, uuids: Sequence[str]) -> None:
        self.tap("begin", lambda: self.begun.append(list(uuids)))

    def put(self, *records: Mapping[str, Any]) -> None:
        """Upload one payload."""
        self.service.receive(NOTIFIER, records)

    def take(self, seconds: float = 1e6) -> int:
        """Take what there is."""
        return self.taker.take(NOTIFIER, self.clock.now() + seconds)

    def found(self, name: str) -> Notice:
        """Return a notice by its notifier's name for it."""
        return self.notices.items[NOTIFIER.notice_id(name)]

    def rejections(self) -> list[tuple[str, str | None, str]]:
        """Return id, action and error of each rejection, in the order of writing."""
        return [(x.id, x.action, x.error) for x in self.notices.log if x.action is not None]

    def outcome(self) -> tuple[dict[str, tuple[Any, ...]], list[tuple[str | None, ...]]]:
        """Return all that is the same however often the intake was interrupted."""
        notices = {x.id: (x.data, x.phase, x.status, x.gen, x.kept, x.version) for x in self.notices.items.values()}
        return notices, [(x.id, x.status, x.action, x.error) for x in self.notices.log]


def payloads(count: int = 3, size: int = 7) -> Sequence[Sequence[Mapping[str, Any]]]:
    """Return payloads in which ids repeat, within and across them, with some that are rejected."""
    actions = ("NEW", "UPDATE", "CANCEL", "UPDATE", "DELETE", "NEW")
    return [
        [
            upload(id=f"n{(p + i) % 4}", action=actions[(p * size + i) % len(actions)], first_name=f"Ada {p}.{i}")
            for i in range(size)
        ]
        for p in range(count)
    ]
