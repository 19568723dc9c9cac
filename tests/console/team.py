"""What team keys made in an account: a batch, a digest, a mail, a notice and an endpoint of webhooks."""

from dataclasses import dataclass, replace
from datetime import date
from typing import Final

from shared.adapters.dynamo.client import Dynamo
from shared.adapters.dynamo.digests.keeping import DynamoWindowRetention
from shared.adapters.dynamo.digests.windows import DynamoWindows
from shared.domain.digests.window import WindowState
from shared.domain.hooks.delivery import Cells, DeliveryState, HookDelivery
from shared.domain.namespaces import team_space
from shared.domain.notices.notice import DeliveryMethod, Notice, NoticeChange, NoticeData, NoticeRun
from tests.api.team import team_key
from tests.console.console import Console

GUEST: Final = "gus@example.org"


@dataclass(frozen=True, slots=True)
class TeamThings:
    """Ids of what team keys made; `delivery` names one of `hook`, about messages of `job`."""

    job: str
    window: str
    mail: str
    notice: str
    hook: str
    delivery: str


def teamed(console: Console) -> TeamThings:
    """Make things with a team key whose guest is GUEST."""
    key = team_key(console.api, GUEST)
    job = console.api.logged((GUEST,), key=key, subject="A rehearsal")
    hook, delivery = _hooked(console, key, job)
    return TeamThings(
        job, _collected(console, key, job), _handed_over(console, key), _noticed(console, key, job), hook, delivery
    )


def _hooked(console: Console, key: str, job: str) -> tuple[str, str]:
    body = {"url": "https://staging.example.com/events", "events": ["*"], "description": "Staging"}
    name: str = console.api.call("POST", "/hooks", body, key=key).json["id"]
    room = console.api.hooks
    room.prove(name)
    now = console.services.now
    waiting = HookDelivery("evt_team", name, "message.failed", now, now, cells=(Cells(job, 0, ((0, 0),)),))
    room.queue.add(name, [waiting], wake=now)
    return name, room.end(waiting, DeliveryState.FAILED, 500).name


def _collected(console: Console, key: str, job: str) -> str:
    """Return a window of events that became a job."""
    api = console.api
    assert api.call("PUT", "/digest-policies/staging/", {"from": "news@example.com"}, key=key).status < 300
    event = {"event_type": "task.failed", "batch_key": "staging/one", "recipients": [GUEST], "data": {"task": "t1"}}
    posted = api.call("POST", "/events", [{**event, "timestamp": "2026-11-20T09:00:00Z"}], key=key)
    name: str = posted.json["items"][0]["window_id"]
    db, records = Dynamo(console.client, sleep=api.world.clock.sleep), api.tables.records
    old = DynamoWindows(db, records=records).get(name)
    assert old is not None
    now = console.services.now
    done = replace(old, state=WindowState.PROCESSED, job=job, closed_at=now, processed_at=now, version=old.version + 1)
    assert DynamoWindowRetention(db, records=records).change(old, done)
    return name


def _handed_over(console: Console, key: str) -> str:
    body = {
        "mail_from": "news@example.com",
        "destinations": [{"address": GUEST}],
        "content": "From: news@example.com\r\n\r\nHello!\r\n",
    }
    name: str = console.api.call("POST", "/mails", body, key=key).json["mail_id"]
    return name


def _noticed(console: Console, key: str, job: str) -> str:
    """Return the key of a notice with a run."""
    made = console.api.call("POST", "/notifiers", {"name": "staging", "timezone": "Australia/Sydney"}, key=key)
    assert made.status == 201
    room, now = console.services.use_cases.notices(), console.services.now
    notifier = room.notifiers.get("staging")
    assert notifier is not None
    data = NoticeData("Gus", "+61491570158", "t" * 26, DeliveryMethod.SMS, date(2026, 9, 22), date(2026, 9, 29))
    whose, name = team_space(console.account), notifier.notice_id("T/1")
    bare = Notice(name, "staging", whose, "T/1", data, now, now + 3_600_000, now + 86_400_000)
    assert room.notices.write(None, NoticeChange(replace(bare, runs=(NoticeRun(job, 0, 1, DeliveryMethod.SMS),))))
    return name
