"""Adds to each operation of the OpenAPI document an example of its body and of its answers."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from functions.api.examples import given
from functions.api.examples.parts import whole
from functions.api.examples.values import example

JSON: Final = "application/json"

Operation = dict[str, Any]


def add_examples(document: dict[str, Any]) -> None:
    """Add examples to a document that has none."""
    schemas = document["components"]["schemas"]
    for operation in (x for methods in document["paths"].values() for x in methods.values()):
        for answer in operation["responses"].values():
            content = answer.get("content", {}).get(JSON, {})
            if "schema" in content:
                content["example"] = example(content["schema"], schemas)
        body = operation.get("requestBody", {})
        content = body.get("content", {}).get(JSON)
        known = given.BODIES.get(operation["operationId"])
        if content and (known is not None or body["required"]):
            content["example"] = example(content["schema"], schemas) if known is None else known


def operations(document: Mapping[str, Any]) -> Iterator[tuple[str, str, Operation]]:
    """Yield method, path and operation, with the parts that it shares with others."""
    for path, methods in whole(document)["paths"].items():
        for method, operation in methods.items():
            yield method.upper(), path, operation
