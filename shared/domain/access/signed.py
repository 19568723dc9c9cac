"""Signatures of HTTP requests (RFC 9421) by Ed25519, as a client may send them: read, and the text that they sign.

Only what this API takes: one signature, by components without parameters. All else is refused with its reason.
"""

import base64
import binascii
import hashlib
import hmac
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final
from urllib.parse import quote

from shared.domain.times import Seconds
from shared.frozen import dataclass

LATE_S: Final[Seconds] = 300
"""For so long after it was made a signature is taken."""
EARLY_S: Final[Seconds] = 60
"""By so much a client's clock may be ahead."""
ALGORITHM: Final = "ed25519"
MAX_HEADER: Final = 2000
PUBLIC_BYTES: Final = 32
_KEY_ID: Final = re.compile(r"[0-9a-f]{64}")
_INPUT: Final = re.compile(
    r'\s*([a-z*][a-z0-9_.*-]*)=(\(("[^"\\]+"(?: "[^"\\]+")*)?\)((?:;[a-z]+=(?:"[^"\\]*"|\d{1,15}))*))\s*'
)
_PARAMETER: Final = re.compile(r';([a-z]+)=(?:"([^"\\]*)"|(\d{1,15}))')
_SIGNATURE: Final = re.compile(r"\s*([a-z*][a-z0-9_.*-]*)=:([A-Za-z0-9+/=]+):\s*")
_DIGEST: Final = re.compile(r"\s*(sha-256|sha-512)=:([A-Za-z0-9+/=]+):\s*")
_SAFE: Final = ("/-._~", "/-._~!$&'()*+,;=:@")
"""Characters of a path that clients leave as they are: only those that they must, or all that they may (RFC 3986)."""


@dataclass(frozen=True, slots=True)
class RequestSignature:
    """A signature as a request carries it.

    Attributes:
        components: what it covers, in order: headers in lower case, and `@method` and the like.
        parameters: the list of components with its parameters, as the client wrote it.
        created: Unix seconds.
        expires: Unix seconds, 0 if the client names no end.
        key: the `keyid`: SHA-256 of the public key, hex.
        signature: the bytes.
    """

    components: tuple[str, ...]
    parameters: str
    created: int
    expires: int
    key: str
    signature: bytes

    @classmethod
    def read(cls, covered: str, given: str) -> "RequestSignature":
        """Read the headers `Signature-Input` and `Signature`.

        Raises:
            ValueError: they are not what this API takes; its text says what is wrong.
        """
        short = max(len(covered), len(given)) <= MAX_HEADER
        found, made = _INPUT.fullmatch(covered) if short else None, _SIGNATURE.fullmatch(given)
        if found is None or made is None or found[1] != made[1]:
            raise ValueError("Send one signature, in Signature-Input and Signature, by components without parameters.")
        components = tuple(re.findall(r'"([^"]+)"', found[3] or ""))
        if len(set(components)) < len(components):
            raise ValueError("A component is covered twice.")
        said = _parameters(found[4])
        return cls(
            components, found[2], int(said["created"]), int(said.get("expires", 0)), said["keyid"], _bytes(made[2])
        )

    def fault(self, now: Seconds, needed: Sequence[str]) -> str:
        """Return what is wrong with its time, or with what it covers; empty if nothing is.

        Args:
            needed: components that it has to cover.
        """
        if not now - LATE_S <= self.created <= now + EARLY_S:
            return f"`created` is more than {LATE_S:.0f} s ago, or ahead of this API's clock."
        if self.expires and now >= self.expires:
            return "The signature has expired."
        missing = [name for name in needed if name not in self.components]
        return f"The signature does not cover {', '.join(missing)}." if missing else ""

    def bases(self, values: Mapping[str, str], path: str) -> Iterator[bytes]:
        """Yield the texts that it may sign: one for each way in which a client may have written the path.

        Args:
            values: component → value, all but the path.
            path: decoded, as API Gateway gives it.

        Raises:
            ValueError: a component is not there.
        """
        for written in dict.fromkeys((path, *(quote(path, safe=safe) for safe in _SAFE))):
            yield self._base({**values, "@path": written})

    def _base(self, values: Mapping[str, str]) -> bytes:
        lines = []
        for name in self.components:
            if name not in values:
                raise ValueError(f"The signature covers {name}, which the request does not have.")
            lines.append(f'"{name}": {values[name].strip()}')
        return "\n".join((*lines, f'"@signature-params": {self.parameters}')).encode()


def _parameters(text: str) -> dict[str, str]:
    """Return the parameters of a signature, of which `created`, `expires`, `keyid` and `alg` are valid."""
    said = {name: quoted or number for name, quoted, number in _PARAMETER.findall(text)}
    if said.get("alg", ALGORITHM) != ALGORITHM:
        raise ValueError(f"The algorithm is {ALGORITHM}.")
    if not said.get("created", "").isdigit() or not said.get("expires", "0").isdigit():
        raise ValueError("`created` is missing: the time of the signature in Unix seconds.")
    if not _KEY_ID.fullmatch(said.get("keyid", "")):
        raise ValueError("`keyid` is the SHA-256 of the public key, 64 hexadecimal digits.")
    return said


def needed_components(*, query: bool, body: bool, repeats: bool) -> tuple[str, ...]:
    """Return what a signature has to cover.

    Args:
        query: the request has a query.
        body: it has a body.
        repeats: it does something once more when it is sent again, unless it has an Idempotency-Key.
    """
    more = ("@query",) * query + ("content-digest",) * body + ("idempotency-key",) * repeats
    return ("@method", "@authority", "@path", *more)


def is_digest_of(header: str, body: bytes) -> bool:
    """Tell whether a header `Content-Digest` (RFC 9530) is that of a body: one digest, by SHA-256 or SHA-512."""
    found = _DIGEST.fullmatch(header)
    if found is None:
        return False
    made = hashlib.new(found[1].replace("-", ""), body).digest()
    try:
        return hmac.compare_digest(_bytes(found[2]), made)
    except ValueError:
        return False


def public_key_of(text: str) -> bytes:
    """Return the bytes of a public key from their base64.

    Raises:
        ValueError: it is none of Ed25519.
    """
    try:
        found = _bytes(text.strip())
    except ValueError:
        found = b""
    if len(found) != PUBLIC_BYTES:
        raise ValueError("A public key of Ed25519 is the base64 of 32 bytes.")
    return found


def key_id_of(public: bytes) -> str:
    """Return the `keyid` of a public key, which is also the digest that its API key is stored by."""
    return hashlib.sha256(public).hexdigest()


def _bytes(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("The base64 of a signature cannot be read.") from None
