"""A queue of mails in a folder, for one process on one machine.

    data/MAIL/content   the mail, as it came
    data/MAIL/envelope  JSON: the sender and all destinations
    data/MAIL/N         an empty file for each destination that is not cleaned up
    data/new-MAIL       a draft
    queue/AT.ATTEMPTS.MAIL.N, inflight/AT.ATTEMPTS.MAIL.N, cleanup/MAIL.N
                        links to data/MAIL/N: the folder is the state, and the name holds the schedule

A step moves one link, which is atomic. The schedule is in the name, so a step on an outdated schedule finds no link.
A draft's links are made before its folder gets its name: this rename commits all destinations at once.
"""

import fcntl
import json
import os
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Final

from cli.errors import Failed, Misused
from cli.relay.disk import Disk, faults
from shared.domain.mails.queue import InflightMail, MailSchedule, NewDestination, PendingCleanup, QueuedMail, ReadMail

VERSION: Final = "posthaste mail queue 1\n"
_NEW: Final = "new-"
_CONTENT: Final = "content"
_ENVELOPE: Final = "envelope"
_PARTS: Final = 4


def _name(mail: str, n: int, schedule: MailSchedule) -> str:
    return f"{schedule.at:015d}.{schedule.attempts}.{mail}.{n}"


def _parsed(name: str) -> tuple[str, int, MailSchedule] | None:
    """Return mail, destination and schedule of a link's name; None if the file is a stranger."""
    parts = name.split(".")
    if len(parts) != _PARTS or not all(part.isdecimal() for part in (parts[0], parts[1], parts[3])):
        return None
    return parts[2], int(parts[3]), MailSchedule(int(parts[0]), int(parts[1]))


class FileQueue:
    """A `MailQueue` in a folder, which it makes if it is missing. The process that has it open holds its lock.

    Args:
        folder: on a file system with symbolic links and atomic renames.

    Raises:
        Misused: the folder holds something else, or cannot be used.
        Failed: another process has the queue open.
    """

    def __init__(self, folder: Path, disk: Disk | None = None) -> None:
        self.folder = folder
        self._disk = disk or Disk()
        self._data, self._queue = folder / "data", folder / "queue"
        self._inflight, self._cleanup = folder / "inflight", folder / "cleanup"
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._lock = self._locked()
            try:
                self._prepare()
                self._repair()
            except BaseException:
                self.close()
                raise
        except OSError as error:
            raise Misused(f"cannot use the queue {folder}: {error.strerror or error}") from None

    def close(self) -> None:
        """Release the lock."""
        self._lock.close()

    def _locked(self) -> BinaryIO:
        """Lock the queue; the lock ends with the process, however that ends."""
        lock = os.fdopen(os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT, 0o600), "r+b")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.close()
            raise Failed(f"another process uses the queue {self.folder}") from None
        return lock

    def _prepare(self) -> None:
        """Make the folders. The version's file comes last: with it, the queue is complete."""
        mark = self.folder / "version"
        if mark.exists():
            if mark.read_text("utf-8", errors="replace") != VERSION:
                raise Misused(f"{self.folder} was written by a later version of posthaste: upgrade this one")
            return
        known = {"lock", "version.new", *(x.name for x in (self._data, self._queue, self._inflight, self._cleanup))}
        strangers = {x.name for x in self.folder.iterdir()} - known
        if strangers:
            raise Misused(f"{self.folder} is not a queue: it holds {min(strangers)}. Choose an empty folder")
        for each in (self._data, self._queue, self._inflight, self._cleanup):
            if not each.is_dir():
                self._disk.make_folder(each)
        draft = self.folder / "version.new"
        self._disk.remove(draft)
        self._store(draft, VERSION.encode())
        self._disk.sync_folder(self.folder)
        self._disk.rename(draft, mark)
        self._disk.sync_folder(self.folder)

    def _repair(self) -> None:
        """Remove the drafts that a dead process left, and their links."""
        for name in self._disk.names(self._queue):
            found = _parsed(name)
            if found and not self._is_there(found[0], found[1]):
                self._disk.remove(self._queue / name)
        self._disk.sync_folder(self._queue)
        for name in self._disk.names(self._data):
            if name.startswith(_NEW):
                self._erase(self._data / name)

    def _store(self, file: Path, data: bytes) -> None:
        with self._disk.create(file) as opened:
            self._disk.write(opened, data)
            self._disk.sync(opened)

    def _erase(self, folder: Path) -> None:
        """Remove a folder with its files, as far as another thread has not."""
        try:
            for name in self._disk.names(folder):
                self._disk.remove(folder / name)
            self._disk.remove_folder(folder)
        except FileNotFoundError:
            return

    def _is_there(self, mail: str, n: int) -> bool:
        return (self._data / mail / str(n)).exists()

    def _links(self, folder: Path) -> Iterator[tuple[str, int, MailSchedule]]:
        with faults():
            names = self._disk.names(folder)
        for name in names:
            found = _parsed(name)
            if found and self._is_there(found[0], found[1]):
                yield found

    def list_queue(self) -> Iterator[QueuedMail]:
        """Walk what waits, in the order of its schedule."""
        return (QueuedMail(*found) for found in self._links(self._queue))

    def find_inflight(self) -> Iterator[InflightMail]:
        """Walk what is in flight, also what a dead process left there."""
        return (InflightMail(*found) for found in self._links(self._inflight))

    def find_pending_cleanup(self) -> Iterator[PendingCleanup]:
        """Walk what is to be cleaned up."""
        with faults():
            names = self._disk.names(self._cleanup)
        for name in names:
            mail, _, n = name.partition(".")
            if n.isdecimal():
                yield PendingCleanup(mail, int(n))

    @contextmanager
    def enqueue(self) -> Iterator["FileDraft"]:
        """Begin a mail; without `commit`, no part is kept."""
        mail = secrets.token_hex(16)
        folder = self._data / f"{_NEW}{mail}"
        with faults():
            self._disk.make_folder(folder)
        try:
            with faults():
                content = self._disk.create(folder / _CONTENT)
            with content:
                yield FileDraft(self._disk, content, lambda sender, ends: self._commit(mail, sender, ends))
        finally:
            with faults():
                self._erase(folder)

    def _commit(self, mail: str, sender: str, destinations: Sequence[NewDestination]) -> list[QueuedMail]:
        draft = self._data / f"{_NEW}{mail}"
        ends = [{"address": x.address, "metadata": dict(x.metadata)} for x in destinations]
        self._store(draft / _ENVELOPE, json.dumps({"sender": sender, "destinations": ends}).encode())
        queued = [QueuedMail(mail, n, each.schedule) for n, each in enumerate(destinations)]
        for each in queued:
            self._disk.create(draft / str(each.n)).close()
        self._disk.sync_folder(draft)
        try:
            for each in queued:
                self._disk.link(self._queue / _name(mail, each.n, each.schedule), f"../data/{mail}/{each.n}")
            self._disk.sync_folder(self._queue)
            self._disk.rename(draft, self._data / mail)
        except OSError:
            for each in queued:
                self._disk.remove(self._queue / _name(mail, each.n, each.schedule))
            raise
        self._disk.sync_folder(self._data)
        return queued

    @contextmanager
    def read_inflight(self, mail: InflightMail) -> Iterator[ReadMail]:
        """Open a mail in flight for reading; LookupError if it is no longer."""
        folder = self._data / mail.mail
        if not (self._inflight / _name(mail.mail, mail.n, mail.schedule)).exists():
            raise LookupError(mail.mail)
        with faults():
            envelope: dict[str, Any] = json.loads((folder / _ENVELOPE).read_bytes())
            content = (folder / _CONTENT).open("rb")
        end = envelope["destinations"][mail.n]
        with content:
            size = os.fstat(content.fileno()).st_size
            yield ReadMail(envelope["sender"], end["address"], end["metadata"], size, content)

    def reschedule(self, mail: QueuedMail, schedule: MailSchedule) -> QueuedMail | None:
        """Change when a destination is due."""
        moved = self._move(self._queued(mail), self._queue / _name(mail.mail, mail.n, schedule))
        return QueuedMail(mail.mail, mail.n, schedule) if moved else None

    def send_start(self, mail: QueuedMail) -> InflightMail | None:
        """Take a destination into flight."""
        moved = self._move(self._queued(mail), self._inflight / _name(mail.mail, mail.n, mail.schedule))
        return InflightMail(mail.mail, mail.n, mail.schedule) if moved else None

    def send_done(self, mail: InflightMail) -> PendingCleanup | None:
        """Note that a destination needs no further attempt."""
        return self._ended(self._inflight / _name(mail.mail, mail.n, mail.schedule), mail.mail, mail.n)

    def send_cancel(self, mail: InflightMail, schedule: MailSchedule) -> QueuedMail | None:
        """Put a destination back into the queue, with its next schedule."""
        link = self._inflight / _name(mail.mail, mail.n, mail.schedule)
        moved = self._move(link, self._queue / _name(mail.mail, mail.n, schedule))
        return QueuedMail(mail.mail, mail.n, schedule) if moved else None

    def drop(self, mail: QueuedMail) -> PendingCleanup | None:
        """Take a destination out of the queue without sending it."""
        return self._ended(self._queued(mail), mail.mail, mail.n)

    def cleanup(self, mail: PendingCleanup) -> bool:
        """Remove a destination, and with the last one the content; False if this was done before."""
        link, folder = self._cleanup / f"{mail.mail}.{mail.n}", self._data / mail.mail
        with faults():
            if not link.is_symlink():
                return False
            self._disk.remove(folder / str(mail.n))
            self._tidy(folder)
            self._disk.remove(link)  # last: until then, a restart repeats all of this
            self._disk.sync_folder(self._cleanup)
        return True

    def _tidy(self, folder: Path) -> None:
        """Remove a mail that has no destination left, or make the removal of one durable."""
        try:
            if any(name.isdecimal() for name in self._disk.names(folder)):
                self._disk.sync_folder(folder)
                return
        except FileNotFoundError:
            return
        self._erase(folder)
        self._disk.sync_folder(self._data)

    def _queued(self, mail: QueuedMail) -> Path:
        return self._queue / _name(mail.mail, mail.n, mail.schedule)

    def _ended(self, link: Path, mail: str, n: int) -> PendingCleanup | None:
        return PendingCleanup(mail, n) if self._move(link, self._cleanup / f"{mail}.{n}") else None

    def _move(self, old: Path, new: Path) -> bool:
        """Move a link for good; False if it is not there."""
        with faults():
            try:
                self._disk.rename(old, new)
            except FileNotFoundError:
                if not new.parent.is_dir():
                    raise
                return False
            self._disk.sync_folder(new.parent)
            if old.parent != new.parent:
                self._disk.sync_folder(old.parent)
        return True


class FileDraft:
    """A mail that is being written into a `FileQueue`."""

    def __init__(
        self,
        disk: Disk,
        content: BinaryIO,
        commit: Callable[[str, Sequence[NewDestination]], list[QueuedMail]],
    ) -> None:
        self._disk = disk
        self._content = content
        self._commit = commit

    def write(self, block: bytes) -> None:
        """Append to the content."""
        with faults():
            self._disk.write(self._content, block)

    def commit(self, sender: str, destinations: Sequence[NewDestination]) -> list[QueuedMail]:
        """Queue the mail for all its destinations, durably, or for none."""
        with faults():
            self._disk.sync(self._content)
            return self._commit(sender, destinations)
