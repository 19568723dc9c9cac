"""The reader of pictures: the bucket, and pictures that this process has read within a minute."""

import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Final, Protocol

from shared import contracts
from shared.adapters.aws import Aws
from shared.adapters.clock import SystemClock
from shared.adapters.s3.files import CONFIG
from shared.adapters.s3.pictures import S3Pictures
from shared.frozen import dataclass

KEPT_BYTES: Final = 32 * 1024 * 1024
"""Of pictures that a process keeps."""
KEPT_SECONDS: Final = 60
"""After which a picture is read again: so long a deleted one may still be answered."""
PLACE_BYTES: Final = 200
"""Bytes that a name takes, also one without a picture."""


class PictureFiles(Protocol):
    """Files by their names."""

    def get(self, name: str) -> bytes | None:
        """Return a file; None if there is none. Raises Retriable."""


@dataclass(frozen=True, slots=True)
class _Kept:
    data: bytes | None
    until: float

    @property
    def size(self) -> int:
        return PLACE_BYTES + len(self.data or b"")


class KeptPictures:
    """Files, of which the ones asked for last are kept for a minute. For one request at a time, as Lambda gives them.

    Args:
        clock: seconds that only grow.
    """

    def __init__(self, files: PictureFiles, clock: Callable[[], float] = time.monotonic) -> None:
        self._files = files
        self._clock = clock
        self._kept: OrderedDict[str, _Kept] = OrderedDict()
        self._size = 0

    def get(self, name: str) -> bytes | None:
        """Return a file; None if there is none. Raises Retriable."""
        now = self._clock()
        found = self._kept.pop(name, None)
        if found is not None:
            self._size -= found.size
        if found is None or found.until <= now:
            found = _Kept(self._files.get(name), now + KEPT_SECONDS)
        self._kept[name] = found
        self._size += found.size
        while self._size > KEPT_BYTES:
            self._size -= self._kept.popitem(last=False)[1].size
        return found.data


def build(environment: Mapping[str, str]) -> KeptPictures:
    """Build what reads pictures."""
    client = Aws().later("s3", CONFIG)
    return KeptPictures(S3Pictures(lambda: client, environment[contracts.ENV_BUCKET], SystemClock()))
