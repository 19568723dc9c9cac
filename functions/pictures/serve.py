"""GET and HEAD /images/{account}/{file}: read the picture, answer it; nothing else.

It is a function of its own: opened mails take nothing from the API, and a stranger reaches no right but this one. Each
answer is a picture for every browser. Its type is fixed, not guessed, and it may run nothing.
"""

import base64
import os
import re
from functools import cache
from typing import Any, Final

from functions.early import early
from functions.pictures.services import KeptPictures, build
from shared.adapters import logs
from shared.domain.accounts import is_account_id
from shared.domain.pictures.picture import BEGINNINGS, FILE, PictureKind, kind_of
from shared.headers import SAFE
from shared.ports import Retriable

logger = logs.lines("pictures")
FOREVER: Final = "public, max-age=31536000, immutable"
"""The name is of one content, so that a proxy of a mailbox provider asks once."""
SHOWN: Final = {
    **SAFE,
    "Content-Security-Policy": "default-src 'none'; sandbox; frame-ancestors 'none'",
    "Content-Disposition": "inline",
    "Cross-Origin-Resource-Policy": "cross-origin",
    "X-Robots-Tag": "noindex",
}
"""Web mail shows pictures in its own pages. None of them becomes a page of this address."""
_PATH: Final = re.compile(rf"/images/([A-Za-z0-9_]+)/({FILE.pattern})")


@cache
def services() -> KeptPictures:
    """Return the services of this process."""
    return build(os.environ)


early(services)


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:
    """Answer an HTTP API request (payload 2.0)."""
    logs.begin(logger, (event.get("requestContext") or {}).get("requestId") or logs.invocation(context))
    return serve(event, services())


def serve(event: dict[str, Any], pictures: KeptPictures) -> dict[str, Any]:
    """Return a picture, 304 to a browser that has it, 404, or 503 if S3 does not answer."""
    place = _PATH.fullmatch(str(event.get("rawPath") or ""))
    if place is None or not is_account_id(place[1]):
        return _refused(404)
    kind = kind_of(place[2])
    try:
        data = pictures.get(place[0][1:])
    except Retriable as fault:
        logger.error("not read", reason=type(fault).__name__)  # noqa: TRY400 - no trace needed
        return _refused(503, **{"Retry-After": "5"})
    if data is None or not data.startswith(BEGINNINGS[kind]):
        return _refused(404)
    return _shown(event, kind, place[2], data)


def _shown(event: dict[str, Any], kind: PictureKind, file: str, data: bytes) -> dict[str, Any]:
    """Return the answer with a picture, or without its bytes to a client that has them or asks only for its head."""
    tag = f'"{file}"'
    headers = {**SHOWN, "Cache-Control": FOREVER, "ETag": tag}
    asked = {name.lower(): value for name, value in (event.get("headers") or {}).items()}
    if tag in asked.get("if-none-match", ""):
        return {"statusCode": 304, "headers": headers, "body": ""}
    headers |= {"Content-Type": kind.media_type}
    if ((event.get("requestContext") or {}).get("http") or {}).get("method") == "HEAD":
        return {"statusCode": 200, "headers": headers, "body": ""}
    body = base64.b64encode(data).decode()
    return {"statusCode": 200, "headers": headers, "body": body, "isBase64Encoded": True}


def _refused(status: int, **headers: str) -> dict[str, Any]:
    """Return an answer without a picture, which no proxy keeps."""
    kept = {**SHOWN, "Cache-Control": "no-store", "Content-Type": "text/plain; charset=utf-8", **headers}
    return {"statusCode": status, "headers": kept, "body": "There is no such picture.\n" if status < 500 else ""}  # noqa: PLR2004
