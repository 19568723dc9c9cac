"""The text part of an e-mail, derived from its HTML.

Reading order is kept, layout is not. Blocks become paragraphs and lines, and list items get a dash or a number. Cells
of a row are side by side. Links become `text (url)`, images their alternative text. Invisible parts are dropped: head,
title, style, script, comments and elements with `display: none`.

Tags are found as the HTML standard's tokenizer finds them (WHATWG 13.2.5), by regular expressions that never backtrack.
So the time is linear in the length of any input. docs/adr/0023 claims this neither for the standard library's parser
nor for the alternatives.
"""

import re
from collections.abc import Callable, Iterator
from html import unescape
from typing import Final

from shared.domain.content.templates import Template, TemplateKind
from shared.frozen import dataclass

_OPEN: Final = re.compile(r"<(?:!--|[!?]|/?+[A-Za-z]|/[^A-Za-z])")
"""Where something other than text begins; any other `<` is text."""
_TAG: Final = re.compile(r"<(/?)([A-Za-z][^\s/>]*+)((?:[^>=]++|=\s*+(?:\"[^\"]*+\"|'[^']*+')|=)*+)>")
"""A `>` in a quoted value does not end a tag."""
_ATTRIBUTE: Final = re.compile(r"([^\s\"'>/=]++)(?:\s*+=\s*+(?:\"([^\"]*+)\"|'([^']*+)'|([^\s>]++)))?")
_HEAD_END: Final = re.compile(r"</head\b|<body\b", re.IGNORECASE)
_RAW: Final = {n: re.compile(rf"</{n}(?=[\s/>])", re.IGNORECASE) for n in ("iframe", "script", "style", "title")}
"""Elements whose contents are neither text nor tags."""
HIDDEN: Final = re.compile(r"display\s*+:\s*+none", re.IGNORECASE)
_MAY_HIDE: Final = frozenset({"div", "span", "svg", "table", "template"})
"""Elements that always have an end tag, so that hiding one cannot swallow the rest."""
_NEVER_SEEN: Final = frozenset({"svg", "template"})

_LINES: Final = frozenset(
    {"address", "article", "aside", "body", "center", "dd", "div", "dt", "figcaption", "footer", "form", "header"}
    | {"li", "main", "nav", "option", "section", "tr"}
)
_PARAGRAPHS: Final = frozenset(
    {"blockquote", "dl", "fieldset", "figure", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "ol", "p", "pre", "table"}
    | {"ul"}
)
_CELLS: Final = frozenset({"td", "th"})
_LISTS: Final = frozenset({"ul", "ol"})
_MAX_INDENT: Final = 5
"""Levels of a list that are indented."""
_NUMBER: Final = re.compile(r"&#(?:0++(?=[0-9]))?+([0-9]{1,8})[0-9]*+")
"""A character by its number; what eight digits cannot say is no character. Python refuses to read thousands of them."""
_BLANKS: Final = re.compile(r"\s+")
_LINE_BREAKS: Final = re.compile(r"[\t\r\n]+")
_INVISIBLE: Final = re.compile("[\u00ad\u034f\u200b\ufeff]|\u200c(?=\\s|$)")
"""Soft hyphens and the fillers that keep a preview line short; a joiner inside a word stays."""
_NOT_SHOWN: Final = ("#", "javascript:", "data:", "cid:")
_SCHEME: Final = re.compile(r"(?:https?://|mailto:|tel:)", re.IGNORECASE)

_SPACE, _CELL, _LINE, _PARAGRAPH = 1, 2, 3, 4
_BREAKS: Final = ("", " ", " | ", "\n", "\n\n")
"""The separator of two pieces of text: the strongest that a tag between them asks for."""

_BEGIN, _END = "\ufdd0", "\ufdd1"
"""Stand for a placeholder's braces: noncharacters, which no template and no entity can contain."""
_MARKED: Final = re.compile(rf"{_BEGIN}([0-9]+){_END}")
_JOINED: Final = re.compile(rf"\{{(?=[{{{_BEGIN}])|(?<=[}}{_END}])(?=\}})")


def text_template(html: Template) -> Template:
    """Derive a text body from an HTML body; its variables are those of the HTML's that can be seen.

    Some braces were written as entities, or meet only because the tags between them are left out. A space separates
    such braces, so that the text's only placeholders are those of the HTML.

    Raises:
        InvalidTemplateError: `too_large`, if dashes and line breaks made the text longer than a template may be.
    """
    numbers: dict[str, int] = {}
    marked = html.marked(lambda placeholder: f"{_BEGIN}{numbers.setdefault(placeholder, len(numbers))}{_END}")
    apart = _JOINED.sub(lambda m: f"{m[0]} ", plain_text(marked))
    placeholders = list(numbers)
    written = _MARKED.sub(lambda m: placeholders[int(m[1])], apart)
    return Template.parse(written, TemplateKind.TEXT)


def plain_text(html: str) -> str:
    """Return an HTML document's or fragment's text, without blanks at the ends of lines; empty if there is none.

    Args:
        html: of any length, and malformed in any way; it is read as a browser would.
    """
    writer = _Writer()
    for piece in pieces(html):
        if isinstance(piece, str):
            writer.text(decoded(piece))
        else:
            writer.tag(piece)
    return writer.done()


@dataclass(frozen=True, slots=True)
class Tag:
    """A tag: its name in lower case, and between name and `>` what is written."""

    name: str
    closing: bool
    raw: str

    def attributes(self) -> dict[str, str]:
        """Return its attributes, decoded, by their names in lower case."""
        found: dict[str, str] = {}
        for m in _ATTRIBUTE.finditer(self.raw):
            found.setdefault(m[1].lower(), decoded(m[2] or m[3] or m[4] or ""))
        return found

    def hides(self) -> bool:
        """Return whether it hides what follows, up to its end tag."""
        if self.closing or self.name not in _MAY_HIDE or self.raw.endswith("/"):
            return False
        return self.name in _NEVER_SEEN or bool(HIDDEN.search(self.attributes().get("style", "")))


def decoded(text: str) -> str:
    """Return a text with its character references replaced, however long they are."""
    return unescape(_NUMBER.sub(r"&#\1", text))


def pieces(html: str) -> Iterator[str | Tag]:
    """Yield the visible text, not decoded, and the tags around it."""
    hidden = ""
    depth = 0
    for piece in _tokens(html):
        if isinstance(piece, Tag) and piece.name == hidden:
            depth += -1 if piece.closing else 1
            hidden = hidden if depth else ""
        elif hidden:
            continue
        elif isinstance(piece, Tag) and piece.hides():
            hidden, depth = piece.name, 1
        else:
            yield piece


def _tokens(html: str) -> Iterator[str | Tag]:
    at = 0
    in_head = False
    while start := _OPEN.search(html, at):
        if start.start() > at:
            yield html[at : start.start()]
        tag = _TAG.match(html, start.start())
        if tag is None:
            at = _comment_end(html, start)
            continue
        name = tag[2].lower()
        at = tag.end()
        yield Tag(name, bool(tag[1]), tag[3])
        if tag[1]:
            continue
        if name in _RAW:
            at = _start(_RAW[name].search(html, at), len(html))
        elif name == "head" and not in_head:
            in_head = True  # only the first is one
            at = _start(_HEAD_END.search(html, at), at)
    if at < len(html):
        yield html[at:]


def _comment_end(html: str, start: re.Match[str]) -> int:
    """Return where a comment, a declaration or an unfinished tag ends: at the document's end, if nothing ends it."""
    if start[0] != "<!--":
        end = html.find(">", start.end() - 1)
        return len(html) if end < 0 or start[0][-1].isalpha() else end + 1
    if html.startswith((">", "->"), start.end()):  # an empty comment, says the standard
        return html.index(">", start.end()) + 1
    end = html.find("-->", start.end())
    return len(html) if end < 0 else end + len("-->")


class _Writer:
    """Puts text together; breaks are wishes until there is text on both sides of them."""

    def __init__(self) -> None:
        self._out: list[str] = []
        self._break = 0
        self._marker = ""
        """A list item's dash or number, until its first text."""
        self._lists: list[int] = []
        """Of each open list the next item's number, 0 if it has dashes."""
        self._pre = 0
        self._href = ""
        self._link = 0
        """Where in `_out` the link's text begins."""

    def text(self, text: str) -> None:
        text = _INVISIBLE.sub("", text)
        if self._pre:
            if text.strip():
                self._write(text.replace("\r\n", "\n").strip("\n"))
            return
        words = _BLANKS.sub(" ", text)
        if words.startswith(" "):
            self._wish(_SPACE)
        if words.strip():
            self._write(words.strip())
            self._break = _SPACE if words.endswith(" ") else 0

    def tag(self, tag: Tag) -> None:
        name = tag.name
        if name in _PARAGRAPHS:
            inner = name in _LISTS and len(self._lists) > tag.closing
            self._wish(_LINE if inner else _PARAGRAPH)
        elif name in _LINES:
            self._wish(_LINE)
        elif name in _CELLS:
            self._wish(_CELL)
        special = _SPECIAL.get(name)
        if special is not None:
            special(self, tag)

    def done(self) -> str:
        self.link_end()
        lines = "".join(self._out).split("\n")
        return "\n".join(line.rstrip() for line in lines).strip("\n")

    def line_break(self, _: Tag) -> None:
        self._break = _PARAGRAPH if self._break >= _LINE else _LINE

    def rule(self, _: Tag) -> None:
        self._write("---")
        self._break = _PARAGRAPH

    def image(self, tag: Tag) -> None:
        self.text(tag.attributes().get("alt", ""))

    def preformatted(self, tag: Tag) -> None:
        self._pre = max(0, self._pre + (-1 if tag.closing else 1))

    def list(self, tag: Tag) -> None:
        self._marker = ""
        if not tag.closing:
            self._lists.append(1 if tag.name == "ol" else 0)
        elif self._lists:
            self._lists.pop()

    def item(self, tag: Tag) -> None:
        self._marker = ""
        if tag.closing:
            return
        number = self._lists[-1] if self._lists else 0
        if number:
            self._lists[-1] += 1
        indent = "  " * min(len(self._lists) - 1, _MAX_INDENT)
        self._marker = f"{indent}{number}. " if number else f"{indent}- "

    def anchor(self, tag: Tag) -> None:
        self.link_end()
        if not tag.closing:
            href = _LINE_BREAKS.sub("", tag.attributes().get("href", "")).strip().replace(" ", "%20")
            self._href = "" if href.lower().startswith(_NOT_SHOWN) else href
            self._link = len(self._out)

    def link_end(self) -> None:
        """Write the link's address, unless its text says it already."""
        href, self._href = self._href, ""
        if not href:
            return
        if href.lower().startswith(("mailto:", "tel:")):
            href = href.partition(":")[2].partition("?")[0]
        text = _bare("".join(self._out[self._link :]))
        if not text:
            self.text(href)
        elif text != _bare(href):
            after, self._break = self._break, _SPACE
            self._write(f"({href})")
            self._break = after

    def _wish(self, strength: int) -> None:
        # Nothing comes between an item's marker and its text.
        if not self._marker or strength <= _SPACE:
            self._break = max(self._break, strength)

    def _write(self, text: str) -> None:
        if self._out:
            self._out.append(_BREAKS[self._break])
        self._out.append(self._marker + text)
        self._marker = ""
        self._break = 0


def _bare(text: str) -> str:
    """Return what of a link's text or address is compared: without markers, scheme and final slash, lower case."""
    return _SCHEME.sub("", text.strip(" \n|-"), count=1).rstrip("/").lower()


_SPECIAL: Final[dict[str, Callable[[_Writer, Tag], None]]] = {
    "a": _Writer.anchor,
    "br": _Writer.line_break,
    "hr": _Writer.rule,
    "img": _Writer.image,
    "li": _Writer.item,
    "ol": _Writer.list,
    "pre": _Writer.preformatted,
    "ul": _Writer.list,
}


def _start(found: re.Match[str] | None, otherwise: int) -> int:
    return found.start() if found else otherwise
