"""Whom an account's suppressions and unsubscriptions keep from a list: asked while it is read.

Their logs are read once for a lease, as hashes, and only hits are looked up by key: a million recipients cost no reads
of their own. What comes later is seen by the sender, at claim.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from shared.domain.addresses import address_digest
from shared.domain.seen import WIDTH, Seen
from shared.domain.suppressions import Reach
from shared.domain.uploads import Skips
from shared.ports import Records

MOST: Final = 5_000_000
"""Addresses kept in memory, 64 MB; of an account that has more, each recipient is looked up by key."""


def unwanted(records: Records, account: str, reaches: Collection[Reach]) -> Skips:
    """Return what says of a list's recipients who is not to be sent to. `reaches`: what its messages have to heed."""
    known: Seen | None = None
    loaded = False

    def skips(keys: Sequence[str]) -> Mapping[int, str]:
        nonlocal known, loaded
        if not loaded:
            known, loaded = _known(records, account, reaches), True
        asked = set(keys) if known is None else _hits(known, keys)
        found = records.suppressed(account, asked, reaches) if asked else {}
        return {i: found[key].code for i, key in enumerate(keys) if key in found} if found else {}

    return skips


def _hits(known: Seen, keys: Sequence[str]) -> set[str]:
    if not len(known):
        return set()
    return {keys[i] for i in known.having(b"".join([address_digest(key)[:WIDTH] for key in keys]))}


def _known(records: Records, account: str, reaches: Collection[Reach]) -> Seen | None:
    """Return the hashes of all who are or were suppressed; None if they are too many."""
    known = Seen()
    for reach in reaches:
        since = 0
        while True:
            recent = records.suppressed_since(account, since, reach=reach)
            known.add(b"".join(map(_short, recent.digests)))
            if recent.reached is None:
                break
            if len(known) > MOST or recent.reached == since:
                return None
            since = recent.reached
    return known


def _short(digest: str) -> bytes:
    return bytes.fromhex(digest[: 2 * WIDTH])
