"""Mail that the relay holds while the API is out of reach, and the replies of SMTP."""

import json
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from threading import Event

import pytest

from cli.relay import delivering
from cli.relay.api import MailAnswer, PostFate
from tests.cli.relay.holding import BAD, GOOD, LATER, ONE, REFUSED, TAKEN, THREE, TOO_LARGE, TWO, UNREADY, Held


@pytest.fixture
def held(tmp_path: Path) -> Iterator[Held]:
    found = Held(tmp_path / "spool")
    yield found
    found.queue.close()


@pytest.mark.parametrize(
    ("answer", "reply"),
    [
        (TAKEN, "250 2.0.0 accepted as m1"),
        (REFUSED, "550 5.7.1 The sender ? is not allowed."),
        (MailAnswer(PostFate.REFUSED, "Line 3.", "bare_lf"), "550 5.6.0 Line 3."),
        (TOO_LARGE, "552 5.3.4 The mail is too large."),
        (LATER, "451 4.3.0 HTTP 500"),
        (UNREADY, "451 4.3.0 cannot reach the API"),
    ],
)
def test_without_a_queue_each_answer_is_the_client_s(held: Held, answer: MailAnswer, reply: str) -> None:
    held.api.answer = answer
    assert held.direct.take("a@b.example", ["c@d.example"], BytesIO(b"x")) == reply
    assert held.is_empty


def test_a_reply_is_no_longer_than_smtp_allows(held: Held) -> None:
    held.api.answer = MailAnswer(PostFate.REFUSED, "x" * 2000)
    assert len(held.take()) <= 510


@pytest.mark.parametrize("answer", [REFUSED, TOO_LARGE, TAKEN])
def test_an_answer_of_the_api_is_not_kept(held: Held, answer: MailAnswer) -> None:
    held.api.answer = answer
    held.take()
    assert held.is_empty


@pytest.mark.parametrize("answer", [UNREADY, LATER])
def test_a_mail_is_kept_while_the_api_does_not_take_it(held: Held, answer: MailAnswer) -> None:
    held.api.answer = answer
    assert held.take(b"From: a@b.example\r\n\r\n\xff.\r\n", sender="").startswith("250 2.0.0 kept as ")
    (direct,) = held.api.posts
    held.api.answer = TAKEN
    held.mail.deliver_due()
    assert held.api.posts == [direct, direct]  # under the same key
    assert held.is_empty


@pytest.mark.parametrize(
    ("content", "reply"),
    [
        (b"From: a@b.example\r\n\r\nx\ny\r\n", "550 5.6.0 the message is refused: bare_lf in line 3"),
        (b"Subject: x\r\n\r\n", "550 5.6.0 the message is refused: no_from"),
    ],
)
def test_a_mail_that_the_api_would_refuse_is_not_kept(held: Held, content: bytes, reply: str) -> None:
    held.api.answer = UNREADY
    assert held.take(content) == reply
    assert held.is_empty


def test_a_full_disk_takes_no_mail(held: Held) -> None:
    held.api.answer, held.disk.full = UNREADY, True
    assert held.take() == "452 4.3.1 the spool's disk: No space left on device"
    held.disk.full = False
    assert held.is_empty


def test_mail_is_posted_in_the_order_in_which_it_came(held: Held) -> None:
    held.hold(ONE, TWO, THREE)
    held.mail.deliver_due()
    assert held.api.contents == [ONE, TWO, THREE]
    assert held.is_empty


def test_all_mail_waits_together_while_the_api_takes_none(held: Held) -> None:
    held.hold(ONE, TWO, THREE)
    held.api.answer = UNREADY
    pauses = [held.mail.deliver_due() for _ in range(8)]
    assert pauses == [1, 2, 5, 10, 20, 30, 30, 30]
    assert held.api.contents == [ONE] * 8
    assert held.told == ["the API takes no mail: cannot reach the API; it is kept, and posted later"]
    assert {x.schedule.attempts for x in held.queue.list_queue()} == {0}
    held.api.answer = TAKEN
    held.mail.deliver_due()
    assert held.told[1:] == ["the API takes mail again; 3 mails to post"]
    assert held.is_empty


def test_the_api_s_wish_for_time_is_heeded_up_to_ten_minutes(held: Held) -> None:
    held.hold(ONE)
    held.api.answer = MailAnswer(PostFate.UNREADY, "busy", wait=90.0)
    assert held.mail.deliver_due() == 90
    held.api.answer = MailAnswer(PostFate.UNREADY, "busy", wait=90_000.0)
    assert held.mail.deliver_due() == 600


def test_new_mail_is_kept_at_once_while_the_api_takes_none(held: Held) -> None:
    held.hold(ONE)
    held.api.answer = UNREADY
    held.mail.deliver_due()
    assert held.take(TWO).startswith("250 2.0.0 kept")
    assert held.api.contents == [ONE]
    held.api.answer = TAKEN
    held.mail.deliver_due()
    assert held.take(THREE) == "250 2.0.0 accepted as m1"


def test_a_mail_on_which_the_api_fails_does_not_hold_up_others(held: Held) -> None:
    held.hold(BAD, GOOD)
    held.api.answers[BAD] = LATER
    held.mail.deliver_due()
    assert held.api.contents == [BAD, GOOD]
    delays = []
    for _ in range(6):
        (queued,) = held.queue.list_queue()
        delay = queued.schedule.at - held.clock.ms
        delays.append(delay // 60_000)
        held.clock.advance(delay / 1000 - 1)
        held.mail.deliver_due()
        assert len(held.api.posts) == 1 + len(delays)
        held.clock.advance(1)
        held.mail.deliver_due()
    assert delays == [1, 5, 15, 60, 240, 240]
    held.api.answers.clear()
    held.clock.advance(240 * 60)
    held.mail.deliver_due()
    assert held.is_empty


@pytest.mark.parametrize("answer", [REFUSED, TOO_LARGE])
def test_a_refused_mail_is_kept_for_the_operator(held: Held, answer: MailAnswer) -> None:
    held.hold(BAD)
    held.api.answer = answer
    held.mail.deliver_due()
    assert (held.folder / "failed").is_dir()
    names = sorted(x.name for x in (held.folder / "failed").iterdir())
    name = names[0].removesuffix(".eml")
    assert names == [f"{name}.eml", f"{name}.json"]
    assert (held.folder / "failed" / names[0]).read_bytes() == BAD
    assert json.loads((held.folder / "failed" / names[1]).read_text()) == {
        "mail_from": "a@b.example",
        "rcpt_to": ["c@d.example", "e@d.example"],
        "code": answer.code,
        "reason": answer.says,
    }
    kept = held.folder / "failed" / names[0]
    assert held.told == [f"error: the API refuses a mail that was taken: {answer.says}; it is kept in {kept}"]
    assert held.is_empty


def test_a_mail_on_which_the_api_fails_for_days_is_kept_for_the_operator(held: Held) -> None:
    held.hold(BAD)
    held.api.answer = LATER
    for _ in range(delivering.MOST_ATTEMPTS):
        held.mail.deliver_due()
        held.clock.advance(5 * 3600)
    assert len(held.api.posts) == delivering.MOST_ATTEMPTS
    assert held.is_empty
    assert len(list((held.folder / "failed").iterdir())) == 2


def test_what_was_in_flight_is_posted_again_under_its_key(held: Held) -> None:
    held.hold(ONE, TWO)
    first, second = held.queue.list_queue()
    started = held.queue.send_start(second)
    inflight = held.queue.send_start(first)
    assert started
    assert inflight
    held.queue.send_done(inflight)
    held.mail.recover()
    held.mail.deliver_due()
    assert held.api.contents == [TWO]
    assert held.is_empty


def test_a_disk_that_fails_is_tried_again(held: Held) -> None:
    """The refused mail cannot be kept at first: it is neither lost nor stuck."""
    held.hold(BAD, GOOD)
    held.api.answers[BAD] = REFUSED
    held.disk.full = True
    pauses: list[float] = []

    class Stop(Event):
        def wait(self, timeout: float | None = None) -> bool:
            pauses.append(timeout or 0)
            held.disk.full = False
            if len(pauses) == 2:
                self.set()
            return self.is_set()

    held.mail.run(Stop())
    assert pauses == [30, 1]
    assert held.told[0] == "error: the spool's disk: No space left on device"
    assert held.api.contents == [BAD, BAD, GOOD]
    assert held.is_empty
