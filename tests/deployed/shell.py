"""A newcomer's shell: the commands of a page, in a checkout that has the cloud of the tests in `.local`."""

import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Self

from infra.local.cloud import Cloud

PATIENCE: Final = 240
"""Seconds for one block of commands."""
WIDTH: Final = "120"
"""Characters in a line of the terminal."""
BAR: Final = "━"
QUESTION: Final = b"[y/N]: "
CONTROL: Final = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
END: Final = b"\x04"
"""Printed to a terminal after a block."""


def checkout(cloud: Cloud, folder: Path) -> Path:
    """Make a folder a checkout as the pages' commands see it: this cloud in `.local`, the commands in `.venv`."""
    (folder / ".local").symlink_to(cloud.paths.home)
    (folder / ".venv").mkdir()
    (folder / ".venv" / "bin").symlink_to(Path(sys.executable).parent)
    return folder


def plain() -> dict[str, str]:
    """Return this process's variables without those that name a cloud."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("POSTHASTE_", "AWS_"))}


def typed(commands: str, folder: Path) -> str:
    """Type commands into a shell; return what they print."""
    done = subprocess.run(
        ["sh", "-ec", commands],
        cwd=folder,
        env=plain(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


class Shell:
    """One shell into which blocks are typed one after the other."""

    def __init__(self, process: subprocess.Popen[str], folder: Path) -> None:
        self._process = process
        self._folder = folder

    def types(self, commands: str, answer: str = "", *, terminal: bool = False) -> str:
        """Type a block; return what it prints, errors and all.

        Args:
            commands: the block.
            answer: what is typed while it runs.
            terminal: whether it runs on a terminal; the answer is then typed after a question.
        """
        block, given, printed = (self._folder / name for name in ("block", "given", "printed"))
        block.write_text(commands, "utf-8")
        given.write_text(answer, "utf-8")
        if terminal:
            with Terminal(answer) as opened:
                ended = self._typed(f"{{ . '{block}'; }} <{opened.path} >{opened.path} 2>&1; echo done\n")
            said = opened.printed()
        else:
            ended = self._typed(f"{{ . '{block}'; }} <'{given}' >'{printed}' 2>&1; echo done\n")
            said = printed.read_text("utf-8").replace("\ufeff", "")
        assert ended == "done\n", f"{commands}\n{said}"
        return said

    def _typed(self, line: str) -> str:
        """Type a line, and return what the shell prints when it has ended."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        patience = threading.Timer(PATIENCE, self._process.kill)
        patience.start()
        self._process.stdin.write(line)
        self._process.stdin.flush()
        ended = self._process.stdout.readline()
        patience.cancel()
        return ended


class Terminal:
    """A terminal at which someone answers questions with `y/N`.

    Attributes:
        path: its device.
    """

    def __init__(self, answer: str) -> None:
        self._here, self._there = os.openpty()
        self.path = os.ttyname(self._there)
        self._answer = answer.encode()
        self._seen = bytearray()
        self._reader = threading.Thread(target=self._read, daemon=True)

    def _read(self) -> None:
        """Keep what is printed until the end of the block, and answer."""
        while END not in self._seen:
            self._seen += os.read(self._here, 65536)
            if self._answer and self._seen.endswith(QUESTION):
                os.write(self._here, self._answer)
                self._answer = b""

    def __enter__(self) -> Self:
        """Begin to read."""
        self._reader.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Read to the end."""
        os.write(self._there, END)
        self._reader.join(PATIENCE)
        os.close(self._there)
        os.close(self._here)

    def printed(self) -> str:
        """Return the lines as they look in the end: of a bar that was drawn again and again, the last one."""
        text = CONTROL.sub("", self._seen.removesuffix(END).decode().replace("\r\n", "\n"))
        lines: list[str] = []
        for line in (x.rpartition("\r")[2] for x in text.splitlines() if x.strip()):
            label, bar, _ = line.partition(BAR)
            if bar and lines and lines[-1].startswith(f"{label}{BAR}"):
                lines.pop()
            lines.append(line)
        return "".join(f"{line}\n" for line in lines)


@contextmanager
def shell(folder: Path, notes: Path, **more: str) -> Iterator[Shell]:
    """Open a shell that ends at the first command that fails. `notes`: a folder outside of the checkout.

    Args:
        folder: the checkout.
        notes: an empty folder for what the shell reads and prints.
        more: variables.
    """
    words = ["sh", "-e"]
    with subprocess.Popen(
        words,
        cwd=folder,
        env=plain() | {"COLUMNS": WIDTH} | dict(more),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        yield Shell(process, notes)
        assert process.stdin is not None
        process.stdin.close()
