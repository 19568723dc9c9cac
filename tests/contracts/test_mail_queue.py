"""The eleven steps of a queue of mails, on each of its implementations."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from shared.domain.mails.queue import InflightMail, MailSchedule, NewDestination, PendingCleanup, QueuedMail
from shared.ports import MailQueue
from tests.contracts.mail_queues import QUEUES
from tests.fakes.clock import FakeClock

SENDER = "clinic@example.com"
CONTENT = b"From: clinic@example.com\r\n\r\nHello!\r\n.\r\n\xff\x00\r\n"


@pytest.fixture(params=sorted(QUEUES))
def queue(request: pytest.FixtureRequest, clock: FakeClock) -> MailQueue:
    return QUEUES[request.param](request, clock)


def put(queue: MailQueue, *at: int, content: bytes = CONTENT, sender: str = SENDER) -> Sequence[QueuedMail]:
    """Queue a mail to one destination for each time (Unix ms)."""
    with queue.enqueue() as draft:
        for start in range(0, len(content), 7):
            draft.write(content[start : start + 7])
        return draft.commit(
            sender, [NewDestination(f"r{n}@example.org", MailSchedule(each), {"n": n}) for n, each in enumerate(at)]
        )


def start(queue: MailQueue, mail: QueuedMail) -> InflightMail:
    found = queue.send_start(mail)
    assert found is not None
    return found


def finish(queue: MailQueue, mail: QueuedMail) -> PendingCleanup:
    pending = queue.send_done(start(queue, mail))
    assert pending is not None
    return pending


def everything(queue: MailQueue) -> tuple[list[QueuedMail], list[InflightMail], list[PendingCleanup]]:
    return list(queue.list_queue()), list(queue.find_inflight()), list(queue.find_pending_cleanup())


def test_an_empty_queue_lists_nothing(queue: MailQueue) -> None:
    assert everything(queue) == ([], [], [])


def test_enqueue_queues_every_destination_with_its_schedule(queue: MailQueue, clock: FakeClock) -> None:
    queued = put(queue, clock.ms + 2000, clock.ms, clock.ms + 1000)
    assert [x.n for x in queued] == [0, 1, 2]
    assert len({x.mail for x in queued}) == 1
    assert list(queue.list_queue()) == [queued[1], queued[2], queued[0]]


def test_mails_are_listed_by_schedule_across_mails(queue: MailQueue, clock: FakeClock) -> None:
    (late,), (soon,) = put(queue, clock.ms + 9000), put(queue, clock.ms)
    (next_,) = put(queue, clock.ms + 1000)
    assert list(queue.list_queue()) == [soon, next_, late]


def test_a_draft_without_commit_leaves_nothing(queue: MailQueue) -> None:
    with queue.enqueue() as draft:
        draft.write(b"From: ")
    assert everything(queue) == ([], [], [])


def test_a_draft_that_fails_leaves_nothing(queue: MailQueue) -> None:
    with pytest.raises(ZeroDivisionError), queue.enqueue():
        raise ZeroDivisionError
    assert everything(queue) == ([], [], [])


def test_a_mail_in_flight_is_read_byte_for_byte(queue: MailQueue, clock: FakeClock) -> None:
    queued = put(queue, clock.ms, clock.ms)
    with queue.read_inflight(start(queue, queued[1])) as found:
        assert (found.sender, found.address, found.metadata) == (SENDER, "r1@example.org", {"n": 1})
        assert (found.size, found.content.read()) == (len(CONTENT), CONTENT)


def test_only_one_worker_starts_a_mail(queue: MailQueue, clock: FakeClock) -> None:
    (mail,) = put(queue, clock.ms)
    with ThreadPoolExecutor(4) as pool:
        started = [x for x in pool.map(queue.send_start, [mail] * 8) if x]
    assert len(started) == 1
    assert everything(queue) == ([], started, [])


def test_a_started_mail_cannot_be_dropped_or_rescheduled(queue: MailQueue, clock: FakeClock) -> None:
    (mail,) = put(queue, clock.ms)
    started = start(queue, mail)
    assert queue.drop(mail) is None
    assert queue.reschedule(mail, MailSchedule(clock.ms + 1)) is None
    assert everything(queue) == ([], [started], [])


def test_a_rescheduled_mail_starts_only_by_its_new_schedule(queue: MailQueue, clock: FakeClock) -> None:
    (mail,) = put(queue, clock.ms)
    later = queue.reschedule(mail, MailSchedule(clock.ms + 5000))
    assert later == QueuedMail(mail.mail, mail.n, MailSchedule(clock.ms + 5000))
    assert queue.send_start(mail) is None
    assert queue.reschedule(mail, MailSchedule(clock.ms)) is None
    assert list(queue.list_queue()) == [later]
    sooner = queue.reschedule(later, MailSchedule(clock.ms))
    assert sooner is not None
    start(queue, sooner)


def test_a_cancelled_send_waits_for_its_next_schedule(queue: MailQueue, clock: FakeClock) -> None:
    (mail,) = put(queue, clock.ms)
    started = start(queue, mail)
    again = queue.send_cancel(started, MailSchedule(clock.ms + 1000, attempts=1))
    assert again == QueuedMail(mail.mail, mail.n, MailSchedule(clock.ms + 1000, 1))
    assert queue.send_done(started) is None
    assert queue.send_cancel(started, MailSchedule(clock.ms)) is None
    with pytest.raises(LookupError), queue.read_inflight(started):
        pass
    assert everything(queue) == ([again], [], [])


@pytest.mark.slow
def test_a_sent_mail_is_never_queued_again(queue: MailQueue, clock: FakeClock) -> None:
    (mail,) = put(queue, clock.ms)
    started = start(queue, mail)
    pending = queue.send_done(started)
    assert pending is not None
    assert queue.send_cancel(started, MailSchedule(clock.ms)) is None
    assert queue.send_done(started) is None
    assert queue.send_start(mail) is None
    assert everything(queue) == ([], [], [pending])


def test_a_dropped_mail_is_cleaned_up_and_never_sent(queue: MailQueue, clock: FakeClock) -> None:
    (mail,) = put(queue, clock.ms)
    pending = queue.drop(mail)
    assert pending == PendingCleanup(mail.mail, 0)
    assert queue.send_start(mail) is None
    assert queue.drop(mail) is None
    assert everything(queue) == ([], [], [pending])


def test_a_cleanup_is_done_once(queue: MailQueue, clock: FakeClock) -> None:
    (mail,) = put(queue, clock.ms)
    pending = finish(queue, mail)
    assert queue.cleanup(pending)
    assert not queue.cleanup(pending)
    assert everything(queue) == ([], [], [])


def test_the_content_stays_until_the_last_destination_is_cleaned_up(queue: MailQueue, clock: FakeClock) -> None:
    one, two, three = put(queue, clock.ms, clock.ms, clock.ms + 60_000)
    assert queue.cleanup(finish(queue, one))
    dropped = queue.drop(three)
    assert dropped is not None
    assert queue.cleanup(dropped)
    with queue.read_inflight(start(queue, two)) as found:
        assert found.content.read() == CONTENT


@pytest.mark.slow
def test_destinations_cleaned_up_at_once_leave_nothing(queue: MailQueue, clock: FakeClock) -> None:
    pending = [finish(queue, each) for each in put(queue, *[clock.ms] * 8)]
    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(queue.cleanup, pending))
    assert everything(queue) == ([], [], [])


def test_an_empty_content_and_a_null_sender_are_kept(queue: MailQueue, clock: FakeClock) -> None:
    (mail,) = put(queue, clock.ms, content=b"", sender="")
    with queue.read_inflight(start(queue, mail)) as found:
        assert (found.sender, found.size, found.content.read()) == ("", 0, b"")
