"""Sentences of a page, or of a module's docstrings, each with its line.

Fenced code, HTML and front matter are not prose. A code span counts as one word, and no rule reads it.
"""

import ast
import inspect
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.token import Token

HIDDEN: Final = "\N{BULLET OPERATOR}"
"""Each character of a code span, in the text that rules read."""

_END: Final = re.compile(rf"[.!?…][)\"'”*]*\s+(?=[\"'“(\[]*[A-Z\d{HIDDEN}])")
_ABBREVIATION: Final = re.compile(r"(?:\b(?:e\.g|i\.e|vs|cf|viz|no|inc)\.|\b[A-Z]\.)\s+$", re.IGNORECASE)
_TEXT_OF_API: Final = re.compile(r'^\s*"(?:summary|description)": ("(?:[^"\\]|\\.)*"),?$', re.MULTILINE)
_SECTION: Final = re.compile(r"^(?:Args|Attributes|Raises|Returns|Yields):$")
_ENTRY: Final = re.compile(r"^ {4}(\*{0,2}[\w.]+)(?: \([^)]*\))?: ")
_PARSER: Final = MarkdownIt("commonmark").enable("table")


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a page, or a heading, or a table's cell.

    Attributes:
        line: The line on which the sentence begins, from 1.
        text: The sentence as rules read it, with its code hidden.
        shown: The sentence as a reader sees it.
        heading: Whether this is a heading, or a column's name.
        cell: Whether this is in a row of a table.
    """

    line: int
    text: str
    shown: str
    heading: bool = False
    cell: bool = False

    @property
    def words(self) -> int:
        """Return the number of words; a code span is one."""
        return sum(any(c.isalnum() or c == HIDDEN for c in word) for word in self.text.split())


def of_markdown(page: str, first: int = 1) -> Iterator[Sentence]:
    """Yield the sentences of a Markdown text whose first line has the number `first`."""
    line, heading, cell = first, False, False
    for token in _PARSER.parse(page):
        if token.map:
            line = first + token.map[0]
        if token.type in {"heading_open", "th_open"}:
            heading = True
        elif token.type in {"heading_close", "th_close"}:
            heading = False
        elif token.type in {"td_open", "td_close"}:
            cell = token.type == "td_open"
        elif token.type == "inline":
            for sentence in _sentences(*_flat(token), line):
                yield replace(sentence, heading=heading, cell=cell)


def of_openapi(document: str) -> Iterator[Sentence]:
    """Yield the sentences of an OpenAPI document's summaries and descriptions, each text once.

    Args:
        document: JSON with a line for each text, as `make openapi` stores it.
    """
    seen = set()
    for found in _TEXT_OF_API.finditer(document):
        if found[1] not in seen:
            seen.add(found[1])
            line = document.count("\n", 0, found.start(1)) + 1
            for sentence in of_markdown(json.loads(found[1])):
                yield replace(sentence, line=line)


def of_python(source: str) -> Iterator[Sentence]:
    """Yield the sentences of a module's docstrings, those of constants and attributes as well."""
    for node in ast.walk(ast.parse(source)):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant):
                text = child.value.value
                if isinstance(text, str):
                    yield from of_markdown(_plain(text), child.lineno)


def _plain(docstring: str) -> str:
    """Return a docstring as Markdown of as many lines: no names of sections, and names of parameters as code."""
    lines, section = [], False
    for line in inspect.cleandoc(docstring).splitlines():
        if _SECTION.match(line):
            section = True
            lines.append("")
            continue
        section = section and (not line or line.startswith("    "))
        lines.append(_ENTRY.sub(r"`\1`: ", line).strip() if section else line)
    return "\n".join(lines)


def _flat(inline: Token) -> tuple[str, str]:
    """Return an inline token's text as rules read it and as it is shown; both have the same length."""
    text, shown = "", ""
    for child in inline.children or []:
        if child.type == "text":
            text, shown = text + child.content.replace("\u2019", "'"), shown + child.content
        elif child.type == "code_inline":
            shown += f"`{child.content}`"
            text += HIDDEN * (len(child.content) + 2)
        elif child.type in {"softbreak", "hardbreak"}:
            text, shown = text + "\n", shown + "\n"
        elif child.type == "html_inline" and child.content.startswith("<br"):
            text, shown = text + " ", shown + " "
    return text, shown


def _sentences(text: str, shown: str, line: int) -> Iterator[Sentence]:
    begin = 0
    ends = [found.end() for found in _END.finditer(text) if not _ABBREVIATION.search(text[: found.end()])]
    for end in [*ends, len(text)]:
        if text[begin:end].strip():
            at = line + text.count("\n", 0, begin)
            yield Sentence(at, " ".join(text[begin:end].split()), " ".join(shown[begin:end].split()))
        begin = end
