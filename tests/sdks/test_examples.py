"""Every operation of both SDKs takes what the OpenAPI document says that the API answers."""

import json
from typing import Any, Final

import pytest

from functions.api.examples.parts import whole
from tests.sdks.conftest import Tool
from tools.sdks import python
from tools.sdks.__main__ import DOCUMENT, PYTHON, TYPESCRIPT
from tools.sdks.document import JSON, SdkOperation, operations

pytestmark = pytest.mark.slow  # generates both SDKs

ALL: Final = whole(json.loads(DOCUMENT.read_text(encoding="utf-8")))
CASES: Final = [
    (operation, int(status), answer["content"][JSON]["example"])
    for operation in operations(ALL)
    for status, answer in ALL["paths"][operation.path][operation.method.lower()]["responses"].items()
    if status[0] == "2" and JSON in answer.get("content", {})
]
"""Each operation with each status and document that it may answer."""


def case(language: str, operation: SdkOperation, status: int, answer: Any) -> dict[str, Any]:
    """Return what a program needs to call a method of a language."""
    method, iterator = operation.name, operation.name.replace("list", "each", 1)
    query = {p.name: "x" for p in operation.query if p.required}
    if language == "python":
        method, iterator = python.snake(method), python.snake(method).replace("list_", "iter_", 1)
        query = {python.snake(name): value for name, value in query.items()}
    return {
        "method": method,
        "iterator": iterator if operation.items else "",
        "given": [*("x" for _ in operation.places), *([{}] if operation.body is not None else [])],
        "query": query,
        "status": status,
        "answer": answer,
        "last": [] if operation.array else {"items": [], "next_cursor": None},
    }


@pytest.fixture(scope="module", params=["python", "typescript"])
def returned(request: pytest.FixtureRequest, tool: Tool) -> dict[tuple[str, int], Any]:
    """What each method of an SDK returned, by operation and status."""
    given = json.dumps([case(request.param, *each) for each in CASES])
    folder, words = {
        "python": (PYTHON, ("python", "tests/examples.py")),
        "typescript": (TYPESCRIPT, ("node", "test/examples.ts")),
    }[request.param]
    found = json.loads(tool(*words, folder=folder, given=given, PYTHONPATH="src"))
    return {(operation.name, status): each for (operation, status, _), each in zip(CASES, found, strict=True)}


@pytest.mark.parametrize(
    ("operation", "status", "answer"), CASES, ids=[f"{operation.name}-{status}" for operation, status, _ in CASES]
)
def test_a_method_returns_the_documents_example_and_its_iterator_the_items(
    returned: dict[tuple[str, int], Any], operation: SdkOperation, status: int, answer: Any
) -> None:
    items = answer if operation.array else answer.get("items", [])
    assert returned[operation.name, status] == {"returned": answer, "items": items if operation.items else []}
