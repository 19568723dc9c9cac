"""Whatever a client may ask for arrives as it was meant, in lines that every server takes; it adds no header."""

import base64
from email import message_from_bytes, policy
from email.header import decode_header, make_header
from email.message import EmailMessage
from email.utils import parseaddr, parsedate_to_datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.domain.content.content import Attachment, Content, Mailbox
from shared.providers.smtp.message import Unsendable, common, mailbox, message_id, own
from tests.tiers import examples

REF = "0123456789abcdefghjkmnpqrs-0-0-1"
NOW = 1_790_000_000.7
SENDER = Mailbox("news@sender.example", "News")
KNOWN = {
    *("date", "message-id", "x-posthaste-ref", "to", "cc", "from", "subject", "reply-to", "x-one", "list-unsubscribe"),
    *("mime-version", "content-type", "content-transfer-encoding"),
}
TEXT = st.text(max_size=300)
EVIL = st.sampled_from(
    ["\r\nBcc: x@y.example", "\nX-Evil: 1", "\r\n\r\nbody", "\x85X", "\u2028X", "\ud800", "=?utf-8?q?x?=", "\0"]
)
WORDS = st.one_of(TEXT, st.builds(lambda a, b, c: a + b + c, TEXT, EVIL, TEXT))


def wire(content: Content, to: Mailbox = Mailbox("ann@example.com"), cc: tuple[Mailbox, ...] = ()) -> bytes:  # noqa: B008 - frozen
    return own((to,), cc, REF, content.sender.address, NOW) + common(content)


def read(data: bytes) -> EmailMessage:
    found = message_from_bytes(data, policy=policy.default)
    assert isinstance(found, EmailMessage)
    return found


def body(message: EmailMessage, kind: str) -> str:
    part = message.get_body((kind,))
    assert part is not None
    return str(part.get_content()).replace("\r\n", "\n")


@settings(max_examples=examples(150))
@given(subject=WORDS, display=WORDS, reply=WORDS, header=WORDS, text=WORDS, html=WORDS)
def test_nothing_a_client_writes_becomes_a_header(
    subject: str, display: str, reply: str, header: str, text: str, html: str
) -> None:
    content = Content(
        Mailbox("news@sender.example", display),
        subject,
        html=html or "x",
        text=text,
        reply_to=Mailbox("r@sender.example", reply),
        headers=(("X-One", header),),
        cc=(Mailbox("cc@x.example", display),),
    )
    data = wire(content, Mailbox("ann@example.com", display), content.cc)
    assert data.isascii()
    lines = data.split(b"\r\n")
    assert max(map(len, lines)) <= 998
    assert b"\r" not in b"".join(lines)
    assert b"\n" not in b"".join(lines)
    message = read(data)
    assert {name.lower() for name in message} <= KNOWN
    assert len(message.keys()) == len(set(message.keys()))
    assert [a.addr_spec for a in message["To"].addresses] == ["ann@example.com"]
    assert [a.addr_spec for a in message["From"].addresses] == ["news@sender.example"]
    assert [a.addr_spec for a in message["Cc"].addresses] == ["cc@x.example"]
    assert [a.addr_spec for a in message["Reply-To"].addresses] == ["r@sender.example"]
    assert not message.defects


@settings(max_examples=examples(150))
@given(
    subject=st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "S", "M"]), min_size=1, max_size=300),
    text=st.text(st.characters(codec="utf-8", exclude_characters="\r\0"), max_size=500),
)
def test_subject_and_text_arrive_as_they_were(subject: str, text: str) -> None:
    message = read(wire(Content(SENDER, subject, text=text or "x")))
    assert message["Subject"] == subject
    assert body(message, "plain") == (text or "x").removesuffix("\n") + "\n"


@pytest.mark.parametrize(
    "display",
    [
        "Ann",
        'Ann "the" \\ O\'Neil, PhD; <x@y>',
        "Zoë",
        "李",
        "a" * 300,
        "é" * 300,
        "=?utf-8?q?x?=",
        "👨‍👩‍👧 family",
        "a@b.c",
    ],
)
def test_names_arrive_as_they_were(display: str) -> None:
    to = Mailbox("ann@example.com", display)
    raw = message_from_bytes(wire(Content(SENDER, "x", text="x"), to))["To"]
    name, address = parseaddr(" ".join(raw.split()))
    assert (str(make_header(decode_header(name))), address) == (display, "ann@example.com")


def test_long_addresses_are_not_folded_apart() -> None:
    long = Mailbox("a" * 64 + "@" + "b" * 60 + "." + "c" * 60 + ".example", "Ann")
    data = wire(Content(SENDER, "x", text="x"), long, (long, long))
    assert data.count(long.address.encode()) == 3


def test_a_link_to_unsubscribe_stays_one_word() -> None:
    link = "<https://unsubscribe.sender.example/" + "0123456789" * 20 + ">"
    headers = (("List-Unsubscribe", link), ("List-Unsubscribe-Post", "List-Unsubscribe=One-Click"))
    data = wire(Content(SENDER, "x", text="x", headers=headers))
    assert f"\r\nList-Unsubscribe: {link}\r\n".encode() in data
    assert b"\r\nList-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n" in data


@pytest.mark.parametrize(
    "name", ["To", "bcc", "Message-Id", "X-Posthaste-Ref", "a b", "a:", "", "X\r\nY", "é", "X" * 77]
)
def test_headers_that_are_not_the_clients(name: str) -> None:
    with pytest.raises(Unsendable, match="invalid_headers"):
        common(Content(SENDER, "x", text="x", headers=((name, "v"),)))


def test_what_every_mail_has() -> None:
    message = read(wire(Content(SENDER, "x", text="x")))
    assert message["Message-ID"] == f"<{REF}@sender.example>"
    assert message["X-Posthaste-Ref"] == REF
    assert parsedate_to_datetime(message["Date"]).timestamp() == int(NOW)
    assert message["MIME-Version"] == "1.0"
    assert message["Cc"] is None


def test_a_sender_in_another_script_still_has_a_message_id() -> None:
    assert message_id(REF, "a@δοκιμή.example") == f"<{REF}@posthaste.invalid>"


ALL = Content(
    SENDER,
    "x",
    html='<img src="cid:logo">',
    text="plain",
    attachments=(
        Attachment("ä" * 80 + ".txt", "text/plain; charset=utf-8", base64.b64encode(b"hello").decode()),
        Attachment("logo.png", "image/png", base64.b64encode(bytes(range(256)) * 20).decode(), content_id="logo"),
        Attachment("mail.eml", "message/rfc822", base64.b64encode(b"\r\n.\r\n").decode()),
        Attachment('a"b\r\nc', "nonsense", base64.b64encode(b"x").decode()),
    ),
)


def test_alternatives_images_and_files() -> None:
    message = read(wire(ALL))
    assert message.get_content_type() == "multipart/mixed"
    assert [p.get_content_type() for p in message.walk()] == [
        "multipart/mixed",
        "multipart/alternative",
        "text/plain",
        "multipart/related",
        "text/html",
        "image/png",
        "text/plain",
        "application/octet-stream",
        "application/octet-stream",
    ]
    assert body(message, "plain") == "plain\n"
    assert body(message, "html") == '<img src="cid:logo">\n'
    image = next(p for p in message.walk() if p.get_content_type() == "image/png")
    assert (image["Content-ID"], image.get_content_disposition()) == ("<logo>", "inline")
    assert image.get_content() == bytes(range(256)) * 20
    files = [p for p in message.walk() if p.get_content_disposition() == "attachment"]
    assert [p.get_filename() for p in files] == ["ä" * 80 + ".txt", "mail.eml", 'a"b c']
    assert files[1].get_content() == b"\r\n.\r\n"


@pytest.mark.parametrize(("text", "html", "kind"), [("a", "", "text/plain"), ("", "a", "text/html")])
def test_one_alternative_needs_no_multipart(text: str, html: str, kind: str) -> None:
    assert read(wire(Content(SENDER, "x", text=text, html=html))).get_content_type() == kind


def test_an_image_without_html_is_a_file() -> None:
    image = Attachment("logo.png", "image/png", "aWNvbg==", content_id="logo")
    message = read(wire(Content(SENDER, "x", text="x", attachments=(image,))))
    assert [p.get_content_disposition() for p in message.iter_attachments()] == ["attachment"]


@pytest.mark.parametrize("data", ["%%%", "aGVsbG8", "é"])
def test_a_file_that_is_not_base64(data: str) -> None:
    with pytest.raises(Unsendable, match="invalid_attachments"):
        common(Content(SENDER, "x", text="x", attachments=(Attachment("a", "text/plain", data),)))


@pytest.mark.parametrize(
    ("text", "coding"), [("Grüße, ihr alle zusammen hier", "quoted-printable"), ("ελληνικά", "base64")]
)
def test_the_shorter_transfer_encoding(text: str, coding: str) -> None:
    assert read(wire(Content(SENDER, "x", text=text)))["Content-Transfer-Encoding"] == coding


def test_only_what_is_not_ascii_is_in_other_bytes() -> None:
    assert mailbox(Mailbox("δοκιμή@example.com", "Ω")).encode().endswith("<δοκιμή@example.com>".encode())
