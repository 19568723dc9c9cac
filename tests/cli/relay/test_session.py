"""What programs write in a session of the relay: names in any case, senders that programs make, parameters."""

import base64
from io import BytesIO
from pathlib import Path

import pytest

from cli.relay.rewriting import with_sender
from cli.relay.server import RelayAccess
from cli.relay.smtp import guests
from tests.cli.relay.serving import PASSWORD, USER, Serving
from tests.cli.relay.test_server import CONTENT, talk

LONG = "a" * 200 + "@b.example"


def encoded(text: str) -> bytes:
    return base64.b64encode(text.encode())


@pytest.mark.parametrize("name", [b"login", b"Login", b"LOGIN", b"plain", b"Plain", b"PLAIN"])
@pytest.mark.parametrize("initial", [True, False])
def test_a_mechanism_s_name_has_no_case(name: bytes, *, initial: bool) -> None:
    words = [USER, PASSWORD] if name.lower() == b"login" else [f"\0{USER}\0{PASSWORD}"]
    said = [encoded(x) for x in words]
    first = name + b" " + said.pop(0) if initial else name
    with Serving(RelayAccess(user=USER, password=PASSWORD)) as relay:
        answers = talk(relay, b"EHLO me", b"AUTH " + first, *said)
    assert answers[-1] == b"235 2.7.0 Authentication successful"
    assert {x[:3] for x in answers[1:-1]} <= {b"334"}


def test_an_unknown_mechanism_is_refused() -> None:
    with Serving(RelayAccess(user=USER, password=PASSWORD)) as relay:
        answers = talk(relay, b"EHLO me", b"AUTH cram-md5", b"AUTH", b"AUTH ")
    assert [x[:3] for x in answers[1:]] == [b"504", b"501", b"501"]


@pytest.mark.parametrize(
    ("path", "sender"),
    [
        ("<SRS0=Xy4=K2=dest.example=ann@fwd.example>", "SRS0=Xy4=K2=dest.example=ann@fwd.example"),
        ("<list-bounces+ann=dest.example@lists.example>", "list-bounces+ann=dest.example@lists.example"),
        ("<prvs=1234567890=ann@b.example>", "prvs=1234567890=ann@b.example"),
        ("<>", ""),
        ("< a@b.example >", "a@b.example"),
        ("a@b.example", "a@b.example"),
        ('<"john..doe"@b.example>', '"john..doe"@b.example'),
        ('<"john doe"@b.example>', '"john doe"@b.example'),
        ('<"a@c.example"@b.example>', '"a@c.example"@b.example'),
        (r'<"a\"b"@b.example>', r'"a\"b"@b.example'),
        ("<@one.example,@two.example:a@b.example>", "a@b.example"),
        (f"<{LONG}>", LONG),
    ],
)
@pytest.mark.parametrize(
    "parameters",
    [
        "",
        " SIZE=91 BODY=8BITMIME SMTPUTF8",
        " AUTH=<> size=91",
        " AUTH=ann+40b.example RET=HDRS ENVID=" + "x+2B" * 25,
        " body=7bit ret=full",
    ],
)
def test_a_sender_that_programs_write_is_taken(path: str, sender: str, parameters: str) -> None:
    with Serving() as relay:
        answers = talk(
            relay,
            b"EHLO me",
            f"mail from:{path}{parameters}".encode(),
            b"RCPT TO:<c@d.example> NOTIFY=success,FAILURE ORCPT=rfc822;" + b"c" * 400 + b"+40d.example",
            b"rcpt to: <e@d.example> notify=failure,delay",
            b"DATA",
            CONTENT + b".",
        )
    assert [x[:3] for x in answers] == [b"250", b"250", b"250", b"250", b"354", b"250"]
    assert [x[:2] for x in relay.taken] == [(sender, ("c@d.example", "e@d.example"))]


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        (b"MAIL FROM:<a@b.example> SIZE=x", b"501 5.5.4 the parameter SIZE"),
        (b"MAIL FROM:<a@b.example> SIZE", b"501 5.5.4 the parameter SIZE"),
        (b"MAIL FROM:<a@b.example> SIZE=1 SIZE=2", b"501 5.5.4 the parameter SIZE"),
        (b"MAIL FROM:<a@b.example> SIZE=99999999999", b"552 5.3.4"),
        (b"MAIL FROM:<a@b.example> BODY=BINARYMIME", b"501 5.5.4 the parameter BODY"),
        (b"MAIL FROM:<a@b.example> SMTPUTF8=1", b"501 5.5.4 the parameter SMTPUTF8"),
        (b"MAIL FROM:<a@b.example> RET=SOME", b"501 5.5.4 the parameter RET"),
        (b"MAIL FROM:<a@b.example> ENVID=" + b"x" * 101, b"501 5.5.4 the parameter ENVID"),
        (b"MAIL FROM:<a@b.example> AUTH=a=b", b"501 5.5.4 the parameter AUTH"),
        (b"MAIL FROM:<a@b.example> HOLDFOR=9", b"555 5.5.4"),
        (b"MAIL FROM:<a@b.example> NOTIFY=NEVER", b"555 5.5.4"),
        (b"MAIL FROM:<a@b.example>SIZE=1", b"501 5.5.4 Syntax"),
        (b"MAIL FROM:<a b@c.example>", b"501 5.5.4 Syntax"),
        (b'MAIL FROM:<"a<b"@c.example>', b"553 5.1.7"),
        (b"MAIL FROM:<a..b@c.example>", b"553 5.1.7 the sender is no address"),
        (b"MAIL FROM:<root@localhost>", b"553 5.1.7 the sender is no address; --sender sets one"),
        (b"MAIL FROM:<" + b"a" * 250 + b"@b.example>", b"553 5.1.7"),
        (b"MAIL TO:<a@b.example>", b"501 5.5.4 Syntax"),
        (b"MAIL", b"501 5.5.4 Syntax"),
        (b"VRFY", b"501"),
        (b"BOGUS", b"500"),
        (b"MAIL FROM:<" + b"a" * 3_000, b"500 Command line too long"),
    ],
)
def test_what_is_not_valid_is_refused(line: bytes, answer: bytes) -> None:
    with Serving() as relay:
        assert talk(relay, b"EHLO me", line)[-1].startswith(answer)


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        (b"RCPT TO:<c@d.example> NOTIFY=NEVER,DELAY", b"501 5.5.4 the parameter NOTIFY"),
        (b"RCPT TO:<c@d.example> ORCPT=c@d.example", b"501 5.5.4 the parameter ORCPT"),
        (b"RCPT TO:<c@d.example> SIZE=1", b"555 5.5.4"),
        (b"RCPT TO:<root@localhost>", b"553 5.1.3"),
    ],
)
def test_a_recipient_that_is_not_valid_is_refused(line: bytes, answer: bytes) -> None:
    with Serving() as relay:
        assert talk(relay, b"EHLO me", b"MAIL FROM:<a@b.example>", line)[-1].startswith(answer)


@pytest.mark.parametrize(
    "path", ['"john doe"@d.example', "a..b@docomo.ne.jp", "name.@ezweb.ne.jp", '"user..name."@docomo.ne.jp']
)
def test_addresses_that_need_quotes_are_taken(path: str) -> None:
    with Serving() as relay:
        talk(relay, b"EHLO me", b"MAIL FROM:<a@b.example>", f"RCPT TO:<{path}>".encode(), b"DATA", CONTENT + b".")
    assert [x[1] for x in relay.taken] == [(path,)]


@pytest.mark.parametrize("parameter", ["NOTIFY=NEVER", "notify=never", "NOTIFY=SUCCESS", "NOTIFY=Delay,success"])
def test_who_wants_no_notification_of_failures_is_named_apart(parameter: str) -> None:
    one = f"RCPT TO:<e@d.example> {parameter} ORCPT=rfc822;e@d.example".encode()
    mail = b"MAIL FROM:<a@b.example>"
    with Serving() as relay:
        talk(relay, b"EHLO me", mail, b"RCPT TO:<c@d.example>", one, b"DATA", CONTENT + b".", mail, one, b"RSET", mail)
        talk(relay, b"EHLO me", mail, one, b"RSET", mail, b"RCPT TO:<e@d.example>", b"DATA", CONTENT + b".")
        talk(relay, b"EHLO me", mail, one, b"DATA", CONTENT + b".")
    assert [x[1] for x in relay.taken] == [("c@d.example",), ("e@d.example",), ()]
    assert relay.silent == [("e@d.example",), (), ("e@d.example",)]


def test_an_address_that_is_refused_is_a_line_on_the_screen(capsys: pytest.CaptureFixture[str]) -> None:
    with Serving() as relay:
        talk(relay, b"EHLO me", b"MAIL FROM:<root@localhost>")
    assert capsys.readouterr().err == (
        "refused a mail from 127.0.0.1: 553 5.1.7 the sender is no address; --sender sets one in its place\n"
    )


@pytest.mark.parametrize(
    "path", ["root", "root@localhost", "root@web1", "root@web1.local", "web@ip-10-0-0-1.ec2.internal"]
)
def test_a_sender_without_a_domain_is_replaced(path: str) -> None:
    with Serving(sender="ops@b.example") as relay:
        talk(relay, b"EHLO me", f"MAIL FROM:<{path}>".encode(), b"RCPT TO:<c@d.example>", b"DATA", CONTENT + b".")
    assert [x[0] for x in relay.taken] == ["ops@b.example"]


def test_other_senders_stay() -> None:
    with Serving(sender="ops@b.example") as relay:
        for path in (b"<>", b"<a@b.example>"):
            talk(relay, b"EHLO me", b"MAIL FROM:" + path, b"RCPT TO:<c@d.example>", b"DATA", CONTENT + b".")
        answers = talk(relay, b"EHLO me", b"MAIL FROM:<a..b@c.example>")
    assert [x[0] for x in relay.taken] == ["", "a@b.example"]
    assert answers[-1].startswith(b"553 ")


@pytest.mark.parametrize(
    ("field", "written"),
    [
        ("root (Cron Daemon)", b"Cron Daemon <ops@b.example>"),
        ('"(Cron Daemon)" <root>', b'"(Cron Daemon)" <ops@b.example>'),
        ("root@localhost", b"root <ops@b.example>"),
        ("Web <web@web1.localdomain>", b"Web <ops@b.example>"),
        ("Gr\u00fc\u00dfe <root@localhost>", b"=?utf-8?b?R3LDvMOfZQ==?= <ops@b.example>"),
        ("root@[127.0.0.1]", b"root <ops@b.example>"),
    ],
)
@pytest.mark.parametrize("rest", [b"\r\n\r\nHello\r\n", b"\r\nTo: root\r\n\r\nFrom: body\r\n", b"\r\n"])
def test_the_from_field_gets_the_sender_and_keeps_its_name(
    field: str, written: bytes, rest: bytes, tmp_path: Path
) -> None:
    before = b"Date: x\r\nSubject: From: y\r\n"
    found = with_sender(BytesIO(before + b"From: " + field.encode() + rest), "ops@b.example", tmp_path)
    assert found is not None
    with found:
        found.seek(0)
        assert found.read() == before + b"From: " + written + rest


@pytest.mark.parametrize(
    "field",
    [
        b"From: a@b.example",
        b"From: root, a@b.example",
        b"From: ceo@bank.example <root>",
        b"From:",
        b"From: root\r\nFrom: root",
        b"To: root",
        b"",
    ],
)
def test_another_from_field_stays(field: bytes) -> None:
    assert with_sender(BytesIO(field + b"\r\n\r\nFrom: root\r\n"), "ops@b.example", None) is None


def test_a_large_mail_with_another_sender_is_whole(tmp_path: Path) -> None:
    body = b"\r\n\r\n" + (b"x" * 76 + b"\r\n") * 20_000
    found = with_sender(BytesIO(b"From: root" + body), "ops@b.example", tmp_path)
    assert found is not None
    with found:
        found.seek(0)
        assert found.read() == b"From: root <ops@b.example>" + body


def test_limits_of_sessions_leave_room_for_a_login() -> None:
    assert guests.MOST_STRANGERS_OF_NETWORK < guests.MOST_STRANGERS < guests.MOST_SESSIONS
