"""An OpenID issuer: its document of discovery and its signing keys, both kept for a while.

Sources: OpenID Connect Discovery 1.0 (3, 4), RFC 7517 (keys), RFC 9207 (whether it names itself when it sends a browser
back).
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlsplit

from joserfc.errors import JoseError
from joserfc.jwk import JWKRegistry, Key, KeySet, RSAKey

from shared.adapters.http.transport import parse
from shared.adapters.sign_in.wire import WireSession
from shared.frozen import dataclass
from shared.ports import Clock
from shared.ports.people import NotSignedIn

WELL_KNOWN: Final = "/.well-known/openid-configuration"
KEEP_SECONDS: Final = 3600.0
"""For which the document and the keys are used without asking again."""
PAUSE_SECONDS: Final = 60.0
"""Between two requests for keys that are made because a signature fits none."""
FAILED_SECONDS: Final = 10.0
"""For which a document that cannot be used is not asked for again: strangers can begin sign-ins."""
KEY_TYPES: Final = frozenset({"RSA", "EC"})
"""Public keys. A shared secret has no place among them."""
MAX_KEYS: Final = 100
"""Keys of a set that are read: each costs time, and issuers have a handful."""
RSA_BITS: Final = 2048
"""A shorter RSA key verifies nothing (RFC 7518 3.3)."""
HEADERS: Final = {"Accept": "application/json", "User-Agent": "posthaste"}


@dataclass(frozen=True, slots=True)
class IssuerMetadata:
    """The metadata that an issuer publishes about itself.

    Attributes:
        authorization: where browsers are sent.
        token: where a code becomes tokens.
        keys: of its signing keys.
        userinfo: more claims of a person; empty: there is no such endpoint.
        names_itself: whether it adds `iss` when it sends a browser back.
        scopes: that it lists.
        secret_in_form: whether the client's secret goes into the form, because no header is taken.
    """

    authorization: str
    token: str
    keys: str
    userinfo: str
    names_itself: bool
    scopes: frozenset[str]
    secret_in_form: bool


class TrustedIssuer:
    """The issuer that the settings name.

    Args:
        address: its identifier, letter by letter as in its tokens.
    """

    def __init__(self, address: str, wire: WireSession, clock: Clock) -> None:
        self.address = address
        self._wire = wire
        self._clock = clock
        self._metadata: tuple[float, IssuerMetadata] | None = None
        self._failed: tuple[float, str] | None = None
        self._keys: tuple[float, KeySet] | None = None

    def metadata(self) -> IssuerMetadata:
        """Return what the issuer publishes about itself.

        Raises:
            NotSignedIn: it does not answer, or the document is another issuer's or incomplete.
        """
        now, kept, failed = self._clock.now(), self._metadata, self._failed
        if kept is not None and now - kept[0] <= KEEP_SECONDS:
            return kept[1]
        if failed is not None and now - failed[0] <= FAILED_SECONDS:
            raise NotSignedIn(failed[1])
        try:
            found = self._read(self._wire.read(self.address.rstrip("/") + WELL_KNOWN, headers=HEADERS))
        except NotSignedIn as fault:
            self._failed = (now, str(fault))
            raise
        self._metadata = (now, found)
        return found

    def keys(self, *, fresh: bool = False) -> KeySet:
        """Return the keys that the issuer signs with.

        Args:
            fresh: ask again, unless that was done within a minute.

        Raises:
            NotSignedIn: it does not answer, or has no key that can be used.
        """
        now, kept = self._clock.now(), self._keys
        longest = PAUSE_SECONDS if fresh else KEEP_SECONDS
        if kept is None or now - kept[0] > longest:
            self._keys = kept = (now, _public(self._wire.read(self.metadata().keys, headers=HEADERS)))
        return kept[1]

    def _read(self, found: Any) -> IssuerMetadata:
        if not isinstance(found, dict) or found.get("issuer") != self.address:
            raise NotSignedIn("issuer_differs")
        methods = _texts(found.get("token_endpoint_auth_methods_supported"))
        return IssuerMetadata(
            authorization=self._endpoint(found, "authorization_endpoint"),
            token=self._endpoint(found, "token_endpoint"),
            keys=self._endpoint(found, "jwks_uri"),
            userinfo=self._endpoint(found, "userinfo_endpoint") if "userinfo_endpoint" in found else "",
            names_itself=found.get("authorization_response_iss_parameter_supported") is True,
            scopes=_texts(found.get("scopes_supported")),
            secret_in_form="client_secret_post" in methods and "client_secret_basic" not in methods,
        )

    def _endpoint(self, found: Mapping[str, Any], name: str) -> str:
        """Return an endpoint, which TLS protects like the issuer itself."""
        address = found.get(name)
        safe = ("https",) if self.address.startswith("https://") else ("https", "http")
        if not isinstance(address, str) or not _requestable(address, safe):
            raise NotSignedIn("issuer_incomplete")
        return address


def _requestable(address: str, schemes: Sequence[str]) -> bool:
    """Tell whether an address names a host and a path, neither a user nor a place in a page."""
    try:
        parse(address)
    except ValueError:
        return False
    parts = urlsplit(address)
    return parts.scheme in schemes and "@" not in parts.netloc and "#" not in address


def _public(found: Any) -> KeySet:
    """Return the keys of a set that verify signatures. A key of an unknown form is left out: others may be in use."""
    rows = found.get("keys") if isinstance(found, dict) else None
    listed = rows[:MAX_KEYS] if isinstance(rows, list) else []
    some = [key for row in listed if (key := _key(row)) is not None]
    if not some:
        raise NotSignedIn("issuer_without_keys")
    return KeySet(some)


def _key(row: Any) -> Key | None:
    if not isinstance(row, dict) or row.get("kty") not in KEY_TYPES or row.get("use", "sig") != "sig":
        return None
    try:
        key = JWKRegistry.import_key(row)
    except (JoseError, ValueError, KeyError, TypeError):  # what a malformed key makes the library raise
        return None
    weak = isinstance(key, RSAKey) and key.public_key.key_size < RSA_BITS
    return None if weak else key


def _texts(found: Any) -> frozenset[str]:
    return frozenset(x for x in found if isinstance(x, str)) if isinstance(found, list) else frozenset()
