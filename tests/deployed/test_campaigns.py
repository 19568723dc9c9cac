"""A campaign by SMS on the local cloud."""

import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import pytest

from simulator.client import ControlClient
from simulator.vendors.twilio.messages import segments
from tests.deployed.api import Api
from tests.deployed.oracle import Oracle
from tests.deployed.owner import Owner, mail_to

pytestmark = pytest.mark.deployed

SMS_LANE: Final = "campaign-sms"
SOON_SECONDS: Final = 2
"""Until what is scheduled is due, or four times as long as a request takes here."""
TEXT: Final = "Hello {{ name }}! {{ words }}"


@pytest.mark.promise(3)
def test_an_sms_campaign_starts_on_schedule_and_is_delivered_by_callbacks(
    api: Api, control: ControlClient, tmp_path: Path
) -> None:
    people = {
        "+4915123456789": ("Zoë", "short"),
        "+447400123456": ("Ann", "x" * 200),
        "+14155550101": ("Łukasz", "y" * 70),
    }
    list_ = tmp_path / "texts.csv"
    rows = (
        "0151 23456789,Zoë,short",
        f"+44 7400 123456,Ann,{'x' * 200}",
        f"+14155550101,Łukasz,{'y' * 70}",
        "12,No,no",
    )
    list_.write_text("\n".join(("recipient,name,words", *rows)), encoding="utf-8")
    oracle = Oracle(control, SMS_LANE)
    owner = Owner(api, SMS_LANE, {"body": TEXT}, channel="sms")
    found = owner.read(owner.upload(list_, region="DE"))
    assert (found["state"], found["accepted"], found["invalid"]) == ("ready", 3, 1)
    assert [(e["row"], e["code"]) for e in found["errors"]] == [(4, "invalid_number")]
    wanted = {to: f"Hello {name}! {words}" for to, (name, words) in people.items()}
    began = time.time()
    shown = [api.get(f"/campaigns/{owner.id}/preview?row={n}") for n in (1, 2, 3)]
    slow = 4 * (time.time() - began) / len(shown)
    assert [p["sms"]["segments"] for p in shown] == [segments(text) for text in wanted.values()] == [1, 2, 2]
    due = time.time() + max(SOON_SECONDS, slow)
    job = owner.send(scheduled_at=datetime.fromtimestamp(due, UTC).isoformat())
    [waiting] = [x for x in api.get("/schedules")["items"] if x["job_id"] == job]
    assert (waiting["kind"], waiting["waiting_for"]) == ("campaign", "scheduled")
    counts = api.finished(job)["counts"]
    assert counts["delivered"] == len(people)
    sent = oracle.of(job)
    assert min(row["at"] for row in sent) >= due
    assert sorted(row["recipient"] for row in sent) == sorted(people)
    assert job not in [x["job_id"] for x in api.get("/schedules")["items"]]
    assert {to: mail_to(control, to)["text"] for to in people} == wanted
    assert {line["recipient"]: line["state"] for line in owner.messages()} == dict.fromkeys(people, "delivered")
