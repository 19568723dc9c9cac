"""The messages of a spool: what its user asked for, and what the hub said last. All of it works offline."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from cli.errors import Failed, NotFound
from cli.notifier.records import Record
from cli.notifier.store import SpoolFile
from cli.output import moment
from shared.domain.notices.notice import NoticeStatus, Verb

REFUSED: Final = "REFUSED"
"""Status of a record that the hub refuses to take at all."""
FINAL: Final = (NoticeStatus.SUCCESS, NoticeStatus.PERM_FAIL, NoticeStatus.CANCELED, REFUSED)
KEEP_DAYS: Final = 120
"""Days that ended messages and collected updates stay: longer than the hub keeps them."""
DAY_MS: Final = 86_400_000
_COLUMNS: Final = "id, action, data, changed_at, uploaded_at, status, error, note, updated_at"


@dataclass(frozen=True, slots=True)
class SpooledMessage:
    """A message of the spool. Times are Unix milliseconds, 0: not yet.

    Attributes:
        id: the notifier's name for the message.
        action: what was asked last: NEW, UPDATE or CANCEL; empty if only the hub knows the message.
        data: its fields as given last; empty if they are not known here.
        changed_at: when that was.
        uploaded_at: when the hub took it.
        status: the hub's last, REFUSED, or empty.
        error: code, or empty.
        note: a sentence for people, or empty.
        updated_at: stamp of the hub's last update.
    """

    id: str
    action: str
    data: Mapping[str, Any]
    changed_at: int
    uploaded_at: int
    status: str
    error: str
    note: str
    updated_at: int

    @property
    def known_status(self) -> str:
        """The status as its user reads it: NEW if it is uploaded and the hub has said no more."""
        return self.status or (NoticeStatus.NEW if self.uploaded_at else "")

    @property
    def waits(self) -> bool:
        """Whether its last record is still to be uploaded."""
        return bool(self.action) and not self.uploaded_at

    def shown(self) -> dict[str, Any]:
        """Return it as JSON; its data apart."""
        return {
            "id": self.id,
            "action": self.action or None,
            "upload": "waiting" if self.waits else "done",
            "status": self.known_status or None,
            "error": self.error or None,
            "message": self.note or None,
            "changed_at": moment(self.changed_at),
            "uploaded_at": moment(self.uploaded_at),
            "updated_at": moment(self.updated_at),
        }


class Messages:
    """The messages of a spool, as its user changes and reads them."""

    def __init__(self, spool: SpoolFile) -> None:
        self._spool = spool

    def ask(self, verb: Verb, records: Iterable[Record], now_ms: int) -> int:
        """Queue a record for each message that it changes, all or none; return how many that are.

        Args:
            records: checked ones. One that asks for nothing else than the message's last record adds nothing.

        Raises:
            Failed: a NEW has the id of another message, or of a cancelled one.
        """
        with self._spool.change():
            return sum(self._ask(verb, record, now_ms) for record in records)

    def _ask(self, verb: Verb, record: Record, now_ms: int) -> bool:
        found = self.find(record["id"])
        data = {name: value for name, value in record.items() if name != "id"}
        if found and found.action and not found.error:
            canceled = found.action == Verb.CANCEL
            if found.data == data and not canceled:
                return False
            if verb is Verb.NEW:
                why = "is cancelled" if canceled else "is in the spool with other data"
                raise Failed(f"{record['id']} {why}: use `posthaste notifier spool update`")
        self._queue(verb, record["id"], data, now_ms)
        return True

    def cancel(self, ids: Iterable[str], now_ms: int) -> tuple[int, list[str]]:
        """Queue cancellations.

        Returns:
            How many are queued, and the ids that this spool does not know: their messages may be another spool's.
        """
        unknown, queued = [], 0
        with self._spool.change():
            for name in dict.fromkeys(ids):
                found = self.find(name)
                if found and found.action == Verb.CANCEL and not found.error:
                    continue
                unknown += [] if found else [name]
                self._queue(Verb.CANCEL, name, found.data if found else {}, now_ms)
                queued += 1
        return queued, unknown

    def _queue(self, verb: Verb, name: str, data: Mapping[str, Any], now_ms: int) -> None:
        fields = {} if verb is Verb.CANCEL else data
        body = json.dumps({"id": name, "action": f"MESSAGE_{verb}", **fields}, separators=(",", ":")).encode()
        seq = self._spool.db.execute("INSERT INTO record (id, body) VALUES (?, ?)", (name, body)).lastrowid
        self._spool.db.execute(
            "INSERT INTO message (id, action, data, record, changed_at) VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (id) "
            "DO UPDATE SET action = ?2, data = ?3, record = ?4, changed_at = ?5, uploaded_at = 0, error = '', "
            "note = ''",
            (name, verb.value, json.dumps(data), seq, now_ms),
        )

    def find(self, name: str) -> SpooledMessage | None:
        """Return a message, None if the spool has none of that id."""
        row = self._spool.db.execute(f"SELECT {_COLUMNS} FROM message WHERE id = ?", (name,)).fetchone()  # noqa: S608
        return _message(row) if row else None

    def get(self, name: str) -> SpooledMessage:
        """Return a message; NotFound if the spool has none of that id."""
        found = self.find(name)
        if found is None:
            raise NotFound(f"no message {name} in this spool: see `posthaste notifier spool list`")
        return found

    def walk(self, *, status: str = "", waiting: bool = False, limit: int = -1) -> Iterator[SpooledMessage]:
        """Yield messages, those that changed last first.

        Args:
            status: only those of this status.
            waiting: only those with something to upload.
            limit: the most; -1 for all.
        """
        rows = self._spool.db.execute(
            f"SELECT {_COLUMNS} FROM message WHERE (NOT ?1 OR (action <> '' AND uploaded_at = 0)) "  # noqa: S608
            "AND (?2 = '' OR CASE WHEN status = '' AND uploaded_at THEN 'NEW' ELSE status END = ?2) "
            "ORDER BY max(changed_at, updated_at) DESC, record DESC LIMIT ?3",
            (waiting, status, limit),
        )
        return map(_message, rows)

    def summary(self) -> dict[str, Any]:
        """Return counts: messages by status, records that wait, when the spool was synced, and what is wrong."""
        db, setting = self._spool.db, self._spool.setting
        counts = db.execute(
            "SELECT CASE WHEN status = '' AND uploaded_at THEN 'NEW' ELSE status END AS s, count(*) FROM message "
            "GROUP BY s ORDER BY s"
        ).fetchall()
        return {
            "spool": str(self._spool.file),
            "messages": {status or "NOT_UPLOADED": count for status, count in counts},
            "records_waiting": db.execute("SELECT count(*) FROM record").fetchone()[0],
            "notifier": setting("user") or None,
            "hub": setting("hub") or None,
            "upload_bytes": int(setting("limit", "0")) or None,
            "synced_at": moment(int(setting("synced_at", "0"))),
            "problem": setting("problem") or None,
        }

    def prune(self, now_ms: int) -> None:
        """Remove what ended more than KEEP_DAYS ago."""
        before = now_ms - KEEP_DAYS * DAY_MS
        with self._spool.change() as db:
            db.execute("DELETE FROM entry WHERE stamp < ?", (before,))
            marks = ", ".join("?" * len(FINAL))
            db.execute(
                f"DELETE FROM message WHERE status IN ({marks}) AND changed_at < ? AND updated_at < ? "  # noqa: S608
                "AND (uploaded_at > 0 OR action = '')",
                (*FINAL, before, before),
            )


def _message(row: tuple[Any, ...]) -> SpooledMessage:
    name, action, data, *rest = row
    return SpooledMessage(name, action, json.loads(data), *rest)
