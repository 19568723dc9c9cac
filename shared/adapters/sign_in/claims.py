"""The claims about a person in an issuer's tokens, after their signature and their purpose are verified.

Sources: OpenID Connect Core 1.0 (3.1.3.7 ID token validation, 5.1 standard claims, 5.3.2 UserInfo), RFC 8725 (which
algorithms).
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from authlib.oidc.core import CodeIDToken
from joserfc import jwt
from joserfc.errors import BadSignatureError, ClaimError, InvalidKeyIdError, JoseError
from joserfc.jws import JWSRegistry

from shared.adapters.sign_in.issuer import TrustedIssuer
from shared.contracts.console import of_domain, of_group
from shared.domain.people import is_login
from shared.frozen import dataclass
from shared.ports.people import NotSignedIn

ALGORITHMS: Final = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512")
"""Signatures by the issuer's own key. None is no signature, and HMAC's key is known to both sides."""
LEEWAY: Final = 60
"""Seconds by which the issuer's clock may differ."""
MAX_SUBJECT: Final = 255
MAX_NAME: Final = 200
_ESSENTIAL: Final = ("sub", "exp", "iat", "nonce")

Claims = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Purpose:
    """The sign-in that an ID token must be for.

    Attributes:
        client: it was made for this client.
        nonce: it was made for this sign-in.
        access_token: that came with it.
        now: Unix seconds.
    """

    client: str
    nonce: str
    access_token: str
    now: int


def verified(token: str, issuer: TrustedIssuer, purpose: Purpose) -> dict[str, Any]:
    """Return the claims of an ID token.

    Args:
        token: as the token endpoint gave it.
        issuer: that must have signed it.
        purpose: what it has to be for.

    Raises:
        NotSignedIn: the signature is not the issuer's, or the token is for another client, sign-in or time.
    """
    try:
        found = _signed(token, issuer)
        options: dict[str, dict[str, Any]] = {name: {"essential": True} for name in _ESSENTIAL}
        options["iss"] = {"essential": True, "value": issuer.address}
        options["aud"] = {"essential": True, "value": purpose.client}
        expected = {"nonce": purpose.nonce, "client_id": purpose.client, "access_token": purpose.access_token}
        CodeIDToken(found.claims, found.header, options, expected).validate(now=purpose.now, leeway=LEEWAY)
    except ClaimError as wrong:
        raise NotSignedIn(f"id_token_{wrong.claim}") from None
    except (JoseError, ValueError, KeyError, TypeError):  # what a malformed token makes the libraries raise
        raise NotSignedIn("id_token_signature") from None
    if not 0 < len(found.claims["sub"]) <= MAX_SUBJECT:
        raise NotSignedIn("id_token_sub")
    return dict(found.claims)


def _signed(token: str, issuer: TrustedIssuer) -> jwt.Token:
    """Return a token that the issuer has signed; its keys are read again if none fits, as after a rotation."""
    registry = JWSRegistry(algorithms=ALGORITHMS, strict_check_header=False)
    try:
        return jwt.decode(token, issuer.keys(), registry=registry)
    except (BadSignatureError, InvalidKeyIdError):
        return jwt.decode(token, issuer.keys(fresh=True), registry=registry)


def login_of(sources: Sequence[Claims]) -> str:
    """Return the name by which a person signs in; empty: there is none.

    Args:
        sources: the claims of the ID token, then those of the UserInfo endpoint.
    """
    names = [_text(claims, "preferred_username") for claims in sources]
    return next(filter(is_login, [*names, email_of(sources)]), "")


def email_of(sources: Sequence[Claims]) -> str:
    """Return the e-mail address that the issuer has verified; empty: there is none. `sources`: as for `login_of`."""
    proven = (_text(claims, "email") for claims in sources if claims.get("email_verified") is True)
    return next(filter(None, proven), "")


def name_of(sources: Sequence[Claims]) -> str:
    """Return the person's name, for people, without what turns or hides text. `sources`: as for `login_of`."""
    found = next(filter(None, (_text(claims, "name") for claims in sources)), "")
    return "".join(filter(str.isprintable, found))[:MAX_NAME]


def organizations_of(sources: Sequence[Claims], groups_claim: str) -> frozenset[str]:
    """Return groups, and the domain of the verified address, as the settings name them.

    Args:
        sources: as for `login_of`.
        groups_claim: the name of the claim with the groups.
    """
    given = next((claims[groups_claim] for claims in sources if groups_claim in claims), ())
    groups = [given] if isinstance(given, str) else given if isinstance(given, list) else ()
    found = {of_group(name) for name in groups if isinstance(name, str) and name}
    return frozenset(found | set(map(of_domain, _domain(email_of(sources)))))


def _domain(email: str) -> list[str]:
    """Return the domain of a plain address; of one of another form none, since readers could differ about it."""
    local, _, domain = email.partition("@")
    return [domain] if local and domain and domain.isascii() and "@" not in domain else []


def _text(claims: Claims, name: str) -> str:
    value = claims.get(name)
    return value if isinstance(value, str) else ""
