"""Which recipients a list has had: eight bytes each, so that a million take 16 MB and not 100."""

import sys
from array import array
from collections.abc import Iterable
from hashlib import sha256
from typing import Final

WIDTH: Final = 8
"""Bytes of a recipient's mark. Two of a million recipients share one with a probability of 3 in 10^8."""
_FIRST: Final = 1 << 12
_BATCH: Final = 1024
"""Marks added at a time: the table grows only between two batches."""


def marks_of(keys: Iterable[str]) -> bytes:
    """Return the marks of recipients' keys, one after the other: the beginnings of `addresses.address_hash`."""
    return b"".join([sha256(key.encode()).digest()[:WIDTH] for key in keys])


def _values(marks: bytes) -> "array[int]":
    values = array("Q", marks)
    if sys.byteorder == "little":
        values.byteswap()
    return values


class Seen:
    """A set of marks: a table with open addressing, of which at most five eighths are in use."""

    def __init__(self) -> None:
        self._table = array("Q", bytes(WIDTH * _FIRST))
        self._used = 0
        self._room = _FIRST * 5 // 8

    def __len__(self) -> int:
        return self._used

    def add(self, marks: bytes) -> list[int]:
        """Add consecutive marks; return the places, from 0, of those that were there already."""
        repeated: list[int] = []
        for first in range(0, len(marks), _BATCH * WIDTH):
            values = _values(marks[first : first + _BATCH * WIDTH])
            while self._used + len(values) > self._room:
                self._grow()
            table = self._table
            mask = len(table) - 1
            before = len(repeated)
            for i, value in enumerate(values, first // WIDTH):
                mark = value or 1  # 0 stands for a free place
                at = mark & mask
                while found := table[at]:
                    if found == mark:
                        repeated.append(i)
                        break
                    at = (at + 1) & mask
                else:
                    table[at] = mark
            self._used += len(values) - (len(repeated) - before)
        return repeated

    def having(self, marks: bytes) -> list[int]:
        """Return the places, from 0, of those of some marks that are in the set."""
        table = self._table
        mask = len(table) - 1
        found = []
        for i, value in enumerate(_values(marks)):
            wanted = value or 1
            at = wanted & mask
            while there := table[at]:
                if there == wanted:
                    found.append(i)
                    break
                at = (at + 1) & mask
        return found

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
