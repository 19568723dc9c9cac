"""Signed requests: which key has signed one, and whether it has.

The signature covers method, authority, path, query and body. It is taken for five minutes. Where a repeat would do
something more, the signature also covers an Idempotency-Key, so a repeat of the whole request gets the first answer.
So nothing has to be remembered of a signature.
"""

from typing import Final

from shared.domain.access.signed import RequestSignature, is_digest_of, needed_components
from shared.domain.times import Seconds
from shared.web.http import Request
from shared.web.routing import Route

INPUT: Final = "signature-input"
DIGEST: Final = "content-digest"


def is_signed(request: Request) -> bool:
    """Tell whether a request says that it is signed."""
    return INPUT in request.headers


def signature_of(request: Request, route: Route, now: Seconds) -> RequestSignature:
    """Return the signature of a request, which is not checked yet, but covers what it has to.

    Raises:
        ValueError: it does not; the text says what is wrong.
    """
    found = RequestSignature.read(request.headers[INPUT], request.headers.get("signature", ""))
    repeats = route.idempotent and request.method != "GET"
    needed = needed_components(query=bool(request.raw_query), body=bool(request.body), repeats=repeats)
    fault = found.fault(now, needed)
    if not fault and request.body and not is_digest_of(request.headers.get(DIGEST, ""), request.body):
        fault = "Content-Digest is not that of the body."
    if fault:
        raise ValueError(fault)
    return found


def check(found: RequestSignature, public: bytes, request: Request) -> None:
    """Check that a signature of a request is one by a public key.

    Args:
        public: empty for a key that does not sign.

    Raises:
        ValueError: it is not, or covers something that the request does not have.
    """
    from cryptography.exceptions import InvalidSignature  # noqa: PLC0415 - other callers need no such code
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey  # noqa: PLC0415

    values = {
        **request.headers,
        "@method": request.method,
        "@authority": request.headers.get("host", "").lower().removesuffix(":443"),
        "@query": f"?{request.raw_query}",
    }
    for base in found.bases(values, request.path) if public else ():
        try:
            Ed25519PublicKey.from_public_bytes(public).verify(found.signature, base)
        except InvalidSignature:
            continue
        return
    raise ValueError("The signature is not one of this key over this request.")
