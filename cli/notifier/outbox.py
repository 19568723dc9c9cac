"""The records that wait to be uploaded: one payload at a time, each until it is answered.

A payload is a range of records, fixed before its first byte is sent. It holds at most one record of a message. So the
hub may take it twice, or a part of it once more: nothing but these records lies between, and each is harmless twice.

A payload is in *doubt* if the hub may have it though no answer came. It goes up again, whole and identical, before
anything later. After SPLIT_AFTER failures it is cut smaller, or it would never pass a link that became worse. A hub
may also take a doubted payload late. Until that is over, no later record of the same messages is sent.
"""

import sqlite3
from dataclasses import dataclass
from typing import Final

from cli.notifier import sizes
from cli.notifier.messages import REFUSED
from cli.notifier.store import SpoolFile

SPLIT_AFTER: Final = 3
"""Failures after which a doubted payload is cut smaller."""
QUIET_MS: Final = 35_000
"""For so long the hub may still take an upload that was given up: its API ends each call after 30 s."""


@dataclass(frozen=True, slots=True)
class Payload:
    """Records that go up together.

    Attributes:
        first: number of the first record.
        last: number of the last.
        count: how many there are.
        body: a JSON array; the same bytes for the same records.
        doubted: whether the hub may already have it.
    """

    first: int
    last: int
    count: int
    body: bytes
    doubted: bool


class Outbox:
    """The records of a spool that wait. Its user holds the spool's lock (`SpoolFile.only_sync`)."""

    def __init__(self, spool: SpoolFile) -> None:
        self._spool = spool

    @property
    def limit(self) -> int:
        """Bytes of the next payload."""
        return int(self._spool.setting("limit", str(sizes.FIRST)))

    @property
    def waiting(self) -> int:
        """How many records wait."""
        return int(self._spool.db.execute("SELECT count(*) FROM record").fetchone()[0])

    def wait(self, now_ms: int) -> int:
        """Return the milliseconds until the first record may go up, 0 for now."""
        self._spool.db.execute(  # the clock may have been set back
            "UPDATE doubt SET until = ?1 WHERE until > ?1", (now_ms + QUIET_MS,)
        )
        row = self._spool.db.execute(
            "SELECT max(doubt.until) FROM doubt, (SELECT seq, id FROM record ORDER BY seq LIMIT 1) AS next "
            "WHERE doubt.id = next.id AND doubt.seq < next.seq"
        ).fetchone()
        return max(0, row[0] - now_ms) if row[0] else 0

    def begin(self, now_ms: int) -> Payload | None:
        """Return the payload to send now, stored as on its way; None if nothing waits.

        A payload that was on its way when its process died is in doubt from now on.
        """
        with self._spool.change() as db:
            row = db.execute("SELECT first, last, open, doubted FROM payload").fetchone()
            if row is None:
                found = self._cut(db, now_ms)
                if found is None:
                    return None
                first, last, doubted = *found, False
                db.execute("INSERT INTO payload (one, first, last, open) VALUES (1, ?, ?, 1)", found)
            else:
                first, last, doubted = row[0], row[1], bool(row[2] or row[3])
                db.execute("UPDATE payload SET open = 1, doubted = ?", (now_ms if row[2] else row[3],))
        rows = self._rows(first, last)
        return Payload(first, last, len(rows), b"[" + b",".join(rows) + b"]", doubted)

    def _rows(self, first: int, last: int) -> list[bytes]:
        asked = "SELECT body FROM record WHERE seq BETWEEN ? AND ? ORDER BY seq"
        return [bytes(row[0]) for row in self._spool.db.execute(asked, (first, last))]

    def _cut(self, db: sqlite3.Connection, now_ms: int) -> tuple[int, int] | None:
        """Return the first and the last record of the next payload: of different messages, none held by a doubt."""
        held = {
            row[0]: row[1]
            for row in db.execute("SELECT id, min(seq) FROM doubt WHERE until > ? GROUP BY id", (now_ms,))
        }
        seqs: list[int] = []
        lengths: list[int] = []
        ids: set[str] = set()
        total = 0
        limit = self.limit
        for seq, name, length in db.execute("SELECT seq, id, length(body) FROM record ORDER BY seq"):
            if seqs and (name in ids or held.get(name, seq) < seq or total > limit):
                break
            total += length
            ids.add(name)
            seqs.append(seq)
            lengths.append(length)
        return (seqs[0], seqs[sizes.fitting(lengths, limit) - 1]) if seqs else None

    def answered(self, payload: Payload, now_ms: int) -> None:
        """Note that the hub has the payload: its records wait no longer."""
        with self._spool.change() as db:
            db.execute("DELETE FROM doubt WHERE until <= ?", (now_ms,))
            self._doubt(db, payload.first, payload.last, now_ms)
            self._done(db, payload, now_ms)
            self._spool.keep("limit", str(sizes.larger(self.limit, len(payload.body))))

    def cut_off(self, now_ms: int) -> None:
        """Note that the link did not carry the whole payload: the hub cannot have it from this try."""
        with self._spool.change() as db:
            self._spool.keep("limit", str(sizes.smaller(self.limit)))
            db.execute("UPDATE payload SET open = 0, failures = failures + 1")
            self._divide(db, now_ms)

    def lost(self, now_ms: int) -> None:
        """Note that no answer came to a payload that was sent: the hub may have it."""
        with self._spool.change() as db:
            self._spool.keep("limit", str(sizes.smaller(self.limit)))
            db.execute("UPDATE payload SET open = 0, doubted = ?, failures = failures + 1", (now_ms,))
            self._divide(db, now_ms)

    def failed(self, now_ms: int) -> None:
        """Note that the hub failed: it may have the payload, and the size is not the cause."""
        with self._spool.change() as db:
            db.execute("UPDATE payload SET open = 0, doubted = ?", (now_ms,))

    def held(self) -> None:
        """Note that the hub did not take the payload for now, for a reason other than its size."""
        with self._spool.change() as db:
            db.execute("UPDATE payload SET open = 0")
            db.execute("DELETE FROM payload WHERE doubted = 0")

    def refused(self, payload: Payload, code: str, note: str, now_ms: int) -> bool:
        """Note that the hub refuses the payload as a whole, and never takes it so.

        It is cut in half until the record that causes this is by itself. That record ends as REFUSED.

        Args:
            payload: the one that was sent.

        Returns:
            Whether a record ended.
        """
        alone = payload.count == 1
        with self._spool.change() as db:
            self._doubt(db, payload.first, payload.last, now_ms)
            if alone:
                db.execute(
                    "UPDATE message SET status = ?, error = ?, note = ? WHERE record = ?",
                    (REFUSED, code, note, payload.first),
                )
                self._done(db, payload, now_ms)
            else:
                self._spool.keep("limit", str(max(sizes.LEAST, min(self.limit, len(payload.body)) // 2)))
                half = "SELECT seq FROM record WHERE seq >= ? ORDER BY seq LIMIT 1 OFFSET ?"
                last = db.execute(half, (payload.first, payload.count // 2 - 1)).fetchone()[0]
                db.execute("UPDATE payload SET last = ?, open = 0, doubted = 0", (last,))
        return alone

    def _divide(self, db: sqlite3.Connection, now_ms: int) -> None:
        """Free the records of a failed payload, to be cut anew, unless it must go up as it is."""
        first, last, doubted, failures = db.execute("SELECT first, last, doubted, failures FROM payload").fetchone()
        if doubted and (failures < SPLIT_AFTER or first == last):
            return
        self._doubt(db, first, last, now_ms)
        db.execute("DELETE FROM payload")

    @staticmethod
    def _doubt(db: sqlite3.Connection, first: int, last: int, now_ms: int) -> None:
        """Hold back later records of the payload's messages, if the hub may still take an earlier try of the same."""
        row = db.execute("SELECT doubted FROM payload").fetchone()
        if row is None or not row[0]:
            return
        db.execute(
            "INSERT OR REPLACE INTO doubt (seq, id, until) SELECT seq, id, ? FROM record WHERE seq BETWEEN ? AND ?",
            (min(row[0], now_ms) + QUIET_MS, first, last),
        )

    @staticmethod
    def _done(db: sqlite3.Connection, payload: Payload, now_ms: int) -> None:
        bounds = (payload.first, payload.last)
        db.execute("UPDATE message SET uploaded_at = ? WHERE record BETWEEN ? AND ?", (now_ms, *bounds))
        db.execute("DELETE FROM record WHERE seq BETWEEN ? AND ?", bounds)
        db.execute("DELETE FROM payload")
