"""Answers that a client keeps: an `ETag`, and 304 without a body while it is the same (RFC 9110 8.8.3, 13.1.2)."""

import hashlib
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final

from shared.web.http import Answer, Request
from shared.web.routing import Call


def tagged(call: Call[Any, Any, Any], answer: Answer, content: str) -> Answer:
    """Return an answer with its tag, or 304 if the client has the same one.

    Args:
        content: the text that decides whether two answers are the same. A sealed cursor is different each time.
    """
    tag = _tag(content)
    headers = {**answer.headers, "ETag": tag, "Cache-Control": "private, no-cache"}
    if _known(call.request, tag):
        return Answer(304, "", headers)
    return Answer(answer.status, answer.body, headers, answer.content_type)


def kept(request: Request, answer: Answer) -> Answer:
    """Return a page with its tag, or 304 if the client has the same one; a page that may not be kept as it is.

    The tag is weak: it is the same for the page as it is and for the page compressed.
    """
    if "Cache-Control" not in answer.headers:
        return answer
    tag = _tag_of_page(answer.body)
    headers = {**answer.headers, "ETag": f"W/{tag}"}
    if _known(request, tag):
        return Answer(304, "", headers | ({"Vary": "Accept-Encoding"} if answer.zipped else {}), answer.content_type)
    return replace(answer, headers=headers)


def _tag(content: str) -> str:
    return f'"{hashlib.sha256(content.encode()).hexdigest()[:32]}"'


_tag_of_page: Final = lru_cache(maxsize=16)(_tag)
"""Pages are the same for all readers, so a process computes the tag of each once."""


def _known(request: Request, tag: str) -> bool:
    """Check whether a client has what a tag names (RFC 9110, 13.1.2: compared weakly)."""
    known = [x.strip().removeprefix("W/") for x in request.headers.get("if-none-match", "").split(",")]
    return tag in known or known == ["*"]
