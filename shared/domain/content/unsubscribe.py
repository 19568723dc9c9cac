"""Tokens of unsubscription links: each names a person, and the account whose mail they no longer want.

A token holds everything itself, sealed, and nothing is stored for it. It must work years after its mail, when the job's
items are removed. Its fields are sealed, so that no log of links contains an address. It ends with the version's digit,
so that programs that find links in plain text never take its last character for punctuation. Source: docs/adr/0038.
"""

import re
from typing import Final

from shared.domain.sealing import Keys, seal, unseal
from shared.domain.times import Millis
from shared.frozen import dataclass

PATH: Final = "/unsubscribe/"
"""Where links lead, below the deployment's public address."""
MAX_TOKEN: Final = 800
"""Characters. The longest address takes 420, the longest prefix of a policy 270; a header line has 998, with the
address before the token."""
UNDO_MS: Final = 24 * 3600 * 1000
"""For how long an unsubscription can be taken back by its own link. An old mail must not undo what came since."""
ONE_CLICK: Final = "one_click"
PAGE: Final = "page"
"""Reasons of an unsubscription by a link: the mailbox provider's button, and the page's."""
_VERSION: Final = "1"
_USE: Final = b"posthaste unsubscribe 1"
_TEXT: Final = re.compile(r"([A-Za-z0-9_-]+)" + _VERSION)
_LIVE, _TEST = b"L", b"T"


@dataclass(frozen=True, slots=True)
class Unsubscription:
    """What a link says.

    Attributes:
        account: whose mail is no longer wanted.
        address: the recipient's normalised key.
        job: where the link came from.
        test: of a test key's job: following it changes nothing.
        policy: of a digest, the prefix of its policy: the digests of no other are meant, and no campaign.
    """

    account: str
    address: str
    job: str
    test: bool = False
    policy: str = ""


def undoable(wanted: Unsubscription, *, reason: str, job: str, at: int, now: Millis) -> bool:
    """Tell whether a link takes an entry back: only one that this very link made, within UNDO_MS.

    Args:
        wanted: what the link says; the entry is of its account and address.
        job: whose link made the entry, or empty.
        at: Unix milliseconds of the entry.
    """
    return reason in (ONE_CLICK, PAGE) and job == wanted.job and now - at <= UNDO_MS


def sign(keys: Keys, wanted: Unsubscription) -> str:
    """Return the token, the same every time, of letters, digits, `-` and `_`.

    Raises:
        ValueError: a field is empty, is too long, or contains a NUL character.
    """
    fields = (wanted.account, wanted.job, wanted.address, *((wanted.policy,) if wanted.policy else ()))
    if not all(fields) or any("\0" in x for x in fields):
        raise ValueError("an unsubscription needs account, job and address, without NUL")
    payload = (_TEST if wanted.test else _LIVE) + "\0".join(fields).encode()
    token = seal(keys, _USE, payload) + _VERSION
    if len(token) > MAX_TOKEN:
        raise ValueError("an unsubscription's fields are too long")
    return token


def read(keys: Keys, token: str) -> Unsubscription | None:
    """Return the content of a token; None unless one of the keys has sealed exactly this token.

    Never raises on any string. Comparisons take constant time.
    """
    match = _TEXT.fullmatch(token) if len(token) <= MAX_TOKEN else None
    payload = unseal(keys, _USE, match[1]) if match is not None else None
    if payload is None:
        return None
    account, job, address, *rest = payload[1:].decode().split("\0")
    return Unsubscription(account, address, job, test=payload[:1] == _TEST, policy=rest[0] if rest else "")
