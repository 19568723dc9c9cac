"""Words: the results in a run's ledger, which change its notices, each by compare-and-swap.

They come from the stream of ledgers, and from looks at finished runs. The ledger notes which words were applied. A word
that is applied twice, late or by a process that was frozen changes nothing. Source: docs/adr/0111.
"""

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from shared.domain.channels.voice import REPEAT, STOP
from shared.domain.jobs import runs as cells
from shared.domain.jobs.details import FeedbackEntry
from shared.domain.jobs.feedback import ProviderEventKind
from shared.domain.jobs.ledger import Ledger
from shared.domain.jobs.queue import LedgerQueue
from shared.domain.jobs.states import Cell
from shared.domain.notices import words as rules
from shared.domain.notices.inbox import fits
from shared.domain.notices.notice import DeliveryMethod, Notice, NoticeChange, NoticeRun
from shared.domain.notices.notifier import Notifier
from shared.frozen import dataclass
from shared.ports import Clock, Notices, Notifiers, Records, Retriable

RACES: Final = 10
"""Compare-and-swaps of one notice that others write meanwhile."""
NOTICE_VALUE: Final = "notice"
"""The value of a recipient that names its notice."""
_LOG: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Word:
    """The state of a message of a run, and its notice as read; None: it was purged.

    `pressed`: what the recipient chose by a key, empty if nothing.
    """

    index: int
    state: Cell
    notice: Notice | None
    pressed: str = ""


class NoticeWords:
    """Applies the results of runs to their notices.

    Args:
        records: which recipient of a run is which notice.
    """

    def __init__(
        self, *, notices: Notices, notifiers: Notifiers, records: Records, ledgers: LedgerQueue, clock: Clock
    ) -> None:
        self._notices = notices
        self._notifiers = notifiers
        self._records = records
        self._ledgers = ledgers
        self._clock = clock
        self._known: dict[str, Notifier] = {}

    def tell(self, ledger: Ledger) -> int:
        """Apply all words of a run's ledger that were not applied yet; return how many.

        Raises:
            Retriable: the store could not be reached, or others write a notice all the time. Applied words are noted.
        """
        waiting = cells.untold(ledger)
        if not waiting:
            return 0
        told: dict[int, Cell] = {}
        faults: list[Exception] = []
        try:
            words = self._words(ledger, waiting)
            for index in self._together(ledger.job, words):
                told[index] = ledger.cell(index)[0]
            for word in words:
                if word.index not in told and self._attempt(faults, ledger.job, word):
                    told[word.index] = word.state
        finally:
            if told:
                self._ledgers.tell(ledger.job, ledger.chunk, told)
        if faults:
            raise faults[0]
        return len(told)

    def _words(self, ledger: Ledger, waiting: list[int]) -> Sequence["_Word"]:
        """Return the words to apply; those of answered calls with the keys that their recipients pressed."""
        owners = self.owners(ledger, waiting)
        found = self._notices.read(list(owners.values()))
        words = [_Word(index, ledger.cell(index)[0], found.get(owners.get(index, ""))) for index in waiting]
        if not any(x.state is Cell.DELIVERED and _calls(x.notice, ledger.job) for x in words):
            return words
        _, feedback = self._records.details(ledger.job, ledger.chunk)
        keys = _pressed(entry for detail in feedback for entry in detail.entries)
        return [replace(x, pressed=keys.get(x.index, "")) for x in words]

    def _together(self, job: str, words: Sequence["_Word"]) -> Iterator[int]:
        """Apply words in as few transactions as they fit into; yield their indices. The others are applied singly."""
        batch: list[tuple[int, Notice, NoticeChange]] = []
        for word in words:
            change = self._change(job, word)
            if word.notice is None or change is None:
                continue
            if not fits([x for _, _, x in batch], change):
                yield from self._written(batch)
                batch = []
            batch.append((word.index, word.notice, change))
        yield from self._written(batch)

    def _change(self, job: str, word: "_Word") -> NoticeChange | None:
        """Return a word's change if it may share a transaction; a word that raises is applied separately."""
        try:
            notifier = self.notifier(word.notice.notifier) if word.notice is not None else None
            if word.notice is None or notifier is None:
                return None
            now = self._now()
            change = rules.word(word.notice, job, word.index, word.state, notifier.hours, now, word.pressed)
        except Exception:  # noqa: BLE001 - it is applied singly, and raised there
            _LOG.exception("word not told with others", extra={"job": job})
            return None
        return change if change is not None and change.withdraw is None else None

    def _written(self, batch: Sequence[tuple[int, Notice, NoticeChange]]) -> Sequence[int]:
        """Write changes in one transaction; return whose they are, or none if it was refused or fails."""
        try:
            done = len(batch) > 1 and self._notices.write_all([(notice, change) for _, notice, change in batch])
        except Exception:  # noqa: BLE001 - they are applied one by one, and raised there
            _LOG.exception("words not told together")
            return ()
        return [index for index, _, _ in batch] if done else ()

    def _attempt(self, faults: list[Exception], job: str, word: "_Word") -> bool:
        """Tell one word; its fault is kept for the end, so that the run's other notices get theirs."""
        if word.notice is None:
            return True  # it was purged: no word is awaited
        try:
            self._one(word.notice, job, word)
        except Exception as fault:  # noqa: BLE001 - raised once all words were tried
            faults.append(fault)
            return False
        return True

    def withdraw(self, run: NoticeRun) -> Cell | None:
        """Withdraw a run's message if it still waits, and tell what its cell says now; return it, if it is there."""
        ledger = self._ledgers.drop(run.job, 0, [run.index], Cell.WITHDRAWN)
        if ledger is None:
            return None
        if run.index in cells.untold(ledger):
            self.tell(ledger)
        return ledger.cell(run.index)[0]

    def cancel(self, run: NoticeRun) -> int:
        """Close a run's message if its fate is unknown, and tell that, since its notifier cancels it (N.4).

        Returns:
            0, or before when (Unix ms) that is not allowed, as a worker that was lost may still send it.
        """
        ledger = self._ledgers.read(run.job, 0)
        state, attempt = ledger.cell(run.index) if ledger is not None else (None, 0)
        if ledger is None or state is not Cell.UNKNOWN:
            return 0
        windows, _ = self._records.details(run.job, 0)
        until = cells.cancellable_at(ledger, run.index, windows)
        if self._now() < until:
            return until
        closed = self._ledgers.disprove(run.job, 0, [(run.index, attempt)], Cell.UNKNOWN_CLOSED)
        if closed is not None:
            self.tell(closed)
        return 0

    def owners(self, ledger: Ledger, indices: list[int]) -> Mapping[int, str]:
        """Return the notices of recipients by their places; empty if the run's items no longer exist."""
        chunk = self._records.chunk(ledger.job, ledger.chunk)
        if chunk is None:
            return {}
        values = {i: chunk.recipients[i].values.get(NOTICE_VALUE, "") for i in indices}
        return {i: uuid for i, uuid in values.items() if uuid}

    def notifier(self, name: str) -> Notifier | None:
        """Return a notifier, as this process has read it first: a word needs only its hours."""
        if name not in self._known:
            found = self._notifiers.get(name)
            if found is None:
                return None
            self._known[name] = found
        return self._known[name]

    def _one(self, notice: Notice, job: str, word: "_Word") -> None:
        """Change one notice as a word says."""
        notifier = self.notifier(notice.notifier)
        if notifier is None:
            return
        current: Notice | None = notice
        for _ in range(RACES):
            if current is None:
                return
            now = self._now()
            change = rules.word(current, job, word.index, word.state, notifier.hours, now, word.pressed)
            if change is None:
                return
            if self._notices.write(current, change):
                if change.withdraw is not None:
                    self.withdraw(change.withdraw)
                return
            current = self._notices.read([notice.uuid]).get(notice.uuid)
        raise Retriable("others write the notice all the time")

    def _now(self) -> int:
        return int(self._clock.now() * 1000)


def _calls(notice: Notice | None, job: str) -> bool:
    """Check whether a notice's message of a job is a call."""
    return notice is not None and any(run.method is DeliveryMethod.IVR for run in notice.runs if run.job == job)


def _pressed(entries: Iterable[FeedbackEntry]) -> Mapping[int, str]:
    """Return which of the template's keys each recipient pressed last, with its meaning."""
    own = (x for x in entries if x.word == ProviderEventKind.PRESSED and x.code not in (REPEAT, STOP))
    return {x.index: f"pressed {x.code}: {x.detail}" for x in sorted(own, key=lambda x: x.at)}
