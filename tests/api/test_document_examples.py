"""Examples of the OpenAPI document: they fit their schemas, and a route takes those of its body."""

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from functions.api.examples import given
from functions.api.examples.document import operations
from functions.api.examples.values import example
from functions.api.openapi import FILE
from functions.api.operations import ROUTES
from shared.web.routing import Route

DOCUMENT = json.loads(FILE.read_text("utf-8"))
OPERATIONS = [operation for *_, operation in operations(DOCUMENT)]
of_each = pytest.mark.parametrize("operation", OPERATIONS, ids=lambda x: x["operationId"])


def test_every_given_body_is_of_an_operation() -> None:
    assert set(given.BODIES) <= {operation["operationId"] for operation in OPERATIONS}


def test_a_route_takes_the_example_of_its_body() -> None:
    bodies = {
        x["operationId"]: x["requestBody"]["content"]["application/json"]["example"]
        for x in OPERATIONS
        if "example" in x.get("requestBody", {}).get("content", {}).get("application/json", {})
    }
    for route in (x for x in ROUTES if isinstance(x, Route)):
        if route.name in bodies:
            route.body.model_validate_json(json.dumps(bodies[route.name]))
        assert route.name in bodies or not route.needs_body


@of_each
def test_an_example_of_an_answer_fits_its_schema(operation: Any) -> None:
    for status, answer in operation["responses"].items():
        content = answer.get("content", {}).get("application/json")
        if content and "schema" in content:
            schema = {**content["schema"], "components": DOCUMENT["components"]}
            errors = [error.message for error in Draft202012Validator(schema).iter_errors(content["example"])]
            assert errors == [], (status, content["example"])


@pytest.mark.parametrize(
    ("schema", "name", "value"),
    [
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "error", None),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "job_id", given.JOB),
        ({"type": ["string", "null"]}, "error", None),
        ({"type": ["string", "null"]}, "job_id", given.JOB),
        ({"type": "array", "items": {"type": "integer"}}, "columns", [0]),
        ({"type": "string", "format": "date-time"}, "name", given.PAST),
        ({"enum": ["open", "closed"]}, "state", "open"),
        ({"$ref": "#/components/schemas/A"}, "", {"n": 1, "test": False}),
        ({"type": "integer"}, "batch_id", 0),
    ],
)
def test_an_example_is_made_of_the_schema_and_the_name(schema: dict[str, Any], name: str, value: Any) -> None:
    schemas = {"A": {"type": "object", "properties": {"n": {"type": "integer"}, "test": {"type": "boolean"}}}}
    assert example(schema, schemas, name) == value
