"""Requests that may be repeated under an Idempotency-Key."""

import hashlib
import re
from typing import Any, Final

from shared.domain.times import KEY_LIFE_MS
from shared.ports import Idempotency, Mismatch, Replay
from shared.web.http import Answer
from shared.web.problems import Problem
from shared.web.routing import Call

_KEY: Final = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]{0,253}[\x21-\x7e])?")


def idempotency_key(call: Call[Any, Any, Any]) -> str:
    """Return the request's Idempotency-Key, or empty; Problem bad_idempotency_key.

    Keys used with test and live API keys are separate, so a rehearsal never blocks the real request.
    """
    key = call.request.headers.get("idempotency-key")
    if key is None:
        return ""
    if not _KEY.fullmatch(key):
        raise Problem("bad_idempotency_key")
    return f"{'test' if call.key.test else 'live'}:{key}"


def fingerprint_of(call: Call[Any, Any, Any]) -> str:
    """Return the hash of what a request asks for: operation, path, query and body."""
    request = call.request
    query = "".join(f"?{name}={request.query[name]}" for name in sorted(request.query))
    head = f"{request.method} /{'/'.join(request.segments)}{query}\0"
    return hashlib.sha256(head.encode() + request.body).hexdigest()


def record_of(call: Call[Any, Any, Any], answer: str, life_ms: int = KEY_LIFE_MS) -> Idempotency | None:
    """Return the record of a request that sends nothing, None if it has no key.

    Args:
        life_ms: for how long the key counts, in milliseconds.
    """
    key = idempotency_key(call)
    if not key:
        return None
    expires = int(call.services.clock.now() * 1000) + life_ms
    return Idempotency(call.key.account, key, fingerprint_of(call), answer, expires)


def earlier(call: Call[Any, Any, Any], status: int) -> Answer | None:
    """Return the answer that an earlier request with the same key got; None if there is no key or no such request."""
    key = idempotency_key(call)
    found = call.services.answers.earlier(call.key.account, key, fingerprint_of(call)) if key else None
    return repeated(found, status) if found is not None else None


def repeated(found: Replay | Mismatch, status: int) -> Answer:
    """Return an earlier answer again; Problem idempotency_mismatch."""
    if isinstance(found, Mismatch):
        raise Problem("idempotency_mismatch")
    return Answer(status, found.answer, {"Idempotency-Replayed": "true"})


def repeat_or_raise(call: Call[Any, Any, Any], status: int, problem: Problem) -> Answer:
    """Return the first answer of a request that was valid then; else raise the problem.

    Args:
        call: the request, with its Idempotency-Key.
        status: the HTTP status of the first answer.
        problem: what is wrong with the request now.
    """
    found = earlier(call, status)
    if found is None:
        raise problem
    return found
