"""Files that a command reads: their text or JSON, or what is wrong with them."""

import json
import sys
from pathlib import Path
from typing import Any

from cli.errors import Misused


def text_of(file: Path) -> str:
    """Return a file's text, `-` for stdin, without a byte order mark; Misused if it cannot be read or is not UTF-8."""
    try:
        raw = sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()
        return raw.decode("utf-8-sig")
    except OSError as error:
        raise Misused(f"cannot read {file}: {error.strerror}") from None
    except ValueError:
        raise Misused(f"{file} is not UTF-8 text") from None


def json_of(file: Path) -> Any:
    """Return what a file of JSON holds, `-` for stdin; Misused if it cannot be read or is none."""
    try:
        return json.loads(text_of(file))
    except ValueError as error:
        raise Misused(f"{file} is not JSON: {error}") from None
