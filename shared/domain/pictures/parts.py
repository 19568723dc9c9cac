"""Classes that the readers of all formats share."""

import re

from shared.domain.pictures.picture import MAX_SIDE
from shared.frozen import dataclass


class NoPicture(ValueError):
    """A file is no picture that can be shown. The message is a sentence for people."""


@dataclass(frozen=True, slots=True)
class CleanPicture:
    """The kept part of a picture. `width`, `height`: in pixels."""

    width: int
    height: int
    data: bytes


class PictureBytes:
    """A file that is read from its beginning to its end. Each method raises IndexError if the file ends before."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.at = 0

    @property
    def left(self) -> int:
        """How many bytes are left."""
        return len(self._data) - self.at

    def take(self, count: int) -> bytes:
        """Return the next bytes."""
        if count > self.left:
            raise IndexError(count)
        found = self._data[self.at : self.at + count]
        self.at += count
        return found

    def number(self, count: int, *, little: bool = False) -> int:
        """Return the number in the next bytes, the most significant byte first unless it is `little`."""
        return int.from_bytes(self.take(count), "little" if little else "big")

    def until(self, mark: re.Pattern[bytes]) -> bytes:
        """Return the bytes up to the next such mark, which comes next then."""
        found = mark.search(self._data, self.at)
        return self.take(found.start() - self.at if found else self.left + 1)


def sized(width: int, height: int) -> tuple[int, int]:
    """Return dimensions that can be shown. Raises NoPicture for others."""
    if not (0 < width <= MAX_SIDE and 0 < height <= MAX_SIDE):
        raise NoPicture(f"It is {width:,} by {height:,} pixels. A side has 1 to {MAX_SIDE:,}.")
    return width, height
