"""What a finished message must be to be accepted."""

import pytest

from shared.domain.content.content import Mailbox
from shared.domain.mails.header import MAX_HEADER
from shared.domain.mails.message import MessageFacts, MessageRefusal, check, normalised

FROM = b"From: Ann <ann@sender.example>\r\n"
BLOCKS = pytest.mark.parametrize("block", [1, 2, 7, 1_000_000])


def blocks(data: bytes, size: int) -> list[bytes]:
    return [data[at : at + size] for at in range(0, len(data), size)]


@BLOCKS
def test_a_message_is_described(block: int) -> None:
    data = FROM + b"SUBJECT: =?utf-8?q?Gr=C3=BC=C3=9Fe?=\r\n of May\r\nX-Ticket: 7\r\n\r\n\xe4\r\n.\r\n"
    assert check(blocks(data, block)) == MessageFacts(
        size=len(data),
        senders=(Mailbox("ann@sender.example", "Ann"),),
        subject="Grüße of May",
        names=frozenset({"from", "subject", "x-ticket"}),
        claims=(Mailbox("ann@sender.example", "Ann Ann <ann@sender.example>"),),
    )


REFUSED = [
    (b"", "empty", 0),
    (FROM + b"\r\none\r\ntwo\nthree\r\n", "bare_lf", 4),
    (FROM + b"\r\none\rtwo\r\n", "bare_cr", 3),
    (FROM + b"\r\none\r\n.\r", "bare_cr", 4),
    (b"From: a@b.example\n\nx", "bare_lf", 1),
    (FROM + b"\r\none\r\n\0\r\n", "nul_byte", 4),
    (b"Subject: x\r\n\r\nFrom: a@b.example\r\n", "no_from", 0),
    (b"\r\nFrom: a@b.example\r\n", "no_from", 0),
    (FROM + b"X: 1\r\nfrom: b@other.example\r\n\r\n", "several_from", 3),
    (b"X: 1\r\nFrom: Ann\r\n\r\n", "invalid_from", 2),
    (b"From: <ann@sender.example> <bob@other.example>\r\n\r\n", "invalid_from", 1),
    (b"From: @sender.example\r\n\r\n", "invalid_from", 1),
    (FROM + b"no colon here\r\n\r\n", "not_a_header", 2),
    (b"From ann@sender.example Mon Jan  1\r\n" + FROM, "not_a_header", 1),
    (FROM + b"X-Odd : 1\r\n\r\n", "not_a_header", 2),
    (b" folded\r\n" + FROM, "not_a_header", 1),
]


@BLOCKS
@pytest.mark.parametrize(("data", "code", "line"), REFUSED, ids=[f"{code}-{line}" for _, code, line in REFUSED])
def test_a_message_that_cannot_be_sent_is_refused_with_its_line(data: bytes, code: str, line: int, block: int) -> None:
    assert check(blocks(data, block)) == MessageRefusal(code, line)


@pytest.mark.parametrize("data", [FROM, FROM[:-2], FROM + b"\r\n", FROM + b"\r\nno line end"])
def test_a_body_may_be_missing_or_end_anywhere(data: bytes) -> None:
    assert isinstance(check([data]), MessageFacts)


def test_a_message_may_have_exactly_the_most_bytes() -> None:
    data = FROM + b"\r\n" + b"x" * 100
    assert isinstance(check([data], most=len(data)), MessageFacts)
    assert check([data], most=len(data) - 1) == MessageRefusal("too_large")


def test_a_header_has_a_limit() -> None:
    endless = (b"X: " + b"x" * 990 + b"\r\n") * (MAX_HEADER // 990)
    assert check(blocks(FROM + endless + b"\r\n", 4096)) == MessageRefusal("header_too_large")
    assert isinstance(check([FROM + b"\r\n" + endless]), MessageFacts)


def test_all_senders_are_named() -> None:
    facts = check([b'From: Ann <a@b.example>, "Bob, Jr" <b@c.example>\r\nSender: x@y.example\r\n\r\n'])
    assert isinstance(facts, MessageFacts)
    assert facts.senders == (Mailbox("a@b.example", "Ann"), Mailbox("b@c.example", "Bob, Jr"))


@pytest.mark.parametrize("subject", [b"\xff", b"=?utf-8?q?=FF?=", b"=?none?q?=E4?=", b"=?utf-8?b?=?="])
def test_what_is_kept_of_a_header_can_be_stored(subject: bytes) -> None:
    facts = check([b"From: J\xf6rg <j@b.example>\r\nSubject: " + subject + b"\r\n\r\n"])
    assert isinstance(facts, MessageFacts)
    assert facts.senders == (Mailbox("j@b.example", "J?rg"),)
    facts.subject.encode()


PLAIN = [
    ('"=?UTF-8?Q?M=C3=BCller?=" <n@b.example>', "Müller"),
    ("=?UTF-8?Q?M=C3=BCller?=<n@b.example>", "Müller"),
    ('"Dr. =?UTF-8?Q?M=C3=BCller?= (Acme)" <n@b.example>', "Dr. Müller (Acme)"),
    ("=?utf-8?q?a?==?utf-8?q?b?= <n@b.example>", "ab"),
    ("=?utf-8?q?a?= =?utf-8?q?b?= c <n@b.example>", "ab c"),
    ("=?utf-8?q?a b?= <n@b.example>", "a b"),
    ("Max =?utf-8?q?y?=more <n@b.example>", "Max y more"),
    ("=?none?q?x?= <n@b.example>", "=?none?q?x?="),
    ("=?utf-8?b?!!!?= <n@b.example>", ""),
    ("=?utf-8?q?=FF?= <n@b.example>", "=?utf-8?q?=FF?="),
    ("=?utf-8?q?x=0d=0ay?= <n@b.example>", "x y"),
    ("=?iso-8859-1?q?J=F6rg?= =?utf-8?b?w7w=?= <n@b.example>", "Jörgü"),
    ("\ue0000\ue000 =?utf-8?q?a?= <n@b.example>", "?0? a"),
]


@pytest.mark.parametrize(("field", "name"), PLAIN)
def test_a_name_that_is_badly_encoded_is_no_doubt_about_its_address(field: str, name: str) -> None:
    facts = check([f"From: {field}\r\n\r\n".encode()])
    assert isinstance(facts, MessageFacts)
    assert facts.senders == (Mailbox("n@b.example", name),)


@pytest.mark.parametrize(
    "field",
    [
        "Ann <a@b.example> x",
        "Ann <a@b.example> <c@d.example>",
        "a@b.example <c@d.example>",
        "Ann, Bob <a@b.example>",
        "Ann =?utf-8?q?x?=, =?utf-8?q?y?= <a@b.example>",
        "<a@b.example> =?utf-8?q?y?=",
        "=?utf-8?q?a=40b=2Eexample?=",
        "=?utf-8?q?a?=@b.example",
        "a@=?utf-8?q?b?=.example",
        '"Ann <a@b.example>',
        "a..b@c.example",
    ],
)
def test_an_address_that_readers_may_take_for_another_is_refused(field: str) -> None:
    assert check([f"From: {field}\r\n\r\n".encode()]) == MessageRefusal("invalid_from", 1)


@pytest.mark.parametrize("name", ["Sender", "Resent-From", "Resent-Sender", "sender"])
def test_a_field_that_names_another_sender_is_a_claim(name: str) -> None:
    facts = check([FROM + f"{name}: Chief (really) <ceo@c.example>\r\n\r\n".encode()])
    assert isinstance(facts, MessageFacts)
    assert [box.address for box in facts.claims] == ["ann@sender.example", "ceo@c.example"]
    assert "(really)" in facts.claims[1].display
    doubtful = FROM + f"{name}: ceo@c.example, Bob <b@c.example> x\r\n\r\n".encode()
    assert check([doubtful]) == MessageRefusal("invalid_sender", 2)
    assert isinstance(check([FROM + f"{name}: root\r\n\r\n".encode()]), MessageFacts)


@BLOCKS
def test_line_ends_are_normalised(block: int) -> None:
    data = b"a\r\nb\nc\rd\r\r\n\n\re\r"
    assert b"".join(normalised(blocks(data, block))) == b"a\r\nb\r\nc\r\nd\r\n\r\n\r\n\r\ne\r\n"
