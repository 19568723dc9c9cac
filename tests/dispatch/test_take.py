"""The function that takes the records of notifiers."""

from types import SimpleNamespace
from typing import Any

import pytest

from functions.dispatch import services, take
from shared.adapters.clock import Calendar
from shared.contracts import inbox
from tests.engine.notice_world import NOTIFIER, NoticeWorld, upload


class Context:
    def get_remaining_time_in_millis(self) -> int:
        return 60_000


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> NoticeWorld:
    world = NoticeWorld()
    known = SimpleNamespace(get=lambda name: NOTIFIER if name == NOTIFIER.name else None)
    noticing = SimpleNamespace(taker=world.taker)
    parts = SimpleNamespace(notifiers=known, clock=world.clock, calendar=Calendar(world.clock), noticing=noticing)
    monkeypatch.setattr(services, "deployment", lambda: parts)
    return world


def event(*bodies: str) -> dict[str, Any]:
    return {"Records": [{"messageId": str(n), "body": body} for n, body in enumerate(bodies)]}


@pytest.mark.promise(7)
def test_its_event_twice_takes_the_records_once(world: NoticeWorld) -> None:
    world.put(upload(id="a"), upload(id="a", action="CANCEL"))
    (message,) = world.queue.waiting
    kept = []
    for _ in range(2):
        assert take.handler(event(message.body), Context()) == {"batchItemFailures": []}
        kept.append(world.outcome())
    assert kept[0] == kept[1]
    assert len(kept[0][1]) == 1


@pytest.mark.promise(6)
@pytest.mark.parametrize("body", ["", "[]", "{}", '{"inbox":7}'])
def test_poison_goes_to_the_dead_letters(world: NoticeWorld, body: str) -> None:
    assert take.handler(event(body, inbox("nobody")), Context()) == {"batchItemFailures": [{"itemIdentifier": "0"}]}


def test_a_fault_is_delivered_again_and_nothing_is_lost(world: NoticeWorld) -> None:
    world.put(upload(id="a"))
    world.tap.arm_at("inboxes.state", error=RuntimeError)
    failed = {"batchItemFailures": [{"itemIdentifier": "0"}]}
    assert take.handler(event(inbox(NOTIFIER.name)), Context()) == failed
    assert take.handler(event(inbox(NOTIFIER.name)), Context()) == {"batchItemFailures": []}
    assert len(world.notices.items) == 1
