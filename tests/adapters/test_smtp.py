"""What the SMTP transport says of a transaction is what the server knows of it, wherever the conversation breaks."""

import ssl
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from shared.adapters.smtp.session import MAX_REPLY
from shared.adapters.smtp.transport import SmtpClient
from shared.domain.content.smtp import Relay, Reply, SmtpStep, Tls
from shared.ports import AnswerLost, Interrupted, NoTime, NotSent, Unfit
from tests import certificates
from tests.adapters.relays import Say, drip, drop, half, hang, relay, reset
from tests.adapters.servers import Conversation, serving
from tests.adapters.submitting import MAIL, PIPELINING, SOON, WIRE, submit
from tests.fakes.finished import Bytes
from tests.fakes.shifted import ShiftedClock


@pytest.fixture
def client(clock: ShiftedClock, certificate: Path) -> Iterator[SmtpClient]:
    made = SmtpClient(clock, context=certificates.trusting(certificate))
    yield made
    made.close()


@PIPELINING
def test_a_connection_is_used_again_without_a_word_between(client: SmtpClient, extensions: str) -> None:
    commands: list[bytes] = []
    with serving(relay(extensions=extensions, commands=commands)) as server:
        for _ in range(5):
            assert submit(client, server).code == 250
        assert (server.connections, server.requests) == (1, [WIRE] * 5)
    assert [c.split()[0] for c in commands] == [b"EHLO", *[b"MAIL", b"RCPT", b"DATA"] * 5]


@PIPELINING
def test_it_makes_one_transaction(client: SmtpClient, extensions: str) -> None:
    commands: list[bytes] = []
    with serving(relay(extensions=extensions, commands=commands)) as server:
        assert submit(client, server) == Reply(SmtpStep.END, 250, "2.0.0 Ok: queued as 4F0")
        assert server.requests == [WIRE]
    assert commands == [
        b"EHLO [127.0.0.1]\r\n",
        b"MAIL FROM:<news@sender.example>\r\n",
        b"RCPT TO:<ann@example.com>\r\n",
        b"DATA\r\n",
    ]


def timed(say: Say, clock: ShiftedClock) -> Say:
    """Have time pass from here on, if it is time that decides."""
    if say not in (hang, drip):
        return say

    def action(c: Conversation) -> bytes | None:
        clock.go()
        return say(c) if callable(say) else say

    return action


# Broken before the end of the message is written: surely not sent

BEFORE = ["GREETING", "EHLO", "MAIL", "RCPT", "DATA"]
BROKEN: dict[str, tuple[Say, str]] = {
    "drop": (drop, "connection_closed|connection_reset"),
    "reset": (reset, "connection_closed|connection_reset"),
    "hang": (hang, "read_timeout"),
    "drip": (drip, "read_timeout|malformed_reply"),
    "half a reply": (half, "connection_closed|connection_reset"),
    "garbage": (b"HTTP/1.1 400 Bad Request\r\n", "malformed_reply"),
    "no number": (b"abc\r\n", "malformed_reply"),
    "interim": (b"199 x\r\n", "malformed_reply"),
    "boundless": (b"2" * (MAX_REPLY + 5000), "malformed_reply"),
    "boundless lines": (b"250-x\r\n" * MAX_REPLY, "malformed_reply"),
}


@pytest.mark.promise(1)
@PIPELINING
@pytest.mark.parametrize("step", BEFORE)
@pytest.mark.parametrize("how", BROKEN)
def test_a_conversation_broken_before_the_message_is_surely_not_sent(
    client: SmtpClient, clock: ShiftedClock, step: str, how: str, extensions: str
) -> None:
    say, code = BROKEN[how]
    with serving(relay(extensions=extensions, say={step: timed(say, clock)})) as server:
        with clock.stopped(), pytest.raises(NotSent, match=code) as caught:
            submit(client, server, seconds=SOON if say in (hang, drip) else 10)
        assert isinstance(caught.value, Interrupted) is (step in ("MAIL", "RCPT", "DATA"))
        assert not isinstance(caught.value, NoTime)
        assert server.requests == []
        assert server.connections == 1


@pytest.mark.slow
@pytest.mark.promise(1)
@pytest.mark.parametrize("how", [drop, reset, hang])
@pytest.mark.parametrize("tls", [Tls.NONE, Tls.STARTTLS])
def test_a_conversation_broken_within_the_message_is_surely_not_sent(
    client: SmtpClient, clock: ShiftedClock, server_tls: ssl.SSLContext, how: Say, tls: Tls
) -> None:
    long = replace(MAIL, data=(b"x" * 70 + b"\r\n",) * 300_000)
    with serving(relay(extensions="STARTTLS", tls=server_tls, say={"BODY": how})) as server:
        with clock.stopped(), pytest.raises(Interrupted, match=r"connection_reset|write_timeout"):
            submit(client, Relay("127.0.0.1", server.port, tls), long, seconds=SOON if how is hang else 10)
        assert server.requests == []


def test_a_message_that_is_not_written_by_the_deadline_is_not_ended(client: SmtpClient, clock: ShiftedClock) -> None:
    def late(c: Conversation) -> None:
        clock.ahead += 11
        c.say(b"354 go on\r\n")

    with serving(relay(say={"DATA": late})) as server:
        with pytest.raises(Interrupted, match="timeout"):
            submit(client, server, seconds=10)
        assert server.requests == []


# Broken after it: the server may have it

AFTER: dict[str, tuple[Say, str]] = {**BROKEN, "asks for more": (b"354 more\r\n", "malformed_reply")}


@pytest.mark.promise(1)
@pytest.mark.parametrize("tls", [Tls.NONE, Tls.STARTTLS])
@pytest.mark.parametrize("how", AFTER)
def test_a_lost_reply_is_reported_and_the_message_arrives_once(
    client: SmtpClient, clock: ShiftedClock, server_tls: ssl.SSLContext, how: str, tls: Tls
) -> None:
    say, code = AFTER[how]
    with serving(relay(extensions="STARTTLS", tls=server_tls, say={"END": timed(say, clock)})) as server:
        with clock.stopped(), pytest.raises(AnswerLost, match=code):
            submit(client, Relay("127.0.0.1", server.port, tls), seconds=SOON if say in (hang, drip) else 10)
        assert server.requests == [WIRE]
        assert server.connections == 1


@pytest.mark.promise(1)
def test_a_reply_lost_on_a_used_connection_is_not_asked_for_again(client: SmtpClient) -> None:
    answers = iter([b"250 ok\r\n", b""])

    def once(c: Conversation) -> None:
        answer = next(answers)
        if not answer:
            drop(c)
        c.say(answer)

    with serving(relay(say={"END": once})) as server:
        assert submit(client, server).code == 250
        with pytest.raises(AnswerLost, match="connection_"):
            submit(client, server)
        assert server.requests == [WIRE] * 2
        assert server.connections == 1


# The server's own word

REFUSALS = [
    ("GREETING", SmtpStep.GREETING, 0),
    ("EHLO", SmtpStep.EHLO, 0),
    ("MAIL", SmtpStep.MAIL, 0),
    ("RCPT", SmtpStep.RCPT, 0),
    ("DATA", SmtpStep.DATA, 0),
    ("END", SmtpStep.END, 1),
]


@pytest.mark.promise(1)
@PIPELINING
@pytest.mark.parametrize(("verb", "step", "heard"), REFUSALS)
@pytest.mark.parametrize("code", [421, 450, 550])
def test_a_refusal_is_returned_with_its_step(
    client: SmtpClient, verb: str, step: SmtpStep, heard: int, code: int, extensions: str
) -> None:
    said = f"{code}-4.7.1 first\r\n{code} second\r\n".encode()
    with serving(relay(extensions=extensions, say={verb: said})) as server:
        assert submit(client, server) == Reply(step, code, "4.7.1 first second")
        assert len(server.requests) == heard


@PIPELINING
@pytest.mark.parametrize("verb", ["MAIL", "RCPT", "DATA"])
def test_a_refused_transaction_is_reset_before_the_next(client: SmtpClient, verb: str, extensions: str) -> None:
    commands: list[bytes] = []
    answers = iter([b"550 no\r\n"])
    usual = b"354 go\r\n" if verb == "DATA" else b"250 ok\r\n"
    say: dict[str, Say] = {verb: lambda _: next(answers, usual)}
    with serving(relay(extensions=extensions, say=say, commands=commands)) as server:
        assert submit(client, server).code == 550
        assert server.requests == []
        assert submit(client, server).code == 250
        assert submit(client, server).code == 250
        assert (server.connections, server.requests) == (1, [WIRE] * 2)
    verbs = [c.split()[0] for c in commands]
    assert verbs.count(b"RSET") == 1
    assert verbs[verbs.index(b"RSET") + 1] == b"MAIL"


@PIPELINING
def test_all_of_the_envelope_or_nothing(client: SmtpClient, extensions: str) -> None:
    answers = iter([b"250 ok\r\n", b"550 5.1.1 who\r\n", b"250 ok\r\n"])
    three = replace(MAIL, recipients=("a@x.example", "b@x.example", "c@x.example"))
    with serving(relay(extensions=extensions, say={"RCPT": lambda _: next(answers)})) as server:
        assert submit(client, server, three) == Reply(SmtpStep.RCPT, 550, "5.1.1 who", recipient=1)
        assert server.requests == []


@pytest.mark.slow
def test_long_envelopes_are_not_written_in_one_go(client: SmtpClient) -> None:
    many = replace(MAIL, recipients=tuple(f"reader{n}@{'x' * 60}.example" for n in range(2000)))
    with serving(relay(extensions="PIPELINING")) as server:
        assert submit(client, server, many).code == 250


# Extensions


def test_the_server_gets_the_size(client: SmtpClient) -> None:
    commands: list[bytes] = []
    with serving(relay(extensions="SIZE 1000", commands=commands)) as server:
        submit(client, server)
        with pytest.raises(Unfit, match="too_large"):
            submit(client, server, replace(MAIL, data=(b"x" * 999 + b"\r\n",)))
        assert server.connections == 1
    assert [c for c in commands if c.startswith(b"MAIL")] == [b"MAIL FROM:<news@sender.example> SIZE=25\r\n"]


@pytest.mark.parametrize("extensions", ["SIZE", "SIZE 0", "SIZE x"])
def test_no_limit_is_no_limit(client: SmtpClient, extensions: str) -> None:
    with serving(relay(extensions=extensions)) as server:
        assert submit(client, server).code == 250


def test_an_address_in_another_script_needs_smtputf8(client: SmtpClient) -> None:
    commands: list[bytes] = []
    greek = replace(MAIL, recipients=("δοκιμή@example.com",), utf8=True)
    with serving(relay(extensions="8BITMIME", commands=commands)) as server:
        with pytest.raises(Unfit, match="smtputf8_not_offered"):
            submit(client, server, greek)
        assert [c.split()[0] for c in commands] == [b"EHLO"]
    with serving(relay(extensions="8BITMIME,SMTPUTF8", commands=commands)) as server:
        assert submit(client, server, greek).code == 250
    assert b"MAIL FROM:<news@sender.example> BODY=8BITMIME SMTPUTF8\r\n" in commands
    assert "RCPT TO:<δοκιμή@example.com>\r\n".encode() in commands


@pytest.mark.parametrize(
    "address", ["", "a@b\r\nRSET", "a@b\nc", "a b@c", "a@b>", "<a@b", "a@b\x00", "a@b\u2028", "\ud800"]
)
def test_an_address_cannot_smuggle_a_command(client: SmtpClient, address: str) -> None:
    with serving(relay()) as server:
        with pytest.raises(ValueError, match="one word"):
            submit(client, server, replace(MAIL, recipients=(address,)))
        if address:
            with pytest.raises(ValueError, match="one word"):
                submit(client, server, replace(MAIL, sender=address))
        assert server.connections == 0


def test_a_null_return_path_is_written_as_such(client: SmtpClient) -> None:
    commands: list[bytes] = []
    with serving(relay(commands=commands)) as server:
        assert submit(client, server, replace(MAIL, sender="")).code == 250
    assert b"MAIL FROM:<>\r\n" in commands


def test_eight_bits_need_8bitmime(client: SmtpClient) -> None:
    commands: list[bytes] = []
    mail = replace(MAIL, eight_bit=True)
    with serving(relay(extensions="SMTPUTF8", commands=commands)) as server:
        with pytest.raises(Unfit, match="eight_bit_not_offered"):
            submit(client, server, mail)
        assert [c.split()[0] for c in commands] == [b"EHLO"]
    with serving(relay(extensions="8BITMIME", commands=commands)) as server:
        assert submit(client, server, mail).code == 250
    assert b"MAIL FROM:<news@sender.example> BODY=8BITMIME\r\n" in commands


@pytest.mark.parametrize("block", [1, 3, 4, 50_000])
@pytest.mark.parametrize("lines", [10, 17_000])
def test_a_stream_is_written_as_its_bytes_are(client: SmtpClient, block: int, lines: int) -> None:
    stream = Bytes(b".a\r\n" * lines + b"\r\n.\r\nb.\r\n..\r\n", block)
    with serving(relay()) as server:
        assert submit(client, server, replace(MAIL, data=stream)).code == 250
        (written,) = server.requests
    is_same = written == b"..a\r\n" * lines + b"\r\n..\r\nb.\r\n...\r\n.\r\n"
    assert is_same  # to show where two long texts differ would take minutes
