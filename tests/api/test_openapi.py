import json
from typing import Any

import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

from functions.api.openapi import FILE, text
from functions.api.problems import CODES
from functions.api.routes import ROUTES

DOCUMENT = json.loads(FILE.read_text(encoding="utf-8"))
OPERATIONS: list[tuple[str, str, Any]] = [
    (method.upper(), path, operation)
    for path, methods in DOCUMENT["paths"].items()
    for method, operation in methods.items()
]


def test_the_committed_document_is_current() -> None:
    assert FILE.read_text(encoding="utf-8") == text(), "run: python -m functions.api.openapi"


def test_the_document_is_openapi_3_1() -> None:
    assert DOCUMENT["openapi"].startswith("3.1")
    OpenAPIV31SpecValidator(DOCUMENT).validate()


def test_every_route_is_in_the_document() -> None:
    assert {(m, p) for m, p, _ in OPERATIONS} == {(r.method, r.path) for r in ROUTES}
    names = [operation["operationId"] for *_, operation in OPERATIONS]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("method, path, operation", OPERATIONS, ids=[f"{m} {p}" for m, p, _ in OPERATIONS])  # noqa: PT006
def test_an_operation_says_how_it_may_fail(method: str, path: str, operation: Any) -> None:
    if operation.get("security") == []:
        pages = {"400", "404", "413", "429", "500", "503"} if operation["tags"] == ["Unsubscribe"] else set()
        assert set(operation["responses"]) == {"200"} | pages
        return
    assert {"401", "403", "429", "500", "503"} <= set(operation["responses"])
    assert ("404" in operation["responses"]) or "{id}" not in path
    if "requestBody" in operation:
        assert {"400", "413", "415", "422"} <= set(operation["responses"])
    for status, answer in operation["responses"].items():
        kind = "application/json" if status.startswith("2") else "application/problem+json"
        assert list(answer["content"]) == [kind]


def test_every_code_is_in_the_document() -> None:
    everything = FILE.read_text(encoding="utf-8")
    of_no_operation = {"method_not_allowed"}
    assert {code for code in CODES if f"`{code}`" not in everything} == of_no_operation


def test_nothing_of_what_is_stored_is_in_the_document() -> None:
    everything = FILE.read_text(encoding="utf-8")
    for word in ("open_pk", "mine_pk", "fingerprint", "base_url", "secret"):
        assert word not in everything
