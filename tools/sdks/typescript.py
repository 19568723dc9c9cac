"""The methods of the TypeScript SDK: one for each operation, and one for each list that returns an async iterator."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from tools.sdks.document import PREFIX, SdkOperation

HEAD: Final = """// The operations of the API. Made by `make sdks` from the OpenAPI document: changes here are lost.
import { Caller, type CallOptions, type KeyedOptions, place } from "../calls.ts";
import type { components } from "./schema.ts";

export type Schemas = components["schemas"];

export class Operations extends Caller {"""
SCALARS: Final = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean"}


def module(operations: Sequence[SdkOperation]) -> str:
    """Return the text of the module with the methods."""
    lines = [HEAD]
    for each in operations:
        lines += _method(each)
        if each.items:
            lines += _iterator(each)
    return "\n".join(lines).rstrip() + "\n}\n"


def codes(known: Mapping[str, tuple[int, str]]) -> str:
    """Return the text of the module with the codes of errors; `known`: status and text by code."""
    rows = [f"  | {json.dumps(code)} // {status}" for code, (status, _) in known.items()]
    return "\n".join(["// Made by `make sdks`: changes here are lost.", "export type ErrorCode =", *rows, ""]) + ";\n"


def _type(schema: Mapping[str, Any]) -> str:
    """Return the type of a parameter."""
    if "$ref" in schema:
        return f'Schemas["{schema["$ref"].removeprefix(PREFIX)}"]'
    if "enum" in schema:
        return " | ".join(json.dumps(value) for value in schema["enum"])
    if schema.get("type") == "array":
        return f"readonly ({_type(schema['items'])})[]"
    return SCALARS[schema["type"]]


def camel(name: str) -> str:
    """Return a name with underscores in camel case."""
    first, *others = name.split("_")
    return first + "".join(word.capitalize() for word in others)


def _arguments(operation: SdkOperation, but: Iterable[str] = ()) -> Iterator[str]:
    yield from (f"{camel(place)}: string" for place in operation.places)
    body = operation.body
    if body is not None:
        kind = f'Schemas["{body.model}"]' + (" | string | Uint8Array<ArrayBuffer>" if body.media else "")
        yield f"body: {kind}" + ("" if body.required else " = {}")
    asked = [p for p in operation.query if p.name not in but]
    if asked:
        fields = "; ".join(f"{p.name}{'' if p.required else '?'}: {_type(p.schema)}" for p in asked)
        yield f"query: {{ {fields} }}" + ("" if any(p.required for p in asked) else " = {}")
    yield f"options: {'KeyedOptions' if operation.keyed else 'CallOptions'} = {{}}"


def _method(operation: SdkOperation) -> Iterator[str]:
    answer = " | ".join(f'Schemas["{name}"]' for name in operation.answers)
    yield f"  /** {operation.summary.rstrip('.')}. */"
    yield f"  {operation.name}({', '.join(_arguments(operation))}): Promise<{answer}> {{"
    yield f"    return this.call({_request(operation)}, options);"
    yield "  }"
    yield ""


def _iterator(operation: SdkOperation) -> Iterator[str]:
    name = operation.name.replace("list", "each", 1)
    yield f"  /** {operation.summary.rstrip('.')}. Pages are fetched as they are needed. */"
    yield f'  {name}({", ".join(_arguments(operation, {"cursor"}))}): AsyncGenerator<Schemas["{operation.items}"]> {{'
    yield f"    return this.each({_request(operation, {'cursor'})}, options);"
    yield "  }"
    yield ""


def _request(operation: SdkOperation, but: Iterable[str] = ()) -> str:
    """Return the expression that makes the request."""
    path = operation.path
    for place in operation.places:
        path = path.replace(f"{{{place}}}", f"${{place({camel(place)})}}")
    words = [f"method: {json.dumps(operation.method)}", f"path: `{path}`"]
    words += ["query"] if any(p.name not in but for p in operation.query) else []
    if operation.body is not None:
        words.append("body")
        words += [f"media: {json.dumps(operation.body.media)}"] if operation.body.media else []
    words += ["keyed: true"] if operation.keyed else []
    words += ["array: true"] if operation.array else []
    words += [f"gone: {_gone(operation)}"] if operation.gone else []
    return f"{{ {', '.join(words)} }}"


def _gone(operation: SdkOperation) -> str:
    """Return the object that an answer about what is gone would have been."""
    fields = (f"{name}: {camel(place) if place else 'true'}" for name, place in operation.gone.items())
    return f"{{ {', '.join(fields)} }}"
