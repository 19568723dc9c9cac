"""What commands print, kept in `tests/cli/printed/`: a change of a word is seen by whoever reads the change.

`PRINTED=write` writes the files anew. Names, times and addresses that differ from run to run are masked.
"""

import fcntl
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from cli.output import REPLACEMENT
from tests.cli.fakes import Done

FOLDER: Final = Path(__file__).parent / "printed"
PROMPT: Final = "$ posthaste "
HEAD: Final = 3
"""Lines above the rows of a table: the exit code, the stream, the names of the columns."""
MASKS: Final[Mapping[str, str]] = {
    r"ph_(?:live|team|test|pass)_[\w-]+": "KEY",
    r"acc_[0-9a-z]{12}": "ACCOUNT",
    r"whsec_[\w+/=]+": "SECRET",
    r"hook_[0-9a-z]{26}": "HOOK",
    r"\b\d{13}\.evt_[0-9a-f]{32}": "EVENT",
    r"\b[0-9a-f]{32}\b": "HEX",
    r"\b[0-9a-f]{16}\b": "KEYID",
    r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b": "UUID",
    r"\b(?=[0-9a-z]*\d)[0-9a-z]{26}\b": "ID",
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d| UTC)?": "TIME",
    r"(?<!\d)\d\d:\d\d:\d\d(?!\d)": "CLOCK",
    r"127\.0\.0\.1:\d+": "HOST",
    r"\d+ s off AWS's": "SKEW off AWS's",
}


def masked(done: Done, *, stage: str = "", folder: Path | None = None, ordered: bool = True) -> str:
    """Return what a command printed, on both streams, without what differs from run to run.

    Args:
        done: the command's end.
        stage: the deployment's stage, if it has a random name.
        folder: the current folder.
        ordered: whether the rows of the table have one order; if not, they are sorted.
    """
    text = f"exit code {done.code}\n"
    for name, stream in (("stdout", done.out), ("stderr", done.err)):
        text += f"--- {name}\n{stream}" if stream else ""
    for what, mask in ((str(folder or ""), "FOLDER"), (stage, "STAGE")):
        text = text.replace(what, mask) if what else text
    for pattern, mask in MASKS.items():
        text = re.sub(pattern, mask, text)
    lines = [re.sub(r" {2,}", "  ", line).rstrip() for line in text.splitlines()]
    return "\n".join(lines if ordered else [*lines[:HEAD], *sorted(lines[HEAD:])]) + "\n"


def check(kind: str, command: tuple[str, ...], text: str) -> None:
    """Assert that a command prints what it did. `kind`: the file, such as `defaults`."""
    assert REPLACEMENT not in text, "a line break in the middle of a line"
    file, name = FOLDER / f"{kind}.txt", " ".join(command)
    if os.environ.get("PRINTED") == "write":
        _write(file, name, text)
    known = _sections(file.read_text(encoding="utf-8"))
    assert name in known, "run it once with PRINTED=write, and read what it wrote"
    assert text == known[name]


def _sections(text: str) -> dict[str, str]:
    """Return what each command prints, by the command's words."""
    found = (part.partition("\n") for part in text.split(PROMPT)[1:])
    return {name: rest.removesuffix("\n") for name, _, rest in found}


def _write(file: Path, name: str, text: str) -> None:
    file.parent.mkdir(exist_ok=True)
    with file.open("a+", encoding="utf-8") as kept:
        fcntl.flock(kept, fcntl.LOCK_EX)
        kept.seek(0)
        known = _sections(kept.read()) | {name: text}
        kept.truncate(0)
        kept.write("".join(f"{PROMPT}{name}\n{known[name]}\n" for name in sorted(known)))
