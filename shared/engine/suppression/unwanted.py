"""The recipients that an account's suppressions and unsubscriptions keep from a list, checked while it is read.

Their logs are read once for a lease, as marks, and only the keys of hits are read. So a million recipients cost no
reads of their own. The sender finds later suppressions, at claim.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from shared.domain.namespaces import is_team
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
        self._known: Seen | None = None
        self._loaded = False

    def suspects(self, marks: bytes) -> Collection[int]:
        """Return the places of recipients that are or were suppressed, or share such a mark; all if those are too many.

        All recipients of team keys' lists are suspects, since most of them are no guests.
        """
        if is_team(self._namespace):
            return range(len(marks) // WIDTH)
        if not self._loaded:
            self._known, self._loaded = self._load(), True
        return range(len(marks) // WIDTH) if self._known is None else self._known.having(marks)

    def codes(self, keys: Sequence[str]) -> Mapping[int, str]:
        """Return the code of each recipient that is suppressed now, by its place."""
        found = self._records.suppressed(self._namespace, set(keys), self._reaches)
        return {i: found[key].code for i, key in enumerate(keys) if key in found}

    def _load(self) -> Seen | None:
        """Return the marks of all recipients that are or were suppressed; None if they are too many."""
        known = Seen()
        for reach in self._reaches:
            since = 0
            while True:
                recent = self._records.suppressed_since(self._namespace, since, reach=reach)
                known.add(b"".join([bytes.fromhex(digest[: 2 * WIDTH]) for digest in recent.digests]))
                if recent.reached is None:
                    break
                if len(known) > MOST or recent.reached == since:
                    return None
                since = recent.reached
        return known
