"""The OpenAPI document as the SDKs need it: the operations that a program calls with a key."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from functions.api.examples.document import operations as all_operations

KEY: Final = "Idempotency-Key"
LINK: Final = "Link"
JSON: Final = "application/json"
UNTYPED: Final = frozenset({"examples", "example"})
FURTHER: Final = "additionalProperties"
PREFIX: Final = "#/components/schemas/"


@dataclass(frozen=True, slots=True)
class QueryParameter:
    """A parameter of the query; `schema` as in the document."""

    name: str
    schema: Mapping[str, Any]
    required: bool
    description: str


@dataclass(frozen=True, slots=True)
class RequestBody:
    """What a request may carry.

    Attributes:
        model: the schema's name.
        media: another type that is taken as text or bytes, empty if there is none.
        required: whether a request must have it.
    """

    model: str
    media: str
    required: bool


@dataclass(frozen=True, slots=True)
class SdkOperation:
    """One operation.

    Attributes:
        name: the operation's id, in camel case.
        summary: one line, for people.
        path: with parameters in braces, named by `places`.
        body: None if it takes none.
        keyed: whether it takes an Idempotency-Key.
        answers: the names of the schemas that it may answer.
        array: whether the answer is an array; the rest of a long one is behind a link.
        items: the schema's name of each item, if the answer is a page of a list; else empty.
        gone: of a delete that finds nothing when it is repeated: field of its answer → the parameter that it repeats;
            empty for true.
    """

    name: str
    method: str
    path: str
    summary: str
    places: tuple[str, ...]
    query: tuple[QueryParameter, ...]
    body: RequestBody | None
    keyed: bool
    answers: tuple[str, ...]
    array: bool
    items: str
    gone: Mapping[str, str]


def for_types(value: Any) -> Any:
    """Return a document without what types have no use for: examples, and that objects have no further fields.

    A later version of the API may add fields to its answers.
    """
    if isinstance(value, dict):
        return {k: for_types(v) for k, v in value.items() if k not in UNTYPED and (k, v) != (FURTHER, False)}
    return [for_types(each) for each in value] if isinstance(value, list) else value


def operations(document: Mapping[str, Any]) -> Iterator[SdkOperation]:
    """Yield the operations that need a key and answer JSON, in their order."""
    for method, path, operation in all_operations(document):
        found = _operation(document, path, method.lower(), operation)
        if found is not None:
            yield found


def _forgets(method: str, operation: Mapping[str, Any]) -> bool:
    """Return whether what an operation deletes is not found from then on."""
    return method == "delete" and "404" in operation["responses"]


def _goes_on(query: Iterable[QueryParameter], good: Iterable[Mapping[str, Any]], *, array: bool) -> bool:
    """Return whether a list has further pages: by a cursor, or by the link of an answer that is an array."""
    return any(p.name == "cursor" for p in query) or (array and any(LINK in x.get("headers", {}) for x in good))


def _operation(
    document: Mapping[str, Any], path: str, method: str, operation: Mapping[str, Any]
) -> SdkOperation | None:
    good = list(_good(operation))
    answers = tuple(dict.fromkeys(filter(None, map(_model, good))))
    if operation.get("security") == [] or not answers:
        return None
    parameters = operation.get("parameters", [])
    query = tuple(_query(p) for p in parameters if p["in"] == "query")
    (array,) = {document["components"]["schemas"][answer].get("type") == "array" for answer in answers}
    paged = operation["operationId"].startswith("list") and _goes_on(query, good, array=array)
    return SdkOperation(
        name=operation["operationId"],
        method=method.upper(),
        path=path,
        summary=operation["summary"],
        places=tuple(re.findall(r"\{(\w+)\}", path)),
        query=query,
        body=_body(operation.get("requestBody")),
        keyed=any(p["name"] == KEY for p in parameters),
        answers=answers,
        array=array,
        items=_items(document, answers[0]) if paged else "",
        gone=_gone(document, path, answers[0]) if _forgets(method, operation) else {},
    )


def _good(operation: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the answers that are no problems."""
    return (answer for status, answer in operation["responses"].items() if status.startswith("2"))


def _model(carrier: Mapping[str, Any]) -> str:
    """Return the name of the schema that a request or an answer carries as JSON, empty if there is none."""
    reference = carrier.get("content", {}).get(JSON, {}).get("schema", {}).get("$ref", "")
    return str(reference).removeprefix(PREFIX)


def _query(parameter: Mapping[str, Any]) -> QueryParameter:
    described = parameter.get("description", "")
    return QueryParameter(parameter["name"], parameter["schema"], bool(parameter.get("required")), described)


def _body(taken: Mapping[str, Any] | None) -> RequestBody | None:
    if taken is None:
        return None
    others = [media for media in taken["content"] if media != JSON]
    return RequestBody(_model(taken), others[0] if others else "", bool(taken.get("required")))


def _gone(document: Mapping[str, Any], path: str, answer: str) -> Mapping[str, str]:
    """Return a delete's answer about a missing thing, as `SdkOperation` has it; nothing if the answer is a view."""
    fields = document["components"]["schemas"][answer]["properties"]
    known = {name: name for name in fields if f"{{{name}}}" in path}
    known |= {name: "" for name, schema in fields.items() if schema.get("type") == "boolean"}
    return known if known.keys() == fields.keys() else {}


def _items(document: Mapping[str, Any], answer: str) -> str:
    """Return the name of the schema of a page's items."""
    schema = document["components"]["schemas"][answer]
    listed = schema if schema["type"] == "array" else schema["properties"]["items"]
    return str(listed["items"]["$ref"]).removeprefix(PREFIX)
