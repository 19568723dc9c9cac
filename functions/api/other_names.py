"""Other names of fields: most services call an HTML body `html`, and a file's data `content`. Posthaste takes both."""

from collections.abc import Callable
from typing import Any, Final

from pydantic import AliasChoices

BODY: Final = AliasChoices("body", "html")
"""The names of an HTML body: ours, and the one of most other services."""
DATA: Final = AliasChoices("data", "content")
"""The same of an attachment's data."""


def with_html(**more: Any) -> Callable[[dict[str, Any]], None]:
    """Return what adds `html`, the other name of `body`, to a model's schema, and `more` as it is."""

    def add(schema: dict[str, Any]) -> None:
        schema.update(more)
        _either(schema, BODY)

    return add


def with_content(schema: dict[str, Any]) -> None:
    """Add `content`, the other name of `data`, to a model's schema."""
    _either(schema, DATA)


def _either(schema: dict[str, Any], names: AliasChoices) -> None:
    """Let an object have a field under its second name: at most one of both, exactly one if it needs the field."""
    ours, other = (str(name) for name in names.choices)
    fields = schema["properties"]
    said = f"Another name of `{ours}`; give one of them."
    fields[other] = {**fields[ours], "title": other.capitalize(), "description": said}
    needed = schema.get("required", [])
    if ours in needed:
        schema["required"] = [name for name in needed if name != ours]
        schema["oneOf"] = [{"required": [ours]}, {"required": [other]}]
    else:
        schema["not"] = {"required": [ours, other]}
