"""The mail that the relay took while the API was out of reach, posted in the order of its schedule.

A mail is one destination of the queue, whose metadata are the envelope and the key. So a post that is repeated, after a
lost answer or a crash, is the same post under the same key. The API takes it once.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import replace
from itertools import takewhile
from threading import Event
from typing import Any, Final

from cli.output import counted
from cli.relay.api import MailAnswer, MailApi, PostFate
from cli.relay.failures import FailedMails
from cli.relay.mail import RelayMail, blocks
from cli.relay.outage import Outage
from cli.relay.repeats import posted
from shared.domain.mails.queue import InflightMail, MailSchedule, NewDestination, QueuedMail, ReadMail
from shared.domain.times import Millis, Seconds
from shared.ports import Clock, MailQueue, Retriable

AT_ONCE: Final = 8
"""Posts in the air."""
IDLE: Final[Seconds] = 1.0
"""Between looks at an empty queue."""
AFTER_FAULT: Final[Seconds] = 30.0
"""Until a disk that failed is tried again."""
RETRIES_MS: Final[tuple[Millis, ...]] = (60_000, 300_000, 900_000, 3_600_000)
"""Delays of a mail on which the API fails."""
LATER_MS: Final[Millis] = 4 * 3_600_000
"""Its delay after these."""
MOST_ATTEMPTS: Final = 30
"""A mail on which the API fails so often, for about four and a half days, is given up."""

_Posted = tuple[InflightMail, MailAnswer]


class HeldMail:
    """The relay's mails in a queue.

    Args:
        failed: where those go that the API refuses.
        tell: takes lines for the relay's operator.
        at_once: posts in the air.
    """

    def __init__(
        self,
        queue: MailQueue,
        failed: FailedMails,
        api: MailApi,
        clock: Clock,
        tell: Callable[[str], None],
        at_once: int = AT_ONCE,
    ) -> None:
        self._queue = queue
        self._failed = failed
        self._api = api
        self._clock = clock
        self._tell = tell
        self._at_once = at_once
        self._outage = Outage()

    @property
    def unready(self) -> bool:
        """Whether the API took no mail at the last try."""
        return self._outage.lasts

    def take(self, mail: RelayMail) -> str:
        """Store a mail durably, and return its id.

        Raises:
            Retriable: the disk is full, or fails.
        """
        metadata = {"recipients": list(mail.recipients), "key": mail.key, "new_since": mail.new_since}
        destination = NewDestination("", MailSchedule(self._now()), metadata)
        with self._queue.enqueue() as draft:
            for block in blocks(mail.content):
                draft.write(block)
            return draft.commit(mail.sender, [destination])[0].mail

    def recover(self) -> None:
        """Finish what a dead process left: its cleanups, and its posts, which are repeated under their keys."""
        for pending in self._queue.find_pending_cleanup():
            self._queue.cleanup(pending)
        for mail in self._queue.find_inflight():
            self._queue.send_cancel(mail, mail.schedule)

    def run(self, stop: Event) -> None:
        """Deliver until stopped. Mail in flight at the start, or after a fault of the disk, is posted again."""
        recovered = False
        while not stop.is_set():
            try:
                if not recovered:
                    self.recover()
                    recovered = True
                pause = self.deliver_due(stop)
            except Retriable as error:
                self._tell(f"error: {error}")
                recovered, pause = False, AFTER_FAULT
            stop.wait(pause)

    def deliver_due(self, stop: Event | None = None) -> Seconds:
        """Post what is due, several at once, each begun in the order of its schedule; return the seconds to wait then.

        It returns when no post is in the air, also after a fault of the disk.
        """
        stop = stop or Event()
        if self._outage.lasts and not self._try_again():
            return self._outage.pause or IDLE
        with ThreadPoolExecutor(self._at_once, thread_name_prefix="held") as pool:
            air: set[Future[_Posted]] = set()
            while True:
                for mail in self._begun(stop):
                    air.add(pool.submit(self._post, mail))
                    while len(air) >= self._at_once:
                        air = self._landed(air)
                if not air:
                    break
                air = self._landed(air, IDLE)  # what was held meanwhile need not wait for a slow one
        return self._outage.pause or IDLE

    def _begun(self, stop: Event) -> Iterator[InflightMail]:
        """Take what is due into flight, as long as the API takes mail."""
        for queued in self._due():
            if stop.is_set() or self._outage.lasts:
                return
            mail = self._queue.send_start(queued)
            if mail is not None:
                yield mail

    def _due(self) -> Iterator[QueuedMail]:
        return takewhile(lambda queued: queued.schedule.at <= self._now(), self._queue.list_queue())

    def _landed(self, air: set[Future[_Posted]], seconds: Seconds | None = None) -> set[Future[_Posted]]:
        """Wait for the next post to end, for some seconds at most; return what is still in the air."""
        ended, rest = wait(air, seconds, FIRST_COMPLETED)
        for each in ended:
            self._note(*each.result())
        return rest

    def _note(self, mail: InflightMail, answer: MailAnswer) -> None:
        if answer.fate is not PostFate.UNREADY:
            self._outage.passed(mail.mail)
        elif not self._outage.is_at_fault(mail.mail, answer):
            if not self._outage.lasts:
                self._tell(f"the API takes no mail: {answer.says}; it is kept, and posted later")
            self._outage.failed(mail.mail, answer)

    def _try_again(self) -> bool:
        """Post one mail by itself; return whether the API takes mail again."""
        queued = self._outage.next_of(self._due())
        mail = self._queue.send_start(queued) if queued else None
        if mail is None:
            return False
        _, answer = self._post(mail)
        if answer.fate is PostFate.UNREADY:
            self._outage.failed_again()
            self._outage.failed(mail.mail, answer)
            return False
        self._outage.passed(mail.mail)
        self._outage.end()
        waiting = sum(1 for _ in self._queue.list_queue()) + (answer.fate is not PostFate.LATER)
        self._tell(f"the API takes mail again; {counted(waiting, 'mail')} to post")
        return True

    def _post(self, mail: InflightMail) -> _Posted:
        """Post a mail, and settle it by the answer."""
        with self._queue.read_inflight(mail) as found:
            answer = posted(self._api.post, _read(found))
            ours = self._outage.is_at_fault(mail.mail, answer)
            judged = replace(answer, fate=PostFate.LATER) if ours else answer
            if self._is_final(judged, mail):
                self._give_up(mail, found, judged)
        self._settle(mail, judged)
        return mail, answer

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
        facts: dict[str, Any] = {
            "mail_from": found.sender,
            "rcpt_to": found.metadata["recipients"],
            "code": answer.code,
            "reason": answer.says,
        }
        kept = self._failed.keep(mail.mail, found, facts)
        self._tell(f"error: the API refuses a mail that was taken: {answer.says}; it is kept in {kept}")

    def _now(self) -> Millis:
        return int(self._clock.now() * 1000)


def _read(found: ReadMail) -> RelayMail:
    data = found.metadata
    to, since = tuple(data["recipients"]), data.get("new_since", 0)  # mail of an older relay has none
    return RelayMail(found.sender, to, data["key"], found.size, found.content, new_since=since)
