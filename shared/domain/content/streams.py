"""Bytes that are too many to be held at once."""

from collections.abc import Iterator
from typing import Protocol


class Stream(Protocol):
    """Bytes that are read while they are written; each walk over them gives the same. Safe for threads."""

    @property
    def size(self) -> int:
        """The number of bytes."""
        ...

    def __iter__(self) -> Iterator[bytes]:
        """Walk the bytes in blocks of about 1 MB at most."""
        ...


Body = bytes | tuple[bytes, ...] | Stream
"""Bytes whole, in parts, or as they are read."""


def size_of(body: Body) -> int:
    """Return the number of bytes."""
    if isinstance(body, bytes):
        return len(body)
    return sum(map(len, body)) if isinstance(body, tuple) else body.size


def whole(body: Body) -> bytes:
    """Return the bytes as one."""
    return body if isinstance(body, bytes) else b"".join(body)
