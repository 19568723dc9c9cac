"""The time in which the API takes no mail, and whether that is a single mail's fault."""

from collections.abc import Iterable
from typing import Final

from cli.relay.api import MailAnswer
from shared.domain.mails.queue import QueuedMail
from shared.domain.times import Seconds

PAUSES: Final[tuple[Seconds, ...]] = (1, 2, 5, 10, 20, 30)
"""Between tries while the API takes no mail; the last one again and again. All mails wait together."""
LONGEST_WAIT: Final[Seconds] = 600.0
"""The most that the API's Retry-After delays the next try."""


class Outage:
    """One thread's notes about the answers to posts; other threads may read them.

    The API may fail on only one mail, and give no answer. So a mail that had no answer lets the next one be tried
    first. It is at fault if it has no answer again after another mail had one.
    """

    def __init__(self) -> None:
        self._tries = 0
        self._pause: Seconds = 0.0
        self._tried: set[str] = set()
        self._silent: set[str] = set()
        self._suspects: set[str] = set()

    @property
    def lasts(self) -> bool:
        """Whether the API took no mail at the last try."""
        return self._tries > 0

    @property
    def pause(self) -> Seconds:
        """Seconds until the next try."""
        return self._pause

    def is_at_fault(self, mail: str, answer: MailAnswer) -> bool:
        """Tell whether an answer is this mail's fault, so that the others need not wait."""
        return answer.is_doubtful and mail in self._suspects

    def next_of(self, due: Iterable[QueuedMail]) -> QueuedMail | None:
        """Choose the mail of the next try: the first that had an answer so far. When none had, they are tried again."""
        first = None
        for queued in due:
            if queued.mail not in self._tried:
                return queued
            first = first or queued
        self._tried.clear()
        return first

    def failed(self, mail: str, answer: MailAnswer) -> None:
        """Note that the API did not take a mail, one of those that were in the air together."""
        if not self._tries:
            self.failed_again()
        self._pause = min(max(self._pause, answer.wait or 0), LONGEST_WAIT)
        if answer.is_doubtful:
            self._tried.add(mail)
            self._silent.add(mail)

    def failed_again(self) -> None:
        """Note that a further try begins."""
        self._pause = PAUSES[min(self._tries, len(PAUSES) - 1)]
        self._tries += 1

    def passed(self, mail: str) -> None:
        """Note that the API took a mail, or answered about it."""
        self._silent.discard(mail)
        self._suspects.discard(mail)

    def end(self) -> None:
        """Note that the API takes mail."""
        self._tries, self._pause = 0, 0.0
        self._tried.clear()
        self._suspects |= self._silent
        self._silent.clear()
