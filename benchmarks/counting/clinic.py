"""The cost of notices: uploaded over HTTP, taken, sent by runs, and reported back, over moto and metered.

The provider posts each event by itself, as those of text messages do.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Final

from benchmarks.rig import rows
from benchmarks.rig.meter import Tally
from benchmarks.rig.rows import Row, counted, named
from benchmarks.rig.scenarios import lane_of
from benchmarks.rig.world import Wire, World, deployed
from shared.contracts import Credential, ProviderEvent, Routing, Settings
from shared.domain.audit import SYSTEM, Event
from shared.domain.campaigns.campaign import Message, StoredTemplate
from shared.domain.ids import new_id
from shared.domain.jobs.feedback import ProviderEventKind
from shared.domain.notices.notice import Notice, NoticeStatus
from shared.domain.notices.notifier import Notifier, PasswordHash, new_id_space, new_password, password_digest
from shared.ports import Response
from tests.fakes.clock import FakePool

NAME: Final = "clinic-1"
RATE: Final = 150.0
MINUTE: Final = 60
YEAR_MS: Final = 365 * 86_400_000
PAYLOADS: Final = (50, 40)
WAIT: Final = 24 * 3600 + 5 * MINUTE
"""The longest wait of a notice whose run has failed, in seconds."""


class TextWire(Wire):
    """The provider of text messages."""

    secret: Mapping[str, str] = {"account_sid": "ACbench", "auth_token": "bench", "from": "+15005550006"}

    def answer(self, name: str) -> Response:
        """Return what a provider of text messages says that took one."""
        return Response(201, {}, json.dumps({"sid": name, "status": "queued"}).encode())


class Clinic:
    """A deployment with a notifier and a template; made by `clinic()`.

    Attributes:
        world: the deployment.
        notifier: with default settings, in UTC.
    """

    def __init__(self, w: World) -> None:
        from shared.adapters.dynamo.campaigns.templates import DynamoTemplates  # noqa: PLC0415 - as of functions
        from shared.adapters.dynamo.notices.updates import DynamoUpdates  # noqa: PLC0415 - as of functions

        self.world = w
        d = w.deployment
        self._noticing = d.noticing
        self._noticing.sweeper._pool = FakePool  # noqa: SLF001 - the meter wants one thread
        password = new_password()
        self._login = f"{NAME}:{password}"
        hashed = PasswordHash(password_digest(password))
        self.notifier = Notifier(NAME, w.account, new_id_space(), "Etc/UTC", w.clock.ms, passwords=(hashed,))
        made = Event(w.account, w.clock.ms, NAME, "notifier.created", SYSTEM, {})
        self._noticing.notifiers.create(self.notifier, event=made)
        # The walk of its updates is a cost of each day, not of a notice.
        DynamoUpdates(d.dynamo, records=d.records_table).purge(NAME, 0, again=w.clock.ms + YEAR_MS)
        text = Message(body="Hello {{ first_name }}, we expect you tomorrow. Please answer YES if you will come.")
        self._template = new_id(w.clock.ms)
        stored = StoredTemplate(self._template, w.account, "reminder", "sms", text, w.clock.ms, w.clock.ms)
        DynamoTemplates(d.dynamo, records=d.records_table).create(stored, None)
        self._made = 0

    # What happens

    def upload(self, *payloads: int) -> list[str]:
        """Upload payloads of so many new records each, and have them taken; return the notices' keys."""
        names = []
        for count in payloads:
            first, self._made = self._made, self._made + count
            records = [self._record(i) for i in range(first, self._made)]
            self.world.ask("PUT", "/messages", json.dumps(records), login=self._login)
            self.world.intake()
            names += [x["id"] for x in records]
        return [self.notifier.notice_id(x) for x in names]

    def minute(self) -> None:
        """Begin what is due and look at finished runs, then send."""
        d = self.world.deployment
        if not self._noticing.sweeper.sweep(d.clock.now() + MINUTE).complete:
            raise RuntimeError("not all was looked at")
        self.world.finish()

    def say(self, uuids: Sequence[str], word: ProviderEventKind) -> None:
        """Post the provider's event about each message, one post each, and track it."""
        before, self.world.meter.tally = self.world.meter.tally, Tally()
        posts: dict[str, list[list[ProviderEvent]]] = {}
        for notice in self.read(uuids):
            if notice.run is None:
                raise RuntimeError("not sent")
            said = ProviderEvent(f"{notice.run.job}-0-{notice.run.index}-1", word, int(self.world.clock.now()))
            posts.setdefault(lane_of(self.world, notice.run.job), []).append([said])
        self.world.meter.tally = before
        for lane, some in posts.items():
            self.world.track(lane, some)
        self.world.log()

    def read(self, uuids: Sequence[str]) -> list[Notice]:
        """Return notices."""
        return list(self._noticing.notices.read(uuids).values())

    def _record(self, number: int) -> dict[str, str]:
        today = datetime.fromtimestamp(self.world.clock.now(), UTC).date()
        return {
            "id": f"appointment-{number:07d}",
            "action": "NEW",
            "first_name": "Ada",
            "phone_number": f"+1415555{number % 10_000:04d}",
            "template_id": self._template,
            "delivery_method": "SMS",
            "delivery_date": today.isoformat(),
            "preferred_time": "9-20",
        }


def measure() -> list[Row]:
    """Return what one notice writes, in a full run and in a run of one, from its upload to its last event."""
    with clinic() as c:
        first, further = delivered(c, *PAYLOADS, failures=1)
        (alone,) = delivered(c, 1)
    count = sum(PAYLOADS)
    return [
        counted(
            named(rows.NOTICE_RUNS, f"{count} of one minute, delivered at once"),
            first.wru / count,
            13.5,
            "WRU",
        ),
        counted(
            named(rows.NOTICE_RUNS, f"{count} of one minute, a further run"),
            further.wru / count,
            9,
            "WRU",
        ),
        counted(named(rows.NOTICE_RUNS, "one alone"), alone.wru, 57, "WRU"),
    ]


@contextmanager
def clinic(*, spread: bool = True) -> Iterator[Clinic]:
    """Make a deployment for notices whose functions have run before. `spread`: as of `world`."""
    names = ("text-main", "text-second")
    credentials = tuple(Credential(c, "twilio", "sms", RATE, "https://provider.invalid") for c in names)
    routing: dict[str, str] = {} if spread else {"sms": Routing.ORDERED}
    with deployed(Settings("bench", credentials, {"sms": names}, routing=routing), TextWire()) as w:
        made = Clinic(w)
        delivered(made, 2)
        yield made


def delivered(c: Clinic, *payloads: int, failures: int = 0) -> list[Tally]:
    """Have notices delivered; return what each run took, the first one with the intake.

    Args:
        *payloads: how many records each payload has.
        failures: runs that fail before, each of which waits for the next attempt.
    """
    c.world.take()
    uuids = c.upload(*payloads)
    out = []
    for n in range(failures + 1):
        c.minute()
        c.say(uuids, ProviderEventKind.DELIVERED if n == failures else ProviderEventKind.FAILED_TEMPORARILY)
        out.append(c.world.take())
        c.world.clock.advance(WAIT)
    if any(x.status is not NoticeStatus.SUCCESS for x in c.read(uuids)) or not uuids:
        raise RuntimeError("not all were delivered")
    c.world.take()
    return out
