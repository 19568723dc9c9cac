"""Parts of the OpenAPI document that operations share: each is written once, and the whole can be had again."""

import json
from collections import Counter
from copy import deepcopy
from typing import Any

import pytest

from functions.api.examples.parts import PARAMETERS, RESPONSES, fold, prune, shorten, whole
from functions.api.openapi import FILE

DOCUMENT = json.loads(FILE.read_text("utf-8"))
MOST_BYTES = 400_000
"""Of the document as the API serves it: without what is between values for people."""
LIMIT = {"name": "limit", "in": "query", "schema": {"type": "integer"}}
OTHER_LIMIT = {"name": "limit", "in": "query", "schema": {"type": "integer", "maximum": 7}}


def problem(*codes: str) -> dict[str, Any]:
    content = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {"description": "\n\n".join(f"`{code}`: Its text." for code in codes), "content": content}


def answer(model: str) -> dict[str, Any]:
    content = {"application/json": {"schema": {"$ref": f"#/components/schemas/{model}"}}}
    return {"description": "OK", "content": content}


def small() -> dict[str, Any]:
    first = {"responses": {"200": answer("Job"), "404": problem("not_found"), "409": problem("closed", "in_flight")}}
    second = {"parameters": [LIMIT], **deepcopy(first)}
    third = {"parameters": [LIMIT], "responses": {"404": problem("not_found", "credential_not_found")}}
    last = {"parameters": [OTHER_LIMIT], "responses": {"404": problem("not_found"), "304": {"description": "Same."}}}
    paths = {"/a": {"get": first, "post": second}, "/b": {"get": third, "put": last, "delete": deepcopy(last)}}
    fields = {"id": {"$ref": "#/components/schemas/Id"}}
    schemas = {
        "Job": {"title": "Job", "properties": {**fields, "title": {"type": "string"}}},
        "Id": {"title": "Id", "type": "string"},
        "Problem": {"title": "Fault"},
        "Query": {"title": "Query", "properties": {"of": {"$ref": "#/components/schemas/OfQuery"}}},
        "OfQuery": {"title": "OfQuery"},
    }
    return {"paths": paths, "components": {"schemas": schemas}}


def test_what_is_so_without_being_said_is_left_out() -> None:
    fields = {"headers": {"type": "object", "default": None}, "default": {}, "n": {"type": "integer", "default": 0}}
    operation = {
        "parameters": [{"name": "q", "required": False}, {"name": "r", "required": True}],
        "responses": {"200": {"headers": {}, "example": {"default": None, "headers": {}}}, "default": {"headers": {}}},
    }
    document = {
        "paths": {"/a": {"get": operation, "put": {"parameters": []}}},
        "schemas": {"A": {"properties": fields}},
    }
    shorten(document)
    operation = {
        "parameters": [{"name": "q"}, {"name": "r", "required": True}],
        "responses": {"200": {"example": {"default": None, "headers": {}}}, "default": {}},
    }
    fields = {"headers": {"type": "object"}, "default": {}, "n": {"type": "integer", "default": 0}}
    assert document == {"paths": {"/a": {"get": operation, "put": {}}}, "schemas": {"A": {"properties": fields}}}


def test_the_document_is_small() -> None:
    assert len(json.dumps(DOCUMENT, separators=(",", ":"), ensure_ascii=False).encode()) < MOST_BYTES


@pytest.mark.parametrize("kind", [RESPONSES, PARAMETERS])
def test_each_part_that_operations_share_is_a_component(kind: str) -> None:
    parts = [p for methods in DOCUMENT["paths"].values() for x in methods.values() for p in _all(x.get(kind, {}))]
    known = DOCUMENT["components"][kind]
    used = Counter(part["$ref"] for part in parts if "$ref" in part)
    assert used.keys() == {f"#/components/{kind}/{name}" for name in known}
    assert min(used.values()) > 1
    inline = {json.dumps(part) for part in parts if "$ref" not in part}
    assert not inline & {json.dumps(part) for part in known.values()}


def _all(some: Any) -> list[Any]:
    return list(some.values()) if isinstance(some, dict) else some


def test_no_error_of_many_operations_is_written_in_each() -> None:
    parts = [p for methods in DOCUMENT["paths"].values() for x in methods.values() for p in x["responses"].values()]
    times = Counter(json.dumps(part) for part in parts if "application/problem+json" in part.get("content", {}))
    assert max(times.values()) <= 3


def test_what_is_shared_gets_a_name_and_all_else_stays() -> None:
    document = small()
    fold(document, ("not_found",))
    of_a, of_b = document["paths"]["/a"], document["paths"]["/b"]
    refs = {"200": "Job", "404": "404", "409": "409.closed.in_flight"}
    assert of_a["get"]["responses"] == {s: {"$ref": f"#/components/responses/{name}"} for s, name in refs.items()}
    assert of_b["get"]["responses"]["404"] == problem("not_found", "credential_not_found")
    assert of_b["put"]["responses"]["304"] == {"description": "Same."}
    assert set(document["components"]["responses"]) == set(refs.values())
    assert document["components"]["parameters"] == {"limit": LIMIT}
    assert of_a["post"]["parameters"] == of_b["get"]["parameters"] == [{"$ref": "#/components/parameters/limit"}]
    assert of_b["put"]["parameters"] == [OTHER_LIMIT], "the name is the more frequent one's, or the first one's"


def test_a_folded_document_is_whole_again() -> None:
    before, document = small(), small()
    fold(document, ("not_found",))
    assert whole(document)["paths"] == before["paths"] != document["paths"]


def test_schemas_that_nothing_refers_to_are_left_out() -> None:
    document = small()
    prune(document)
    schemas = document["components"]["schemas"]
    assert list(schemas) == ["Job", "Id", "Problem"]
    assert ["title" in schema for schema in schemas.values()] == [False, False, True]
    assert schemas["Job"]["properties"]["title"] == {"type": "string"}
