"""Requests and answers between API Gateway's event (HTTP API, payload 2.0) and the routes.

An HTTP API decodes the path before it hands it over as `rawPath`: all but `%25`, by the local cloud's authors, or all
of it. So nothing is decoded here but that one: a second time would make `%2541` into `A`. Sources: live captures in
github.com/hotsock/voker pull 8 and middleapi/standard-server pull 93; MiniStack's `decode_http_api_path`.
"""

import base64
import binascii
import json
import re
from collections.abc import Mapping
from dataclasses import field
from email.message import Message
from typing import Any, Final
from urllib.parse import parse_qsl

from shared.frozen import dataclass
from shared.headers import SAFE
from shared.web.access.edge import Edge
from shared.web.problems import Problem

MAX_BODY: Final = 5 * 1024 * 1024
"""Bytes of a body; API Gateway and Lambda let at most 6 MB through, base64 included."""
MAX_ANSWER: Final = 6_000_000
"""Bytes of a body as a string of JSON, which is how Lambda passes it on; it takes 6 MB, the rest is for headers."""
REPLACED: Final = "\N{REPLACEMENT CHARACTER}"
"""API Gateway's substitute for bytes that are not UTF-8. If a body contains it legitimately, its length matches."""
UTF_8: Final = frozenset({"utf-8", "utf8", "us-ascii"})
"""Charsets of a body that is UTF-8."""
_GZIP: Final = re.compile(r"(?:gzip|\*)(?:;q=(?:1(?:\.0*)?|0\.0*[1-9]\d*))?")
FAULT: Final = 500
"""From this status on the fault is ours."""


@dataclass(frozen=True, slots=True)
class Request:
    """One request.

    Attributes:
        segments: the path, decoded, without slashes at its ends.
        headers: names in lower case.
        query: repeats joined by commas.
        slash: the path ends with a slash.
        cookies: name → value, from the browser.
        source: the address that it comes from, as API Gateway has seen it.
        path: decoded, without the stage.
        raw_query: as the client wrote it, without the question mark.
    """

    id: str
    method: str
    segments: tuple[str, ...]
    headers: Mapping[str, str]
    query: Mapping[str, str]
    body: bytes
    slash: bool = False
    cookies: Mapping[str, str] = field(default_factory=dict)
    source: str = ""
    path: str = "/"
    raw_query: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a route gives back.

    Attributes:
        status: of HTTP.
        body: text.
        headers: besides those of every answer.
        content_type: of the body.
        zipped: the body compressed by gzip, for clients that take it. Empty: it is sent as it is.
        cookies: values of `Set-Cookie`.
    """

    status: int
    body: str
    headers: Mapping[str, str] = field(default_factory=dict)
    content_type: str = "application/json"
    zipped: bytes = b""
    cookies: tuple[str, ...] = ()


def read(event: Mapping[str, Any], request_id: str) -> Request:
    """Read an event.

    Raises:
        Problem: malformed_request, invalid_utf8, unsupported_media_type, too_large.
    """
    headers = {name.lower(): str(value) for name, value in (event.get("headers") or {}).items()}
    context = event.get("requestContext") or {}
    path = path_of(event)
    if REPLACED in path:  # what was no UTF-8
        raise Problem("malformed_request")
    return Request(
        id=request_id,
        method=str(context.get("http", {}).get("method", "GET")).upper(),
        segments=tuple(part.replace("%25", "%") for part in path.strip("/").split("/")),
        headers=headers,
        query=_query(event.get("rawQueryString") or ""),
        body=_body(event, headers),
        slash=path.endswith("/"),
        cookies=_cookies(event, headers),
        source=str(context.get("http", {}).get("sourceIp", "")),
        path=path.replace("%25", "%"),
        raw_query=event.get("rawQueryString") or "",
    )


def arrived(edge: Edge, event: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return an event that came by the edge, as its client sent it. Problem `address_closed`: it did not."""
    found = edge.passed(event)
    if found is None:
        raise Problem("address_closed")
    return found


def _cookies(event: Mapping[str, Any], headers: Mapping[str, str]) -> dict[str, str]:
    """Return the cookies of an event, which are in a field of their own; the local cloud leaves them in the header."""
    listed = event.get("cookies") or headers.get("cookie", "").split(";")
    pairs = (str(cookie).partition("=") for cookie in listed)
    return {name.strip(): value.strip() for name, found, value in pairs if found}


def path_of(event: Mapping[str, Any]) -> str:
    """Return the path of an event, without the stage. API Gateway has decoded all of it except %25."""
    path = str(event.get("rawPath") or "/")
    stage = (event.get("requestContext") or {}).get("stage", "$default")
    return path if stage == "$default" else path.removeprefix(f"/{stage}") or "/"


def _query(raw: str) -> dict[str, str]:
    """Return the parameters of a query. The values of a repeated name are joined with commas."""
    query: dict[str, str] = {}
    try:
        for name, value in parse_qsl(raw, keep_blank_values=True, errors="strict"):
            query[name] = f"{query[name]},{value}" if name in query else value
    except ValueError:
        raise Problem("malformed_request") from None
    return query


def _body(event: Mapping[str, Any], headers: Mapping[str, str]) -> bytes:
    text = event.get("body") or ""
    if not event.get("isBase64Encoded"):
        body = str(text).encode("utf-8", "surrogatepass")
        if REPLACED in text and headers.get("content-length", "") != str(len(body)):
            in_utf_8(headers)
            raise Problem("invalid_utf8")
    else:
        try:
            body = base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError):
            raise Problem("malformed_request") from None
    if len(body) > MAX_BODY:
        raise Problem("too_large")
    return body


def in_utf_8(headers: Mapping[str, str]) -> None:
    """Refuse a body that says that it is in another encoding than UTF-8: Problem unsupported_media_type."""
    kind = Message()
    kind["content-type"] = headers.get("content-type", "")
    if kind.get_content_charset("utf-8") not in UTF_8:
        raise Problem(
            "unsupported_media_type",
            "The body has to be UTF-8. Send a list in another encoding as application/octet-stream, and name its "
            "`encoding`: PUT /campaigns/{campaign_id}/recipients?encoding=windows-1252.",
        )


def takes_gzip(event: Mapping[str, Any]) -> bool:
    """Check whether the client of an event reads gzip (RFC 9110, 12.5.3)."""
    headers = {name.lower(): str(value) for name, value in (event.get("headers") or {}).items()}
    wanted = (part.replace(" ", "").lower() for part in headers.get("accept-encoding", "").split(","))
    return any(_GZIP.fullmatch(part) for part in wanted)


def write(answer: Answer, request_id: str, *, gzip: bool = False) -> dict[str, Any]:
    """Return API Gateway's form of an answer.

    Args:
        answer: what a route gave back.
        gzip: whether the client reads gzip. Only an answer that has a compressed body is sent so.
    """
    headers = {
        "Content-Type": answer.content_type,
        "Cache-Control": "no-store",
        **SAFE,
        "X-Request-Id": request_id,
        **answer.headers,
    }
    written: dict[str, Any] = {"statusCode": answer.status, "headers": headers}
    if answer.cookies:
        written["cookies"] = list(answer.cookies)
    if answer.zipped:
        headers["Vary"] = "Accept-Encoding"
    if not (answer.zipped and gzip):
        return {**written, "body": answer.body, "isBase64Encoded": False}
    headers["Content-Encoding"] = "gzip"
    body = base64.b64encode(answer.zipped).decode()
    return {**written, "body": body, "isBase64Encoded": True}


def answerable(body: str) -> bool:
    """Tell whether a body is small enough to be answered."""
    return len(json.dumps(body)) <= MAX_ANSWER


def problem(found: Problem, request_id: str) -> Answer:
    """Return a problem as an answer."""
    return Answer(found.status, found.body(request_id), found.headers, "application/problem+json")


def plain(status: int, body: Mapping[str, Any]) -> Answer:
    """Return an answer of plain JSON values."""
    return Answer(status, json.dumps(body, separators=(",", ":")))
