"""The function that reads lists: repeated events, messages that are none, faults of one list."""

import json
from typing import Any

import pytest

from functions.dispatch import ingest, services
from shared.contracts import ingest as body_of
from shared.domain.campaigns.campaign import UploadState
from tests.fakes.faults import When
from tests.fakes.intake import Intake

DATA = b"recipient,name\r\nann@example.com,Ann\r\n"


class Context:
    def get_remaining_time_in_millis(self) -> int:
        return 900_000


@pytest.fixture
def intake(monkeypatch: pytest.MonkeyPatch) -> Intake:
    made = Intake()
    monkeypatch.setattr(services, "deployment", lambda: made)
    return made


def run(*bodies: str) -> list[str]:
    """Return the numbers of the messages that are to be delivered again."""
    records = [{"messageId": str(n), "body": body} for n, body in enumerate(bodies)]
    answer = ingest.handler({"Records": records}, Context())
    return [failure["itemIdentifier"] for failure in answer["batchItemFailures"]]


def test_an_event_that_comes_twice_is_one(intake: Intake) -> None:
    upload = intake.take(DATA)
    body = body_of(upload.campaign, upload.id)
    assert run(body) == []
    before = intake.now(upload), intake.chunks(upload), intake.ledgers(upload)
    assert before[0].state is UploadState.READY
    assert run(body, body) == []
    assert (intake.now(upload), intake.chunks(upload), intake.ledgers(upload)) == before


@pytest.mark.parametrize("body", ["", "x", "[]", "{}", '{"campaign": "a"}', '{"campaign": 1, "upload": "b"}', "null"])
def test_a_message_that_is_none_fails_alone(intake: Intake, body: str) -> None:
    upload = intake.take(DATA)
    assert run(body, body_of(upload.campaign, upload.id)) == ["0"]
    assert intake.now(upload).state is UploadState.READY


def test_a_list_that_does_not_exist_is_nothing_to_do(intake: Intake) -> None:
    assert run(body_of("x", "y")) == []
    assert intake.uploads.items == {}


def test_the_fault_of_one_list_is_delivered_again_and_holds_no_other_up(intake: Intake) -> None:
    first, second = intake.take(DATA), intake.take(DATA)
    intake.tap.arm_at("uploads.store.chunk", When.BEFORE, RuntimeError)
    assert run(*(body_of(x.campaign, x.id) for x in (first, second))) == ["0"]
    assert intake.now(first).state is UploadState.READING
    assert intake.now(second).state is UploadState.READY


def test_a_message_says_what_it_is_about() -> None:
    parsed: Any = json.loads(body_of("c", "u"))
    assert parsed == {"campaign": "c", "upload": "u"}
