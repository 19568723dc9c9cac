"""Files that a command reads: their text, or what is wrong with them."""

import sys
from pathlib import Path

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
