"""The other name of an HTML body: most services call it `html`, and Posthaste takes both."""

from collections.abc import Callable
from typing import Any, Final

from pydantic import AliasChoices

BODY: Final = AliasChoices("body", "html")
"""The names of an HTML body: ours, and the one of most other services."""


def with_html(**more: Any) -> Callable[[dict[str, Any]], None]:
    """Return what adds `html`, the other name of `body`, to a model's schema, and `more` as it is."""

    def add(schema: dict[str, Any]) -> None:
        schema.update(more)
        fields = schema["properties"]
        fields["html"] = {**fields["body"], "title": "Html", "description": "Another name of `body`; give one of them."}
        needed = schema.get("required", [])
        if "body" in needed:
            schema["required"] = [name for name in needed if name != "body"]
            schema["oneOf"] = [{"required": ["body"]}, {"required": ["html"]}]
        else:
            schema["not"] = {"required": ["body", "html"]}

    return add
