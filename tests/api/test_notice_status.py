"""Single notices by HTTP, and notifiers that have some."""

from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Any

import pytest

from shared.domain.jobs.labels import Labels
from shared.domain.notices.actions import NoticeOwner, take
from shared.domain.notices.notice import (
    DeliveryMethod,
    Notice,
    NoticeChange,
    NoticeData,
    NoticeRun,
    NoticeStatus,
    Phase,
    Verb,
)
from shared.domain.notices.records import NoticeAction
from shared.domain.notices.times import Hours
from tests.api.conftest import Api
from tests.fakes.clock import FakeClock

DATA = NoticeData("Ann", "+61491570156", "t" * 26, DeliveryMethod.SMS, date(2026, 9, 22), date(2026, 9, 29))


@pytest.fixture
def login(api: Api) -> tuple[str, str]:
    return api.notifier()


def store(api: Api, clock: FakeClock, name: str = "A/1", **changes: Any) -> Notice:
    services = api.services.notices()
    notifier = services.notifiers.get("clinic")
    assert notifier is not None
    uuid = notifier.notice_id(name)
    bare = Notice(uuid, "clinic", api.account, name, DATA, clock.ms, clock.ms + 1000, clock.ms + 9000)
    made = replace(bare, **changes)
    assert services.notices.write(None, NoticeChange(made))
    return made


def test_a_notifier_reads_its_notice(api: Api, clock: FakeClock, login: tuple[str, str]) -> None:
    store(api, clock, status=NoticeStatus.TEMP_FAIL, error="TEMP_DELIVERY_FAIL", stamp=clock.ms)
    got = api.basic("GET", "/messages/A/1", login).json
    assert (got["id"], got["status"], got["waiting"], got["error"]) == ("A/1", "TEMP_FAIL", True, "TEMP_DELIVERY_FAIL")
    assert (got["delivery_method"], got["runs"]) == ("SMS", [])
    assert got["next_attempt_at"] == "2026-09-22T00:13:21.000+10:00"
    times = {name: got[name] for name in ("created_at", "next_attempt_at", "expires_at", "updated_at")}
    assert all(x.endswith("+10:00") for x in times.values()), "every time is in the notifier's zone"
    assert api.call("GET", "/notifiers/clinic").json["last_status_at"] is not None


def test_a_notice_and_its_updates_repeat_what_its_notifier_calls_it(
    api: Api, clock: FakeClock, login: tuple[str, str]
) -> None:
    labels = Labels("visit-4711", ("reminders",))
    made = store(api, clock, labels=labels)
    got = api.basic("GET", "/messages/A/1", login).json
    assert (got["reference"], got["tags"]) == ("visit-4711", ["reminders"])
    owner = NoticeOwner("clinic", api.account, made.uuid, "A/1")
    change = take(made, NoticeAction(Verb.CANCEL, "CANCEL"), owner, Hours("UTC", 9, 21), clock.ms)
    assert change is not None
    assert api.services.notices().notices.write(made, change)
    clock.advance(60)
    begin, end = (datetime.fromtimestamp(clock.now() - s, UTC) for s in (120, 10))
    range_ = f"{begin:%Y%m%d%H%M%S}000Z-{end:%Y%m%d%H%M%S}000Z"
    (line,) = api.basic("GET", f"/message_updates/{range_}", login).json
    assert (line["status"], line["reference"], line["tags"]) == ("CANCELED", "visit-4711", ["reminders"])


def test_a_notice_shows_the_attempts_of_its_runs(api: Api, clock: FakeClock, login: tuple[str, str]) -> None:
    job = api.logged(["ann@example.org"])
    runs = tuple(NoticeRun(x, 0, 1, DeliveryMethod.SMS) for x in ("0" * 26, job))
    store(api, clock, "A-2", phase=Phase.ENDED, next_at=0, status=NoticeStatus.SUCCESS, runs=runs, ttl=clock.ms)
    got = api.basic("GET", "/messages/A-2", login).json
    assert [(x["state"], len(x["attempts"])) for x in got["runs"]] == [(None, 0), ("sent", 1)]
    assert got["runs"][1]["attempts"][0]["at"].endswith("+10:00")
    assert (got["waiting"], got["next_attempt_at"]) == (False, None)


def test_another_notifier_s_notice_and_one_past_its_time_are_not_there(
    api: Api, clock: FakeClock, login: tuple[str, str]
) -> None:
    store(api, clock)
    store(api, clock, "old", phase=Phase.ENDED, next_at=0, ttl=clock.ms // 1000 - 1)
    other = api.notifier("other")
    assert api.basic("GET", "/messages/A/1", other).code == "not_found"
    for name in ("old", "none", "x" * 300):
        assert api.basic("GET", f"/messages/{name}", login).code == "not_found"
    assert api.call("GET", "/messages/A/1").status == 401


def test_a_notifier_is_deleted_once_nothing_waits(api: Api, clock: FakeClock, login: tuple[str, str]) -> None:
    waiting = store(api, clock)
    got = api.call("DELETE", "/notifiers/clinic")
    assert (got.status, got.code) == (409, "notices_waiting")
    ended = replace(waiting, phase=Phase.ENDED, status=NoticeStatus.CANCELED, next_at=0, ttl=clock.ms, version=2)
    assert api.services.notices().notices.write(waiting, NoticeChange(ended))
    assert api.call("DELETE", "/notifiers/clinic").json == {"deleted": True}
    assert api.call("GET", "/notifiers/clinic").code == "not_found"
    assert api.call("GET", "/notifiers").json["items"] == []
    body = {"name": "clinic", "timezone": "UTC"}
    assert api.call("POST", "/notifiers", body, key=api.other()).code == "notifier_exists"
    clock.advance(60)
    assert api.basic("GET", "/messages/A/1", login).status == 401


def test_an_owner_sees_how_many_notices_wait(api: Api, clock: FakeClock, login: tuple[str, str]) -> None:
    for n in range(3):
        store(api, clock, f"n{n}")
    store(api, clock, "ended", phase=Phase.ENDED, next_at=0, ttl=clock.ms)
    got = api.call("GET", "/notifiers/clinic/stats", query={"days": 1}).json
    assert (got["waiting"], got["waiting_notices"]) == (True, 3)
    api.notifier("other")
    got = api.call("GET", "/notifiers/other/stats", query={"days": 1}).json
    assert (got["waiting"], got["waiting_notices"]) == (False, 0)
