"""Notifications that a mail was not delivered."""

import email
import email.policy
from email.message import EmailMessage

import pytest

from shared.domain.jobs.states import Cell
from shared.domain.mails.report import FailedDestination, ReportedMail, notification
from tests.domain.ledgers import NOW
from tests.domain.mails.examples import MAIL_ID

HEADER = (
    b"From: Clinic <clinic@example.com>\r\nBcc: secret@example.org,\r\n more@example.org\r\n"
    b"Subject: Gr\xc3\xbc\xc3\x9fe\r\n"
)
MAIL = ReportedMail(MAIL_ID, "clinic@example.com", "bounces@example.com", NOW, HEADER)
FAILED = (
    FailedDestination("ann@example.org", Cell.FAILED, "invalid_recipient"),
    FailedDestination("jos\xe9@example.org", Cell.EXPIRED),
)


def parsed(data: bytes) -> EmailMessage:
    found = email.message_from_bytes(data, policy=email.policy.default)
    assert isinstance(found, EmailMessage)
    return found


def test_it_is_a_report_of_three_parts() -> None:
    found = parsed(notification(MAIL, FAILED, name="n1", now=NOW))
    assert (found.get_content_type(), found.get_param("report-type")) == ("multipart/report", "delivery-status")
    assert (found["To"], found["Auto-Submitted"]) == ("bounces@example.com", "auto-replied")
    assert "clinic@example.com" in found["From"]
    parts = [x.get_content_type() for x in found.iter_parts()]
    assert parts == ["text/plain", "message/delivery-status", "text/rfc822-headers"]
    assert not found.defects


def test_it_names_each_destination_and_its_status() -> None:
    found = parsed(notification(MAIL, FAILED, name="n1", now=NOW))
    blocks = next(x for x in found.walk() if x.get_content_type() == "message/delivery-status").get_payload()
    assert isinstance(blocks, list)
    about, first, second = (x for x in blocks if not isinstance(x, str))
    assert about["Original-Envelope-Id"] == MAIL_ID
    assert (first["Final-Recipient"], first["Status"], first["Action"]) == (
        "rfc822; ann@example.org",
        "5.1.3",
        "failed",
    )
    assert first["Diagnostic-Code"] == "x-posthaste; invalid_recipient"
    assert (second["Final-Recipient"], second["Status"]) == (r"utf-8; jos\x{E9}@example.org", "4.4.7")
    assert second["Diagnostic-Code"] is None


def test_it_has_seven_bits_and_whole_line_ends() -> None:
    data = notification(MAIL, FAILED, name="n1", now=NOW)
    assert data.isascii()
    assert data.endswith(b"\r\n")
    assert b"\n" not in data.replace(b"\r\n", b"")
    assert max(map(len, data.split(b"\r\n"))) <= 998


def test_it_repeats_the_header_without_blind_copies() -> None:
    data = notification(MAIL, FAILED, name="n1", now=NOW)
    assert b"From: Clinic" in data
    assert b"secret@" not in data
    assert b"more@" not in data


def test_a_header_that_is_gone_is_left_out() -> None:
    bare = ReportedMail(MAIL_ID, "clinic@example.com", "bounces@example.com", NOW)
    found = parsed(notification(bare, FAILED, name="n1", now=NOW))
    assert len(list(found.iter_parts())) == 2
    assert not found.defects


def test_each_end_that_fails_has_words_of_its_own() -> None:
    for cell in (Cell.FAILED, Cell.BOUNCED, Cell.DROPPED, Cell.EXPIRED, Cell.SKIPPED, Cell.UNKNOWN_CLOSED):
        data = notification(MAIL, [FailedDestination("a@example.org", cell)], name="n1", now=NOW)
        assert b"It was not delivered." not in data


def fields_of(x: FailedDestination) -> dict[str, str]:
    """Return the fields of a destination as a program reads them."""
    data = notification(MAIL, [x], name="n1", now=NOW)
    assert data.isascii()
    assert max(map(len, data.split(b"\r\n"))) <= 998
    found = parsed(data)
    assert not found.defects
    blocks = next(y for y in found.walk() if y.get_content_type() == "message/delivery-status").get_payload()
    assert isinstance(blocks, list)
    _, only = (y for y in blocks if not isinstance(y, str))
    return {name: " ".join(str(value).split()) for name, value in only.items()}


def test_it_has_the_words_of_the_server() -> None:
    words = "550 5.1.1 <bad1@example.org>: Recipient unknown"
    failed = FailedDestination("bad1@example.org", Cell.FAILED, "5.1.1", words)
    assert fields_of(failed) == {
        "Final-Recipient": "rfc822; bad1@example.org",
        "Action": "failed",
        "Status": "5.1.1",
        "Diagnostic-Code": f"smtp; {words}",
    }
    text = next(parsed(notification(MAIL, [failed], name="n1", now=NOW)).iter_parts()).get_content()
    assert " ".join(text.split()).endswith(f"bad1@example.org: It was refused. The answer was: {words}")


REASONS = [
    (Cell.FAILED, "5.1.1", "", "5.1.1", "x-posthaste; 5.1.1"),
    (Cell.FAILED, "smtp_550", "550 User unknown", "5.1.1", "smtp; 550 User unknown"),
    (Cell.FAILED, "smtp_550", "550 It doesn't work", "5.2.0", "smtp; 550 It doesn't work"),
    (Cell.FAILED, "smtp_550", "550 The account you reach doesn't exist", "5.1.1", None),
    (Cell.FAILED, "smtp_552", "552 Mailbox full", "5.2.2", None),
    (Cell.FAILED, "smtp_554", "554 no", "5.0.0", None),
    (Cell.FAILED, "too_large", "552 5.3.4 too big", "5.3.4", None),
    (Cell.FAILED, "too_large", "", "5.3.4", "x-posthaste; too_large"),
    (Cell.FAILED, "smtp_550", "550 Connect from 5.1.1.7 blocked", "5.7.1", None),
    (Cell.FAILED, "no_idea", "", "5.0.0", "x-posthaste; no_idea"),
    (Cell.FAILED, "", "", "5.0.0", None),
    (Cell.FAILED, "4.2.2", "452 4.2.2 Mailbox full", "5.0.0", None),
    (Cell.BOUNCED, "general", "smtp; 550 5.1.1 user unknown", "5.1.1", "smtp; 550 5.1.1 user unknown"),
    (Cell.BOUNCED, "noemail", "", "5.1.1", "x-posthaste; noemail"),
    (Cell.BOUNCED, "blocked", "Message has a link on a block list", "5.7.1", None),
    (Cell.BOUNCED, "x", "no sign of it", "5.0.0", "x-posthaste; x: no sign of it"),
    (Cell.EXPIRED, "4.2.2", "452 4.2.2 Mailbox full", "4.2.2", "smtp; 452 4.2.2 Mailbox full"),
    (Cell.EXPIRED, "smtp_452", "452 Mailbox full", "4.2.2", None),
    (Cell.EXPIRED, "connect_failed", "", "4.4.7", None),
    (Cell.DROPPED, "5.7.1", "550 5.7.1 Policy", "5.7.1", None),
    (Cell.DROPPED, "connect_failed", "", "5.4.7", None),
    (Cell.SKIPPED, "suppressed", "", "5.7.1", "x-posthaste; suppressed"),
    (Cell.UNKNOWN_CLOSED, "5.1.1", "550 5.1.1 no", "4.4.2", None),
]


@pytest.mark.parametrize(("cell", "code", "words", "status", "said"), REASONS)
def test_a_status_is_the_answer_s_or_the_nearest(
    cell: Cell, code: str, words: str, status: str, said: str | None
) -> None:
    found = fields_of(FailedDestination("ann@example.org", cell, code, words))
    assert found["Status"] == status
    if said is not None:
        assert found["Diagnostic-Code"] == said


@pytest.mark.parametrize(
    "words",
    [
        "550 5.1.1 a\r\nBcc: evil@example.org\r\n\r\nbody",
        "550 5.1.1 a\nAction: delivered",
        "550 5.1.1 \u2028Action: delivered\x0b\x85Status: 2.0.0",
        "550 5.1.1 " + "long words " * 40,
        "550 5.1.1 " + "x" * 200,
        "550 5.1.1 " + "\u00fc\u6f22" * 100,
        "550 5.1.1 \ud800",
        pytest.param("550 5.1.1 a\x00b\x1b[2J", id="control characters"),
    ],
)
def test_words_of_a_server_are_words_only(words: str) -> None:
    found = fields_of(FailedDestination("ann@example.org", Cell.FAILED, "5.1.1", words))
    assert set(found) == {"Final-Recipient", "Action", "Status", "Diagnostic-Code"}
    assert (found["Action"], found["Status"]) == ("failed", "5.1.1")
    assert found["Diagnostic-Code"].isprintable()


def test_words_beyond_ascii_are_escaped() -> None:
    found = fields_of(FailedDestination("ann@example.org", Cell.FAILED, "5.1.1", "550 5.1.1 Empf\u00e4nger unbekannt"))
    assert found["Diagnostic-Code"] == r"smtp; 550 5.1.1 Empf\x{E4}nger unbekannt"
