"""Digests on the deployed stack: events in, a few messages out, each person's events in exactly one of them."""

import json
import re
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from urllib.parse import quote

import pytest

from examples.demo import digests
from infra.local.cloud import Cloud
from infra.local.processes import wait_for
from shared.engine.digests.overdue import HINTED_MS
from simulator.client import ControlClient
from tests.deployed import guides
from tests.deployed.api import Answer, Api
from tests.deployed.following import Reader

pytestmark = pytest.mark.deployed

SOON: Final = 60
ANNOUNCED: Final = 245
"""Seconds; the minute in which such a window ends begins over three minutes after it was opened."""
ONE_CLICK: Final = b"List-Unsubscribe=One-Click"
FORM: Final = "application/x-www-form-urlencoded"


@dataclass(frozen=True, slots=True)
class Firm:
    """A digest policy of one test, and what arrives of it."""

    api: Api
    control: ControlClient
    tag: str

    @property
    def prefix(self) -> str:
        return f"firm-{self.tag}/"

    @property
    def key(self) -> str:
        return f"{self.prefix}production"

    def rules(self, **settings: Any) -> None:
        """Store the policy."""
        body = {"from": "Jobs <jobs@example.com>", "window": 300, **settings}
        answer = self.api.call("PUT", f"/digest-policies/{self.prefix}", body)
        assert answer.status == 200, answer.body

    def event(self, kind: str, *people: str, **more: Any) -> dict[str, Any]:
        """Return an event for people, who are named without their domain."""
        to = [x if x.startswith("+") else f"{x}+{self.tag}@example.org" for x in people]
        return {"event_type": kind, "batch_key": self.key, "recipients": to, **more}

    def post(self, *events: dict[str, Any]) -> list[dict[str, Any]]:
        """Post events; return the windows that they joined."""
        answer = self.api.call("POST", "/events", list(events))
        assert answer.status == 202, answer.body
        found: list[dict[str, Any]] = answer.body["items"]
        return found

    def close(self, window: str) -> Answer:
        return self.api.call("POST", f"/digests/{window}/close")

    def processed(self, window: str) -> dict[str, Any]:
        """Wait until a window is processed and its messages have their final state."""
        seen: list[dict[str, Any]] = []

        def done() -> bool:
            seen.append(self.api.get(f"/digests/{window}"))
            return bool(seen[-1]["state"] == "processed")

        assert wait_for(done, SOON, pause=0.2), seen[-1]
        if seen[-1]["job_id"]:
            self.api.finished(seen[-1]["job_id"])
        return seen[-1]

    def rows(self) -> list[dict[str, Any]]:
        """Return what providers accepted for this test's people, oldest first."""
        return [row for row in self.control.log() if self.tag in row["recipient"]]

    def mail(self, row: dict[str, Any]) -> dict[str, Any]:
        """Return a message as its recipient sees it."""
        found: dict[str, Any] = self.control.json("GET", f"/inbox/{row['seq']}.json")
        return found

    def names(self, rows: Sequence[dict[str, Any]]) -> list[str]:
        return sorted(row["recipient"].partition("+")[0] for row in rows)


@pytest.fixture
def firm(api: Api, control: ControlClient, tag: str) -> Firm:
    return Firm(api, control, tag)


@dataclass(frozen=True, slots=True)
class Announced:
    """A window whose end a schedule announces. `scheduled`: the schedules of minutes after it was opened."""

    firm: Firm
    window: str
    scheduled: frozenset[str]


def minutes(aws: Callable[[str], Any]) -> frozenset[str]:
    """Return the names of the schedules of minutes in which windows end."""
    pages = aws("scheduler").get_paginator("list_schedules").paginate(NamePrefix="digests-")
    return frozenset(x["Name"] for page in pages for x in page["Schedules"])


@pytest.fixture(scope="module", autouse=True)
def announced(api: Api, control: ControlClient, aws: Callable[[str], Any]) -> Announced:
    """Open a window that ends late enough to be announced, so that its time passes while the other tests run."""
    firm = Firm(api, control, secrets.token_hex(4))
    firm.rules(window=ANNOUNCED, max_age=ANNOUNCED, near=0)
    (piece,) = firm.post(firm.event("task.failed", "ann"))
    return Announced(firm, piece["window_id"], minutes(aws))


@pytest.mark.promise(1)
def test_three_events_for_three_people_are_two_mails(firm: Firm, api: Api) -> None:
    firm.rules(timezone="Europe/Berlin")
    at = "2026-11-20T09:00:00Z"
    (piece,) = firm.post(
        firm.event("task.failed", "ann", "ben", timestamp=at, data={"task": "import"}),
        firm.event("task.failed", "ben", "ann", timestamp="2026-11-20T10:00:01+01:00", data={"task": "invoices"}),
        firm.event("task.succeeded", "cleo", timestamp=1795165202, data={"task": "clean-up"}),
    )
    assert (piece["batch_key"], piece["accepted"]) == (firm.key, 3)
    assert firm.close(piece["window_id"]).body["state"] in ("closed", "processed")
    window = firm.processed(piece["window_id"])
    assert (window["events"], window["groups"], window["duplicates"]) == (3, 2, 0)
    rows = firm.rows()
    assert firm.names(rows) == ["ann", "ben", "cleo"]
    assert len({(row["credential"], row["call"]) for row in rows}) == 2, "the mails are two calls"
    ann, ben, cleo = (firm.mail(row) for row in sorted(rows, key=lambda row: row["recipient"]))
    assert (ann["subject"], ann["html"], ann["text"]) == (ben["subject"], ben["html"], ben["text"])
    assert (ann["subject"], cleo["subject"]) == (f"{firm.key}: task.failed x2", f"{firm.key}: task.succeeded x1")
    for part in ("html", "text"):
        assert re.findall(r"task: ([a-z-]+)", ann[part]) == ["import", "invoices"]
        assert re.findall(r"task: ([a-z-]+)", cleo[part]) == ["clean-up"]
        assert "2026-11-20 10:00:00" in ann[part]
    lines = api.items(f"/jobs/{window['job_id']}/logs")
    assert {line["recipient"].partition("+")[0]: line["state"] for line in lines} == dict.fromkeys(
        ("ann", "ben", "cleo"), "delivered"
    )


def test_a_window_closes_by_itself(firm: Firm) -> None:
    firm.rules(window=2, near=0)
    (piece,) = firm.post(firm.event("task.failed", "ann"))
    firm.processed(piece["window_id"])
    assert firm.names(firm.rows()) == ["ann"]


def test_an_urgent_event_is_sent_at_once_beside_the_open_window(firm: Firm, api: Api) -> None:
    firm.rules()
    (calm,) = firm.post(firm.event("task.failed", "ann"))
    (urgent,) = firm.post(firm.event("disk.full", "ann", urgent=True, event_id="disk"))
    (again,) = firm.post(firm.event("disk.full", "ann", urgent=True, event_id="disk"))
    assert again["window_id"] == urgent["window_id"] != calm["window_id"]
    shown = firm.processed(urgent["window_id"])
    assert (shown["urgent"], shown["number"], shown["events"]) == (True, 0, 1)
    assert [row["subject"] for row in firm.rows()] == [f"{firm.key}: disk.full x1"]
    assert api.get(f"/digests/{calm['window_id']}")["state"] == "open"


def test_of_a_cancelled_window_nothing_is_sent(firm: Firm, api: Api) -> None:
    firm.rules()
    (piece,) = firm.post(firm.event("task.failed", "ann", data={"task": "first"}))
    where = f"/digests/{piece['window_id']}"
    assert [api.call("DELETE", where).body["state"] for _ in range(2)] == ["cancelled", "cancelled"]
    assert firm.close(piece["window_id"]).body["code"] == "closed"
    (other,) = firm.post(firm.event("task.failed", "ann", data={"task": "second"}))
    firm.close(other["window_id"])
    shown = firm.processed(other["window_id"])
    assert (shown["number"], shown["groups"]) == (2, 1)
    late = api.call("DELETE", f"/digests/{other['window_id']}")
    assert (late.status, late.body["code"]) == (409, "closed")
    (mail,) = (firm.mail(row) for row in firm.rows())
    assert re.findall(r"task: (\w+)", mail["text"]) == ["second"]
    listed = api.get(f"/digests?batch_key={quote(firm.key, safe='')}")["items"]
    states = {x["window_id"]: x["state"] for x in listed}
    assert states == {piece["window_id"]: "cancelled", other["window_id"]: "processed"}


def test_a_digest_is_also_a_text_message(firm: Firm) -> None:
    firm.api.call("PUT", f"/digest-policies/{firm.prefix}", {"channel": "sms"})
    number = f"+49151{int(firm.tag[:7], 16) % 10**8:08}"
    posted = [firm.event("task.failed", number), firm.event("task.failed", number), firm.event("task.lost", "nobody")]
    (piece,) = firm.post(*posted)
    firm.close(piece["window_id"])
    firm.processed(piece["window_id"])
    texts = [row for row in firm.control.log("twilio", "texts") if row["recipient"] == number]
    assert [firm.mail(row)["text"] for row in texts] == ["production: task.failed x2"]


@pytest.mark.promise(11)
def test_a_link_in_a_digest_leaves_the_digests_of_that_policy(firm: Firm, api: Api) -> None:
    firm.rules(unsubscribe=True)
    (first,) = firm.post(firm.event("task.failed", "ann", "ben"))
    firm.close(first["window_id"])
    firm.processed(first["window_id"])
    rows = firm.rows()
    ann, ben = (firm.mail(row) for row in sorted(rows, key=lambda row: row["recipient"]))
    link, other = (re.findall(r"Stop these digests: (\S+)", mail["text"])[0] for mail in (ann, ben))
    assert link != other
    assert link in ann["html"]
    assert {name.lower(): value for name, value in ann["headers"].items()}["list-unsubscribe"] == f"<{link}>"
    assert link.startswith(api.url)
    page = Api(api.url, "").call("GET", link.removeprefix(api.url))
    assert firm.prefix in page.body
    pressed = Api(api.url, "").call("POST", link.removeprefix(api.url), raw=ONE_CLICK, content_type=FORM)
    assert pressed.status == 200, pressed.body

    (second,) = firm.post(firm.event("task.failed", "ann", "ben"))
    firm.close(second["window_id"])
    job = firm.processed(second["window_id"])["job_id"]
    assert firm.names(firm.rows()[len(rows) :]) == ["ben"]
    errors = {line["recipient"].partition("+")[0]: line["error"] for line in api.items(f"/jobs/{job}/logs")}
    assert errors == {"ann": "unsubscribed", "ben": None}
    listed = api.get(f"/suppressions/{ann['to']}?scope=digests&policy={firm.prefix}")
    assert json.dumps(listed).count(firm.prefix) == 1


@pytest.mark.promise(7)
def test_a_flood_becomes_a_mail_for_each_person_and_key_and_repeats_change_nothing(cloud: Cloud, api: Api) -> None:
    flood = digests.story(cloud, "flood/")
    digests.post(flood)
    digests.post(flood)
    digests.close(flood)
    found = digests.watch(flood)
    assert len(found) == len(flood.wanted()) <= digests.MOST_MAILS
    for window in flood.windows:
        shown = api.get(f"/digests/{window}")
        assert shown["state"] == "processed"
        assert shown["events"] == 2 * shown["duplicates"]
    listed = {x["window_id"]: x["job_id"] for x in api.items("/digests")}
    assert flood.windows <= set(listed)
    assert {listed[x] for x in flood.windows} <= {x["job_id"] for x in api.items("/jobs")}


def test_a_newcomer_types_the_guide(firm: Firm, opened: Callable[[dict[str, str]], Reader]) -> None:
    firm.rules()
    (piece,) = firm.post(firm.event("task.failed", "ann"))  # the newest open window is another afterwards
    opened({"acme": f"acme-{firm.tag}", "run-47": f"{firm.tag}-"}).follow(guides.steps(guides.page("digests-guide")))
    assert firm.api.get(f"/digests/{piece['window_id']}")["state"] == "open"


def test_a_window_that_a_schedule_announces_closes_by_its_hint(announced: Announced, aws: Callable[[str], Any]) -> None:
    """The sweeper leaves a window 20 seconds to its hint."""
    read, name = announced.firm.api.get, f"/digests/{announced.window}"
    end = datetime.fromisoformat(read(name)["closes_at"])
    schedule = f"digests-{int(end.timestamp()) // 60 * 60}"
    assert schedule in announced.scheduled
    assert wait_for(lambda: read(name)["state"] == "processed", ANNOUNCED + SOON, pause=0.5)
    late = (datetime.fromisoformat(read(name)["closed_at"]) - end).total_seconds()
    assert 0 <= late < HINTED_MS / 1000
    assert schedule not in minutes(aws)
