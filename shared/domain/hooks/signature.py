"""Headers of deliveries: signatures, as Standard Webhooks has them, and the secrets behind them.

No secret is stored: each is derived from the deployment's master secret, the endpoint's id and a version.
"""

import base64
import hashlib
import hmac
from collections.abc import Sequence
from typing import Final

USER_AGENT: Final = "Posthaste-Hooks/1"
"""Firewalls refuse requests without one. The number is of the form of deliveries: operators may have allowed it."""
_PREFIX: Final = "whsec_"


def secret_of(master: str, endpoint: str, version: int) -> str:
    """Return an endpoint's secret: `whsec_` and 32 bytes as base64.

    Args:
        version: of the secret, from 1.
    """
    return _PREFIX + base64.b64encode(_digest(master.encode(), f"hook:{endpoint}:{version}".encode())).decode()


def post_headers(delivery: str, at: int, body: bytes, secrets: Sequence[str]) -> dict[str, str]:
    """Return all headers of a delivery.

    Args:
        at: Unix seconds of the attempt.
        body: what is posted.
        secrets: as `secret_of` returns them; each signs.
    """
    said = {"content-type": "application/json", "accept": "*/*", "user-agent": USER_AGENT}
    return {**said, **signed_headers(delivery, at, body, secrets)}


def signed_headers(delivery: str, at: int, body: bytes, secrets: Sequence[str]) -> dict[str, str]:
    """Return the headers that let a receiver check a delivery.

    Args:
        at: Unix seconds of the attempt.
        body: what is posted.
        secrets: as `secret_of` returns them; each signs.
    """
    signed = f"{delivery}.{at}.".encode() + body
    signatures = [base64.b64encode(_digest(base64.b64decode(x[len(_PREFIX) :]), signed)).decode() for x in secrets]
    return {
        "webhook-id": delivery,
        "webhook-timestamp": str(at),
        "webhook-signature": " ".join(f"v1,{x}" for x in signatures),
    }


def _digest(key: bytes, message: bytes) -> bytes:
    return hmac.new(key, message, hashlib.sha256).digest()
