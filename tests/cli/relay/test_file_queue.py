"""What a queue in a folder promises beyond the contract: its lock, its version, its repair, and a disk that fails."""

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

import pytest

from cli.errors import Failed, Misused
from cli.relay.disk import Disk
from cli.relay.spool import VERSION, FileQueue
from shared.domain.mails.queue import MailSchedule, NewDestination, QueuedMail
from shared.ports import Retriable

NOW = 1_800_000_000_000


def put(queue: FileQueue, destinations: int = 1, content: bytes = b"x") -> list[QueuedMail]:
    with queue.enqueue() as draft:
        draft.write(content)
        return draft.commit("a@b.example", [NewDestination("c@d.example", MailSchedule(NOW))] * destinations)


class FullDisk(Disk):
    """Refuses what `refuses` names."""

    refuses = ""

    def _check(self, step: str) -> None:
        if step == self.refuses:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def write(self, file: BinaryIO, block: bytes) -> None:
        self._check("write")
        super().write(file, block)

    def link(self, link: Path, target: str) -> None:
        self._check("link")
        super().link(link, target)

    def rename(self, old: Path, new: Path) -> None:
        self._check("rename")
        super().rename(old, new)

    def sync_folder(self, folder: Path) -> None:
        self._check("sync_folder")
        super().sync_folder(folder)


def test_a_second_process_cannot_open_the_queue(tmp_path: Path) -> None:
    first = FileQueue(tmp_path / "q")
    with pytest.raises(Failed, match="another process"):
        FileQueue(tmp_path / "q")
    first.close()
    FileQueue(tmp_path / "q").close()


def test_mail_is_kept_from_one_process_to_the_next(tmp_path: Path) -> None:
    first = FileQueue(tmp_path / "q")
    queued = put(first, 2)
    started = first.send_start(queued[0])
    first.close()
    second = FileQueue(tmp_path / "q")
    assert list(second.list_queue()) == [queued[1]]
    assert list(second.find_inflight()) == [started]
    second.close()


def test_only_its_owner_can_read_the_queue(tmp_path: Path) -> None:
    queue = FileQueue(tmp_path / "deep" / "q")
    put(queue)
    found = [x for x in (queue.folder, *queue.folder.rglob("*")) if not x.is_symlink()]
    assert len(found) > 8
    assert [x for x in found if stat.S_IMODE(x.stat().st_mode) & 0o077] == []
    queue.close()


def test_a_folder_with_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("Dear")
    with pytest.raises(Misused, match=r"is not a queue: it holds letter\.txt"):
        FileQueue(tmp_path)
    assert not (tmp_path / "data").exists()


def test_a_later_version_is_refused(tmp_path: Path) -> None:
    FileQueue(tmp_path / "q").close()
    (tmp_path / "q" / "version").write_text(VERSION.replace("1", "2"))
    with pytest.raises(Misused, match="later version"):
        FileQueue(tmp_path / "q")


def test_a_file_cannot_be_the_queue(tmp_path: Path) -> None:
    (tmp_path / "q").write_text("")
    with pytest.raises(Misused, match="cannot use the queue"):
        FileQueue(tmp_path / "q")


def test_strange_files_in_the_queue_are_passed_over(tmp_path: Path) -> None:
    queue = FileQueue(tmp_path / "q")
    for folder in ("queue", "inflight", "cleanup"):
        (queue.folder / folder / ".nfs0001").write_text("")
    (mail,) = put(queue)
    assert list(queue.list_queue()) == [mail]
    assert (list(queue.find_inflight()), list(queue.find_pending_cleanup())) == ([], [])
    queue.close()


@pytest.mark.parametrize("step", ["write", "link", "rename"])
def test_a_full_disk_queues_nothing_and_leaves_nothing(tmp_path: Path, step: str) -> None:
    disk = FullDisk()
    queue = FileQueue(tmp_path / "q", disk)
    disk.refuses = step
    with pytest.raises(Retriable, match="No space left"):
        put(queue, 2)
    disk.refuses = ""
    assert list(queue.list_queue()) == []
    assert [*(queue.folder / "queue").iterdir(), *(queue.folder / "data").iterdir()] == []
    queue.close()


def test_a_queue_that_lost_its_folders_says_so(tmp_path: Path) -> None:
    queue = FileQueue(tmp_path / "q")
    (mail,) = put(queue)
    (queue.folder / "inflight").rmdir()
    with pytest.raises(Retriable):
        queue.send_start(mail)
    queue.close()
