"""The numbers that rows of a list have in their file, kept with a chunk: a byte or three, and two for each gap.

They rise, so they are stretches without a gap. The first number comes first. Then, by turns, come the length of a
stretch and the count of numbers in the gap behind it. The last length is left out. Each is an unsigned LEB128.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise


def pack(numbers: Sequence[int]) -> bytes:
    """Serialise numbers that rise; empty for none."""
    if not numbers:
        return b""
    out = [numbers[0]]
    length = 1
    for before, here in pairwise(numbers):
        if here - before > 1:
            out += [length, here - before - 1]
            length = 0
        length += 1
    return b"".join(map(_leb128, out))


def number_at(data: bytes, index: int) -> int:
    """Return the number at a place, from 0; 0 if none are kept."""
    values = _values(data)
    number = next(values, 0) + index
    if data:
        for length, gap in zip(values, values, strict=False):
            if index < length:
                break
            index -= length
            number += gap
    return number if data else 0


def place_of(data: bytes, number: int, size: int) -> int | None:
    """Return the place that has a number, or the next one that is kept; None if all are lower, or none are kept.

    Args:
        size: how many numbers there are.
    """
    return next((i for i in range(size) if number_at(data, i) >= number), None) if data else None


def _leb128(value: int) -> bytes:
    out = bytearray()
    while value > 127:  # noqa: PLR2004 - seven bits in each byte
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def _values(data: bytes) -> Iterator[int]:
    value = shift = 0
    for byte in data:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:  # noqa: PLR2004 - the last byte of a value
            yield value
            value = shift = 0
