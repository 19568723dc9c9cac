"""Texts that only this deployment can read or make: deterministic authenticated encryption in SIV's form.

The construction is that of Rogaway and Shrimpton 2006, with HMAC-SHA256 and SHAKE256. The tag of a text is also the
nonce of its encryption. So equal texts look equal, and nothing else about them can be learned.
"""

import base64
import hashlib
import hmac
import re
from typing import Final

from shared.frozen import dataclass

MIN_KEY: Final = 32
"""Characters of a key: 62 letters and digits give 190 bits."""
_TAG: Final = 16
"""Bytes of HMAC-SHA256 that are kept: RFC 2104 5 requires at least half of the output, which is 128 bits."""
_TEXT: Final = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys that seal now, and that sealed before: texts of at least `MIN_KEY` characters.

    Attributes:
        current: seals, and opens.
        previous: only opens. A key is kept here as long as texts that it sealed are to be opened.
    """

    current: str
    previous: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if any(len(key) < MIN_KEY for key in (self.current, *self.previous)):
            raise ValueError(f"a key has fewer than {MIN_KEY} characters")


def seal(keys: Keys, use: bytes, payload: bytes) -> str:
    """Return a payload sealed, as base64url.

    Args:
        keys: the deployment's keys; the current one seals.
        use: what the payload is for. `unseal` opens it for the same use only.
        payload: the bytes to seal.
    """
    tag = _tag(keys.current, use, payload)
    return base64.urlsafe_b64encode(tag + _crypt(keys.current, use, tag, payload)).decode().rstrip("=")


def unseal(keys: Keys, use: bytes, text: str) -> bytes | None:
    """Return what was sealed. None unless one of the keys has sealed exactly this for that use.

    Never raises on any string. Comparisons take constant time.

    Args:
        keys: the deployment's keys, current and previous.
        use: what the payload is for.
        text: base64url, as `seal` returned it.
    """
    if not _TEXT.fullmatch(text) or len(text) % 4 == 1:
        return None
    data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    if base64.urlsafe_b64encode(data).decode().rstrip("=") != text:
        return None  # bits that no byte uses were set
    tag, sealed = data[:_TAG], data[_TAG:]
    for key in (keys.current, *keys.previous):
        payload = _crypt(key, use, tag, sealed)
        if hmac.compare_digest(_tag(key, use, payload), tag):
            return payload
    return None


def _tag(key: str, use: bytes, payload: bytes) -> bytes:
    """Return the tag. The use is signed with the payload, so that no other use of the key could ever make it."""
    return hmac.digest(key.encode(), use + b"\0" + payload, "sha256")[:_TAG]


def _crypt(key: str, use: bytes, tag: bytes, text: bytes) -> bytes:
    """Encrypt, or decrypt, under a tag, which is a nonce that only the same text has again.

    A sponge that begins with a key is a pseudorandom function. Source: Bertoni and others, "On the security of the
    keyed sponge construction", 2011.
    """
    n = len(text)
    stream = hashlib.shake_256(use + b" stream\0" + key.encode() + tag).digest(n)
    return (int.from_bytes(text, "big") ^ int.from_bytes(stream, "big")).to_bytes(n, "big")
