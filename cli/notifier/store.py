"""The spool's file: SQLite with a write-ahead log, so that a process may be killed at any moment."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from cli.errors import Failed, Misused

ENV_SPOOL: Final = "POSTHASTE_SPOOL"
MARK: Final = 0x70_68_73_70
"""`application_id` of a spool."""
VERSION: Final = 1
BUSY_SECONDS: Final = 20.0
"""How long a command waits for another one that writes."""
_TABLES: Final = """
CREATE TABLE message (
    id TEXT PRIMARY KEY, action TEXT NOT NULL, data TEXT NOT NULL, record INTEGER NOT NULL,
    changed_at INTEGER NOT NULL, uploaded_at INTEGER NOT NULL DEFAULT 0, status TEXT NOT NULL DEFAULT '',
    error TEXT NOT NULL DEFAULT '', note TEXT NOT NULL DEFAULT '', updated_at INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE INDEX message_changed ON message (changed_at);
CREATE TABLE record (seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL, body BLOB NOT NULL);
CREATE TABLE payload (
    one INTEGER PRIMARY KEY CHECK (one = 1), first INTEGER NOT NULL, last INTEGER NOT NULL,
    open INTEGER NOT NULL, doubted INTEGER NOT NULL DEFAULT 0, failures INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE doubt (seq INTEGER PRIMARY KEY, id TEXT NOT NULL, until INTEGER NOT NULL);
CREATE INDEX doubt_id ON doubt (id);
CREATE TABLE entry (
    n INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL, action TEXT NOT NULL, status TEXT NOT NULL,
    error TEXT NOT NULL, note TEXT NOT NULL, stamp INTEGER NOT NULL, updated_at TEXT NOT NULL
);
CREATE INDEX entry_id ON entry (id, n);
CREATE TABLE setting (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
"""


class SpoolFile:
    """An open spool. Times in it are Unix milliseconds.

    Raises:
        Misused: the file is no spool, is of a later version, or cannot be opened.
    """

    def __init__(self, file: Path) -> None:
        self.file = file
        try:
            file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            os.close(os.open(file, os.O_RDWR | os.O_CREAT, 0o600))  # it holds names and numbers of people
            self.db = sqlite3.connect(file, timeout=BUSY_SECONDS, isolation_level=None)
        except (OSError, sqlite3.Error) as error:
            raise Misused(f"cannot open the spool {file}: {error}") from None
        try:
            self._prepare()
        except sqlite3.DatabaseError as error:
            self.db.close()
            raise Misused(f"cannot use the spool {file}: {error}") from None
        except Misused:
            self.db.close()
            raise

    def _prepare(self) -> None:
        self.db.execute("PRAGMA journal_mode = WAL")
        self.db.execute("PRAGMA synchronous = FULL")  # a record that a command took survives a power cut
        if self._pragma("user_version") == VERSION and self._pragma("application_id") == MARK:
            return
        with self.change():
            version, mark = self._pragma("user_version"), self._pragma("application_id")
            if (version, mark) == (0, 0) and not self.db.execute("SELECT 1 FROM sqlite_master").fetchone():
                for statement in _TABLES.split(";"):
                    self.db.execute(statement)
                self.db.execute(f"PRAGMA application_id = {MARK}")
                self.db.execute(f"PRAGMA user_version = {VERSION}")
            elif mark != MARK:
                raise Misused(f"{self.file} is not a spool: choose another file with --spool")
            elif version != VERSION:
                raise Misused(f"{self.file} was written by a later version of posthaste: upgrade this one")

    def _pragma(self, name: str) -> int:
        return int(self.db.execute(f"PRAGMA {name}").fetchone()[0])

    def close(self) -> None:
        """Close the file."""
        self.db.close()

    @contextmanager
    def change(self) -> Iterator[sqlite3.Connection]:
        """One transaction that writes: all of it or, if it raises or the process dies, nothing."""
        self.db.execute("BEGIN IMMEDIATE")
        try:
            yield self.db
        except BaseException:
            self.db.execute("ROLLBACK")
            raise
        self.db.execute("COMMIT")

    def setting(self, name: str, default: str = "") -> str:
        """Return a value that the spool keeps for itself."""
        row = self.db.execute("SELECT value FROM setting WHERE name = ?", (name,)).fetchone()
        return str(row[0]) if row else default

    def keep(self, name: str, value: str) -> None:
        """Store a value that the spool keeps for itself, within a `change`."""
        self.db.execute("INSERT OR REPLACE INTO setting (name, value) VALUES (?, ?)", (name, value))

    @contextmanager
    def only_sync(self) -> Iterator[None]:
        """Hold the spool's lock: at most one process syncs it. The lock ends with its process, however that ends.

        Raises:
            Failed: another process syncs the spool.
        """
        lock = sqlite3.connect(f"{self.file}-lock", timeout=0, isolation_level=None)
        try:
            lock.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError:
            lock.close()
            raise Failed(f"another `posthaste notifier sync` works on {self.file}") from None
        try:
            yield
        finally:
            lock.close()


def default_file() -> Path:
    """Return where the spool is unless its user chooses another place: in the state directory of the user."""
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "posthaste" / "notifier.db"
