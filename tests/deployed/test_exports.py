"""What waits for its time, and what became of everybody as a file, through the deployed system."""

import csv
import http.client
import io
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from infra.local import processes
from simulator.client import ControlClient
from tests.deployed.api import Api
from tests.deployed.owner import mail_to
from tests.deployed.test_main_path import accepted, batch, in_a_day

pytestmark = pytest.mark.deployed
SOON_SECONDS = 3.0
"""Until what is scheduled is due, or four times as long as such a request takes here."""
LATE_SECONDS = 20.0
"""By which it may be late: a function starts cold, on a machine that does much else. The sweeper may be a minute late;
that hints come to the second is shown in fake time."""
READY_SECONDS = 60


def exported(api: Api, path: str) -> dict[str, Any]:
    """Ask for an export until it is there."""
    found: list[Any] = []

    def ready() -> bool:
        found.append(api.call("GET", f"{path}/export"))
        assert found[-1].status in (200, 202), found[-1]
        assert found[-1].body["state"] == ("ready" if found[-1].status == 200 else "preparing")
        assert found[-1].status == 200 or int(found[-1].headers["retry-after"]) > 0
        return bool(found[-1].status == 200)

    assert processes.wait_for(ready, READY_SECONDS, pause=0.2), found[-1]
    return dict(found[-1].body)


def fetch(url: str) -> tuple[int, str, str]:
    """Fetch a file as a browser does; return status, Content-Disposition and text."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.netloc, timeout=30)
    try:
        connection.request("GET", f"{parts.path}?{parts.query}")
        answer = connection.getresponse()
        return answer.status, answer.headers.get("Content-Disposition", ""), answer.read().decode("utf-8-sig")
    finally:
        connection.close()


@pytest.mark.promise(3)
def test_the_linked_export_has_every_recipient(api: Api, control: ControlClient, tag: str) -> None:
    formula = f"=1+1+{tag}@example.com"
    to = [f"ann+{tag}@example.com", formula, f"bounce+{tag}@example.com", f"-{tag}"]
    job = api.call("POST", "/batches", batch(*to, unsubscribe=True)).body["job_id"]
    api.finished(job)
    found = exported(api, f"/batches/{job}")
    assert parse_qs(urlsplit(found["url"]).query)["X-Amz-Expires"] == ["900"]
    status, disposition, text = fetch(found["url"])
    assert status == 200, text
    assert f'filename="batch-{job}-' in disposition
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    assert [row["recipient"] for row in rows] == [to[0], f"'{formula}", to[2], f"'-{tag}"]
    lines = api.lines(job)
    assert [(r["message"], r["state"], r["error"]) for r in rows] == [
        (x["message"], x["state"], x["error"] or "") for x in lines
    ]
    assert [row["state"] for row in rows] == ["delivered", "delivered", "failed", "skipped"]
    assert found["rows"] == len(rows)
    headers = mail_to(control, to[0])["headers"]
    assert headers["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    again = exported(api, f"/jobs/{job}")
    assert urlsplit(again["url"]).path == urlsplit(found["url"]).path, "nothing has changed: the same file"


@pytest.mark.promise(7)
def test_what_waits_is_listed_taken_back_or_starts_in_time(
    api: Api, control: ControlClient, aws: Callable[[str], Any], tag: str
) -> None:
    to = f"soon+{tag}@example.com"
    began = time.time()
    later = api.call("POST", "/batches", batch(f"later+{tag}@example.com", scheduled_at=in_a_day())).body["job_id"]
    due = time.time() + max(SOON_SECONDS, 4 * (time.time() - began))
    at = datetime.fromtimestamp(due, UTC).isoformat()
    soon = api.call("POST", "/batches", batch(to, scheduled_at=at)).body["job_id"]
    waiting = [item["job_id"] for item in api.items("/schedules")]
    assert waiting.index(soon) < waiting.index(later), "soonest first"
    schedules = aws("scheduler").get_paginator("list_schedules")
    named = [s["Name"] for page in schedules.paginate() for s in page["Schedules"]]
    assert (any(later in name for name in named), any(soon in name for name in named)) == (True, False)
    near = datetime.fromtimestamp(time.time() + 600, UTC).isoformat()
    moved = api.call("POST", f"/jobs/{later}/reschedule", {"scheduled_at": near})
    assert (moved.status, moved.body["waiting_for"]) == (200, "scheduled"), moved
    assert not any(later in s["Name"] for page in schedules.paginate() for s in page["Schedules"])
    moved = api.call("POST", f"/batches/{later}/reschedule", {"scheduled_at": in_a_day(), "instead_of": near})
    assert moved.status == 200, moved
    assert any(later in s["Name"] for page in schedules.paginate() for s in page["Schedules"])
    taken = api.call("DELETE", f"/schedules/{later}")
    assert (taken.status, taken.body["stop_reason"]) == (200, "user"), taken
    assert not any(later in s["Name"] for page in schedules.paginate() for s in page["Schedules"])
    assert later not in [item["job_id"] for item in api.items("/schedules")]
    again = api.call("DELETE", f"/schedules/{later}")
    assert (again.status, again.body["stop_reason"]) == (200, "user"), again
    assert api.finished(soon)["counts"]["delivered"] == 1
    (arrived,) = [row["at"] for row in control.log() if row["recipient"] == to]
    assert 0 <= arrived - due <= LATE_SECONDS, "not before its time, and by its hint"
    assert api.call("DELETE", f"/schedules/{soon}").body["code"] == "already_started"
    assert accepted(control, later) == {}
