"""The oracle: every call that arrived and every recipient that was accepted, in order of arrival."""

from bisect import bisect_left
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from itertools import islice
from typing import Any, Final

from simulator.model import Call, Message
from simulator.servers.pulse import Pulse

INBOX_MESSAGES: Final = 2_000
INBOX_BYTES: Final = 64 * 2**20
"""Bodies are kept for the inbox only, and only for the latest calls, so that a million messages fit in memory."""


@dataclass(frozen=True, slots=True)
class Filter:
    """Which lines of the log are wanted; empty means all. `since`: Unix seconds; `cursor`: the first number wanted."""

    provider: str = ""
    credential: str = ""
    since: float = 0
    cursor: int = 0

    def takes(self, call: Call) -> bool:
        """Tell whether a call is wanted."""
        return (
            call.at >= self.since
            and (not self.provider or call.provider == self.provider)
            and (not self.credential or call.credential == self.credential)
        )


@dataclass(frozen=True, slots=True)
class Row:
    """One accepted recipient."""

    seq: int
    call: Call
    to: str
    role: str
    ref: str
    subject: str
    id: str
    finished_hash: str = ""

    def line(self) -> dict[str, Any]:
        """Return the log line.

        `recipient_hash`: SHA-256 of the address as received, lower-cased. `finished_hash`: SHA-256 of a finished
        message as it came; only its lines have it.
        """
        finished = {"finished_hash": self.finished_hash} if self.finished_hash else {}
        return {
            "seq": self.seq,
            "at": self.call.at,
            "provider": self.call.provider,
            "credential": self.call.credential,
            "call": self.call.n,
            "recipient": self.to,
            "recipient_hash": sha256(self.to.lower().encode()).hexdigest(),
            "role": self.role,
            "ref": self.ref,
            "message_id": self.id,
            "subject": self.subject,
            "accepted": True,
            "answered": self.call.answered,
            "status": self.call.status,
            "fault": self.call.fault,
            **finished,
        }


class Log:
    """All calls and accepted recipients since the start or the last `clear`. Used only by the event loop's thread."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.rows: list[Row] = []
        self.last_call = 0
        self.pulse = Pulse()
        self._last_row = 0
        self._places: dict[str, list[Row]] = {}
        self._indexed = 0
        self._inbox: deque[list[Message]] = deque()
        self._inbox_messages = 0
        self._inbox_bytes = 0

    def call(self, at: float, provider: str, credential: str) -> Call:
        """Record an arrival (Unix seconds)."""
        self.last_call += 1
        call = Call(self.last_call, at, provider, credential, slack=self.pulse.slack())
        self.calls.append(call)
        return call

    def accept(self, call: Call, messages: list[Message]) -> None:
        """Record the recipients of an accepted call; from here on they count as handed over."""
        call.accepted = len(messages)
        call.message_id = messages[0].id
        rows = self.rows
        seq = self._last_row
        finished = messages[0].content.finished
        digest = sha256(finished).hexdigest() if finished else ""
        for m in messages:
            seq += 1
            m.call = call
            m.seq = seq
            rows.append(Row(seq, call, m.to, m.role, m.ref, m.subject, m.id, digest))
        self._last_row = seq
        self._inbox.append(messages)
        self._inbox_messages += len(messages)
        self._inbox_bytes += messages[0].content.size
        while len(self._inbox) > 1 and (self._inbox_messages > INBOX_MESSAGES or self._inbox_bytes > INBOX_BYTES):
            old = self._inbox.popleft()
            self._inbox_messages -= len(old)
            self._inbox_bytes -= old[0].content.size

    def clear(self) -> None:
        """Forget everything; the serial numbers continue."""
        self.calls.clear()
        self.rows.clear()
        self._places.clear()
        self._indexed = 0
        self._inbox.clear()
        self._inbox_messages = self._inbox_bytes = 0

    def lines(self, wanted: Filter, limit: int) -> tuple[list[dict[str, Any]], int]:
        """Return at most `limit` lines of accepted recipients, oldest first, and the cursor of the next page."""
        start = bisect_left(self.rows, wanted.cursor, key=lambda r: r.seq)
        found = list(islice(_taken(self.rows[start:], wanted), limit))
        return [r.line() for r in found], _next(
            found[-1].seq if found else 0, wanted, limit, len(found), self._last_row
        )

    def call_lines(self, wanted: Filter, limit: int) -> tuple[list[dict[str, Any]], int]:
        """Return at most `limit` lines of calls, oldest first, and the cursor of the next page."""
        start = bisect_left(self.calls, wanted.cursor, key=lambda c: c.n)
        found = list(islice((c for c in self.calls[start:] if wanted.takes(c)), limit))
        lines = [
            {
                "n": c.n,
                "at": c.at,
                "provider": c.provider,
                "credential": c.credential,
                "status": c.status,
                "fault": c.fault,
                "accepted": c.accepted,
                "answered": c.answered,
                "message_id": c.message_id,
                "slack": c.slack,
            }
            for c in found
        ]
        return lines, _next(found[-1].n if found else 0, wanted, limit, len(found), self.last_call)

    def to(self, recipient: str) -> list[Row]:
        """Return the rows of a recipient, oldest first; the address as received.

        The index is made when it is first asked for, and grows with the next question: a run without look-ups needs
        none.
        """
        for row in islice(self.rows, self._indexed, None):
            self._places.setdefault(row.to, []).append(row)
        self._indexed = len(self.rows)
        return self._places.get(recipient, [])

    def row(self, seq: int) -> Row | None:
        """Return a row by its number."""
        place = bisect_left(self.rows, seq, key=lambda r: r.seq)
        return self.rows[place] if place < len(self.rows) and self.rows[place].seq == seq else None

    def stats(self, wanted: Filter) -> dict[str, Any]:
        """Count calls and accepted recipients; times are arrivals.

        Returns:
            - `calls`, `answered` calls, `accepted` recipients, calls by `statuses` and `faults`
            - recipients in each second (`per_second`: [[Unix second, count], ...])
            - the most in any window of one second (`max_in_one_second`, half open: two arrivals exactly 1 s apart are
              in different windows)
            - the first and last arrival of an accepted recipient (None if there is none)
        """
        calls = [c for c in self.calls if wanted.takes(c)]
        statuses: dict[str, int] = {}
        faults: dict[str, int] = {}
        arrivals: list[tuple[float, int]] = []
        per_second: dict[int, int] = {}
        for c in calls:
            statuses[str(c.status)] = statuses.get(str(c.status), 0) + 1
            faults[c.fault] = faults.get(c.fault, 0) + 1
            if c.accepted:
                arrivals.append((c.at, c.accepted))
                per_second[int(c.at)] = per_second.get(int(c.at), 0) + c.accepted
        return {
            "calls": len(calls),
            "answered": sum(c.answered for c in calls),
            "accepted": sum(n for _, n in arrivals),
            "statuses": statuses,
            "faults": faults,
            "per_second": [list(item) for item in sorted(per_second.items())],
            "max_in_one_second": worst_window(arrivals),
            "first_at": arrivals[0][0] if arrivals else None,
            "last_at": arrivals[-1][0] if arrivals else None,
        }

    def inbox(self, limit: int) -> list[Message]:
        """Return the latest messages, newest first."""
        return list(islice((m for messages in reversed(self._inbox) for m in reversed(messages)), limit))

    def message(self, seq: int) -> Message | None:
        """Return a message of the inbox by its number."""
        return next((m for m in self.inbox(INBOX_MESSAGES) if m.seq == seq), None)


@dataclass(frozen=True, slots=True)
class AcceptedRows:
    """One credential's accepted messages, for a provider's own look-ups; lines as of `Row.line`, oldest first."""

    log: Log
    provider: str
    credential: str

    def to(self, recipients: Iterable[str]) -> list[dict[str, Any]]:
        """Return the lines of some recipients."""
        found = [row for name in set(recipients) for row in self.log.to(name) if self._owns(row)]
        return [row.line() for row in sorted(found, key=lambda row: row.seq)]

    def all(self) -> list[dict[str, Any]]:
        """Return the lines of all recipients."""
        return [row.line() for row in self.log.rows if self._owns(row)]

    def line(self, seq: int) -> dict[str, Any] | None:
        """Return a line by its number."""
        row = self.log.row(seq)
        return row.line() if row is not None and self._owns(row) else None

    def _owns(self, row: Row) -> bool:
        return row.call.credential == self.credential and row.call.provider == self.provider


def worst_window(arrivals: list[tuple[float, int]], seconds: float = 1.0) -> int:
    """Return the most arrivals in any half-open window; `arrivals`: (Unix seconds, count) in order."""
    worst = inside = left = 0
    for at, count in arrivals:
        inside += count
        while at - arrivals[left][0] >= seconds:
            inside -= arrivals[left][1]
            left += 1
        worst = max(worst, inside)
    return worst


def _taken(rows: Iterable[Row], wanted: Filter) -> Iterator[Row]:
    return (r for r in rows if wanted.takes(r.call))


def _next(last_found: int, wanted: Filter, limit: int, found: int, last: int) -> int:
    """Continue after the last line of a full page, or after everything that was examined."""
    return last_found + 1 if found == limit else max(last + 1, wanted.cursor)
