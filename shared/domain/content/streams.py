"""Bytes that are too many to be held at once."""

import base64
from collections.abc import Iterator
from typing import Protocol

from shared.frozen import dataclass


class Stream(Protocol):
    """Bytes that are read while they are written; each walk over them gives the same. Safe for threads."""

    @property
    def size(self) -> int:
        """The number of bytes."""

    def __iter__(self) -> Iterator[bytes]:
        """Walk the bytes in blocks of about 1 MB at most."""


@dataclass(frozen=True, slots=True)
class Framed:
    """A stream between other bytes. Implements `Stream`."""

    before: bytes
    inner: Stream
    after: bytes

    @property
    def size(self) -> int:
        """The number of bytes."""
        return len(self.before) + self.inner.size + len(self.after)

    def __iter__(self) -> Iterator[bytes]:
        yield self.before
        yield from self.inner
        yield self.after


@dataclass(frozen=True, slots=True)
class InBase64:
    """A stream in base64 (RFC 4648 4), as one line. Implements `Stream`."""

    inner: Stream

    @property
    def size(self) -> int:
        """The number of bytes in base64."""
        return (self.inner.size + 2) // 3 * 4

    def __iter__(self) -> Iterator[bytes]:
        held = b""
        for block in self.inner:
            data = held + block
            end = len(data) - len(data) % 3
            held = data[end:]
            yield base64.b64encode(data[:end])
        yield base64.b64encode(held)


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
