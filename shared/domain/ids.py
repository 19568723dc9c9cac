"""Identifiers: of jobs, time-ordered, and of attempts, carried by the provider and back."""

import re
import secrets
from dataclasses import dataclass
from typing import Final

ALPHABET: Final = "0123456789abcdefghjkmnpqrstvwxyz"
"""Crockford's base32 in lower case: sorts like the number it stands for and has no look-alikes."""
_VALUES: Final = {c: i for i, c in enumerate(ALPHABET)}
SMALL: Final = "u"
"""Ends the id of a job whose ledger is in its own item. No other id has it: it is not in the alphabet."""
UNLISTED: Final = "o"
"""Ends the id of such a job that the index of open jobs has only once the job has waited."""
_STANDARD: Final = str.maketrans(ALPHABET, "0123456789abcdefghijklmnopqrstuv")
"""To the digits that `int` reads."""
_MINUTE_MS: Final = 60_000
_TIME: Final = 10
"""The first characters of an id: its time."""
_ID: Final = r"[0-9a-hjkmnp-tv-z]{25}[0-9a-hjkmn-z]"
_JOB: Final = re.compile(_ID)
_REF: Final = re.compile(rf"({_ID})-(\d{{1,5}})-(\d{{1,3}})-([1-9]|1[0-5])")
MAX_SHOWN: Final = 64
"""Characters of a client's name for a thing that are repeated."""
_LINE: Final = re.compile(r"(\d{1,5})\.(\d{1,3})")


def new_id(now_ms: int, random: int | None = None) -> str:
    """Return 26 lower-case base32 characters: 48 bits of Unix milliseconds, then 80 random bits."""
    value = (now_ms << 80) | (secrets.randbits(80) if random is None else random)
    return "".join(ALPHABET[(value >> shift) & 31] for shift in range(125, -1, -5))


def small_id(name: str, *, listed: bool = False) -> str:
    """Return the id of a job whose ledger is in its own item, made of an id by `new_id`.

    Args:
        listed: whether the index of open jobs has it from the first, as in earlier versions.
    """
    return name[:-1] + (SMALL if listed else UNLISTED)


def is_small(job: str) -> bool:
    """Tell whether a job's ledger is in its own item."""
    return job.endswith((SMALL, UNLISTED))


def is_unlisted(job: str) -> bool:
    """Tell whether the index of open jobs has a job only once the job has waited."""
    return job.endswith(UNLISTED)


def minute_of(job: str) -> int:
    """Return the minute in which an id was made, since 1970; the text is an id."""
    return _ms(job) // _MINUTE_MS


def is_id(text: str) -> bool:
    """Tell whether the text has the form of an id made by `new_id` or `small_id`."""
    return _JOB.fullmatch(text) is not None


def named(what: str, name: str) -> str:
    """Return a text for the thing that was not found: its kind with its name, unless the name is long or not printable.

    Args:
        what: the kind, as in `campaign`.
        name: as the client gave it.
    """
    return f"{what} {name}" if 0 < len(name) <= MAX_SHOWN and name.isprintable() else f"such {what}"


def made_at(name: str) -> int:
    """Return when an id was made, in Unix milliseconds.

    Raises:
        ValueError: the text is no id.
    """
    if not is_id(name):
        raise ValueError("not an id")
    return _ms(name)


def _ms(name: str) -> int:
    return int(name[:_TIME].translate(_STANDARD), 32)


def pack_id(name: str) -> bytes:
    """Return an id in 17 bytes: its first 25 characters as a number, then the last one."""
    value = 0
    for c in name[:-1]:
        value = value << 5 | _VALUES[c]
    return value.to_bytes(16) + name[-1:].encode()


def unpack_id(data: bytes) -> str:
    """Read what `pack_id` wrote."""
    value = int.from_bytes(data[:16])
    return "".join(ALPHABET[value >> shift & 31] for shift in range(120, -1, -5)) + data[16:].decode()


@dataclass(frozen=True, slots=True, order=True)
class Ref:
    """One attempt to deliver one message. Its text has no dots: SES refuses them in tag values."""

    job: str
    chunk: int
    index: int
    attempt: int

    def __str__(self) -> str:
        return f"{self.job}-{self.chunk}-{self.index}-{self.attempt}"

    @classmethod
    def parse(cls, text: str) -> "Ref | None":
        """Read a ref; None if it is not one (somebody else's mail through the same provider account)."""
        m = _REF.fullmatch(text)
        return cls(m[1], int(m[2]), int(m[3]), int(m[4])) if m else None


def message_id(chunk: int, index: int) -> str:
    """Return the name of a message within its job, `chunk.index`."""
    return f"{chunk}.{index}"


def parse_message_id(text: str) -> tuple[int, int] | None:
    """Read `chunk.index`; None if the text is something else."""
    m = _LINE.fullmatch(text)
    return (int(m[1]), int(m[2])) if m else None
