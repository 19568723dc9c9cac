"""Adds to each operation of the OpenAPI document an example of its body and answers, and its samples."""

from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import quote, urlencode

from functions.api.samples import given
from functions.api.samples.languages import LANGUAGES, Proof, SampleCall
from functions.api.samples.values import example

SAMPLES: Final = "x-codeSamples"
"""The field of an operation that has them, as tools that show documents know it."""
JSON: Final = "application/json"
_KEY: Final = "Idempotency-Key"

Operation = dict[str, Any]


def add_samples(document: dict[str, Any]) -> None:
    """Add examples and samples to a document that has none."""
    schemas = document["components"]["schemas"]
    for method, path, operation in operations(document):
        for answer in operation["responses"].values():
            content = answer.get("content", {}).get(JSON)
            if content and "schema" in content:
                content["example"] = example(content["schema"], schemas)
        call = sample_call(method, path, operation, schemas)
        if call is None:
            continue
        if call.body is not None:
            operation["requestBody"]["content"][JSON]["example"] = call.body
        operation[SAMPLES] = [
            {"lang": language.name, "label": language.label, "source": language.program(call)} for language in LANGUAGES
        ]


def operations(document: Mapping[str, Any]) -> Iterator[tuple[str, str, Operation]]:
    """Yield method, path and operation."""
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield method.upper(), path, operation


def sample_call(
    method: str, path: str, operation: Operation, schemas: Mapping[str, Mapping[str, Any]]
) -> SampleCall | None:
    """Return the call that an operation's samples make; None: they would make none."""
    name = operation["operationId"]
    if name in given.NOT_CALLED:
        return None
    known = given.INPUTS.get(name, given.SampleInput())
    body = known.body
    content = operation.get("requestBody", {}).get("content", {}).get(JSON)
    if body is None and content and operation["requestBody"].get("required"):
        body = example(content["schema"], schemas)
    takes_key = any(parameter["name"] == _KEY for parameter in operation.get("parameters", ()))
    return SampleCall(
        method,
        filled(path) + (f"?{urlencode(known.query, safe=',')}" if known.query else ""),
        _proof(operation),
        body,
        known.form,
        {_KEY: given.KEY} if takes_key else {},
        returns_json=any(
            JSON in answer.get("content", {}) for status, answer in operation["responses"].items() if status[0] == "2"
        ),
    )


def filled(path: str) -> str:
    """Return a path's template with values."""
    parts = path.split("/")
    resource = parts[1]
    for i, part in enumerate(parts):
        if part.startswith("{"):
            value = given.PATHS[part[1:-1]]
            if part == "{id}":
                value = given.OF_RESOURCES.get(resource, value)
            parts[i] = quote(value, safe="/@")
    return "/".join(parts)


def _proof(operation: Operation) -> Proof:
    schemes = [name for scheme in operation.get("security", [{"key": []}]) for name in scheme]
    if "key" in schemes:
        return Proof.KEY
    return Proof.NOTIFIER if schemes else Proof.NONE
