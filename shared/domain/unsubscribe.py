"""Tokens of unsubscription links: who no longer wants mail of which account. Source: docs/adr/0038.

A token says all by itself, sealed, and nothing is stored for it: it must work years after its mail, when the job's
items have long gone. It is base64url of a tag and the fields encrypted under it (deterministic authenticated encryption
in SIV's form, Rogaway and Shrimpton 2006, of HMAC-SHA256 and SHAKE256), so that no address stands in any log of links.
It ends with the version's digit, so that programs which find links in plain text never take its last character for
punctuation.
"""

import base64
import hashlib
import hmac
import re
from dataclasses import dataclass
from typing import Final

PATH: Final = "/unsubscribe/"
"""Where links lead, below the deployment's public address."""
MAX_TOKEN: Final = 640
"""Characters. The longest address takes 420; a header line has 998, with the address before the token."""
MIN_KEY: Final = 32
"""Characters of a key: 62 letters and digits give 190 bits."""
_VERSION: Final = "1"
_CONTEXT: Final = b"posthaste unsubscribe 1\0"
"""Signed with the fields, so that no other use of the key could ever make a token."""
_STREAM: Final = b"posthaste unsubscribe 1 stream\0"
"""Before the key and the tag that the stream is made of. A sponge that begins with a key is a pseudorandom function:
Bertoni et al., "On the security of the keyed sponge construction", 2011."""
_TAG: Final = 16
"""Bytes of HMAC-SHA256 that are kept: RFC 2104 5 asks for half of it at the least, which is 128 bits."""
_TEXT: Final = re.compile(r"([A-Za-z0-9_-]+)" + _VERSION)
_LIVE, _TEST = b"L", b"T"


@dataclass(frozen=True, slots=True)
class Keys:
    """What signs tokens, and what has signed them before; texts of at least `MIN_KEY` characters.

    Attributes:
        current: signs, and verifies.
        previous: verify alone. A key is kept here as long as links that it signed shall work.
    """

    current: str
    previous: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if any(len(key) < MIN_KEY for key in (self.current, *self.previous)):
            raise ValueError(f"a key has fewer than {MIN_KEY} characters")


@dataclass(frozen=True, slots=True)
class Unsubscription:
    """What a link says.

    Attributes:
        account: whose mail is no longer wanted.
        address: the recipient's normalised key.
        job: where the link came from.
        test: of a test key's job: following it changes nothing.
    """

    account: str
    address: str
    job: str
    test: bool = False


def sign(keys: Keys, wanted: Unsubscription) -> str:
    """Return the token, the same every time, of letters, digits, `-` and `_`.

    Raises:
        ValueError: a field is empty, too long or has a NUL character in it.
    """
    fields = (wanted.account, wanted.job, wanted.address)
    if not all(fields) or any("\0" in x for x in fields):
        raise ValueError("an unsubscription needs account, job and address, without NUL")
    payload = (_TEST if wanted.test else _LIVE) + "\0".join(fields).encode()
    tag = _tag(keys.current, payload)
    sealed = tag + _crypt(keys.current, tag, payload)
    token = base64.urlsafe_b64encode(sealed).decode().rstrip("=") + _VERSION
    if len(token) > MAX_TOKEN:
        raise ValueError("an unsubscription's fields are too long")
    return token


def read(keys: Keys, token: str) -> Unsubscription | None:
    """Return what a token says; None unless it is, to the last bit, one that one of the keys has signed.

    Never raises on any string. What is compared is compared in constant time.
    """
    match = _TEXT.fullmatch(token) if len(token) <= MAX_TOKEN else None
    if match is None or len(match[1]) % 4 == 1:
        return None
    data = base64.urlsafe_b64decode(match[1] + "=" * (-len(match[1]) % 4))
    if base64.urlsafe_b64encode(data).decode().rstrip("=") != match[1]:
        return None  # bits that no byte uses were set
    tag, sealed = data[:_TAG], data[_TAG:]
    for key in (keys.current, *keys.previous):
        payload = _crypt(key, tag, sealed)
        if hmac.compare_digest(_tag(key, payload), tag):
            account, job, address = payload[1:].decode().split("\0")
            return Unsubscription(account, address, job, test=payload[:1] == _TEST)
    return None


def _tag(key: str, payload: bytes) -> bytes:
    return hmac.digest(key.encode(), _CONTEXT + payload, "sha256")[:_TAG]


def _crypt(key: str, tag: bytes, text: bytes) -> bytes:
    """Encrypt, or decrypt, under a tag, which is a nonce that only the same text has again."""
    n = len(text)
    stream = hashlib.shake_256(_STREAM + key.encode() + tag).digest(n)
    return (int.from_bytes(text, "big") ^ int.from_bytes(stream, "big")).to_bytes(n, "big")
