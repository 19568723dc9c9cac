"""Writes the page of events from their models: `python -m functions.api.hooks.page [--check]`.

It also makes the OpenAPI document's `webhooks`.
"""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel

from functions.api.hooks.bodies import PAGES, HookPage

FILE: Final = Path(__file__).parents[3] / "docs" / "hooks-events.md"
MODELS: Final = tuple(dict.fromkeys(x.model for x in PAGES))
"""What `data` is, by kind."""
_ANSWER: Final = "Any status of 2xx: the event is not posted again. 410: the endpoint is disabled."
_MARK: Final = "<!-- written by python -m functions.api.hooks.page -->\n"


def webhooks(refs: Mapping[tuple[type[BaseModel], str], Mapping[str, Any]]) -> dict[str, Any]:
    """Return what OpenAPI describes of the events. `refs`: the schema of each model."""
    return {x.kind.value: {"post": _operation(x, refs[x.model, "serialization"])} for x in PAGES}


def _operation(page: HookPage, data: Mapping[str, Any]) -> dict[str, Any]:
    fields = {
        "type": {"const": page.kind.value},
        "timestamp": {"type": "string", "format": "date-time", "description": "When the post was prepared."},
        "data": data,
    }
    schema = {"type": "object", "required": list(fields), "properties": fields}
    content = {"application/json": {"schema": schema, "example": page.example()}}
    return {
        "operationId": "on" + "".join(x.capitalize() for x in page.kind.value.split(".")),
        "tags": ["Hooks"],
        "summary": page.said,
        "description": "The header `webhook-id` has the id of the event. Repeats have the same id.",
        "security": [],
        "requestBody": {"required": True, "content": content},
        "responses": {"2XX": {"description": _ANSWER}},
    }


def text() -> str:
    """Return the page as it is committed: its generated part is between two marks."""
    before, _, after = FILE.read_text(encoding="utf-8").partition(_MARK)
    return before + _MARK + generated() + _MARK + after.partition(_MARK)[2]


def generated() -> str:
    """Return the list of all kinds, and a section for each."""
    rows = [f"| [`{x.kind}`](#{_anchor(x)}) | {x.said}{_whose(x)} |" for x in PAGES]
    return "| kind | posted when |\n|---|---|\n" + "\n".join(rows) + "\n" + "".join(map(_section, PAGES))


def _anchor(page: HookPage) -> str:
    return page.kind.value.replace(".", "")


def _whose(page: HookPage) -> str:
    return " For operators' endpoints only." if page.operators_only else ""


def _section(page: HookPage) -> str:
    example = json.dumps(page.example(), indent=2, ensure_ascii=False)
    return f"\n## {page.kind}\n\n{page.said}{_whose(page)}\n\n{_fields(page)}\n\n```json\n{example}\n```\n"


def _fields(page: HookPage) -> str:
    """Return the table of a kind's fields, or where the same fields are described."""
    first = next(x for x in PAGES if x.model is page.model)
    if first is not page:
        return f"Its `data` has the fields of [`{first.kind}`](#{_anchor(first)})."
    schema = page.model.model_json_schema(mode="serialization")
    lines = ["| field of `data` | type | meaning |", "|---|---|---|"]
    for name, field in schema["properties"].items():
        resolved = _resolved(field, schema.get("$defs", {}))
        lines.append(f"| `{name}` | {_type(resolved)} | {field.get('description', '')} |")
    return "\n".join(lines)


def _resolved(field: Mapping[str, Any], known: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a field's schema with its references replaced by the schemas that they name."""
    if "$ref" in field:
        found: Mapping[str, Any] = known[field["$ref"].rpartition("/")[2]]
        return found
    if "anyOf" in field:
        return {**field, "anyOf": [_resolved(x, known) for x in field["anyOf"]]}
    return field


def _type(field: Mapping[str, Any]) -> str:
    """Return what a value is, as the page says it."""
    if "anyOf" in field:
        return " or ".join(map(_type, field["anyOf"]))
    if "const" in field:
        return f"`{field['const']}`"
    if "enum" in field:
        return ", ".join(f"`{value}`" for value in field["enum"])
    return "time" if field.get("format") == "date-time" else str(field.get("type", "any"))


def main() -> int:
    """Write the page, or with --check tell whether the committed one is current."""
    if "--check" in sys.argv[1:]:
        return int(FILE.read_text(encoding="utf-8") != text())
    FILE.write_text(text(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
