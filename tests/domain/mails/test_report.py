"""Notifications that a mail was not delivered."""

import email
import email.policy
from email.message import EmailMessage

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
        "5.0.0",
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
