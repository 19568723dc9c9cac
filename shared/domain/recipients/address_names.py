"""Names of addresses: keyed hashes, under which a deployment stores what it knows of an address.

A name of generation 0 is the plain SHA-256 of the normalised address, as earlier versions stored it. A thief of such
names can try all numbers. Each key of the deployment begins a generation, whose names are the HMAC-SHA-256 of
those before. So a name can be raised to a later generation without its address, which may be erased. Source:
docs/adr/0258.
"""

import hmac
import string
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import field
from typing import Final

from shared.domain.recipients.addresses import address_digest, address_hash
from shared.domain.sealing import MIN_KEY
from shared.domain.times import Millis
from shared.frozen import dataclass

SWITCH_MS: Final[Millis] = 20 * 60_000
"""After the announcement of a generation its names are written from then on. By then every process has read
the announcement (`KEPT`), and the last invocation of an older version, which takes at most 15 minutes, has ended."""
MOVE_MS: Final[Millis] = SWITCH_MS + 2 * 60_000
"""After the announcement stored names are moved from then on: clocks differ, and a write may take a while."""
PLAIN: Final = 0
"""The generation of names without a key."""
SHORT: Final = 16
"""Hexadecimal digits of a name in the audit log: 64 bits."""
_LETTERS: Final = string.ascii_lowercase[string.ascii_lowercase.index("k") :]
"""A name of generation n begins with the letter n. They sort behind all hexadecimal digits, in order."""
MOST: Final = len(_LETTERS)
"""Generations that there can be."""
_CHECK: Final = b"posthaste check of a key of addresses"
_SHA: Final = "sha256:"
_HMAC: Final = "hmac:"


def generation_of(name: str) -> int:
    """Return the generation of a name."""
    return _LETTERS.find(name[:1]) + 1 if name else PLAIN


def bound(generation: int) -> str:
    """Return the text that names of earlier generations sort before, and those of this and later ones behind."""
    return _LETTERS[generation - 1]


def digits(name: str) -> str:
    """Return the hexadecimal digits of a name, without the letter of its generation."""
    return name if generation_of(name) == PLAIN else name[1:]


def stand_in(name: str) -> str:
    """Return what replaces an erased address: its name, after the word for its kind."""
    return f"{_SHA if generation_of(name) == PLAIN else _HMAC}{name}"


def person(name: str) -> str:
    """Return what the audit log calls a person: 64 bits of their name."""
    return stand_in(name[: len(name) - len(digits(name)) + SHORT])


def is_stand_in(text: str) -> bool:
    """Tell whether a text replaces an erased address."""
    return text.startswith((_SHA, _HMAC))


@dataclass(frozen=True, slots=True)
class NameKeys:
    """The keys of a deployment's names, the oldest first: texts of at least `MIN_KEY` characters.

    Raises:
        ValueError: a key is too short, or they are too many.
    """

    keys: tuple[str, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        if any(len(key) < MIN_KEY for key in self.keys):
            raise ValueError(f"a key has fewer than {MIN_KEY} characters")
        if len(self.keys) > MOST:
            raise ValueError(f"there are more than {MOST} keys")

    def name(self, address: str, generation: int) -> str:
        """Return the name of a normalised address; LookupError if a key of that generation is not known."""
        if generation == PLAIN:
            return address_hash(address)
        return self._raised(address_digest(address), PLAIN, generation)

    def raised(self, name: str, generation: int) -> str:
        """Return the name of the same address in a later generation; a name that is as late stays."""
        own = generation_of(name)
        return name if own >= generation else self._raised(bytes.fromhex(digits(name)), own, generation)

    def _raised(self, digest: bytes, own: int, generation: int) -> str:
        if generation > len(self.keys):
            raise LookupError(f"no key of generation {generation} is known")
        for key in self.keys[own:generation]:
            digest = hmac.digest(key.encode(), digest, "sha256")
        return f"{_LETTERS[generation - 1]}{digest.hex()}"

    @property
    def checks(self) -> tuple[str, ...]:
        """Marks that recognise each key, and say nothing about it."""
        return tuple(hmac.digest(key.encode(), _CHECK, "sha256").hex()[:SHORT] for key in self.keys)


@dataclass(frozen=True, slots=True)
class NamesState:
    """Which generations of names are stored.

    Attributes:
        floor: no name of an earlier generation is stored any more.
        target: no name of a later one is stored yet. While it is above `floor`, names are being moved to it.
        at: when the target was announced, Unix milliseconds.
        checks: of the keys up to the target.
        place: up to which account names were moved.
        moved: entries that were moved to the target, at least: a crash can leave the last ones uncounted.
        ended: when the move had ended, Unix milliseconds; 0: it has not.
    """

    floor: int = PLAIN
    target: int = PLAIN
    at: Millis = 0
    checks: tuple[str, ...] = ()
    place: str = ""
    moved: int = 0
    ended: Millis = 0

    @property
    def settled(self) -> bool:
        """Whether all names are of one generation."""
        return self.floor == self.target

    @property
    def reading(self) -> Sequence[int]:
        """The generations in which a name may be stored, the earliest first.

        Names are moved from an earlier generation to a later one. So a reader of the earlier ones first misses none.
        """
        return range(self.floor, self.target + 1)

    def writing(self, now: Millis) -> int:
        """Return the generation in which new names are stored."""
        return self.target if now >= self.at + SWITCH_MS else self.floor


class Names:
    """The names of a deployment without keys, as those of earlier versions; a store with keys overrides both methods.

    Safe for threads.
    """

    def known(self) -> tuple[NamesState, NameKeys]:
        """Return which generations are stored, as known for at most some minutes, and the keys up to the target."""
        return NamesState(), NameKeys()

    def now(self) -> Millis:
        """Return the moment by which new names get their generation."""
        return 0

    def new(self, address: str) -> str:
        """Return the name under which something new about a normalised address is stored."""
        state, keys = self.known()
        return keys.name(address, state.writing(self.now()))

    def all(self, address: str) -> list[str]:
        """Return the names under which something about a normalised address may be stored, in the order to read in."""
        state, keys = self.known()
        return [keys.name(address, generation) for generation in state.reading]

    def owners(self, addresses: Collection[str]) -> list[Mapping[str, str]]:
        """Return for each generation, in the order to read in, name → normalised address."""
        state, keys = self.known()
        return [{keys.name(x, generation): x for x in addresses} for generation in state.reading]

    def of(self, addresses: Iterable[str], generation: int) -> list[str]:
        """Return the names of normalised addresses in one generation, in order."""
        _, keys = self.known()
        return [keys.name(x, generation) for x in addresses]
