"""How large an upload is: halved after each one that a link did not carry, and an eighth larger after each that it did.

So at most one upload of seven fails by its size, and a link that became better is used again.
"""

from typing import Final

LEAST: Final = 1_024
"""Bytes. A record of any size is uploaded, so a payload of one record may be larger."""
MOST: Final = 1_000_000
"""Bytes, far below the 5 MB that the hub takes: a larger upload is no faster, and costs more when it is cut off."""
FIRST: Final = 64 * 1_024
MAX_RECORDS: Final = 10_000
"""Records that the hub takes at once."""


def smaller(limit: int) -> int:
    """Return the limit, in bytes, after an upload that the link did not carry."""
    return max(LEAST, limit // 2)


def larger(limit: int, carried: int) -> int:
    """Return the limit, in bytes, after an upload that was answered.

    Args:
        limit: the present one.
        carried: bytes of the upload; one below half of the limit shows nothing about larger ones.
    """
    return min(MOST, limit + limit // 8) if carried * 2 >= limit else limit


def fitting(sizes: list[int], limit: int) -> int:
    """Return how many records make the next payload: as many as the limit allows, at least one.

    Args:
        sizes: bytes of each record, in order.
        limit: bytes of the payload, brackets and commas included.
    """
    total = 1
    for n, size in enumerate(sizes):
        total += size + 1
        if n and (total > limit or n >= MAX_RECORDS):
            return n
    return len(sizes)
