"""POST /webhooks/{provider}/{credential_id}: verify, normalise, enqueue, answer; nothing else.

Posts come in by the API's route, or by an address of the function's own, which takes any method and path.
"""

import base64
import binascii
import json
import os
import re
from functools import cache
from typing import Any, Final

from functions.early import early
from functions.webhooks.services import Services, build, feedback_messages
from shared.adapters import logs, metrics
from shared.contracts import WEBHOOK_PATH
from shared.headers import SAFE
from shared.metrics import Metric, Service
from shared.ports import POSTED_AT, POSTED_TO, BadEvents, BadSignature, MalformedSecret, Reading, Retriable, Sealing
from shared.web.access.edge import Edge

logger = logs.lines("webhooks")
_PATH: Final = re.compile(re.sub(r"\{(\w+)\}", r"(?P<\1>[a-z0-9-]+)", WEBHOOK_PATH))
_OF_FUNCTIONS: Final = ".lambda-url."
"""In each host of a function's own address."""


@cache
def services() -> Services:
    """Return the services of this process."""
    return build(os.environ)


early(services)


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:
    """Answer an HTTP API request (payload 2.0); every word is queued before the answer."""
    logs.begin(logger, (event.get("requestContext") or {}).get("requestId") or logs.invocation(context))
    return receive(event, services())


def receive(event: dict[str, Any], using: Services) -> dict[str, Any]:
    """Take one post: 200, 401 for a signature that does not hold, 400, 403, or 503 to have it posted again.

    An address that does not exist answers as one of a credential without the right signature: strangers learn no names.
    """
    provider, credential_id = _place(event)
    if refused := _beside(event, using.edge):
        return refused
    try:
        reader = using.reader_of(provider, credential_id)
    except KeyError:
        logger.warning("no such webhook", provider=provider, credential=credential_id)
        return _unsigned()
    about = using.settings.credential(credential_id)
    try:
        now = using.clock.now()
        headers = {name.lower(): value for name, value in (event.get("headers") or {}).items()}
        path = WEBHOOK_PATH.format(provider=provider, credential_id=credential_id)
        headers |= {POSTED_TO: _url(event, using.settings.public_url, path), POSTED_AT: str(int(now))}
        body = _body(event)
        reader.verify(headers, body, using.secret(credential_id), now)
        reading = reader.words(headers, body)
        if isinstance(reader, Sealing):
            using.seen_with(reader.seal(body))
        if reading.words:
            using.feedback.send(list(feedback_messages(credential_id, reading.words)))
    except BadSignature as error:
        metrics.tell(using.settings.stage, Service.WEBHOOKS, {Metric.BAD_POSTS: 1}, about)
        logger.warning("bad signature", credential=credential_id, reason=str(error))
        return _unsigned()
    except BadEvents as error:
        metrics.tell(using.settings.stage, Service.WEBHOOKS, {Metric.BAD_POSTS: 1}, about)
        logger.warning("bad events", credential=credential_id, reason=str(error))
        return _problem(400, "bad_events", "The body is not what the provider documents.")
    except (Retriable, MalformedSecret) as error:
        logger.error("not taken", credential=credential_id, reason=type(error).__name__)  # noqa: TRY400 - no trace needed
        return _problem(503, "unavailable", "Post it again.")
    metrics.tell(using.settings.stage, Service.WEBHOOKS, {Metric.POSTS: 1}, about)
    logger.info("feedback", credential=credential_id, received=reading.events, ours=len(reading.words))
    return _taken(reading)


def _place(event: dict[str, Any]) -> tuple[str, str]:
    """Return the provider and credential that were posted to; empty if it is no post, or to another path."""
    params = event.get("pathParameters")
    if params:
        return params.get("provider", ""), params.get("credential_id", "")
    method = ((event.get("requestContext") or {}).get("http") or {}).get("method")
    found = _PATH.fullmatch(event.get("rawPath") or "")
    return (found["provider"], found["credential_id"]) if found and method == "POST" else ("", "")


def _beside(event: dict[str, Any], edge: Edge) -> dict[str, Any] | None:
    """Return the answer to a post that did not come by the edge; the function's own address has none before it."""
    host = (event.get("requestContext") or {}).get("domainName", "")
    try:
        if _OF_FUNCTIONS in host or edge.passed(event) is not None:
            return None
    except (Retriable, MalformedSecret) as error:
        logger.error("not taken", credential="", reason=type(error).__name__)  # noqa: TRY400 - no trace needed
        return _problem(503, "unavailable", "Post it again.")
    return _problem(403, "address_closed", "This address of the service is closed. Use the public one.")


def _unsigned() -> dict[str, Any]:
    return _problem(401, "bad_signature", "The signature is not valid, or there is no such webhook.")


def _url(event: dict[str, Any], public_url: str, path: str) -> str:
    """Return the URL that was posted to, as the provider knows it.

    That is the host's own, unless it is API Gateway and the settings name another.
    """
    host = (event.get("requestContext") or {}).get("domainName", "")
    base = public_url if public_url and _OF_FUNCTIONS not in host else f"https://{host}"
    query = event.get("rawQueryString") or ""
    return base + path + (f"?{query}" if query else "")


def _body(event: dict[str, Any]) -> bytes:
    text = event.get("body") or ""
    if not event.get("isBase64Encoded"):
        return str(text).encode("utf-8", "surrogatepass")
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise BadEvents("not_base64") from None


def _taken(reading: Reading) -> dict[str, Any]:
    """Return the answer to a post that was taken: the reply for the provider, or how many of the events are ours."""
    if reading.reply is None:
        return _answer(200, {"received": reading.events, "ours": len(reading.words)})
    return {"statusCode": 200, "headers": _headers(reading.reply.content_type), "body": reading.reply.body}


def _answer(status: int, body: dict[str, Any], kind: str = "application/json", **headers: str) -> dict[str, Any]:
    return {"statusCode": status, "headers": _headers(kind) | headers, "body": json.dumps(body)}


def _headers(kind: str) -> dict[str, str]:
    return {"Content-Type": kind, **SAFE}


def _problem(status: int, code: str, detail: str) -> dict[str, Any]:
    """Return RFC 9457 problem details."""
    titles = {400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found", 503: "Service Unavailable"}
    more = {401: {"WWW-Authenticate": "Signature"}, 503: {"Retry-After": "10"}}.get(status, {})
    body = {
        "type": f"/errors#webhook_{code}",
        "title": titles[status],
        "status": status,
        "detail": detail,
        "code": code,
    }
    return _answer(status, body, "application/problem+json", **more)
