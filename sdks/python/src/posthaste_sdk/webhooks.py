"""Webhooks of Posthaste, which follow Standard Webhooks: checked before they are believed."""

import base64
import binascii
import hashlib
import hmac
import json
import time
from collections.abc import Callable, Mapping
from typing import Any, Final, NotRequired, TypedDict

from posthaste_sdk.errors import WebhookError

PREFIX: Final = "whsec_"
FIELDS: Final = frozenset({"type", "timestamp", "data"})
TOLERANCE: Final = 300
"""Seconds by which the clocks of both sides may differ."""
MAX_DIGITS: Final = 11
"""Of Unix seconds in this millennium: a number of thousands of digits is no time."""


class WebhookEvent(TypedDict):
    """What happened. The same event can come again: remember the ids that you have worked on."""

    id: NotRequired[str]
    type: str
    timestamp: str
    data: dict[str, Any]


class Webhook:
    """Checks the requests of one endpoint.

    Args:
        secret: as it was shown when the endpoint was made, `whsec_…`.
        tolerance: seconds that a request may be old, or ahead.
        now: returns Unix seconds.
    """

    def __init__(self, secret: str, *, tolerance: int = TOLERANCE, now: Callable[[], float] = time.time) -> None:
        try:
            self._key = base64.b64decode(secret.removeprefix(PREFIX), validate=True)
        except (binascii.Error, ValueError):
            raise ValueError("this is not an endpoint's secret: it is `whsec_` and base64") from None
        if not self._key:
            raise ValueError("the endpoint's secret is empty")
        self._tolerance = tolerance
        self._now = now

    def verify(self, body: bytes | str, headers: Mapping[str, str]) -> Any:
        """Check a request and return its JSON.

        Args:
            body: as it came, not parsed and written again.
            headers: of the request; their names in any case.

        Raises:
            WebhookError: the request is not of this endpoint, was changed, or is too old.
        """
        found = {name.lower(): value for name, value in headers.items()}
        values = [found.get(f"webhook-{name}", "") for name in ("id", "timestamp", "signature")]
        if not all(values):
            raise WebhookError("the request has no signature")
        name, at, signatures = values
        known = at.isascii() and at.isdigit() and len(at) <= MAX_DIGITS
        if not known or abs(self._now() - int(at)) > self._tolerance:
            raise WebhookError("the request is too old, or the clocks differ")
        raw = _bytes(body) if isinstance(body, str) else body
        wanted = hmac.new(self._key, _bytes(f"{name}.{at}.") + raw, hashlib.sha256).digest()
        if not any(hmac.compare_digest(_signature(each), wanted) for each in signatures.split()):
            raise WebhookError("the signature is not of this endpoint's secret")
        try:
            return json.loads(raw)
        except ValueError:
            raise WebhookError("the request is not JSON") from None

    def events(self, body: bytes | str, headers: Mapping[str, str]) -> list[WebhookEvent]:
        """Check a request and return its events, each with its id: one, or those of a batch.

        Args:
            body: as it came.
            headers: of the request.

        Raises:
            WebhookError: the request is not of this endpoint, was changed, or is too old.
        """
        found = self.verify(body, headers)
        if not isinstance(found, dict) or not found.keys() >= FIELDS:
            raise WebhookError("the request is no event")
        if found.get("type") == "batch":
            return list(found["data"])
        name = next(value for header, value in headers.items() if header.lower() == "webhook-id")
        at, data = found["timestamp"], found["data"]
        return [{"id": name, "type": found["type"], "timestamp": at, "data": data}]


def _bytes(text: str) -> bytes:
    """Return a text as UTF-8; what cannot be written so, such as half a surrogate pair, was not signed."""
    return text.encode("utf-8", "replace")


def _signature(text: str) -> bytes:
    """Return the bytes of a signature of version 1, nothing for any other."""
    version, _, signature = text.partition(",")
    try:
        return base64.b64decode(signature, validate=True) if version == "v1" else b""
    except (binascii.Error, ValueError):
        return b""
