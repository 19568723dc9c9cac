"""The life of a queue, from its first start to its last cleanup, and what must be true wherever it is cut short."""

import json
import os
import sys
from collections import Counter
from collections.abc import Callable
from itertools import count
from pathlib import Path

from cli.relay.disk import Disk
from cli.relay.spool import FileQueue
from shared.domain.mails.queue import InflightMail, MailSchedule, NewDestination, QueuedMail
from tests.cli.relay.disks import KILLED, TappedDisk, dying

NOW = 1_800_000_000_000
Note = Callable[[str, list[str]], None]
"""Takes what happened: `asked`, `queued`, `sent`, `done`, `dropping` or `dropped`, and to which addresses."""


def live(folder: Path, disk: Disk, note: Note) -> None:
    """Do everything that a queue does, and note what its user was answered."""
    queue = FileQueue(folder, disk)
    first, second, third = put(queue, note, "one", "two", "three")
    finish(queue, note, started(queue, first), "one")
    later = queue.send_cancel(started(queue, second), MailSchedule(NOW + 5000, 1))
    assert later
    note("dropping", ["three"])
    dropped = queue.drop(third)
    assert dropped
    note("dropped", ["three"])
    queue.cleanup(dropped)
    (lone,) = put(queue, note, "four")
    moved = queue.reschedule(lone, MailSchedule(NOW + 9000))
    assert moved
    with queue.enqueue() as draft:
        draft.write(b"given up")
    finish(queue, note, started(queue, later), "two")
    finish(queue, note, started(queue, moved), "four")
    put(queue, note, "five", "six")
    queue.close()


def put(queue: FileQueue, note: Note, *addresses: str) -> list[QueuedMail]:
    note("asked", list(addresses))
    with queue.enqueue() as draft:
        draft.write(",".join(addresses).encode())
        found = draft.commit("a@b.example", [NewDestination(x, MailSchedule(NOW)) for x in addresses])
    note("queued", list(addresses))
    return found


def started(queue: FileQueue, mail: QueuedMail) -> InflightMail:
    found = queue.send_start(mail)
    assert found
    return found


def finish(queue: FileQueue, note: Note, mail: InflightMail, address: str) -> None:
    with queue.read_inflight(mail) as found:
        assert found.address == address
        assert address in found.content.read().decode().split(",")
        note("sent", [address])
    pending = queue.send_done(mail)
    assert pending
    note("done", [address])
    assert queue.cleanup(pending)


def check(folder: Path, before: list[tuple[str, list[str]]]) -> str:
    """Open what is left, as a restart does; check that nothing is lost or sent twice. Return what was left, for people.

    Args:
        folder: the queue's.
        before: what was noted until the end.
    """
    noted = {kind: {x for k, group in before if k == kind for x in group} for kind, _ in before}
    ended = noted.get("done", set()) | noted.get("dropped", set())
    queue = FileQueue(folder)
    shown = f"{len(list(queue.list_queue()))} queued"
    inflight = list(queue.find_inflight())
    for mail in inflight:
        assert queue.send_cancel(mail, MailSchedule(NOW, mail.schedule.attempts))
    pending = list(queue.find_pending_cleanup())
    assert all(queue.cleanup(x) for x in pending)
    sent: Counter[str] = Counter()

    def note(kind: str, about: list[str]) -> None:
        if kind == "sent":
            sent.update(about)

    for queued in list(queue.list_queue()):
        mail = started(queue, queued)
        with queue.read_inflight(mail) as found:
            address = found.address
        finish(queue, note, mail, address)
    queue.close()
    assert set(sent.values()) <= {1}
    assert not set(sent) & ended, "what has ended is not sent again"
    whole = noted.get("queued", set())
    assert whole - ended - noted.get("dropping", set()) - noted.get("sent", set()) <= set(sent), "nothing is lost"
    for kind, group in before:
        if kind == "asked" and not set(group) & whole:
            assert set(group) & set(sent) in (set(), set(group)), "all destinations or none"
    left = [x for name in ("data", "queue", "inflight", "cleanup") for x in (folder / name).iterdir()]
    assert left == [], "nothing stays on the disk"
    return f"{shown}, {len(inflight)} in flight, {len(pending)} to clean up"


def killed_at_each_step(folder: Path) -> int:
    """Live again and again, each time in a process that dies before the next step; return how many died."""
    for point in count(1):
        child = os.fork()  # this process has one thread, and starts no other
        if not child:
            with (folder / f"{point}.log").open("ab", buffering=0) as out:
                live(folder / str(point), TappedDisk(dying(point)), lambda *x: write(out.fileno(), x))
            os._exit(0)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if code == 0:
            return point - 1
        assert code == KILLED
    raise AssertionError


def write(out: int, noted: tuple[str, list[str]]) -> None:
    os.write(out, json.dumps(noted).encode() + b"\n")


if __name__ == "__main__":
    print(killed_at_each_step(Path(sys.argv[1])))  # noqa: T201 - this is its answer
