"""The base of simulated vendors. A vendor's own files have its routes, its checks and the shapes of its answers."""

import base64
import binascii
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any, ClassVar
from uuid import UUID

from simulator.model import Answer, Context, Reply, Request


class Refused(Exception):
    """A request that the vendor refuses. `reply`: its answer."""

    def __init__(self, text: str, reply: Reply) -> None:
        super().__init__(text)
        self.reply = reply


class Vendor(ABC):
    """The parts of `simulator.model.Provider` that vendors share."""

    outcomes: ClassVar[Mapping[str, tuple[str, ...]]]
    """Behaviour → the vendor's events, in their natural order."""
    per_post = 1
    wants: tuple[bytes, ...] = (b"accept", b"user-agent")

    def receive(self, request: Request, context: Context) -> Answer:
        """Answer a call; see `Provider.receive`."""
        try:
            return self._answer(request, context)
        except Refused as e:
            return Answer(e.reply)

    @abstractmethod
    def _answer(self, request: Request, context: Context) -> Answer:
        """Answer a call, or raise `Refused`."""

    def words(self, behaviour: str) -> tuple[str, ...]:
        """Return the events of a behaviour; see `Provider.words`."""
        return self.outcomes[behaviour]


# Answers and posts


def reply(status: int, body: Any, kind: str = "application/json", *, spaced: bool = False) -> Reply:
    """Return an answer in JSON. `spaced`: with spaces after commas and colons, as some vendors write it."""
    text = json.dumps(body, separators=None if spaced else (",", ":"))
    return Reply(status, [(b"content-type", kind.encode())], text.encode())


def later(answer: Reply, retry_after: float) -> Reply:
    """Add `Retry-After`, in seconds, to an answer."""
    answer.headers.append((b"retry-after", f"{retry_after:g}".encode()))
    return answer


def posted(value: Any) -> bytes:
    """Return the body of a webhook's post: compact JSON in UTF-8."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def iso(at: float, timespec: str = "milliseconds") -> str:
    """Return Unix seconds as ISO 8601 in UTC. `timespec`: as of `datetime.isoformat`."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec=timespec).replace("+00:00", "Z")


# Ids and secrets


def uuid(text: str) -> str:
    """Return the UUID that belongs to a text."""
    return str(UUID(bytes=sha256(text.encode()).digest()[:16], version=4))


def hexadecimal(text: str) -> str:
    """Return 32 hexadecimal digits that belong to a text."""
    return sha256(text.encode()).hexdigest()[:32]


def kept(path: Path | None, make: Callable[[], str]) -> str:
    """Return the secret in a file, made there (mode 0600) if missing; made up if path is None."""
    if path is not None and path.exists():
        return path.read_text(encoding="ascii").strip()
    made = make()
    if path is not None:
        path.touch(0o600)
        path.write_text(made, encoding="ascii")
    return made


# Authorization


def bearer(request: Request) -> str:
    """Return the key of a bearer authorization; empty if there is none."""
    scheme, _, key = request.header(b"authorization").partition(" ")
    return key if scheme.lower() == "bearer" else ""


def basic(request: Request) -> str:
    """Return `user:password` of a basic authorization; empty if there is none."""
    scheme, _, encoded = request.header(b"authorization").partition(" ")
    if scheme.lower() != "basic":
        return ""
    try:
        return base64.b64decode(encoded, validate=True).decode()
    except (binascii.Error, ValueError):
        return ""
