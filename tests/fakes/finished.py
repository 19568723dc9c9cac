"""Finished messages in memory."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import md5

from shared.domain.content.content import Finished
from shared.domain.content.streams import Stream
from shared.ports import FileChanged
from tests.fakes.clock import FakeClock


@dataclass(frozen=True)
class Bytes:
    """Bytes in blocks that are small enough to be several."""

    data: bytes
    block: int = 1000

    @property
    def size(self) -> int:
        return len(self.data)

    def __iter__(self) -> Iterator[bytes]:
        for at in range(0, len(self.data), self.block):
            yield self.data[at : at + self.block]


class FakeMessages:
    """`ports.FinishedMessages` in memory.

    Attributes:
        items: what is stored.
        seconds: that reading takes.
        fault: raised by the next that reads.
        open_now: messages that are at hand.
    """

    def __init__(self, clock: FakeClock) -> None:
        self._clock = clock
        self.items: dict[str, bytes] = {}
        self.seconds = 0.0
        self.fault: Exception | None = None
        self.open_now = 0

    def put(self, name: str, data: bytes, mail_from: str = "bounces@sender.example") -> Finished:
        self.items[name] = data
        return Finished(mail_from, name, _etag(data), len(data))

    @contextmanager
    def open(self, finished: Finished) -> Iterator[Stream]:
        fault, self.fault = self.fault, None
        if fault is not None:
            raise fault
        self._clock.sleep(self.seconds)
        data = self.items.get(finished.name)
        if data is None or _etag(data) != finished.etag:
            raise FileChanged(finished.name)
        self.open_now += 1
        try:
            yield Bytes(data)
        finally:
            self.open_now -= 1


def _etag(data: bytes) -> str:
    return md5(data, usedforsecurity=False).hexdigest()
