"""Files to and from presigned addresses: streamed, repeated when a connection is lost, never with the API key.

A presigned address is a secret of its own: it is not shown.
"""

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final
from urllib.parse import urlsplit

from urllib3 import BaseHTTPResponse
from urllib3.exceptions import HTTPError
from urllib3.util import Timeout

from cli.client import PAUSES, connections
from cli.environment import is_loopback
from cli.errors import CommandError, Failed, Misused, Unreachable
from cli.output import tell

if TYPE_CHECKING:
    from shared.ports import Clock

MAX_BYTES: Final = 5_000_000_000
"""The most that one PUT to S3 takes is 5 GB (Amazon S3 User Guide, "Uploading objects")."""
BLOCK: Final = 256 * 1024
TIMEOUT: Final = Timeout(connect=5.0, read=120.0)
"""S3 answers a PUT when it has stored all of it."""

NO_PLACE: Final = "the answer names no address of a file: does POSTHASTE_URL name a Posthaste API?"

Moved = Callable[[int, int], None]
"""Told how many bytes have passed, of how many."""


def measured(file: Path, most: int = MAX_BYTES, what: str = "list") -> int:
    """Return the size of a file that is to be uploaded.

    Args:
        file: that is to be uploaded.
        most: the most bytes that it may have.
        what: what such a file is.

    Raises:
        Misused: it cannot be read, is empty or is too large.
    """
    if file.exists() and not file.is_file():
        raise Misused(f"{file} is not a file: its size must be known before it is uploaded")
    try:
        with file.open("rb") as source:
            size = os.fstat(source.fileno()).st_size
    except OSError as error:
        raise Misused(f"cannot read {file}: {error.strerror}") from None
    if not size:
        raise Misused(f"{file} is empty")
    if size > most:
        raise Misused(f"{file} has {size:,} bytes; a {what} has {most:,} at most")
    return size


def upload(file: Path, place: Mapping[str, Any], clock: "Clock", moved: Moved, *, again: bool = False) -> str:
    """Put a file where the API said; return its ETag without quotes, empty if it was there.

    Args:
        file: read anew for each try.
        place: `url`, `method` and `headers`, as the API gave them.
        clock: to wait by before a repeat.
        moved: told of the progress; it may go back when the upload is repeated.
        again: an earlier run may have put this file there.

    Raises:
        CommandError: the file cannot be read or changed meanwhile, or the place does not take it.
    """
    url, headers = trusted(place.get("url")), place.get("headers")
    if place.get("method") != "PUT" or not isinstance(headers, dict):
        raise Failed(NO_PLACE)
    size = measured(file)
    fields = {str(name): str(value) for name, value in headers.items()} | {"Content-Length": str(size)}

    def once() -> BaseHTTPResponse:
        with file.open("rb") as source:
            return _request("PUT", url, body=_blocks(source, size, moved), headers=fields)

    answer = _patient(once, "upload", clock, again=again)
    return answer.headers.get("ETag", "").strip('"')


def download(url: object, target: Path, clock: "Clock", moved: Moved) -> None:
    """Fetch a file. It appears under its name only when it is complete, and replaces a file of that name.

    Args:
        url: the download URL, as the API returned it; anything but a string with https (or a loopback http) is refused.
        moved: called with the bytes read so far and the whole size in bytes, 0 if unknown.
    """
    source = trusted(url)
    draft = target.with_name(target.name + ".part")

    def once() -> BaseHTTPResponse:
        answer = _request("GET", source, headers={}, preload_content=False)
        if answer.status < 300:  # noqa: PLR2004
            total = int(answer.headers.get("Content-Length", 0))
            with draft.open("wb") as sink:
                for block in answer.stream(BLOCK):
                    sink.write(block)
                    moved(sink.tell(), total)
        return answer

    try:
        _patient(once, "download", clock)
        draft.replace(target)
    except OSError as error:
        raise Misused(f"cannot write {target}: {error.strerror}") from None
    finally:
        with contextlib.suppress(OSError):
            draft.unlink(missing_ok=True)


def _request(method: str, url: str, **more: Any) -> BaseHTTPResponse:
    return connections(url).request(method, url, timeout=TIMEOUT, retries=False, redirect=False, **more)


def _patient(
    once: Callable[[], BaseHTTPResponse], what: str, clock: "Clock", *, again: bool = False
) -> BaseHTTPResponse:
    """Try until the store has an answer that a repeat would not change, a few times at most.

    A place takes one file: 412 after a try whose answer was lost means that this one is stored. 409: the lost try is
    still being stored.

    Args:
        clock: to wait by before a repeat.
        again: an earlier run may have made a try.
    """
    pauses = iter(PAUSES)
    repeated = again
    while True:
        try:
            answer = once()
        except HTTPError:
            why = "connection lost"
        else:
            if answer.status < 300 or (repeated and answer.status == 412):  # noqa: PLR2004 - HTTP's own numbers
                return answer
            if answer.status < 500 and answer.status != 409:  # noqa: PLR2004
                raise _refused(answer, what)
            why = f"the store answered {answer.status}"
        pause = next(pauses, None)
        if pause is None:
            raise Unreachable(f"the {what} failed: {why}; check the network and try again")
        tell(f"{why}; trying again in {pause:g} s")
        clock.sleep(pause)
        repeated = True


def _refused(answer: BaseHTTPResponse, what: str) -> CommandError:
    expired = " (its address may have run out)" if answer.status == 403 else ""  # noqa: PLR2004
    return Failed(f"the {what} was refused: HTTP {answer.status}{expired}; try again")


def _blocks(source: BinaryIO, size: int, moved: Moved) -> Iterator[bytes]:
    """Yield a file's bytes, exactly as many as it had."""
    done = 0
    while block := source.read(min(BLOCK, size - done)):
        yield block
        done += len(block)
        moved(done, size)
    if done < size or source.read(1):
        raise Failed("the file changed while it was read: try again when no program writes to it")


def trusted(url: object) -> str:
    """Return a presigned address; Failed if it is none, or would be used without encryption."""
    parts = urlsplit(url) if isinstance(url, str) else urlsplit("")
    host = parts.hostname or ""
    if not host or parts.scheme not in ("https", "http") or (parts.scheme == "http" and not is_loopback(host)):
        raise Failed(NO_PLACE)
    return str(url)
