"""What a 5xx and a broken call say of a message: not taken only where the vendor says so; the page agrees."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from shared.domain.jobs.outcomes import Outcome, Rejected, Unknown
from shared.ports import AnswerLost, NotSent, Response
from shared.providers._not_taken import NOT_TAKEN
from tests.providers.contract import CHANNELS, SIMULATED
from tests.providers.test_answers_words import MAIL, PHONE, sent

PAGE = Path(__file__).parents[2] / "docs" / "providers" / "taken-or-not.md"
BROKEN = (500, 502, 503, 504)
OWN: dict[str, Any] = {
    "mailgun": {"message": "Service Unavailable"},
    "postmark": {"ErrorCode": 100, "Message": "The Postmark API is offline for maintenance."},
    "sendgrid": {"errors": [{"message": "Service not available", "field": None}]},
    "twilio": {"code": 20503, "message": "Service unavailable", "status": 503},
}
"""Each vendor's own answer that nothing was taken."""
GATEWAY = b"<html><head><title>Bad gateway</title></head></html>"


def outcome_of(name: str, answer: Response | Exception) -> Outcome:
    (outcome,) = sent(name, answer, PHONE if name in CHANNELS else MAIL)
    return outcome


def own(name: str) -> bytes:
    return json.dumps(OWN[name]).encode()


@pytest.mark.parametrize("headers", [{}, {"retry-after": "7"}], ids=["plain", "retry-after"])
@pytest.mark.parametrize("status", BROKEN)
@pytest.mark.parametrize("name", SIMULATED)
def test_a_gateway_s_answer_leaves_the_fate_open(name: str, status: int, headers: dict[str, str]) -> None:
    assert outcome_of(name, Response(status, headers, GATEWAY)) == Unknown(f"http_{status}")


@pytest.mark.parametrize(("name", "status"), sorted(NOT_TAKEN))
def test_a_vendor_s_own_words_say_that_nothing_was_taken(name: str, status: int) -> None:
    outcome = outcome_of(name, Response(status, {}, own(name)))
    assert isinstance(outcome, Rejected)
    assert (outcome.code, outcome.permanent) == (NOT_TAKEN[name, status].code, False)


@pytest.mark.parametrize("status", [500, 502, 504])
@pytest.mark.parametrize("name", sorted(OWN))
def test_a_vendor_s_own_words_under_another_status_leave_the_fate_open(name: str, status: int) -> None:
    assert outcome_of(name, Response(status, {}, own(name))) == Unknown(f"http_{status}")


@pytest.mark.parametrize("other", sorted(OWN))
@pytest.mark.parametrize("name", SIMULATED)
def test_another_vendor_s_words_leave_the_fate_open(name: str, other: str) -> None:
    alike = {name, other} == {"mailgun", "twilio"} and name == "mailgun"  # both have a `message`
    if name != other and not alike:
        assert outcome_of(name, Response(503, {}, own(other))) == Unknown("http_503")


@pytest.mark.parametrize("name", SIMULATED)
def test_a_call_without_an_answer_is_in_doubt_only_if_something_was_written(name: str) -> None:
    refused = outcome_of(name, NotSent("tls"))
    assert isinstance(refused, Rejected)
    assert (refused.code, refused.permanent) == ("tls", False)
    assert outcome_of(name, AnswerLost("connection_closed")) == Unknown("connection_closed")


def test_the_page_names_what_the_table_has() -> None:
    rows = re.findall(r"^\| (\S+) \| (\d{3}) [^|]*\|[^|]*\| not taken \|", PAGE.read_text("utf-8"), re.MULTILINE)
    assert {(vendor.lower(), int(status)) for vendor, status in rows} == set(NOT_TAKEN)
