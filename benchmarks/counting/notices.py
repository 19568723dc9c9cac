"""The cost of taking in a notifier's records: seconds in fake time, and write units on moto."""

from typing import Any, Final

from benchmarks.rig import rows
from benchmarks.rig.rows import Row, counted, named
from benchmarks.rig.world import World, world
from shared.domain.campaigns.campaign import Message, StoredTemplate
from shared.domain.notices.notifier import Notifier

CALL_SECONDS: Final = 0.006
MANY: Final = 10_000
LARGE: Final = 1_000
SMALL: Final = 50
TEMPLATE: Final = "01hzzzzzzzzzzzzzzzzzzzzzzz"


def measure() -> list[Row]:
    """Return how long ten thousand records take, and what one costs in a large and in a small payload."""
    return [
        counted(named(rows.NOTICES, f"{MANY:,} in one payload, 6 ms a call"), _seconds(), 60, "s"),
        counted(named(rows.NOTICES, f"write units of each, {LARGE:,} at once"), _units(LARGE), 4.1, "WRU"),
        counted(named(rows.NOTICES, f"write units of each, {SMALL} at once"), _units(SMALL), 4.4, "WRU"),
    ]


def _record(i: int) -> dict[str, Any]:
    return {
        "id": f"appointment-{i}",
        "action": "MESSAGE_NEW",
        "first_name": f"Ada {i}",
        "phone_number": f"0412 {i // 1000 % 1000:03d} {i % 1000:03d}",
        "template_id": TEMPLATE,
        "delivery_method": "SMS",
        "delivery_date": "2026-10-24",
        "preferred_time": "9-12",
    }


def _seconds() -> float:
    """Return how long one worker takes for many records, each call of which takes 6 ms."""
    from tests.engine.notice_world import NoticeWorld, upload  # noqa: PLC0415 - no other row needs the fakes

    w = NoticeWorld()
    w.put(*(upload(id=str(i)) for i in range(MANY)))
    w.tap.delay = lambda: w.clock.advance(CALL_SECONDS)
    began = w.clock.now()
    if w.take() != MANY:
        raise RuntimeError("not every record was taken")
    return w.clock.now() - began


def _units(records: int) -> float:
    """Return the write units of a record: payload, notice, indices and checkpoint."""
    with world(rate=100) as w:
        notifier = _prepared(w)
        d = w.deployment
        w.take()
        d.notice_service.receive(notifier, [_record(i) for i in range(records)])
        if d.noticing.taker.take(notifier, d.clock.now() + 60) != records:
            raise RuntimeError("not every record was taken")
        return w.take().wru / records


def _prepared(w: World) -> Notifier:
    from shared.adapters.dynamo.campaigns.templates import DynamoTemplates  # noqa: PLC0415 - as the world's own

    d = w.deployment
    made = StoredTemplate(TEMPLATE, w.account, "reminder", "sms", Message(body="Hello {{ first_name }}"), 0, 0)
    DynamoTemplates(d.dynamo, records=d.records_table).create(made, None)
    space = "11111111-2222-4333-8444-555555555555"
    return Notifier("clinic", w.account, space, "Australia/Sydney", 0, country="AU")
