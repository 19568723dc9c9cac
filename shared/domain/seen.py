"""Which recipients a list has had: eight bytes each, so that a million take 16 MB and not 100."""

from array import array
from hashlib import blake2b
from typing import Final

WIDTH: Final = 8
"""Bytes of a recipient's mark. Two of a million recipients share one with a probability of 3 in 10^8."""
_FIRST: Final = 1 << 12


def mark_of(key: str) -> bytes:
    """Return the mark of a recipient's key, the same in every process."""
    return blake2b(key.encode(errors="surrogatepass"), digest_size=WIDTH).digest()


class Seen:
    """A set of marks: a table with open addressing, of which at most five eighths are in use."""

    def __init__(self) -> None:
        self._table = array("Q", bytes(WIDTH * _FIRST))
        self._used = 0
        self._room = _FIRST * 5 // 8

    def __len__(self) -> int:
        return self._used

    def add(self, mark: bytes) -> bool:
        """Add a mark; returns False if it was there already."""
        value = int.from_bytes(mark, "big") or 1  # 0 stands for a free place
        table = self._table
        mask = len(table) - 1
        at = value & mask
        while found := table[at]:
            if found == value:
                return False
            at = (at + 1) & mask
        table[at] = value
        self._used += 1
        if self._used > self._room:
            self._grow()
        return True

    def __contains__(self, mark: bytes) -> bool:
        value = int.from_bytes(mark, "big") or 1
        table = self._table
        mask = len(table) - 1
        at = value & mask
        while found := table[at]:
            if found == value:
                return True
            at = (at + 1) & mask
        return False

    def load(self, marks: bytes) -> None:
        """Add all the marks that stand in `marks`, one after the other."""
        add = self.add
        for i in range(0, len(marks), WIDTH):
            add(marks[i : i + WIDTH])

    def _grow(self) -> None:
        old = self._table
        self._table = table = array("Q", [0]) * (len(old) * 2)
        self._room = len(table) * 5 // 8
        mask = len(table) - 1
        for value in old:
            if value:
                at = value & mask
                while table[at]:
                    at = (at + 1) & mask
                table[at] = value
