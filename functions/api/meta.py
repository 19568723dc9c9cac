"""Operations without a key: health, the OpenAPI document, its page and the page of errors."""

from functools import cache
from pathlib import Path
from typing import Final

from functions.api.docs.page import SHORT, page, zipped
from functions.api.error_page import as_html
from shared.web.http import Answer, plain
from shared.web.problems import ERRORS_PATH
from shared.web.routing import Page

_DOCUMENT: Final = Path(__file__).with_name("openapi.json")


@cache
def _document() -> str:
    return _DOCUMENT.read_text(encoding="utf-8")


def health() -> Answer:
    """Say that the API answers; it reads nothing, so that a health check costs nothing."""
    return plain(200, {"status": "ok"})


def document() -> Answer:
    """Return the OpenAPI document as committed."""
    return Answer(200, _document(), {"Cache-Control": SHORT}, zipped=zipped(_DOCUMENT))


def errors() -> Answer:
    """Return the page of all error codes, to whose rows the `type` of problems leads."""
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    headers = {"Content-Security-Policy": policy, "Cache-Control": SHORT}
    return Answer(200, as_html(), headers, "text/html; charset=utf-8")


ROUTES: Final = (
    Page("/health", "getHealth", "Whether the API answers", "application/json", health),
    Page("/openapi.json", "getOpenapi", "This document", "application/json", document),
    Page("/docs", "getDocs", "This documentation as a page", "text/html", page),
    Page(ERRORS_PATH, "getErrors", "All error codes as a page", "text/html", errors),
)
