"""Commands that begin at once: forked of a process that has imported them.

A command of the pages imports for most of its time, and the pages have hundreds. So the first of each kind starts in a
process of its own, as its reader starts it, and the others are forked: with their own words, folder, variables, files
and terminal. `hand_over.py` is what the shell starts.
"""

import gc
import importlib
import io
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final, NoReturn

from infra.local.paths import ROOT
from tests.deployed import hand_over

SERVES: Final = "import sys; from tests.deployed.forked import serve; serve(*sys.argv[1:])"
STREAMS: Final = (("stdin", "r"), ("stdout", "w"), ("stderr", "w"))
READY: Final = "ready\n"


@dataclass(frozen=True, slots=True)
class Program:
    """A command.

    Attributes:
        main: `module:function`, which is called without arguments.
        true: how it starts in a process of its own.
        imports: modules that it imports later.
    """

    main: str
    true: Sequence[str]
    imports: Sequence[str] = ()


@contextmanager
def forking(programs: Mapping[str, Program], folder: Path) -> Iterator[dict[str, list[str]]]:
    """Import commands once; yield for each name the words that begin it.

    Args:
        programs: by name.
        folder: an empty one, with a short path.
    """
    door = str(folder / "door")
    mains = (f"{name}={','.join((x.main, *x.imports))}" for name, x in programs.items())
    words = [sys.executable, "-P", "-c", SERVES, door, *mains]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        words, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as server:
        assert server.stdout is not None
        assert server.stdout.readline() == READY
        first = [sys.executable, "-I", "-S", hand_over.__file__, door]
        yield {name: [*first, name, *x.true, hand_over.END] for name, x in programs.items()}
        assert server.stdin is not None
        server.stdin.close()  # it ends


def serve(door: str, *programs: str) -> NoReturn:
    """Fork commands until the end of the standard input; in a fork, run the command and end with its exit code.

    Args:
        door: the path of the socket.
        programs: `name=module:function,module,…`.
    """
    mains = {name: _function(*places.split(",")) for name, _, places in (x.partition("=") for x in programs)}
    kinds: set[tuple[str, str]] = set()
    gc.collect()
    gc.freeze()  # what is never touched is never copied
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(door)
        listening.listen()
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        sys.stdout.write(READY)
        sys.stdout.flush()
        while listening in select.select([listening, sys.stdin], [], [])[0]:
            caller, _ = listening.accept()
            request, files = _request(caller)
            kind = request["name"], _kind(request["words"])
            forked = kind in kinds and os.fork() == 0
            if forked:
                break
            if kind not in kinds:
                caller.sendall(b"0\n")
            kinds.add(kind)
            caller.close()
            for file in files:
                os.close(file)
        else:
            sys.exit(0)
    _supervise(caller)
    _become(request, files)
    sys.exit(mains[request["name"]]())


def script() -> None:
    """Run the file that the first word names, as the interpreter does."""
    del sys.argv[0]
    sys.path.insert(0, str(Path(sys.argv[0]).parent))
    runpy.run_path(sys.argv[0], run_name="__main__")


def _kind(words: Sequence[str]) -> str:
    """Return the name of a command's part, as in `posthaste batch`; nothing if its first word is none."""
    return words[0] if words and words[0].isalpha() else ""


def _function(place: str, *imports: str) -> Callable[[], Any]:
    for name in imports:
        importlib.import_module(name)
    module, _, name = place.partition(":")
    found: Callable[[], Any] = getattr(importlib.import_module(module), name)
    return found


def _request(caller: socket.socket) -> tuple[dict[str, Any], list[int]]:
    """Read what is asked for, and the files that it is to have as 0, 1 and 2."""
    head, files, *_ = socket.recv_fds(caller, 4, len(STREAMS))
    with caller.makefile("rb", buffering=0) as sent, io.BufferedReader(sent) as text:
        return json.loads(text.read(int.from_bytes(head, "big"))), files


def _supervise(caller: socket.socket) -> None:
    """Fork once more, and return in the fork. This process says how the fork ends, and ends it if the caller does."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    ends, lives = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(ends)
        caller.close()
        return
    os.close(lives)
    caller.sendall(f"{child}\n".encode())
    either: list[Any] = [ends, caller]
    if ends not in select.select(either, [], [])[0]:
        os.kill(child, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    try:
        caller.sendall(f"{code}\n".encode())
    finally:
        os._exit(0)


def _become(request: Mapping[str, Any], files: Sequence[int]) -> None:
    """Take words, folder, variables and standard files of a command."""
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    time.tzset()
    sys.argv = [request["name"], *request["words"]]
    at_once = bool(os.environ.get("PYTHONUNBUFFERED"))
    for number, ((name, mode), file) in enumerate(zip(STREAMS, files, strict=True)):
        os.dup2(file, number)
        os.close(file)
        stream: IO[str] = open(number, mode, encoding="utf-8", closefd=False)  # noqa: SIM115 - open as long as it runs
        if isinstance(stream, io.TextIOWrapper):
            errors = "backslashreplace" if name == "stderr" else "strict"
            line_by_line = name == "stderr" or stream.isatty()
            stream.reconfigure(errors=errors, line_buffering=line_by_line, write_through=at_once)
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
