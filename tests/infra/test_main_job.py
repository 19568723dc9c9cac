"""What the main job of `make test` is judged by: each broken promise is a fault, and is said in words."""

from collections import Counter
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

from examples.demo.newsletter import SentNewsletter
from tests.deployed.main_job import MainJob

PEOPLE = ("ann", "ben", "cem", "dee")
SKIPPED = "eve"
WINDOW = 4

Evidence = dict[str, Any]


def row(name: str, state: str) -> dict[str, Any]:
    return {"to": f"{name}@example.com", "expect": {"state": state, "hash": name, "final": "delivered", "key": name}}


@pytest.fixture
def sent() -> SentNewsletter:
    rows = [*(row(name, "sent") for name in PEOPLE), row("ann", "duplicate"), row(SKIPPED, "skipped")]
    answer = {"recipients": 5, "duplicates": 1, "skipped": 1}
    return SentNewsletter("batch", "job", answer, rows, 0.0)


def line(name: str, state: str, **providers: int) -> dict[str, Any]:
    return {"recipient_hash": name, "state": state, "providers": providers, "attempts": sum(providers.values())}


@pytest.fixture
def found() -> Evidence:
    """Everything arrived, the first after a failover."""
    logs = [line(name, "delivered", sendgrid=1) for name in PEOPLE] + [line(SKIPPED, "skipped")]
    logs[0]["providers"] = {"mailgun": 1, "sendgrid": 1}
    taken = [{"recipient_hash": name, "provider": "sendgrid", "at": 1.0, "ref": f"job-0-{name}-1"} for name in PEOPLE]
    return {"accepted": taken, "logs": logs}


def judged(sent: SentNewsletter, found: Evidence, *lost: int, **killed: int) -> MainJob:
    report = MainJob(kills=Counter({"sender": 1, "log": 2, **killed}))
    report.judge(sent, found, lost, WINDOW)
    return report


def test_a_job_in_which_each_message_arrived_once_has_no_faults(sent: SentNewsletter, found: Evidence) -> None:
    report = judged(sent, found)
    assert (report.wrong, [*report.figures.values()]) == ([], [4, 1, 0])
    assert report.text().endswith("4 messages accepted once; killed: 2 log, 1 sender; 0 faults")


def unknown(found: Evidence) -> None:
    """The window of the last one was killed."""
    del found["accepted"][3]
    found["logs"][3] = line("dee", "unknown", sendgrid=1)


def test_a_message_of_a_killed_window_may_be_unknown(sent: SentNewsletter, found: Evidence) -> None:
    unknown(found)
    report = judged(sent, found, 1)
    assert (report.wrong, [*report.figures.values()]) == ([], [3, 1, 1])


def test_no_more_may_be_unknown_than_killed_windows_held(sent: SentNewsletter, found: Evidence) -> None:
    unknown(found)
    assert judged(sent, found).wrong == ["1 messages are unknown, and the killed windows held 0"]
    assert judged(sent, found, WINDOW + 1).wrong == ["a killed window held 5 messages, and a window has 4"]


def lose(found: Evidence) -> None:
    del found["accepted"][1]


def repeat(found: Evidence) -> None:
    found["accepted"].append(deepcopy(found["accepted"][1]))


def send_unasked(found: Evidence) -> None:
    found["accepted"].append({**found["accepted"][1], "recipient_hash": SKIPPED})


def forget_line(found: Evidence) -> None:
    del found["logs"][1]


def end_otherwise(found: Evidence) -> None:
    found["logs"][1]["state"] = "failed"


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lose, "never accepted by a provider"),
        (repeat, "accepted more than once"),
        (send_unasked, "accepted though nobody asked"),
        (forget_line, "log lines: 5 expected, 4 found"),
        (end_otherwise, "have a log that ends otherwise"),
    ],
)
def test_each_broken_promise_is_a_fault(
    sent: SentNewsletter, found: Evidence, damage: Callable[[Evidence], None], words: str
) -> None:
    damage(found)
    assert any(words in fault for fault in judged(sent, found).wrong)


@pytest.mark.parametrize(
    ("killed", "fault"),
    [({"sender": 0}, "a kill of sender did not happen"), ({"log": 0}, "a kill of log did not happen")],
)
def test_what_did_not_happen_proves_nothing(
    sent: SentNewsletter, found: Evidence, killed: dict[str, int], fault: str
) -> None:
    assert judged(sent, found, **killed).wrong == [fault]


def test_without_a_failover_nothing_is_proved(sent: SentNewsletter, found: Evidence) -> None:
    found["logs"][0]["providers"] = {"sendgrid": 1}
    assert judged(sent, found).wrong == ["a failover did not happen"]
