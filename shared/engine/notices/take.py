"""The intake of notices: payloads are stored and numbered, then their records are taken in order.

A queue message only says that an inbox holds something. Each step takes some records and advances the inbox's
checkpoint in one transaction, so a worker that freezes, dies or comes late changes nothing. Source: docs/adr/0112.
"""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

from shared.contracts import inbox as hint
from shared.domain.audit import Act
from shared.domain.ids import is_id
from shared.domain.notices.actions import NoticeOwner, rejected, take
from shared.domain.notices.codes import Rejection
from shared.domain.notices.inbox import InboxState, fits, pack, unpack
from shared.domain.notices.notice import Notice, NoticeChange
from shared.domain.notices.notifier import CHANNELS, Notifier
from shared.domain.notices.records import RecordReader, RejectedRecord, as_sent
from shared.domain.notices.times import Hours
from shared.domain.times import Seconds
from shared.engine.notices.announced import NoticeTimes
from shared.frozen import dataclass
from shared.ports import Acceptances, Clock, Inboxes, InboxStep, Notices, Queue, Retriable, Templates

READ: Final = 100
"""Records that one step looks at; fewer if they are more items than a transaction takes."""
AT_ONCE: Final = 1_000
"""Notices that are begun together, as in a walk: those that are alike gather in few jobs."""
OVERDUE_MS: Final = 60_000
"""After which an inbox that is not empty is pointed to again."""
_LOG: Final = logging.getLogger(__name__)

_Change = tuple[Notice | None, NoticeChange]


class NoticeService:
    """Takes payloads of notifiers.

    Args:
        acceptances: notes whose notices are accepted.
    """

    def __init__(self, *, inboxes: Inboxes, queue: Queue, clock: Clock, acceptances: Acceptances) -> None:
        self._inboxes = inboxes
        self._queue = queue
        self._clock = clock
        self._acceptances = acceptances

    def receive(self, by: Notifier, records: Sequence[Mapping[str, Any]]) -> int:
        """Store a payload, and return its number.

        Args:
            records: checked as a whole by `records.unfit`.
        """
        notifier = by.name
        self._acceptances.note(by.namespace, Act.NOTICES_ACCEPTED, notifier, f"notifier:{notifier}")
        number = self._inboxes.add(notifier, pack(records), int(self._clock.now() * 1000))
        try:
            self._queue.send([hint(notifier)])
        except Retriable:
            _LOG.warning("no hint sent", extra={"notifier": notifier})  # the sweeper finds the inbox
        return number


@dataclass(frozen=True, slots=True)
class WaitingInboxes:
    """Points again to inboxes that have not been empty for a minute: a hint was lost, or a worker has died."""

    inboxes: Inboxes
    queue: Queue
    clock: Clock

    def walk(self) -> Iterable[tuple[str, Callable[[], None]]]:
        """Yield each of them by its notifier's name, with what points to it."""
        for notifier in self.inboxes.waiting(int(self.clock.now() * 1000), OVERDUE_MS):
            yield notifier, partial(self.queue.send, [hint(notifier)])


@dataclass(frozen=True, slots=True)
class _Batch:
    """Records that are taken together: `records` of them, some of which change nothing."""

    records: int
    changes: tuple[_Change, ...]


class NoticeIntake:
    """Takes records out of inboxes. Two at once do the same work twice, and no harm.

    Args:
        templates: which of them there are.
        at_once: does what is due about notices, by their UUIDs. The sweeper finds what it leaves.
        times: announces those that are due later.
    """

    def __init__(
        self,
        *,
        inboxes: Inboxes,
        notices: Notices,
        templates: Templates,
        queue: Queue,
        clock: Clock,
        at_once: Callable[[Sequence[str]], None],
        times: NoticeTimes,
    ) -> None:
        self._inboxes = inboxes
        self._notices = notices
        self._templates = templates
        self._queue = queue
        self._clock = clock
        self._at_once = at_once
        self._times = times

    def take(self, notifier: Notifier, deadline: Seconds) -> int:
        """Take the records of an inbox, and return how many; what is left at the deadline is pointed to again.

        Raises:
            Retriable: the stores fail; nothing is lost.
            Exception: a step that cannot be taken at all; the inbox stays where it is.
        """
        reader = self._reader(notifier)
        taken, number, records = 0, 0, list[dict[str, Any]]()
        due = list[str]()
        while not (state := self._inboxes.state(notifier.name)).empty:
            if self._clock.now() >= deadline:
                self._queue.send([hint(notifier.name)])
                break
            if number != state.payload:
                number, records = state.payload, unpack(self._inboxes.payload(notifier.name, state.payload))
            step, batch = self._step(notifier, reader, state, records)
            if step is InboxStep.LATE:
                break
            if step is InboxStep.TAKEN:
                taken += batch.records
                self._announce(batch)
                due += self._due(batch)
        self._serve(tuple(dict.fromkeys(due)), deadline)
        return taken

    def _announce(self, batch: _Batch) -> None:
        """Announce the notices of a batch that are due later; this call serves those that are due now."""
        now = self._now()
        self._times.announce(x for _, x in batch.changes if x.notice and (x.notice.due or 0) > now)

    def _due(self, batch: _Batch) -> Iterator[str]:
        """Yield the notices of a batch about which there is something to do now."""
        now = self._now()
        for _, change in batch.changes:
            notice = change.notice
            if notice is not None and notice.due is not None and notice.due <= now:
                yield notice.uuid

    def _serve(self, due: Sequence[str], deadline: Seconds) -> None:
        """Do what is due at once, as far as the time allows."""
        for first in range(0, len(due), AT_ONCE):
            if self._clock.now() >= deadline:
                return
            try:
                self._at_once(due[first : first + AT_ONCE])
            except Retriable:
                _LOG.warning(
                    "not begun at once", extra={"notices": len(due) - first}
                )  # the walk of each minute does it
                return

    def _step(
        self, notifier: Notifier, reader: RecordReader, state: InboxState, records: Sequence[Mapping[str, Any]]
    ) -> tuple[InboxStep, _Batch]:
        """Take some of a payload's records; return the result of the step, and what it was."""
        rest = records[state.record : state.record + READ]
        batch = self._batch(notifier, reader, rest)
        try:
            return self._advance(state, batch, records), batch
        except Retriable:
            raise
        except Exception:  # any fault of the records together: the first is then taken singly
            if not batch.changes:
                raise
            _LOG.exception("records not taken together", extra={"notifier": notifier.name, "payload": state.payload})
        return self._alone(notifier, reader, state, records)

    def _alone(
        self, notifier: Notifier, reader: RecordReader, state: InboxState, records: Sequence[Mapping[str, Any]]
    ) -> tuple[InboxStep, _Batch]:
        """Take one record; one that cannot be stored is rejected, so that it holds up no other."""
        first = records[state.record : state.record + 1]
        try:
            batch = self._batch(notifier, reader, first)
            return self._advance(state, batch, records), batch
        except Retriable:
            raise
        except Exception:  # noqa: BLE001 - on any fault the record is rejected
            _LOG.exception("record not taken", extra={"notifier": notifier.name, "payload": state.payload})
        owner = _owner(notifier, first[0])
        stored = self._notices.read([owner.uuid]).get(owner.uuid)
        change = rejected(stored, _fault(first[0]), owner, self._now())
        batch = _Batch(1, ((stored, change),))
        return self._advance(state, batch, records), batch

    def _advance(self, state: InboxState, batch: _Batch, records: Sequence[Mapping[str, Any]]) -> InboxStep:
        return self._inboxes.advance(state, state.advanced(batch.records, len(records)), batch.changes)

    def _batch(self, notifier: Notifier, reader: RecordReader, rest: Sequence[Mapping[str, Any]]) -> _Batch:
        """Return what the next records change: of different notices, and no more than one transaction takes."""
        owners = dict[str, NoticeOwner]()
        for record in rest:
            owner = _owner(notifier, record)
            if owner.uuid in owners:
                break
            owners[owner.uuid] = owner
        stored = self._notices.read(tuple(owners))
        changes = list[_Change]()
        count, now = 0, self._now()
        for owner, record in zip(owners.values(), rest, strict=False):
            found = stored.get(owner.uuid)
            change = _change(found, record, owner, reader, now)
            if change is not None:
                if not fits([x for _, x in changes], change):
                    break
                changes.append((found, change))
            count += 1
        return _Batch(count, tuple(changes))

    def _reader(self, notifier: Notifier) -> RecordReader:
        known: dict[str, bool] = {}

        def known_template(name: str) -> bool:
            if name not in known:
                known[name] = is_id(name) and self._is_template(name, notifier)
            return known[name]

        hours = Hours(notifier.timezone, notifier.opens, notifier.closes)
        return RecordReader(hours, notifier.expiry_days, notifier.country, known_template)

    def _is_template(self, name: str, notifier: Notifier) -> bool:
        """Tell whether a notifier's account has a template of that id with a text by which notices are delivered."""
        found = self._templates.get(name)
        return found is not None and found.namespace == notifier.namespace and any(c in found.texts for c in CHANNELS)

    def _now(self) -> int:
        return int(self._clock.now() * 1000)


def _owner(notifier: Notifier, record: Mapping[str, Any]) -> NoticeOwner:
    return NoticeOwner(notifier.name, notifier.account, notifier.notice_id(record["id"]), record["id"])


def _fault(record: Mapping[str, Any]) -> RejectedRecord:
    return RejectedRecord(Rejection.INTERNAL_ERROR, as_sent(record.get("action")))


def _change(
    stored: Notice | None, record: Mapping[str, Any], owner: NoticeOwner, reader: RecordReader, now: int
) -> NoticeChange | None:
    """Return what a record changes; one that raises is rejected, and holds up no other."""
    try:
        return take(stored, reader.read(record, now), owner, reader.hours, now)
    except Retriable:
        raise
    except Exception:  # noqa: BLE001 - on any fault the record is rejected
        _LOG.exception("record rejected", extra={"notifier": owner.notifier})
        return rejected(stored, _fault(record), owner, now)
