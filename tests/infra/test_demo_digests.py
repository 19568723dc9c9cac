"""What the demo says about the mails of its digests: each person has exactly theirs, or it names what is wrong."""

from dataclasses import replace
from typing import Any

import pytest

from examples.demo import digests
from infra.local.cloud import Cloud
from infra.local.paths import Paths

PRODUCTION, DEVELOPMENT = "acme/production", "acme/development"


@pytest.fixture
def flood(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> digests.Flood:
    monkeypatch.setattr(digests, "call", lambda *_: {})
    return digests.story(Cloud(Paths(tmp_path), {}))


def mails(flood: digests.Flood) -> list[dict[str, Any]]:
    """Return the mails as they should be."""
    found = []
    for (person, key), tasks in flood.wanted().items():
        lines = [f"task: {task}" for task in tasks[: digests.LISTED]]
        more = len(tasks) - digests.LISTED
        body = "\n".join([*lines, *([f"… and {more:,} more"] if more > 0 else [])])
        found.append({"to": person, "subject": f"{key}: {len(tasks)} tasks", "html": body, "text": body})
    return found


def test_a_bad_night_is_403_events_for_five_people_and_eight_mails(flood: digests.Flood) -> None:
    found = mails(flood)
    assert {key: len(events) for key, events in flood.events.items()} == {PRODUCTION: 400, DEVELOPMENT: 3}
    assert (len(flood.people), len(found)) == (5, digests.MOST_MAILS)
    assert digests.faults(flood, found) == []
    said = "403 events for 5 people became 8 mails instead of 1,143; each person reads exactly theirs"
    assert digests.summary(flood, found) == said


def test_one_event_more_less_or_in_another_order_is_named(flood: digests.Flood) -> None:
    eve = flood.people[-1]
    for old, new in (
        ("task: import-10\n", ""),
        ("import-10\n", "import-11\n"),
        ("import-0\n", "import-0\ntask: import-0\n"),
    ):
        found = [
            {**mail, "text": mail["text"].replace(old, new)} if mail["to"] == eve else mail for mail in mails(flood)
        ]
        assert digests.faults(flood, found) == [f"{eve}'s mail about {PRODUCTION} does not list exactly their events"]


def test_a_mail_too_many_too_few_and_for_another_is_named(flood: digests.Flood) -> None:
    ann, *_, eve = flood.people
    found = mails(flood)
    assert digests.faults(flood, found[1:]) == [f"{ann} has 0 mails about {PRODUCTION}, not one"]
    assert digests.faults(flood, [*found, found[0]]) == [
        "there are 9 mails, not 8 at the most",
        f"{ann} has 2 mails about {PRODUCTION}, not one",
    ]
    for_eve = next(mail for mail in found if mail["to"] == eve and mail["subject"].startswith(DEVELOPMENT))
    others = replace(flood, events={PRODUCTION: flood.events[PRODUCTION]})
    assert digests.faults(others, [x for x in found if x["subject"].startswith(PRODUCTION)] + [for_eve]) == [
        f"{eve} has a mail about {DEVELOPMENT}, and should have none"
    ]
