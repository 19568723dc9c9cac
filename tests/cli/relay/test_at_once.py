"""Held mails that are posted several at once: in their order, and without waiting for a mail on which the API fails."""

import threading
from collections.abc import Iterator
from pathlib import Path
from threading import Event

import pytest

from cli.relay import delivering
from cli.relay.api import MailAnswer, PostFate
from shared.domain.mails.queue import InflightMail, QueuedMail
from tests.cli.relay.holding import BAD, GOOD, LATER, ONE, REFUSED, TAKEN, THREE, TWO, UNREADY, Held, letter

SILENT = MailAnswer(PostFate.UNREADY, "HTTP 504", is_doubtful=True)
PLACES = 3


@pytest.fixture
def held(tmp_path: Path) -> Iterator[Held]:
    found = Held(tmp_path / "spool", PLACES)
    yield found
    found.queue.close()


def test_several_posts_are_in_the_air_and_no_more(held: Held) -> None:
    together = threading.Barrier(PLACES, timeout=30)
    most, now, lock = 0, 0, threading.Lock()

    def meet(_: bytes) -> None:
        nonlocal most, now
        with lock:
            now += 1
            most = max(most, now)
        together.wait()
        with lock:
            now -= 1

    held.hold(*(letter(str(n)) for n in range(2 * PLACES)))
    held.api.during = meet
    held.mail.deliver_due()
    assert most == PLACES
    assert held.is_empty


def test_posts_begin_in_the_order_of_their_schedule(held: Held) -> None:
    letters = [letter(str(n)) for n in range(9)]
    held.hold(*letters)
    order = [x.mail for x in held.queue.list_queue()]
    started: list[str] = []
    send_start = held.queue.send_start

    def noted(mail: QueuedMail) -> InflightMail | None:
        started.append(mail.mail)
        return send_start(mail)

    held.queue.send_start = noted  # type: ignore[method-assign]
    held.mail.deliver_due()
    assert started == order
    assert sorted(held.api.contents) == letters


def test_a_mail_that_has_no_answer_yet_holds_up_no_other(held: Held) -> None:
    """Also none that is held meanwhile."""
    others, answered = Event(), Event()

    def hang(content: bytes) -> None:
        if content == BAD:
            assert answered.wait(30)
        elif content == THREE:
            others.set()

    held.hold(BAD, ONE, TWO)
    held.api.during = hang
    delivery = threading.Thread(target=held.mail.deliver_due)
    delivery.start()
    held.api.answers[THREE] = LATER  # held at first
    assert held.take(THREE).startswith("250 2.0.0 kept")
    held.api.answers[THREE] = TAKEN
    others.clear()
    assert others.wait(30)
    assert delivery.is_alive()
    answered.set()
    delivery.join(30)
    assert held.is_empty


def test_an_outage_waits_once_for_all_that_were_in_the_air(held: Held) -> None:
    held.hold(*(letter(str(n)) for n in range(9)))
    held.api.answer = MailAnswer(PostFate.UNREADY, "busy", wait=7.0)
    together = threading.Barrier(PLACES, timeout=30)
    held.api.during = lambda _: together.wait()
    assert held.mail.deliver_due() == 7
    assert len(held.api.posts) == PLACES
    assert held.told == ["the API takes no mail: busy; it is kept, and posted later"]
    assert held.waiting == 9


def test_after_an_outage_one_mail_is_tried_first(held: Held) -> None:
    held.hold(ONE, TWO, THREE, GOOD)
    held.api.answer = UNREADY
    held.mail.deliver_due()
    tried = len(held.api.posts)
    held.mail.deliver_due()
    assert held.api.contents[tried:] == [ONE]
    held.api.answer = TAKEN
    held.mail.deliver_due()
    assert held.api.contents[tried + 1] == ONE
    assert held.told[1:] == ["the API takes mail again; 4 mails to post"]
    assert held.is_empty


def test_a_mail_that_never_has_an_answer_waits_by_itself(held: Held) -> None:
    """Its first silence may be the API's. It is the mail's if others pass in between."""
    held.hold(BAD, ONE, TWO, THREE, GOOD)
    held.api.answers[BAD] = SILENT
    pauses = [held.mail.deliver_due() for _ in range(2)]
    assert pauses == [1, delivering.IDLE]
    assert sorted(held.api.contents) == sorted([BAD, ONE, TWO, THREE, GOOD, BAD])
    assert not held.mail.unready
    (queued,) = held.queue.list_queue()
    assert queued.schedule.attempts == 1
    assert queued.schedule.at == held.clock.ms + delivering.RETRIES_MS[0]
    held.clock.advance(60)
    held.hold(TWO)
    assert held.mail.deliver_due() == delivering.IDLE
    assert held.waiting == 1
    held.api.answers.clear()
    held.clock.advance(300)
    held.mail.deliver_due()
    assert held.is_empty


def test_two_mails_without_an_answer_do_not_hold_up_the_third(held: Held) -> None:
    worse = letter("worse")
    held.hold(BAD, worse)
    held.api.answers |= {BAD: SILENT, worse: SILENT}
    held.mail.deliver_due()
    assert held.take(GOOD).startswith("250 2.0.0 kept")
    held.mail.deliver_due()
    assert held.api.contents.count(GOOD) == 1
    assert {x.schedule.attempts for x in held.queue.list_queue()} == {1}
    assert not held.mail.unready


def test_an_api_that_is_away_is_no_mail_s_fault(held: Held) -> None:
    held.hold(ONE, TWO)
    for _ in range(3):
        held.api.answer = SILENT
        held.mail.deliver_due()
        held.api.answer = MailAnswer(PostFate.UNREADY, "check POSTHASTE_API_KEY")
        held.mail.deliver_due()
    assert {x.schedule.attempts for x in held.queue.list_queue()} == {0}
    held.api.answer = TAKEN
    held.mail.deliver_due()
    assert held.is_empty


def test_refused_mails_are_kept_side_by_side(held: Held) -> None:
    letters = [letter(str(n)) for n in range(2 * PLACES)]
    held.hold(*letters)
    held.api.answer = REFUSED
    held.mail.deliver_due()
    kept = (held.folder / "failed").glob("*.eml")
    assert sorted(x.read_bytes() for x in kept) == letters
    assert held.is_empty


def test_a_fault_of_the_disk_ends_with_nothing_in_the_air(held: Held) -> None:
    held.hold(BAD, ONE, TWO, THREE)
    held.api.answers[BAD] = REFUSED
    held.disk.full = True
    stop = Event()
    waits: list[float] = []

    def wait(timeout: float | None = None) -> bool:
        waits.append(timeout or 0)
        assert not any(x.name.startswith("held") for x in threading.enumerate())
        held.disk.full = False
        if len(waits) == 2:
            stop.set()
        return stop.is_set()

    stop.wait = wait  # type: ignore[method-assign]
    held.mail.run(stop)
    assert waits == [delivering.AFTER_FAULT, delivering.IDLE]
    assert set(held.api.contents) == {BAD, ONE, TWO, THREE}
    assert held.is_empty


def test_a_stop_waits_for_what_is_in_the_air_and_begins_no_more(held: Held) -> None:
    letters = [letter(str(n)) for n in range(3 * PLACES)]
    held.hold(*letters)
    stop = Event()
    held.api.during = lambda _: stop.set()
    held.mail.deliver_due(stop)
    assert 1 <= len(held.api.posts) <= PLACES
    assert held.waiting == len(letters) - len(held.api.posts)
    assert not list(held.queue.find_inflight())
