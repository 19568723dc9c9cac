"""Templates: text with `{{ name }}`, checked and compiled once, rendered per recipient.

A placeholder is two opening braces, a name of ASCII letters, digits and underscores, and two closing braces. Upper and
lower case are the same name, and blanks and line breaks around it are ignored. `| plain` and `| default: "text"` may
follow the name, each once. Everything else between double braces is refused with its position. Sections, comments,
partials, triple braces, dots and quotes belong to other languages. A mail that shows them is a mistake that a million
people read. Names are ASCII because they are compared without case, whose rules differ in other scripts. Single braces
are text. So is `}}` if it closes two single ones, as at the end of a media query or of JSON.

Template authors read docs/templates.md.

A value is data, never markup: rendered text is not read again, and a value is made safe for its place (`TemplateKind`).
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from enum import StrEnum
from html import escape
from typing import Final, NamedTuple

from shared.domain.characters.invisible import seen
from shared.domain.content.plain_values import plain
from shared.frozen import dataclass

RECIPIENT: Final = "recipient"
"""The variable that always has a value: the recipient's address or number."""
UNSUBSCRIBE_URL: Final = "unsubscribe_url"
"""The variable that has one where an unsubscription is offered: the link of who no longer wants the mail."""
MAX_BYTES: Final = 1024 * 1024
"""Of a template in UTF-8; mailbox providers cut HTML at about 100 KB already."""
MAX_VARIABLES: Final = 200
"""Different names."""
# change: which placeholders a template may have
MAX_PLACEHOLDERS: Final = 1000
"""Placeholders in one template, of any names: with cells of 8 KB a rendered message stays well within memory."""
MAX_NAME: Final = 64
"""Characters of a name."""
MAX_FAULTS: Final = 20
"""Faults reported of one template."""
_MAX_TAG: Final = 200
"""Characters after which `}}` is not taken for the end of a faulty placeholder."""

_BLANK: Final = " \t\r\n"
_PLAIN: Final = rf"\|[{_BLANK}]*+plain[{_BLANK}]*+"
_QUOTED: Final = r"(?:\"[^\"{}\r\n]*+\"|'[^'{}\r\n]*+')"
_DEFAULT: Final = rf"\|[{_BLANK}]*+default[{_BLANK}]*+:[{_BLANK}]*+{_QUOTED}[{_BLANK}]*+"
_FILTERS: Final = rf"((?:{_PLAIN}(?:{_DEFAULT})?+|{_DEFAULT}(?:{_PLAIN})?+)?+)"
_TOKEN: Final = re.compile(rf"\{{\{{[{_BLANK}]*+([A-Za-z0-9_]++)[{_BLANK}]*+{_FILTERS}\}}\}}|\{{++|\}}++")
"""A placeholder with what follows its name, or a run of opening or of closing braces."""
_DEFAULT_OF: Final = re.compile(rf"default[{_BLANK}]*+:[{_BLANK}]*+({_QUOTED})")
_DOUBLE: Final = re.compile(r"\{\{|\}\}")
_NOT_A_NAME: Final = re.compile(r"[^A-Za-z0-9_]")
_LINE_BREAK: Final = re.compile(r"\r\n|\r|\n")
_UNSTORABLE: Final = re.compile(r"[\x00\ud800-\udfff\ufdd0-\ufdef]")
"""NUL, lone surrogates and noncharacters: no mail carries the first, no UTF-8 the second, and `plain_text` uses two
of the third."""
_NOT_IN_LINE: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufdd0-\ufdef]")
"""Characters that no header can contain: C0 and C1 controls, the two Unicode line breaks, and `_UNSTORABLE`."""
_NOT_IN_LINE_RUN: Final = re.compile(_NOT_IN_LINE.pattern + "++")
_MARKUP: Final = re.compile("[&<>\"']")
_LINK: Final = re.compile(r"[\s\"'/:](href|action|formaction|src|background|poster)\s*+=\s*+[\"']?\s*+$", re.IGNORECASE)
"""The end of a literal after which a value begins the URL of an attribute."""
_BEFORE: Final = 100
"""Characters of a literal that `_LINK` searches."""
_NOT_READ: Final = re.compile(r"[\x00-\x20]++")
"""Characters that browsers drop at the beginning of a URL, or anywhere in it (WHATWG URL 4.4)."""
_RUNS: Final = re.compile(r"(?:javascript|vbscript|livescript):|data:(?!image/(?!svg))", re.IGNORECASE)
_RUNS_IN_LINK: Final = re.compile(r"(?:javascript|vbscript|livescript|data):", re.IGNORECASE)
_SHOWN: Final = frozenset({"src", "background", "poster"})
"""Attributes whose URL is shown in the message, where `data:` of an image is harmless."""


class TemplateKind(StrEnum):
    """The place of a template's text, which decides how values are made safe."""

    HTML = "html"
    """An e-mail's HTML body: `& < > " '` in values become entities, and a link that would run a script is left out."""
    TEXT = "text"
    """An e-mail's text body, or a voice message: values stay as they are."""
    SUBJECT = "subject"
    """One line of a header: each run of control characters and line breaks in a value becomes a space."""
    SMS = "sms"
    """A short message: values stay as they are."""


class FaultCode(StrEnum):
    """The stable code of what is wrong with a template."""

    CONTROL_CHARACTER = "control_character"
    EMPTY_NAME = "empty_name"
    INVALID_NAME = "invalid_name"
    NAME_TOO_LONG = "name_too_long"
    NO_COMMENTS = "no_comments"
    NO_PARTIALS = "no_partials"
    NO_SECTIONS = "no_sections"
    NO_UNESCAPED = "no_unescaped"
    TOO_LARGE = "too_large"
    TOO_MANY_PLACEHOLDERS = "too_many_placeholders"
    TOO_MANY_VARIABLES = "too_many_variables"
    UNCLOSED = "unclosed"
    UNOPENED = "unopened"


_SIGILS: Final = {
    "#": (FaultCode.NO_SECTIONS, "Sections are not supported: a template has no conditions and no loops."),
    "^": (FaultCode.NO_SECTIONS, "Sections are not supported: a template has no conditions and no loops."),
    "/": (FaultCode.NO_SECTIONS, "Sections are not supported: a template has no conditions and no loops."),
    "!": (FaultCode.NO_COMMENTS, "Comments are not supported."),
    ">": (FaultCode.NO_PARTIALS, "Partials are not supported."),
    "&": (FaultCode.NO_UNESCAPED, "Values are always escaped in HTML: write {{ name }}."),
}


_FOLLOWS: Final = (
    "Only `plain` and a default between straight quotes may follow a name, each once: "
    'write {{ name | plain }} or {{ name | default: "there" }}.'
)


@dataclass(frozen=True, slots=True)
class TemplateFault:
    """A fault of a template, and its place.

    Attributes:
        code: stable.
        message: a sentence for people; it quotes at most one character of the template.
        offset: Unicode characters before the fault, from 0.
        line: from 1; LF, CR LF and CR end a line.
        column: Unicode characters from the line's beginning, from 1.
    """

    code: FaultCode
    message: str
    offset: int
    line: int
    column: int


class InvalidTemplateError(ValueError):
    """A template is refused; `faults`: at least one and at most `MAX_FAULTS`, by position."""

    def __init__(self, faults: tuple[TemplateFault, ...]) -> None:
        first = faults[0]
        super().__init__(f"line {first.line}, column {first.column}: {first.message}")
        self.faults = faults


def _in_line(value: str) -> str:
    return _NOT_IN_LINE_RUN.sub(" ", value) if _NOT_IN_LINE.search(value) else value


def _in_html(value: str) -> str:
    return escape(value) if _MARKUP.search(value) else value


def _links(frame: Sequence[str], slots: Mapping[int, "_Slot"]) -> Iterator[tuple[re.Pattern[str], tuple["_Slot", ...]]]:
    """Yield the values that begin the URL of an attribute, each with those that follow it at once."""
    for i in slots:
        found = _LINK.search(frame[i - 1][-_BEFORE:]) if i else None
        if found is not None:
            end = next((n for n in range(i, len(frame)) if n not in slots and frame[n].strip()), len(frame))
            refused = _RUNS if found[1].lower() in _SHOWN else _RUNS_IN_LINK
            yield refused, tuple(slots[n] for n in range(i, end) if n in slots)


_SAFE: Final[Mapping[TemplateKind, Callable[[str], str] | None]] = {
    TemplateKind.HTML: _in_html,
    TemplateKind.TEXT: None,
    TemplateKind.SUBJECT: _in_line,
    TemplateKind.SMS: None,
}


class _Slot(NamedTuple):
    """A value's index in the frame, its name, whether it must be no link, and its default; None: it has none."""

    at: int
    name: str
    plain: bool = False
    default: str | None = None

    def of(self, values: Mapping[str, str]) -> str:
        """Return its value, or its default in place of one that shows nothing."""
        value = values.get(self.name, "")
        return self.default if self.default is not None and not seen(value) else value

    @property
    def written(self) -> str:
        """The placeholder, as a template has it."""
        quote = "'" if '"' in (self.default or "") else '"'
        default = "" if self.default is None else f" | default: {quote}{self.default}{quote}"
        return f"{{{{ {self.name}{' | plain' if self.plain else ''}{default} }}}}"


@dataclass(frozen=True, slots=True)
class Template:
    """A checked template, ready to be rendered. Made by `parse`; two of the same text and kind are equal.

    Attributes:
        text: as it was written.
        kind: the place of its text.
        variables: names in lower case, each once, in the order of their first appearance.
    """

    text: str = field(repr=False)
    kind: TemplateKind
    variables: tuple[str, ...] = field(compare=False)
    _frame: tuple[str, ...] = field(compare=False, repr=False)
    """Literals, with an empty string in place of each value."""
    _slots: tuple[_Slot, ...] = field(compare=False, repr=False)
    _links: tuple[tuple[re.Pattern[str], tuple[_Slot, ...]], ...] = field(compare=False, repr=False)
    """The values that begin a URL together, and what must not be their beginning."""

    @classmethod
    def parse(cls, text: str, kind: TemplateKind) -> "Template":
        """Check and compile a template; linear in its length.

        Args:
            text: at most `MAX_BYTES` in UTF-8.
            kind: the place of its text; a subject is one line.

        Raises:
            InvalidTemplateError: with every fault found, up to `MAX_FAULTS`.
        """
        reader = _Reader(text)
        if not reader.too_large():
            reader.read()
            reader.controls(_NOT_IN_LINE if kind is TemplateKind.SUBJECT else _UNSTORABLE)
        if reader.found:
            raise InvalidTemplateError(reader.faults())
        frame, slots = tuple(reader.frame), tuple(reader.slots)
        links = tuple(_links(frame, {x.at: x for x in slots})) if kind is TemplateKind.HTML else ()
        return cls(text, kind, tuple(reader.variables), frame, slots, links)

    @property
    def needed(self) -> frozenset[str]:
        """Variables that have no default in at least one place."""
        return frozenset(x.name for x in self._slots if x.default is None)

    def count(self, name: str) -> int:
        """Return how often the template names a variable."""
        return sum(1 for x in self._slots if x.name == name)

    def render(self, values: Mapping[str, str]) -> str:
        """Return the text with its values; a missing or empty one is its default, else nothing.

        A link that would run a script is nothing as well.

        Args:
            values: by lower-case name; what the template does not name is ignored.

        Raises:
            ValueError: the template names the recipient, and there is none: the caller's mistake, not the template's.
        """
        out = list(self._frame)
        safe = _SAFE[self.kind]
        for slot in self._slots:
            value = slot.of(values)
            if value:
                shown = plain(value) if slot.plain else value
                out[slot.at] = shown if safe is None else safe(shown)
            elif slot.name == RECIPIENT:
                raise ValueError("a message needs its recipient")
        for refused, parts in self._links:
            if refused.match(_NOT_READ.sub("", "".join([slot.of(values) for slot in parts]))):
                for slot in parts:
                    out[slot.at] = ""
        return "".join(out)

    def marked(self, mark: Callable[[str], str]) -> str:
        """Return the text with a mark in place of each value. `mark`: of a placeholder as a template has it."""
        out = list(self._frame)
        for slot in self._slots:
            out[slot.at] = mark(slot.written)
        return "".join(out)


@dataclass(frozen=True, slots=True)
class Changes:
    """The effect of a changed template on a stored list. Names are in the order of their appearance in the templates.

    Attributes:
        added: variables that the old templates did not have.
        removed: variables that the new templates do not have.
        missing: variables of the new templates that are no column of the list; while there are any, it does not fit.
    """

    added: tuple[str, ...]
    removed: tuple[str, ...]
    missing: tuple[str, ...]


def changes(old: Iterable[Template], new: Iterable[Template], columns: Iterable[str]) -> Changes:
    """Compare a message's templates (subject, bodies) before and after a change with a stored list's columns.

    Args:
        old: templates before; empty if there were none.
        columns: the list's header names, as in the file: trimmed and compared without case.
    """
    before, after = variables(old), variables(new)
    # A list always has its recipients, even if their column has another name in a converted file.
    there = {c.strip().lower() for c in columns} | {RECIPIENT}
    return Changes(
        added=tuple(v for v in after if v not in before),
        removed=tuple(v for v in before if v not in after),
        missing=tuple(v for v in after if v not in there),
    )


def variables(templates: Iterable[Template]) -> tuple[str, ...]:
    """Return the variables of several templates, each once, in the order of their first appearance."""
    return tuple(dict.fromkeys(name for t in templates for name in t.variables))


class _Reader:
    """Reads a template from left to right."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.found: list[tuple[int, FaultCode, str]] = []
        """Offset, code and message of each fault."""
        self.frame: list[str] = []
        self.slots: list[_Slot] = []
        self.variables: dict[str, None] = {}
        self._open = 0
        """Single braces opened and not closed."""
        self._placeholders = 0

    def faults(self) -> tuple[TemplateFault, ...]:
        lines = [0, *(m.end() for m in _LINE_BREAK.finditer(self.text))]
        out = []
        for offset, code, message in sorted(self.found)[:MAX_FAULTS]:
            line = bisect_right(lines, offset)
            out.append(TemplateFault(code, message, offset, line, offset - lines[line - 1] + 1))
        return tuple(out)

    def too_large(self) -> bool:
        raw = self.text.encode("utf-8", "surrogatepass")
        if len(raw) > MAX_BYTES:
            rest = len(raw[:MAX_BYTES].decode("utf-8", "ignore"))
            self._fault(FaultCode.TOO_LARGE, f"A template has at most {MAX_BYTES} bytes.", rest)
        return bool(self.found)

    def controls(self, refused: re.Pattern[str]) -> None:
        for n, found in enumerate(refused.finditer(self.text)):
            if n == MAX_FAULTS:
                return
            self._fault(FaultCode.CONTROL_CHARACTER, f"{_named(found[0])} cannot stand here.", found.start())

    def read(self) -> None:
        at = literal = 0
        while (token := _TOKEN.search(self.text, at)) and len(self.found) < MAX_FAULTS:
            if token[1]:
                self._literal(literal, token.start())
                self._placeholder(token[1].lower(), token[2], token.start())
                literal = at = token.end()
            elif token[0] == "{":
                self._open += 1
                at = token.end()
            elif token[0].startswith("{"):
                at = self._refused(token)
            else:
                self._closing(token, after_placeholder=literal == token.start() > 0)
                at = token.end()
        self._literal(literal, len(self.text))

    def _literal(self, start: int, end: int) -> None:
        if end > start:
            self.frame.append(self.text[start:end])

    def _placeholder(self, name: str, filters: str, offset: int) -> None:
        if len(name) > MAX_NAME:
            self._fault(FaultCode.NAME_TOO_LONG, f"A name has at most {MAX_NAME} characters.", offset)
            return
        self._placeholders += 1
        if self._placeholders == MAX_PLACEHOLDERS + 1:
            message = f"A template has at most {MAX_PLACEHOLDERS} placeholders."
            self._fault(FaultCode.TOO_MANY_PLACEHOLDERS, message, offset)
        if name not in self.variables and len(self.variables) == MAX_VARIABLES:
            message = f"A template has at most {MAX_VARIABLES} different variables."
            self._fault(FaultCode.TOO_MANY_VARIABLES, message, offset)
        self.variables[name] = None
        default = _DEFAULT_OF.search(filters)
        apart = bool(filters) and "plain" in _DEFAULT_OF.sub("", filters)
        self.slots.append(_Slot(len(self.frame), name, apart, default[1][1:-1] if default else None))
        self.frame.append("")

    def _closing(self, token: re.Match[str], *, after_placeholder: bool) -> None:
        """Closing braces are text, but two or more, or one behind a placeholder, must close what was opened."""
        count = len(token[0])
        if count > self._open and (count > 1 or after_placeholder):
            self._fault(FaultCode.UNOPENED, "These closing braces have no opening ones.", token.start())
        self._open = max(0, self._open - count)

    def _refused(self, token: re.Match[str]) -> int:
        """Report double braces that are no placeholder; return where reading continues."""
        start, begin = token.span()
        end = _DOUBLE.search(self.text, begin)
        if end is None or end[0] == "{{" or end.start() - begin > _MAX_TAG:
            self._fault(FaultCode.UNCLOSED, "These opening braces are never closed.", start)
            return begin
        code, message = _reason(self.text[begin : end.start()].strip(_BLANK), triple=begin - start > len("{{"))
        self._fault(code, message, start)
        at = end.end()
        while at < len(self.text) and at - end.start() < begin - start and self.text[at] == "}":
            at += 1
        return at

    def _fault(self, code: FaultCode, message: str, offset: int) -> None:
        self.found.append((offset, code, message))


def _reason(inner: str, *, triple: bool) -> tuple[FaultCode, str]:
    if triple:
        return FaultCode.NO_UNESCAPED, "Values are always escaped in HTML: write two braces, apart from other braces."
    if not inner:
        return FaultCode.EMPTY_NAME, "There is no name between the braces."
    if inner[0] in _SIGILS:
        return _SIGILS[inner[0]]
    if "|" in inner:
        return FaultCode.INVALID_NAME, _FOLLOWS
    wrong = _NOT_A_NAME.search(inner)
    character = _named(wrong[0] if wrong else inner[0])
    return FaultCode.INVALID_NAME, f"A name has only the letters a to z, digits and underscores; here is {character}."


def _named(character: str) -> str:
    if character == " ":
        return "a space"
    code = f"U+{ord(character):04X}"
    return f"'{character}' ({code})" if character.isprintable() else f"the character {code}"
