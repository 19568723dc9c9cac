"""Answers that a client keeps: an `ETag`, and 304 without a body while it is the same (RFC 9110 8.8.3, 13.1.2)."""

import hashlib
from typing import Any

from shared.web.http import Answer
from shared.web.routing import Call


def tagged(call: Call[Any, Any, Any], answer: Answer, content: str) -> Answer:
    """Return an answer with its tag, or 304 if the client has the same one.

    Args:
        call: the call.
        answer: in full.
        content: the text that decides whether two answers are the same. A sealed cursor is different each time.
    """
    tag = f'"{hashlib.sha256(content.encode()).hexdigest()[:32]}"'
    headers = {**answer.headers, "ETag": tag, "Cache-Control": "private, no-cache"}
    known = [x.strip().removeprefix("W/") for x in call.request.headers.get("if-none-match", "").split(",")]
    if tag in known or known == ["*"]:
        return Answer(304, "", headers)
    return Answer(answer.status, answer.body, headers, answer.content_type)
