"""Whom an account's suppressions keep from a list: asked while it is read.

The log of suppressions is read once for a lease, as hashes, and only hits are looked up by key: a million recipients
cost no reads of their own. What is suppressed later is seen by the sender, at claim.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from shared.domain.addresses import address_hash
from shared.domain.campaigns import Upload
from shared.domain.seen import WIDTH, Seen
from shared.domain.uploads import Skips
from shared.ports import Records

SUPPRESSED: Final = "suppressed"
MOST: Final = 5_000_000
"""Suppressions kept in memory, 64 MB; of an account that has more, each recipient is looked up by key."""


def suppressed(records: Records, upload: Upload) -> Skips:
    """Return what says of a list's recipients which are suppressed."""
    known: Seen | None = None
    loaded = False

    def skips(keys: Sequence[str]) -> Mapping[int, str]:
        nonlocal known, loaded
        if not loaded:
            known, loaded = _known(records, upload.account), True
        asked = keys if known is None else [k for k in keys if _short(address_hash(k)) in known] if len(known) else []
        found = records.suppressed(upload.account, set(asked)) if asked else set()
        return {i: SUPPRESSED for i, key in enumerate(keys) if key in found} if found else {}

    return skips


def _known(records: Records, account: str) -> Seen | None:
    """Return the hashes of all addresses that are or were suppressed; None if they are too many."""
    known = Seen()
    since = 0
    while True:
        recent = records.suppressed_since(account, since)
        for digest in recent.digests:
            known.add(_short(digest))
        if recent.reached is None:
            return known
        if len(known) > MOST or recent.reached == since:
            return None
        since = recent.reached


def _short(digest: str) -> bytes:
    return bytes.fromhex(digest[: 2 * WIDTH])
