"""A finished message as it leaves: its own bytes, and a 7-bit form of it."""

from email import message_from_bytes, policy
from email.message import EmailMessage

import pytest

from shared.domain.mails.outgoing import MAX_REENCODED, Outgoing, outgoing
from tests.fakes.finished import Bytes

BODY = b".\r\n..two\r\n\r\nend"
BLOCKS = pytest.mark.parametrize("block", [1, 3, 1000])


def bytes_of(message: Outgoing | None) -> bytes:
    assert message is not None
    data = b"".join(message)
    assert len(data) == message.size
    return data


def parsed(message: Outgoing | None) -> EmailMessage:
    data = bytes_of(message)
    assert data.isascii()
    found = message_from_bytes(data, policy=policy.SMTP)
    assert isinstance(found, EmailMessage)
    return found


@BLOCKS
def test_blind_copies_are_left_out_and_nothing_else(block: int) -> None:
    header = b"from:a@b.example\r\nX-Odd  : 1\r\n\t2\r\nDKIM-Signature: v=1;\r\n  b=a/b+c\r\n"
    blind = b"bCc: x@y.example,\r\n z@w.example\r\nResent-Bcc : q@r.example\r\n"
    data = b"\r\n" + BODY + b"\r\nBcc: in the text\r\n"
    message = outgoing(Bytes(header + blind + data, block))
    assert bytes_of(message) == header + data
    assert message.names == {"from", "x-odd", "dkim-signature"}


@BLOCKS
@pytest.mark.parametrize(
    ("data", "sent"),
    [
        (b"From: a@b.example", b"From: a@b.example\r\n\r\n"),
        (b"From: a@b.example\r\n", b"From: a@b.example\r\n\r\n"),
        (b"From: a@b.example\r\n\r\n", b"From: a@b.example\r\n\r\n"),
        (b"From: a@b.example\r\n\r\n.", b"From: a@b.example\r\n\r\n.\r\n"),
        (b"Bcc: c@d.example\r\n\r\nx\r\n", b"\r\nx\r\n"),
        (b"\r\nx\r\n", b"\r\nx\r\n"),
    ],
)
def test_the_last_line_has_its_end(data: bytes, sent: bytes, block: int) -> None:
    assert bytes_of(outgoing(Bytes(data, block))) == sent


@BLOCKS
def test_a_body_beyond_ascii_is_found(block: int) -> None:
    assert outgoing(Bytes("From: ä@b.example\r\n\r\nx".encode(), block)).ascii_body
    assert not outgoing(Bytes("From: a@b.example\r\n\r\nx\r\nä".encode(), block)).ascii_body


def test_a_header_gets_encoded_words_and_keeps_all_other_fields() -> None:
    kept = b"X-Odd  :  1\r\n\t2\r\nSubject: =?utf-8?q?x?=  y\r\n"
    text = 'From: "Jörg, M" <a@b.example>\r\nX-Note: ' + "Grüße " * 30 + "\r\n"
    body = "\r\nGrüße\r\n".encode()
    message = outgoing(Bytes(text.encode() + kept + body)).with_ascii_header()
    data = bytes_of(message)
    assert data.endswith(kept + body)
    found = message_from_bytes(data.partition(b"\r\n\r\n")[0], policy=policy.SMTP)
    assert found["From"].addresses[0].display_name == "Jörg, M"
    assert found["X-Note"].strip() == ("Grüße " * 30).strip()


@pytest.mark.parametrize("field", ["To: jörg@b.example", "Message-ID: <ä@b.example>"])
def test_an_address_beyond_ascii_has_no_other_form(field: str) -> None:
    message = outgoing(Bytes(f"From: a@b.example\r\n{field}\r\n\r\n".encode()))
    assert message.with_ascii_header() is None
    assert message.seven_bit() is None


def test_each_part_beyond_ascii_is_encoded_by_its_kind() -> None:
    text = "From: Jörg <a@b.example>\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=x\r\n"
    parts = (
        "Content-Transfer-Encoding: 8bit\r\n\r\n--x\r\nContent-Type: text/plain; charset=utf-8\r\n"
        'Content-Transfer-Encoding: 8bit\r\nContent-Disposition: inline; filename="ü.txt"\r\n\r\n'
        ".Grüße \r\nFrom here\r\n--x\r\nContent-Type: text/plain\r\n\r\nplain = text\r\n"
        "--x\r\nContent-Type: application/x-odd\r\nContent-Transfer-Encoding: binary\r\n\r\nÄ\r\nÖ\r\n--x--\r\n"
    )
    found = parsed(outgoing(Bytes((text + parts).encode(), 10)).seven_bit())
    assert found["From"].addresses[0].display_name == "Jörg"
    assert found["Content-Transfer-Encoding"] == "7bit"
    first, second, third = found.iter_parts()
    assert first.get_content() == ".Grüße \r\nFrom here"
    assert first.get_filename() == "ü.txt"
    assert second.get_payload() == "plain = text"
    assert third.get_content() == "Ä\r\nÖ".encode()


def test_latin_text_without_a_type_keeps_its_bytes() -> None:
    found = parsed(outgoing(Bytes(b"From: a@b.example\r\n\r\n\xe4\xf6 = x\r\n")).seven_bit())
    assert found.get_payload(decode=True) == b"\xe4\xf6 = x\r\n"


@pytest.mark.parametrize(
    "data",
    [
        "Content-Transfer-Encoding: base64\r\n\r\nÄÖ\r\n",
        "Content-Type: multipart/mixed; boundary=x\r\n\r\nÄ preamble\r\n--x\r\n\r\ntext\r\n--x--\r\n",
    ],
)
def test_what_no_rule_encodes_has_no_seven_bit_form(data: str) -> None:
    assert outgoing(Bytes(f"From: a@b.example\r\n{data}".encode())).seven_bit() is None


def test_a_large_message_is_not_encoded_again() -> None:
    data = b"From: a@b.example\r\n\r\n" + b"\xe4" * MAX_REENCODED
    assert outgoing(Bytes(data, 1 << 20)).seven_bit() is None
