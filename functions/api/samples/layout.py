"""JSON's values as literals of a language, on one line where they fit."""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

WIDTH: Final = 76
"""Characters of a line, without its indentation."""
_CONTROL: Final = re.compile(r"[\x00-\x1f]")


@dataclass(frozen=True, slots=True)
class Literals:
    """How a language writes values.

    Attributes:
        quoted: a text as a literal.
        words: the literals of true, false and null.
        brackets: around an object's fields, and around an array's items.
        colon: between a name and its value.
        empty: an object without fields.
        indent: of one level.
        trailing: whether a comma follows the last of several lines.
    """

    quoted: Callable[[str], str]
    words: tuple[str, str, str]
    brackets: tuple[tuple[str, str], tuple[str, str]]
    colon: str
    empty: str
    indent: str
    trailing: bool


def quoted_as_json(text: str) -> str:
    """Return a text in double quotes: what JSON, Python and TypeScript read alike."""
    return json.dumps(text, ensure_ascii=False)


def quoted_as_php(text: str) -> str:
    """Return a text as PHP's literal: in double quotes only if it has control characters."""
    if _CONTROL.search(text):
        return json.dumps(text, ensure_ascii=False).replace("$", r"\$")
    return "'" + text.replace("\\", "\\\\").replace("'", r"\'") + "'"


JSON: Final = Literals(
    quoted_as_json, ("true", "false", "null"), (("{", "}"), ("[", "]")), ": ", "{}", "  ", trailing=False
)
PYTHON: Final = Literals(
    quoted_as_json, ("True", "False", "None"), (("{", "}"), ("[", "]")), ": ", "{}", "    ", trailing=True
)
PHP: Final = Literals(
    quoted_as_php, ("true", "false", "null"), (("[", "]"), ("[", "]")), " => ", "new stdClass()", "    ", trailing=True
)


def laid_out(value: Any, literals: Literals, depth: int = 0) -> str:
    """Return a value as a literal.

    Args:
        depth: levels by which its further lines are indented.
    """
    line = "".join(_inline(value, literals))
    if len(line) <= WIDTH or not isinstance(value, dict | list) or not value:
        return line
    inner = literals.indent * (depth + 1)
    if isinstance(value, dict):
        opening, closing = literals.brackets[0]
        parts = [
            f"{literals.quoted(name)}{literals.colon}{laid_out(item, literals, depth + 1)}"
            for name, item in value.items()
        ]
    else:
        opening, closing = literals.brackets[1]
        parts = [laid_out(item, literals, depth + 1) for item in value]
    end = "," if literals.trailing else ""
    return f"{opening}\n{inner}" + f",\n{inner}".join(parts) + f"{end}\n{literals.indent * depth}{closing}"


def _inline(value: Any, literals: Literals) -> Iterator[str]:
    match value:
        case dict() if not value:
            yield literals.empty
        case dict():
            opening, closing = literals.brackets[0]
            pairs = (
                literals.quoted(name) + literals.colon + "".join(_inline(x, literals)) for name, x in value.items()
            )
            yield f"{opening}{', '.join(pairs)}{closing}"
        case list():
            opening, closing = literals.brackets[1]
            yield f"{opening}{', '.join(''.join(_inline(x, literals)) for x in value)}{closing}"
        case bool():
            yield literals.words[0 if value else 1]
        case None:
            yield literals.words[2]
        case str():
            yield literals.quoted(value)
        case _:
            yield str(value)
