"""Whatever bytes come in: checks never fail, and what leaves is the same in whichever blocks it is read."""

from email import message_from_bytes, policy
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from shared.domain.mails.message import MessageFacts, check, normalised
from shared.domain.mails.outgoing import outgoing
from tests.fakes.finished import Bytes

PIECES = st.sampled_from(
    [
        *(b"From: a@b.example\r\n", b"Bcc: c@d.example\r\n", b"bcc : x\r\n", b"Subject: ", b"\r\n", b"\n", b"\r", b"."),
        *(b"\0", b" ", b"\t", b"a", b":", b"=?utf-8?q?=C3=A4?=", "ä".encode(), b"\xff", b"To: x <y@z>, ", b"<", b'"'),
        *(b"Content-Type: multipart/mixed; boundary=x\r\n", b"--x\r\n", b"--x--", b"Content-Type: text/plain\r\n"),
        *(b"Content-Transfer-Encoding: 8bit\r\n", b"Content-Transfer-Encoding: base64\r\n", b"MIME-Version: 1.0\r\n"),
    ]
)
MESSAGES = st.lists(PIECES, max_size=30).map(b"".join)
FIELDS = st.lists(
    st.sampled_from(
        [
            *(b"Bcc: c@d.example,\r\n e@f.example\r\n", b"BCC:\r\n", b"Subject: =?utf-8?q?=C3=A4?=\r\n\tx\r\n"),
            *("To: ä <x@y.example>\r\n".encode(), b"X-Empty:\r\n", b"X-Odd: \xff\r\n", b"resent-bcc: a@b\r\n"),
            *(b"Content-Type: multipart/mixed; boundary=x\r\n", b"Content-Transfer-Encoding: 8bit\r\n"),
            *(b"Content-Type: message/rfc822\r\n", b"MIME-Version: 1.0\r\n", b"X-Bcc: stays\r\n"),
        ]
    ),
    max_size=5,
).map(b"".join)
BODIES = st.lists(PIECES, max_size=20).map(lambda found: b"".join(normalised([b"".join(found).replace(b"\0", b"")])))
MAILS = st.builds(
    lambda before, after, body: before + b"From: a@b.example\r\n" + after + body,
    FIELDS,
    FIELDS,
    st.one_of(st.just(b""), BODIES.map(lambda body: b"\r\n" + body)),
)
BLOCKS = st.integers(1, 40)


def blocks(data: bytes, size: int) -> list[bytes]:
    return [data[at : at + size] for at in range(0, len(data), size)]


@given(MESSAGES, BLOCKS)
def test_a_check_does_not_depend_on_blocks(data: bytes, size: int) -> None:
    assert check(blocks(data, size)) == check([data])


@given(MESSAGES, BLOCKS)
def test_normalised_lines_end_in_crlf_alone(data: bytes, size: int) -> None:
    made = b"".join(normalised(blocks(data, size)))
    assert made.count(b"\r\n") == made.count(b"\r") == made.count(b"\n")
    assert made == b"".join(normalised([data]))


@given(MAILS, BLOCKS)
@example(b"From: a@b.example", 1)
def test_what_leaves_has_all_lines_but_the_blind_ones(data: bytes, size: int) -> None:
    assert isinstance(check([data]), MessageFacts)
    message = outgoing(Bytes(data, size))
    made = b"".join(message)
    assert len(made) == message.size
    assert made == b"".join(outgoing(Bytes(data, 1 << 20)))
    assert made.endswith(b"\r\n")
    assert b"".join(outgoing(Bytes(made, size))) == made, "it leaves as it is"
    header, _, body = made.partition(b"\r\n\r\n")
    assert data.partition(b"\r\n\r\n")[2] in (body, body.removesuffix(b"\r\n"))
    assert not [line for line in header.split(b"\r\n") if line.lower().startswith((b"bcc:", b"bcc "))]


@given(MAILS)
def test_a_seven_bit_form_is_seven_bit_and_has_the_same_parts(data: bytes) -> None:
    plain = outgoing(Bytes(data)).seven_bit()
    if plain is None:
        return
    made = b"".join(plain)
    assert made.isascii()
    before, after = (message_from_bytes(x, policy=policy.SMTP) for x in (data, made))
    leaves: list[list[Any]] = [[p for p in x.walk() if not p.is_multipart()] for x in (before, after)]
    assert [p.get_content_type() for p in leaves[0]] == [p.get_content_type() for p in leaves[1]]
    assert [p.get_payload(decode=True).rstrip() for p in leaves[0]] == [
        p.get_payload(decode=True).rstrip() for p in leaves[1]
    ]
