"""Messages that are written as Markdown: HTML from them, in which nothing of their text is a tag. Source: ADR 250.

Markdown is CommonMark with tables, and each line break is one. HTML in it is text, and a link or picture whose address
would run a script is none. Placeholders stay as they are, also in addresses.
"""

import re
from functools import cache
from typing import TYPE_CHECKING, Final

from shared.lazy import lazy

if TYPE_CHECKING:
    from markdown_it import main
else:
    (main,) = lazy("markdown_it", "main")

_PLACEHOLDER: Final = re.compile(r"\{\{[^{}]*+\}\}")
_MARK: Final = "zplaceholder"
"""Begins what stands for a placeholder: letters and digits, which have no meaning in Markdown or in an address."""
MAX_CHARACTERS: Final = 100_000
"""Of a message: it is rendered in a second."""
_HEAD: Final = (
    '<!doctype html>\n<html>\n<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"></head>\n'
    '<body style="margin:0;font-family:Helvetica,Arial,sans-serif;font-size:16px;line-height:1.5;color:#1b1f24">\n'
    '<div style="max-width:600px;margin:0 auto;padding:24px">\n'
)
_PICTURE: Final = '<img src="'
_FITTED: Final = '<img style="max-width:100%;height:auto" src="'
"""A picture is no wider than the mail, and on a phone no wider than its screen."""
_FOOT: Final = "</div>\n</body>\n</html>\n"


def page(source: str) -> str:
    """Return the HTML page of a message, in time linear in its length.

    Args:
        source: Markdown with placeholders, which need not be right; at most MAX_CHARACTERS.
    """
    mark = _MARK
    while mark in source:
        mark += "z"
    found = list(dict.fromkeys(_PLACEHOLDER.findall(source)))
    numbers = {placeholder: n for n, placeholder in enumerate(found)}
    marked = _PLACEHOLDER.sub(lambda m: f"{mark}{numbers[m[0]]}e", source)
    html = _reader().render(marked).replace(_PICTURE, _FITTED)
    return _HEAD + re.sub(rf"{mark}([0-9]+)e", lambda m: found[int(m[1])], html) + _FOOT


def made_of(source: str, body: str) -> bool:
    """Tell whether a body is the page of a source, also as earlier versions wrote it."""
    found = page(source)
    return body in (found, found.replace(_FITTED, _PICTURE))


@cache
def _reader() -> "main.MarkdownIt":
    return main.MarkdownIt("commonmark", {"html": False, "breaks": True}).enable(["table", "strikethrough"])
