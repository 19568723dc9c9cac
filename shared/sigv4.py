"""AWS Signature Version 4 of requests without a query, with only the standard library.

Source: docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html. botocore's own signer builds
a request object for each signature, at ten times the price; a test holds the two together.
"""

import hashlib
import hmac
import time
from dataclasses import field
from typing import Final
from urllib.parse import quote, urlsplit

from shared.domain.times import Seconds
from shared.frozen import dataclass

EMPTY_HASH: Final = hashlib.sha256(b"").hexdigest()
"""Of a request without a body."""
_ALGORITHM: Final = "AWS4-HMAC-SHA256"
_STANDARD: Final = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class AwsKeys:
    """Keys that sign requests to AWS. `token`: of temporary ones."""

    access_key: str
    secret_key: str = field(repr=False)
    token: str = field(default="", repr=False)


class Signer:
    """Signs requests to one URL; safe for threads.

    Args:
        url: whole, without a query.
        region: of the service, as `eu-central-1`.
        service: its signing name, as `ses`.
        target: the header `X-Amz-Target`, which names the operation in some protocols; empty: none.
    """

    def __init__(
        self, url: str, *, region: str, service: str, content_type: str, target: str = "", method: str = "POST"
    ) -> None:
        parts = urlsplit(url)
        host = parts.hostname or ""
        if parts.port not in (None, _STANDARD.get(parts.scheme)):
            host = f"{host}:{parts.port}"
        self._type = content_type
        self._target = target
        self._scope = f"{region}/{service}/aws4_request"
        self._region, self._service = region, service
        self._head = f"{method}\n{quote(parts.path or '/', safe='/~')}\n\ncontent-type:{content_type}\nhost:{host}\n"
        self._kept: tuple[tuple[str, str], bytes] = (("", ""), b"")

    def headers(self, keys: AwsKeys, body_hash: str, now: Seconds) -> dict[str, str]:
        """Return the headers of one request, beside Host.

        Args:
            body_hash: SHA-256 of the whole body in hexadecimal.
            now: Unix seconds; AWS refuses a signature that is 5 minutes off.
        """
        at = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(now))
        day = at[:8]
        named, token = "content-type;host;x-amz-date", ""
        if keys.token:
            named, token = f"{named};x-amz-security-token", f"x-amz-security-token:{keys.token}\n"
        if self._target:
            named, token = f"{named};x-amz-target", f"{token}x-amz-target:{self._target}\n"
        request = f"{self._head}x-amz-date:{at}\n{token}\n{named}\n{body_hash}"
        digest = hashlib.sha256(request.encode()).hexdigest()
        text = f"{_ALGORITHM}\n{at}\n{day}/{self._scope}\n{digest}"
        signature = hmac.digest(self._key(keys.secret_key, day), text.encode(), "sha256").hex()
        made = {
            "Content-Type": self._type,
            "X-Amz-Date": at,
            "Authorization": f"{_ALGORITHM} Credential={keys.access_key}/{day}/{self._scope}, "
            f"SignedHeaders={named}, Signature={signature}",
        }
        if keys.token:
            made["X-Amz-Security-Token"] = keys.token
        if self._target:
            made["X-Amz-Target"] = self._target
        return made

    def _key(self, secret: str, day: str) -> bytes:
        """Return the day's signing key; two threads may both derive it."""
        known, key = self._kept
        if known != (secret, day):
            key = f"AWS4{secret}".encode()
            for part in (day, self._region, self._service, "aws4_request"):
                key = hmac.digest(key, part.encode(), "sha256")
            self._kept = ((secret, day), key)
        return key
