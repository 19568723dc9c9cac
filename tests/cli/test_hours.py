"""Hours as they are typed, sent, and shown."""

import json
from pathlib import Path
from typing import Any

import pytest

from cli.errors import Misused
from cli.sending.hours import hours_of, hours_words
from tests.cli import honest
from tests.cli.fakes import Answer, FakeApi, Run
from tests.cli.scripts import CAMPAIGN, JOB, UPLOAD, campaign, job, listed, sent, stats

DAY = {"from": "09:00", "to": "20:00", "zone": "Europe/Paris"}
ACCEPTED = {"batch_id": "b1", "job_id": "b1", "state": "READY", "recipients": 1, "duplicates": 0, "skipped": 0}


@pytest.mark.parametrize(
    ("typed", "days"),
    [
        ("09:00-20:00 Europe/Paris", None),
        ("mon-fri 09:00-20:00 Europe/Paris", ["mon", "tue", "wed", "thu", "fri"]),
        ("sat,sun 09:00-20:00 Europe/Paris", ["sat", "sun"]),
        ("Fri-Mon 09:00-20:00 Europe/Paris", ["mon", "fri", "sat", "sun"]),
    ],
)
def test_hours_are_read_as_they_are_typed(typed: str, days: list[str] | None) -> None:
    assert hours_of(typed) == {"hours": {**DAY, **({"days": days} if days else {})}}
    assert hours_of("") == {}


def test_each_recipients_own_zone_is_typed_with_that_of_the_others() -> None:
    own = {"from": "09:00", "to": "20:00", "zone": "recipient", "fallback": "Europe/Paris"}
    assert hours_of("09:00-20:00 recipient:Europe/Paris") == {"hours": own}
    assert hours_words({"hours": {**own, "days": None}}) == "09:00-20:00 recipient:Europe/Paris"


@pytest.mark.parametrize(
    "typed",
    [
        "09:00",
        "09:00-20:00",
        "9-20 Europe/Paris",
        "09:00-09:05 Europe/Paris",
        "monday 09:00-20:00 Europe/Paris",
        "a b c d",
        "mon- 09:00 x",
    ],
)
def test_other_forms_are_refused_with_an_example(typed: str) -> None:
    with pytest.raises(Misused, match=r"mon-fri 09:00-20:00 Europe/Paris"):
        hours_of(typed)


def test_a_batch_is_sent_with_hours(run: Run, api: FakeApi, folder: Path) -> None:
    api.answers(Answer(ACCEPTED, 202))
    hours = ("--hours", "09:00-20:00 Europe/Paris", "--yes")
    (folder / "b.json").write_text(json.dumps({"from": "n@example.com", "to": ["a@b.org"]}), encoding="utf-8")
    assert run("batch", "send", "b.json", *hours).code == 2  # a FILE says all of it
    (folder / "to").write_text("a@example.org\n", encoding="utf-8")
    (folder / "text").write_text("Hello\n", encoding="utf-8")
    parts = ("--from", "n@example.com", "--to-file", "to", "--subject", "Hi", "--text", "text")
    done = run("batch", "send", *parts, *hours)
    assert done.code == 0, done.err
    assert [x.json["hours"] for x in api.asked] == [DAY]
    honest.check(api)


def waits() -> dict[str, Any]:
    """Return what the API says of a job outside of its hours."""
    return {
        "waiting_for": "hours",
        "until": "2026-12-02T08:00:00.000Z",
        "hours": {**DAY, "days": None, "fallback": None},
    }


def test_a_campaign_shows_its_hours_and_until_when_it_waits(run: Run, api: FakeApi) -> None:
    figures = stats("READY", queued=3)
    figures.body["jobs"][0].update(waits())
    api.answers(campaign("READY", hours={**DAY, "days": ["sat", "sun"], "fallback": None}, jobs=[JOB]), figures)
    done = run("campaign", "show", CAMPAIGN)
    assert "hours        sat,sun 09:00-20:00 Europe/Paris" in done.out
    assert "waiting for  its hours" in done.out
    assert "until        2026-12-02T08:00:00.000Z" in done.out
    honest.check(api)


def test_who_watches_sees_until_when_a_job_waits(run: Run, api: FakeApi) -> None:
    night = job("READY", queued=2)
    night.body.update(waits())
    api.answers(campaign("READY", jobs=[JOB]), night, job("LOGGED", sent=2))
    assert "(waiting for its hours, until 2026-12-02 " in run("campaign", "watch", CAMPAIGN).out


def test_a_list_is_sent_in_hours_that_the_campaign_keeps(run: Run, api: FakeApi) -> None:
    found = campaign("ready", upload_id=UPLOAD)
    bodies: list[Any] = [DAY, "any"]
    for typed in ("09:00-20:00 Europe/Paris", "any"):
        api.answers(found, listed("ready", accepted=2), campaign("ready"), sent())
        done = run("campaign", "send", CAMPAIGN, "--hours", typed, "--yes")
        assert done.code == 0, done.err
    assert [x.json for x in api.asked if x.method == "PATCH"] == [{"hours": body} for body in bodies]
    honest.check(api)
