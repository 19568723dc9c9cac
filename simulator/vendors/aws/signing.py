"""Shared by the services of AWS: the signature of a call.

Source: docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html. botocore makes the
signature.
"""

import hmac
import re
import time
from datetime import UTC, datetime
from typing import Final

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from simulator.model import Context, Request

SECRET_KEY: Final = "simulator-secret-access-key"  # noqa: S105 - of an account that does not exist
SKEW: Final = 300.0
_CREDENTIAL: Final = re.compile(
    r"AWS4-HMAC-SHA256 Credential=([^/\s]+)/(\d{8})/([a-z0-9-]+)/([a-z0-9-]+)/aws4_request, ?"
    r"SignedHeaders=([a-z0-9;-]+), ?Signature=([0-9a-f]{64})"
)


def refused(request: Request, context: Context, *, provider: str, service: str) -> tuple[str, str] | None:
    """Return the name and the text of the error of a call whose signature does not hold; None if it holds.

    Args:
        provider: the first part of the path that was called.
        service: that the call must be signed for.
    """
    found = _CREDENTIAL.fullmatch(request.header(b"authorization"))
    stamp = request.header(b"x-amz-date")
    if found is None or not stamp or found[4] != service:
        return "MissingAuthenticationTokenException", "Missing Authentication Token"
    access, day, region, _, names, signature = found.groups()
    if access not in context.keys:
        return "UnrecognizedClientException", "The security token included in the request is invalid."
    if abs(time.time() - _moment(stamp)) > SKEW or stamp[:8] != day:
        return "InvalidSignatureException", f"Signature expired: {stamp}"
    ways = _paths(request.path, provider, context.credential)
    made = [_signature(request, path, access, region, service, names.split(";"), stamp) for path in ways]
    if not any(hmac.compare_digest(signature, one) for one in made):
        text = "The request signature we calculated does not match the signature you provided."
        return "InvalidSignatureException", text
    return None


def _moment(stamp: str) -> float:
    """Return a call's time in Unix seconds; 0 if it has none."""
    try:
        return datetime.strptime(stamp, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC).timestamp()
    except ValueError:
        return 0.0


def _paths(path: str, provider: str, credential: str) -> list[str]:
    """Return the paths that a client may have signed: with or without the simulator's own beginning, or a last `/`."""
    paths = (f"/{provider}/{credential}{path}", f"/{provider}{path}", path)
    return [*paths, *(x.rstrip("/") for x in paths if x.endswith("/") and x != "/")]


def _signature(
    request: Request, path: str, access: str, region: str, service: str, names: list[str], stamp: str
) -> str:
    """Return the signature as botocore makes it of the headers that were signed."""
    headers = {name: request.header(name.encode()) for name in names}
    url = f"http://{request.header(b'host')}{path}"
    whole = AWSRequest(request.method, url, headers, request.body)
    whole.context["timestamp"] = stamp
    signer = SigV4Auth(Credentials(access, SECRET_KEY), service, region)
    found: str = signer.signature(signer.string_to_sign(whole, signer.canonical_request(whole)), whole)
    return found
