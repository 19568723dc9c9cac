"""Processes of the local cloud: started in a group of their own, recorded by pid *and* start time, stopped safely.

A pid is not enough as an identity: after a crash or a reboot it may belong to somebody else. A recorded process is
touched only while its start time is the recorded one. The mark in their environment identifies orphans (Lambda workers
whose parent was killed).
"""

import contextlib
import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import psutil

from infra.local.console import LocalCloudError
from infra.local.paths import ENV_LOCAL, ROOT, Paths

GRACE: Final = 5.0
"""Seconds between SIGTERM and SIGKILL: the emulator needs about one, and hangs now and then."""
LOOPBACK: Final = "127.0.0.1"
TICKS: Final = 100
"""Of the kernel's clock in a second: how exactly it knows a start time."""

_children: dict[int, subprocess.Popen[bytes]] = {}


@dataclass(frozen=True, slots=True)
class Process:
    """One process as recorded: `started` is its start time, opaque, equal only for itself."""

    name: str
    pid: int
    started: str
    port: int


def started_at(pid: int) -> str | None:
    """Return the start time of a living process, None if there is none (a zombie is none)."""
    child = _children.get(pid)
    if child is not None and child.poll() is not None:
        del _children[pid]
        return None
    try:
        process = psutil.Process(pid)
        if process.status() == psutil.STATUS_ZOMBIE:
            return None
        # Linux keeps it as ticks since the boot, which do not change when the system's clock is set.
        since = process.create_time() - (psutil.boot_time() if psutil.LINUX else 0)
        return str(round(since * TICKS))
    except psutil.NoSuchProcess:
        return None


def alive(process: Process) -> bool:
    """Tell whether exactly this process still runs."""
    return started_at(process.pid) == process.started


def group(pid: int) -> dict[int, str]:
    """Return pid → start time of the living members of a process group."""
    members = (member for member in psutil.pids() if _group_of(member) == pid)
    return {member: started for member in members if (started := started_at(member)) is not None}


def carries(pid: int, name: str, value: str) -> bool:
    """Tell whether a process was started with a variable of this value; False where that cannot be read.

    Args:
        pid: the process.
        value: the value that it was started with.
    """
    try:
        return bool(psutil.Process(pid).environ().get(name) == value)
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return False


def kill(pid: int, born: str) -> bool:
    """Send SIGKILL to exactly the process that started at `born`; tell whether it still ran."""
    there = started_at(pid) == born
    _signal(pid, born, signal.SIGKILL)
    return there


def read(paths: Paths) -> dict[str, Process]:
    """Return the recorded processes, name → process, living or not; an unreadable record counts as none."""
    try:
        rows = json.loads(paths.processes.read_text(encoding="utf-8"))
        return {row["name"]: Process(**row) for row in rows}
    except (OSError, ValueError, TypeError, KeyError):
        return {}


def write(paths: Paths, processes: Mapping[str, Process]) -> None:
    """Record the processes, in one rename."""
    draft = paths.processes.with_suffix(".new")
    draft.write_text(json.dumps([asdict(p) for p in processes.values()], indent=1), encoding="utf-8")
    draft.replace(paths.processes)


def start(paths: Paths, name: str, command: Sequence[str], environment: Mapping[str, str], port: int) -> Process:
    """Start a process in a session of its own, its output in a log file, and record it.

    Args:
        name: unique among the cloud's processes; a living one of that name is stopped first.
        command: program and arguments, run in the checkout.
        environment: the whole environment; nothing is inherited.
        port: the port that it listens on, for the record.
    """
    recorded = read(paths)
    if name in recorded:
        stop(paths, recorded[name])
        recorded = read(paths)
    with paths.log(name).open("ab") as log:
        child = subprocess.Popen(
            list(command),
            cwd=ROOT,
            env={**environment, ENV_LOCAL: str(paths.home)},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    _children[child.pid] = child
    process = Process(name, child.pid, started_at(child.pid) or "", port)
    write(paths, {**recorded, name: process})
    return process


def _victims(paths: Paths, process: Process, grace: float) -> dict[int, str]:
    """Ask a process to end, and wait; return pid → start time of the processes to kill, this one among them."""
    started = started_at(process.pid)
    if started is not None and started != process.started:
        return {}
    victims = group(process.pid)
    if started is None:
        return {pid: born for pid, born in victims.items() if _marked(pid, paths)}
    victims[process.pid] = started
    _signal(process.pid, started, signal.SIGTERM)
    wait_for(lambda: started_at(process.pid) != started, grace)
    return victims | {pid: born for pid, born in group(process.pid).items() if _marked(pid, paths)}


def stop(paths: Paths, process: Process, grace: float = GRACE) -> bool:
    """End a recorded process and its group: SIGTERM to the leader, `grace` seconds, then SIGKILL to who is left.

    Args:
        paths: the local cloud's folders, with the record of its processes.
        process: the process as it was recorded.
        grace: seconds between SIGTERM and SIGKILL, and to wait after it.

    Returns:
        Whether anything had to be ended. A pid that now belongs to another process is not touched.
    """
    victims = _victims(paths, process, grace)
    for pid, born in victims.items():
        _signal(pid, born, signal.SIGKILL)
    wait_for(lambda: all(started_at(pid) != born for pid, born in victims.items()), grace)
    write(paths, {name: p for name, p in read(paths).items() if name != process.name})
    return bool(victims)


def wait_for(condition: Callable[[], bool], seconds: float, pause: float = 0.05) -> bool:
    """Poll a condition. Return whether it became true in time.

    Args:
        condition: checked first, then after each pause.
        seconds: how long to poll.
        pause: seconds between two checks.
    """
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(pause)
    return True


def choose_port(paths: Paths, name: str) -> int:
    """Return a free loopback port, the remembered one if it can still be had, and remember it."""
    try:
        ports: dict[str, int] = json.loads(paths.ports.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        ports = {}
    port = next(p for p in (ports.get(name, 0), 0) if p == 0 or _free(p)) or _any_port()
    paths.ports.write_text(json.dumps({**ports, name: port}), encoding="utf-8")
    return port


@contextlib.contextmanager
def exclusive(paths: Paths, patience: float = 180) -> Iterator[None]:
    """Hold the cloud's lock: of two `up` at once the second waits `patience` seconds, then LocalCloudError."""
    import fcntl  # noqa: PLC0415 - not on Windows, where only this would fail

    with paths.lock.open("w") as lock:

        def taken() -> bool:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
            return True

        if not wait_for(taken, patience, pause=0.2):
            raise LocalCloudError("another command is still changing this local cloud")
        yield


def tail(file: Path, lines: int = 15) -> str:
    """Return the last lines of a log, for an error message."""
    if not file.exists():
        return "(no log)"
    return "\n".join("    " + line for line in file.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:])


def _free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
    return True


def _any_port() -> int:
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        return int(probe.getsockname()[1])


def _signal(pid: int, born: str, number: signal.Signals) -> None:
    if started_at(pid) == born:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def _marked(pid: int, paths: Paths) -> bool:
    """Tell whether a process carries this cloud's mark."""
    return carries(pid, ENV_LOCAL, str(paths.home))


def _group_of(pid: int) -> int | None:
    try:
        return os.getpgid(pid)
    except (ProcessLookupError, PermissionError):
        return None
