"""The recipients that an account's suppressions and unsubscriptions keep from a list, checked while it is read.

Their logs are read once for a lease, as marks, and only the keys of hits are read. So a million recipients cost no
reads of their own. The sender finds later suppressions, at claim.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import groupby
from typing import Final

from shared.domain.namespaces import is_team
from shared.domain.recipients.address_names import digits, generation_of
from shared.domain.recipients.hashes import WIDTH, Seen
from shared.domain.recipients.suppressions import AnyReach
from shared.ports import Records

MOST: Final = 5_000_000
"""Addresses kept in memory, 64 MB. If an account has more, the key of each recipient is read."""


class Unwanted:
    """`uploads.Skips` of an account's live or test keys.

    Args:
        reaches: the lists that apply to the list's messages.
    """

    def __init__(self, records: Records, namespace: str, reaches: Collection[AnyReach]) -> None:
        self._records = records
        self._namespace = namespace
        self._reaches = reaches
        self._known: dict[int, Seen] | None = None
        self._loaded = False

    def suspects(self, keys: Sequence[str]) -> Collection[int]:
        """Return the places of recipients that are or were suppressed, or share such a mark; all if those are too many.

        All recipients of team keys' lists are suspects, since most of them are no guests.
        """
        if is_team(self._namespace):
            return range(len(keys))
        if not self._loaded:
            self._known, self._loaded = self._load(), True
        if self._known is None:
            return range(len(keys))
        found: set[int] = set()
        for generation, seen in self._known.items():
            found.update(seen.having(_marks(self._records.names_of(keys, generation))))
        return found

    def codes(self, keys: Sequence[str]) -> Mapping[int, str]:
        """Return the code of each recipient that is suppressed now, by its place."""
        found = self._records.suppressed(self._namespace, set(keys), self._reaches)
        return {i: found[key].code for i, key in enumerate(keys) if key in found}

    def _load(self) -> dict[int, Seen] | None:
        """Return the marks of all recipients that are or were suppressed, by the generation of their names.

        None if they are too many.
        """
        known: dict[int, Seen] = {}
        for reach in self._reaches:
            since = 0
            while True:
                recent = self._records.suppressed_since(self._namespace, since, reach=reach)
                for generation, names in groupby(recent.names, generation_of):
                    known.setdefault(generation, Seen()).add(_marks(names))
                if recent.reached is None:
                    break
                if sum(map(len, known.values())) > MOST or recent.reached == since:
                    return None
                since = recent.reached
        return known


def _marks(names: Iterable[str]) -> bytes:
    """Return the marks of names of one generation: the beginnings of their digits."""
    return b"".join([bytes.fromhex(digits(name)[: 2 * WIDTH]) for name in names])
