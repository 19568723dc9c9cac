"""Updates that the hub reports: fetched from where the last answer ended, and each stored exactly once.

An answer and the place where it ends are stored in one transaction. The hub returns updates by `updated_at`, never one
behind the end of an earlier answer. So an update that is not later than the last stored one is a repeat. An hour that
exists twice, in the night when summer time ends, is asked for twice.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from cli.notifier.store import SpoolFile

START: Final = "19700102000000"
"""Before any update, in every time zone."""
END: Final = "29991231235959"
"""An answer ends by itself at the last whole second that lies at least 5 s back."""
_MICROSECONDS: Final = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class UpdateRead:
    """An update as the hub reports it.

    Attributes:
        id: the message's.
        action: of a rejected record, as it was sent; else empty.
        status: the message's.
        error: code, or empty.
        note: a sentence for people, or empty.
        updated_at: RFC 3339, with the offset of the notifier's time zone.
    """

    id: str
    action: str
    status: str
    error: str
    note: str
    updated_at: str

    @property
    def time(self) -> datetime:
        """When it was, with its offset."""
        return datetime.fromisoformat(self.updated_at)

    @property
    def stamp(self) -> int:
        """When it was, Unix milliseconds."""
        epoch = datetime.fromisoformat("1970-01-01T00:00:00+00:00")
        return (self.time - epoch) // _MICROSECONDS // 1000


@dataclass(frozen=True, slots=True)
class AnswerRead:
    """An answer to a request for updates.

    Attributes:
        updates: in order of their times.
        rest: the range of the next answer, as the hub links to it; empty if this answer is the last.
        whole: whether the answer came to its end. If not, updates of its last second may be missing.
    """

    updates: Sequence[UpdateRead]
    rest: str
    whole: bool

    @property
    def certain(self) -> Sequence[UpdateRead]:
        """The updates of the seconds that are whole."""
        if self.whole or not self.updates:
            return self.updates
        ends = self.updates[-1].stamp // 1000
        return [x for x in self.updates if x.stamp // 1000 < ends]


class UpdateBox:
    """The updates of a spool. Its user holds the spool's lock (`SpoolFile.only_sync`)."""

    def __init__(self, spool: SpoolFile) -> None:
        self._spool = spool

    def range(self) -> str:
        """Return the range to ask for next."""
        rest, last = self._spool.setting("rest"), self._spool.setting("last")
        if rest:
            return rest
        if not last:
            return f"{START}-{END}"
        begin = datetime.fromisoformat(last).replace(microsecond=0) + timedelta(seconds=1)
        return f"{begin:%Y%m%d%H%M%S}-{END}"

    def store(self, answer: AnswerRead) -> int:
        """Store an answer, with the place where the next one begins; return how many updates are new.

        Of an answer that was cut off, all whole seconds are kept.
        """
        updates = answer.certain
        if not (updates or answer.whole):
            return 0
        with self._spool.change() as db:
            done = int(self._spool.setting("done", "-1"))
            new = [x for x in updates if x.stamp > done]
            for x in new:
                db.execute(
                    "INSERT INTO entry (id, action, status, error, note, stamp, updated_at) "
                    "VALUES (?, ?, ?, ?, ?, ?, ?)",
                    (x.id, x.action, x.status, x.error, x.note, x.stamp, x.updated_at),
                )
                db.execute(
                    "INSERT INTO message (id, action, data, record, changed_at, status, error, note, updated_at) "
                    "VALUES (?1, '', '{}', 0, ?5, ?2, ?3, ?4, ?5) ON CONFLICT (id) "
                    "DO UPDATE SET status = ?2, error = ?3, note = ?4, updated_at = ?5",
                    (x.id, x.status, x.error, x.note, x.stamp),
                )
            if new:
                self._spool.keep("done", str(new[-1].stamp))
                self._spool.keep("last", new[-1].updated_at)
            self._spool.keep("rest", answer.rest if answer.whole else "")
        return len(new)

    def forget_place(self) -> None:
        """Begin with the first update again, that of another notifier; within a `change` of the spool."""
        for name in ("done", "last", "rest"):
            self._spool.db.execute("DELETE FROM setting WHERE name = ?", (name,))

    def entries(self, *, message: str = "", after: int = 0, limit: int = -1) -> Iterator[dict[str, Any]]:
        """Yield stored updates in order, as JSON.

        Args:
            message: only those of this message.
            after: only those with a higher number `n`.
            limit: the most; -1 for all.
        """
        rows = self._spool.db.execute(
            "SELECT n, id, action, status, error, note, updated_at FROM entry WHERE n > ?1 AND (?2 = '' OR id = ?2) "
            "ORDER BY n LIMIT ?3",
            (after, message, limit),
        )
        for n, name, action, status, error, note, updated_at in rows:
            yield {
                "n": n,
                "id": name,
                **({"action": action} if action else {}),
                "status": status,
                "error": error or None,
                "message": note or None,
                "updated_at": updated_at,
            }
