"""Equal mails: one that a program repeats since it lost the answer is one, and two that it means are two."""

import smtplib
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from cli.environment import Destination
from cli.relay import repeats
from cli.relay.api import MailAnswer, MailApi, PostFate
from cli.relay.mail import relay_mail
from cli.relay.repeats import LATEST_MS, MailRounds
from cli.relay.taking import MailIntake
from shared.domain.ids import new_id
from tests.api.conftest import SENDER, Api, build_api
from tests.cli.relay.holding import Held
from tests.cli.relay.serving import Serving
from tests.cli.relay.test_real_api import CONTENT, TO, RealMailApi
from tests.cli.relay.test_server import talk
from tests.fakes.clock import FakeClock

WITH_ID = CONTENT.replace(b"Subject", b"Message-Id: <1@example.com>\r\nSubject")
MINUTE = 60

pytestmark = pytest.mark.promise(3)


class Program:
    """Sends mails through a relay with the real API, and sees an answer or not."""

    def __init__(self, api: Api, clock: FakeClock, real: RealMailApi) -> None:
        self.api, self.clock = api, clock
        self.client = MailApi(Destination(real.url, api.key), clock, "1", 1)
        self.start()

    def start(self) -> None:
        """Start the relay anew: it remembers nothing."""
        self.relay = MailIntake(self.client, None, clock=self.clock)

    def send(self, content: bytes = CONTENT, *, sees: bool = True, silent: tuple[str, ...] = ()) -> str:
        reply = self.relay.take(SENDER, TO, BytesIO(content), silent)
        assert reply.startswith("250 "), reply
        if sees:
            self.relay.confirmed(reply)
        return reply

    @property
    def mails(self) -> int:
        return len(self.api.call("GET", "/mails").json["items"])


@pytest.fixture
def held(tmp_path: Path) -> Iterator[Held]:
    found = Held(tmp_path / "spool")
    yield found
    found.queue.close()


@pytest.fixture
def program(moto_dynamo: Any) -> Iterator[Program]:
    clock = FakeClock()
    api = build_api(moto_dynamo, clock)
    real = RealMailApi(api)
    found = Program(api, clock, real)
    yield found
    found.client.close()
    real.close()


def test_an_alert_that_is_sent_again_is_another_one(program: Program) -> None:
    assert len({program.send() for _ in range(3)}) == 3
    assert program.mails == 3


def test_a_mail_whose_answer_was_lost_is_one_however_often_it_is_repeated(program: Program) -> None:
    program.send()
    assert len({program.send(sees=False), program.send(sees=False), program.send()}) == 1
    assert program.mails == 2


def test_a_mail_with_a_message_id_is_one_for_a_day(program: Program) -> None:
    first = program.send(WITH_ID)
    program.clock.advance(60 * MINUTE)
    program.start()
    assert program.send(WITH_ID) == first
    assert program.mails == 1


def test_a_relay_that_is_started_anew_takes_a_late_alert_as_another_one_and_a_repetition_as_one(
    program: Program,
) -> None:
    first = program.send()
    program.start()
    assert program.send(sees=False) == first
    for n in (2, 3):
        program.clock.advance(11 * MINUTE)
        program.start()
        late = program.send(sees=False)
        program.start()
        assert program.send(sees=False) == late
        assert program.mails == n


def test_both_parts_of_a_mail_are_sent_again(program: Program) -> None:
    for _ in range(2):
        program.send(silent=("cleo@example.org",))
    assert program.mails == 4


@pytest.mark.slow
def test_the_clock_alone_makes_no_mail_another_one(program: Program) -> None:
    program.clock.advance(24 * 60 * MINUTE)
    ahead = FakeClock()
    ahead.advance(100 * 24 * 60 * MINUTE)
    program.relay = MailIntake(program.client, None, clock=ahead)
    program.send(sees=False)
    assert program.mails == 1


def test_a_held_alert_is_not_taken_for_one_of_earlier(held: Held) -> None:
    held.hold(CONTENT)
    earlier = new_id(int((held.clock.now() - 30 * MINUTE) * 1000))
    answers = iter([MailAnswer(PostFate.TAKEN, earlier, is_replayed=True), MailAnswer(PostFate.TAKEN, "new")])
    held.api.during = lambda _: setattr(held.api, "answer", next(answers))
    held.clock.advance(MINUTE)
    held.mail.deliver_due()
    keys = [key for key, _ in held.api.posts]
    assert len(set(keys)) == len(keys) == 2
    assert held.is_empty


@pytest.mark.parametrize(
    ("header", "has_id"),
    [
        (b"Message-ID: <1@x>", True),
        (b"message-id:<1@x>", True),
        (b"MESSAGE-ID :\r\n <1@x>", True),
        (b"Message-ID:", False),
        (b"Message-ID: \r\nX: y", False),
        (b"X-Message-ID: <1@x>", False),
        (b"Subject: x\r\n Message-ID: y", False),
        (b"X: y\r\n\r\nMessage-ID: <1@x>", False),
    ],
)
def test_a_message_id_is_a_field_of_the_header(header: bytes, has_id: bool) -> None:  # noqa: FBT001
    content = b"From: a@b.example\r\n" + header + b"\r\n\r\nx\r\n"
    assert relay_mail("a@b.example", ["c@d.example"], BytesIO(content)).has_id is has_id


def test_the_oldest_mails_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repeats, "MOST", 2)
    rounds = MailRounds(FakeClock())
    mails = [relay_mail("a@b.example", ["c@d.example"], BytesIO(b"%d" % n)) for n in range(3)]
    for mail in mails:
        rounds.answered(mail.key, [mail])
        rounds.confirmed(mail.key)
    assert [rounds.keyed(x).key == x.key for x in mails] == [True, False, False]
    assert rounds.keyed(mails[0]).new_since == int(FakeClock().now() * 1000) - LATEST_MS


@pytest.mark.parametrize("command", [b"QUIT", b"NOOP", b"RSET", b"MAIL FROM:<a@b.example>"])
def test_a_client_that_goes_on_has_seen_the_reply(command: bytes) -> None:
    mail = (b"EHLO me", b"MAIL FROM:<a@b.example>", b"RCPT TO:<c@d.example>", b"DATA", b"X: y\r\n\r\nx\r\n.")
    with Serving() as relay:
        talk(relay, *mail)
        assert relay.confirms == []
        talk(relay, *mail, command)
        assert relay.confirms == ["250 2.0.0 accepted"]


def test_a_program_of_the_standard_library_sends_an_alert_twice() -> None:
    with Serving() as relay:
        for _ in range(2):
            with smtplib.SMTP("127.0.0.1", relay.port, timeout=30) as smtp:
                smtp.sendmail("a@b.example", ["c@d.example"], b"X: y\r\n\r\nx\r\n")
        assert len(relay.confirms) == 2
