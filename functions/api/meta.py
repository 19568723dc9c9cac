"""What needs no key: health, the OpenAPI document, its page."""

from functools import cache
from pathlib import Path
from typing import Final

from functions.api.error_page import as_html
from shared.web.http import Answer, plain
from shared.web.problems import ERRORS_PATH
from shared.web.routing import Page

_FOLDER: Final = Path(__file__).parent


@cache
def _file(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8")


def health() -> Answer:
    """Say that the API answers; it reads nothing, so that a health check costs nothing."""
    return plain(200, {"status": "ok"})


def document() -> Answer:
    """Return the OpenAPI document as committed."""
    return Answer(200, _file("openapi.json"), {"Cache-Control": "public, max-age=300"})


def page() -> Answer:
    """Return the documentation: one page, without anything from elsewhere."""
    policy = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'"
    headers = {"Content-Security-Policy": policy, "Cache-Control": "public, max-age=300"}
    return Answer(200, _file("docs.html"), headers, "text/html; charset=utf-8")


def errors() -> Answer:
    """Return the page of all error codes, to whose rows the `type` of problems leads."""
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    headers = {"Content-Security-Policy": policy, "Cache-Control": "public, max-age=300"}
    return Answer(200, as_html(), headers, "text/html; charset=utf-8")


ROUTES: Final = (
    Page("/health", "getHealth", "Whether the API answers", "application/json", health),
    Page("/openapi.json", "getOpenapi", "This document", "application/json", document),
    Page("/docs", "getDocs", "This documentation as a page", "text/html", page),
    Page(ERRORS_PATH, "getErrors", "All error codes as a page", "text/html", errors),
)
