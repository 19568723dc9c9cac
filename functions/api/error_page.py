"""The page of all error codes, at /errors and in docs/errors.md: `python -m functions.api.error_page [--check]`."""

import html
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Final

from functions.api.detail_codes import DETAIL_CODES
from shared.web.problems import CODES

FILE: Final = Path(__file__).parents[2] / "docs" / "errors.md"
WEBHOOK_CODES: Final[Mapping[str, tuple[int, str]]] = {
    "bad_events": (400, "The body is not what the provider documents."),
    "bad_signature": (401, "The signature is not valid, or there is no such webhook."),
    "address_closed": (403, "This address of the service is closed. Use the public one."),
    "unavailable": (503, "Post it again."),
}
"""Code → (status, detail) of what the webhook function answers."""
OF_WEBHOOKS: Final = "webhook_"
"""The beginning of the anchors of webhooks' codes: some codes are also the API's."""
TABLES: Final[Mapping[str, tuple[str, Mapping[str, tuple[int, str]]]]] = {
    "The API": ("", CODES),
    "Webhooks of providers": (OF_WEBHOOKS, WEBHOOK_CODES),
}
"""Heading → the beginning of its anchors, and its codes."""
_HEAD: Final = "| status | code | meaning |\n|---|---|---|\n"
_DETAIL_HEAD: Final = "| code | meaning |\n|---|---|\n"
_TABLE: Final = re.compile(r"^\| (?:status \| )?code \| meaning \|\n(?:\|.*\n)+", re.MULTILINE)
_STYLE: Final = (
    ":root{color-scheme:light dark}"
    "body{margin:0 auto;padding:1.5rem;max-width:60rem;font:16px/1.5 system-ui,sans-serif}"
    "table{border-collapse:collapse;width:100%}td,th{text-align:left;vertical-align:top;padding:.3rem .6rem;"
    "border-bottom:1px solid #8884}td+td{overflow-wrap:anywhere}tr:target{background:#fc06}"
    "code{font:13px/1.45 ui-monospace,monospace;overflow-wrap:anywhere}"
)


def markdown(page: str) -> str:
    """Return the page of `docs/` with its tables as the codes are now."""
    tables = iter(
        [
            *(_markdown(prefix, codes) for prefix, codes in TABLES.values()),
            *(_detail_markdown(prefix, codes) for prefix, codes in DETAIL_CODES.values()),
        ]
    )
    return _TABLE.sub(lambda old: next(tables, old[0]), page)


def _markdown(prefix: str, codes: Mapping[str, tuple[int, str]]) -> str:
    rows = (f'| {status} | <a id="{prefix}{code}"></a>`{code}` | {text} |\n' for code, (status, text) in codes.items())
    return _HEAD + "".join(rows)


def _detail_markdown(prefix: str, codes: Mapping[str, str]) -> str:
    rows = (f'| <a id="{prefix}{code}"></a>`{code}` | {text} |\n' for code, text in codes.items())
    return _DETAIL_HEAD + "".join(rows)


@cache
def as_html() -> str:
    """Return the page that the API serves: a row for each code, to which the `type` of its problem leads."""
    return "".join(
        [
            '<!doctype html><html lang="en"><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>Posthaste: errors</title><style>{_STYLE}</style><h1>Errors</h1>",
            '<p>Every error is RFC 9457 problem details with a stable code. <a href="docs">All operations</a></p>',
            *_tables(),
        ]
    )


def _tables() -> Iterator[str]:
    for heading, (prefix, codes) in TABLES.items():
        yield f"<h2>{heading}</h2><table><tr><th>status<th>code<th>meaning</tr>"
        yield from _rows(prefix, codes.items())
        yield "</table>"
    for heading, (prefix, details) in DETAIL_CODES.items():
        yield f"<h2>{heading}</h2><table><tr><th>code<th>meaning</tr>"
        yield from (
            f'<tr id="{prefix}{code}"><td><code>{code}</code><td>{_text(x)}</tr>' for code, x in details.items()
        )
        yield "</table>"


def _rows(prefix: str, codes: Iterable[tuple[str, tuple[int, str]]]) -> Iterator[str]:
    for code, (status, text) in codes:
        yield f'<tr id="{prefix}{code}"><td>{status}<td><code>{code}</code><td>{_text(text)}</tr>'


def _text(meaning: str) -> str:
    """Return a sentence as HTML."""
    return re.sub("`(.+?)`", r"<code>\1</code>", html.escape(meaning, quote=False))


def main() -> int:
    """Write the page, or with --check find out whether the committed one is current."""
    page = FILE.read_text(encoding="utf-8")
    if "--check" in sys.argv[1:]:
        return int(page != markdown(page))
    FILE.write_text(markdown(page), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
