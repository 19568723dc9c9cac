"""What the relay holds: mail that it took while the API was out of reach, posted in the order of its schedule.

A mail is one destination of the queue, whose metadata are the envelope and the key. So a post that is repeated, after
a lost answer or a crash, is the same post under the same key, and the API takes it once.
"""

from collections.abc import Callable
from threading import Event
from typing import Any, Final

from cli.output import counted
from cli.relay.api import MailAnswer, MailApi, PostFate
from cli.relay.failures import FailedMails
from cli.relay.mail import RelayMail
from shared.domain.mails.queue import InflightMail, MailSchedule, NewDestination, QueuedMail, ReadMail
from shared.domain.times import Millis, Seconds
from shared.ports import Clock, MailQueue, Retriable

PAUSES: Final[tuple[Seconds, ...]] = (1, 2, 5, 10, 20, 30)
"""Between tries while the API takes no mail; the last one again and again. All mails wait together."""
IDLE: Final[Seconds] = 1.0
"""Between looks at an empty queue."""
LONGEST_WAIT: Final[Seconds] = 600.0
"""The most that the API's Retry-After delays the next try."""
RETRIES_MS: Final[tuple[Millis, ...]] = (60_000, 300_000, 900_000, 3_600_000)
"""Delays of a mail on which the API fails."""
LATER_MS: Final[Millis] = 4 * 3_600_000
"""Its delay after these."""
MOST_ATTEMPTS: Final = 30
"""A mail on which the API fails so often, for about four and a half days, is given up."""


class HeldMail:
    """The relay's mails in a queue.

    Args:
        queue: where they are.
        failed: where those go that the API refuses.
        api: where they are posted.
        clock: for schedules.
        tell: takes lines for the relay's operator.
    """

    def __init__(
        self, queue: MailQueue, failed: FailedMails, api: MailApi, clock: Clock, tell: Callable[[str], None]
    ) -> None:
        self._queue = queue
        self._failed = failed
        self._api = api
        self._clock = clock
        self._tell = tell
        self._outages = 0

    @property
    def unready(self) -> bool:
        """Whether the API took no mail at the last try."""
        return self._outages > 0

    def take(self, mail: RelayMail, content: bytes) -> str:
        """Store a mail durably, and return its id.

        Args:
            mail: its envelope and key.
            content: as it came.

        Raises:
            Retriable: the disk is full, or fails.
        """
        metadata = {"recipients": list(mail.recipients), "key": mail.key}
        destination = NewDestination("", MailSchedule(self._now()), metadata)
        with self._queue.enqueue() as draft:
            draft.write(content)
            return draft.commit(mail.sender, [destination])[0].mail

    def recover(self) -> None:
        """Finish what a dead process left: its cleanups, and its posts, which are repeated under their keys."""
        for pending in self._queue.find_pending_cleanup():
            self._queue.cleanup(pending)
        for mail in self._queue.find_inflight():
            self._queue.send_cancel(mail, mail.schedule)

    def run(self, stop: Event) -> None:
        """Deliver until stopped. What is in flight at the start, or after a fault of the disk, is posted again."""
        recovered = False
        while not stop.is_set():
            try:
                if not recovered:
                    self.recover()
                    recovered = True
                pause = self.deliver_due(stop)
            except Retriable as error:
                self._tell(f"error: {error}")
                recovered, pause = False, PAUSES[-1]
            stop.wait(pause)

    def deliver_due(self, stop: Event | None = None) -> Seconds:
        """Post what is due, in the order of its schedule; return the seconds to wait then."""
        for queued in self._queue.list_queue():
            if stop is not None and stop.is_set():
                break
            if queued.schedule.at > self._now():
                break
            answer = self._deliver(queued)
            if answer is not None and answer.fate is PostFate.UNREADY:
                return self._outage(answer)
        return IDLE

    def _deliver(self, queued: QueuedMail) -> MailAnswer | None:
        mail = self._queue.send_start(queued)
        if mail is None:
            return None
        with self._queue.read_inflight(mail) as found:
            answer = self._api.post(_posted(found))
            if answer.fate is not PostFate.UNREADY:
                self._recovered()
            if self._is_final(answer, mail):
                self._give_up(mail, found, answer)
        self._settle(mail, answer)
        return answer

    def _is_final(self, answer: MailAnswer, mail: InflightMail) -> bool:
        if answer.fate is PostFate.LATER:
            return mail.schedule.attempts + 1 >= MOST_ATTEMPTS
        return answer.fate in (PostFate.REFUSED, PostFate.TOO_LARGE)

    def _settle(self, mail: InflightMail, answer: MailAnswer) -> None:
        attempts = mail.schedule.attempts
        if answer.fate is PostFate.UNREADY:
            self._queue.send_cancel(mail, mail.schedule)
        elif answer.fate is PostFate.LATER and not self._is_final(answer, mail):
            delay = RETRIES_MS[attempts] if attempts < len(RETRIES_MS) else LATER_MS
            self._queue.send_cancel(mail, MailSchedule(self._now() + delay, attempts + 1))
        else:
            pending = self._queue.send_done(mail)
            if pending is not None:
                self._queue.cleanup(pending)

    def _give_up(self, mail: InflightMail, found: ReadMail, answer: MailAnswer) -> None:
        found.content.seek(0)
        facts: dict[str, Any] = {
            "mail_from": found.sender,
            "rcpt_to": found.metadata["recipients"],
            "code": answer.code,
            "reason": answer.says,
        }
        kept = self._failed.keep(mail.mail, found, facts)
        self._tell(f"error: the API refuses a mail that was taken: {answer.says}; it is kept in {kept}")

    def _outage(self, answer: MailAnswer) -> Seconds:
        if not self._outages:
            self._tell(f"the API takes no mail: {answer.says}; it is kept, and posted later")
        pause = PAUSES[min(self._outages, len(PAUSES) - 1)]
        self._outages += 1
        return min(max(pause, answer.wait or 0), LONGEST_WAIT)

    def _recovered(self) -> None:
        if self._outages:
            waiting = sum(1 for _ in self._queue.list_queue()) + 1
            self._tell(f"the API takes mail again; {counted(waiting, 'mail')} to post")
        self._outages = 0

    def _now(self) -> Millis:
        return int(self._clock.now() * 1000)


def _posted(found: ReadMail) -> RelayMail:
    data = found.metadata
    return RelayMail(found.sender, tuple(data["recipients"]), data["key"], found.size, found.content)
