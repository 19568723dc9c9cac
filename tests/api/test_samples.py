"""Samples of the OpenAPI document: each operation has them, in each language, and they are what the API takes.

`tests/deployed/test_samples.py` runs them.
"""

import ast
import json
import shlex
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from jsonschema import Draft202012Validator

from functions.api.openapi import FILE
from functions.api.operations import ROUTES
from functions.api.samples import given
from functions.api.samples.document import SAMPLES, operations, sample_call
from functions.api.samples.languages import LANGUAGES, Proof, SampleCall, curl, go, php, python, typescript
from functions.api.samples.layout import JSON, PHP, PYTHON, laid_out
from functions.api.samples.values import example
from shared.web.http import Request
from shared.web.routing import Nothing, Route, find

ROOT = Path(__file__).parents[2]
DOCUMENT = json.loads(FILE.read_text("utf-8"))
OPERATIONS = list(operations(DOCUMENT))
CALLED = [x for x in OPERATIONS if x[2]["operationId"] not in given.NOT_CALLED]
of_each = pytest.mark.parametrize(("method", "path", "operation"), CALLED, ids=[x[2]["operationId"] for x in CALLED])
VALUES: list[Any] = [
    {"a": 'it\'s "x" $5\r\n', "b": [1, 2.5, True, False, None], "c": {}, "d": [], "e": {"f": ["g" * 50, "h" * 50]}},
    ["ä 🙂", "\\", "\\n"],
    "text",
]


def sources(operation: Any) -> dict[str, str]:
    return {sample["label"]: sample["source"] for sample in operation[SAMPLES]}


def call_of(method: str, path: str, operation: Any) -> SampleCall:
    found = sample_call(method, path, operation, DOCUMENT["components"]["schemas"])
    assert found is not None
    return found


def test_every_operation_has_a_sample_in_every_language_or_a_reason() -> None:
    labels = [language.label for language in LANGUAGES]
    assert labels == ["curl", "Python", "TypeScript", "Go", "PHP"]
    for _, path, operation in OPERATIONS:
        found = [sample["label"] for sample in operation.get(SAMPLES, ())]
        assert found == ([] if operation["operationId"] in given.NOT_CALLED else labels), path


def test_every_input_is_of_an_operation() -> None:
    names = {operation["operationId"] for *_, operation in OPERATIONS}
    assert (set(given.INPUTS) | set(given.NOT_CALLED)) - names == set()


@of_each
def test_a_sample_is_what_its_route_takes(method: str, path: str, operation: Any) -> None:
    call = call_of(method, path, operation)
    parts = urlsplit(call.path)
    query = dict(parse_qsl(parts.query))
    request = Request("x", method, tuple(parts.path.strip("/").split("/")), {}, query, b"", parts.path.endswith("/"))
    route, _ = find(ROUTES, request)
    assert (route.method, route.path) == (method, path)
    if isinstance(route, Route):
        route.query.model_validate_strings(query)
        if route.body is not Nothing and call.body is not None:
            route.body.model_validate_json(json.dumps(call.body))
        assert call.body is not None or not route.body_required
    assert (call.proof is Proof.NONE) == (operation.get("security") == [])


@of_each
def test_an_example_of_an_answer_fits_its_schema(method: str, path: str, operation: Any) -> None:
    for status, answer in operation["responses"].items():
        content = answer.get("content", {}).get("application/json")
        if content and "schema" in content:
            schema = {**content["schema"], "components": DOCUMENT["components"]}
            errors = [error.message for error in Draft202012Validator(schema).iter_errors(content["example"])]
            assert errors == [], (status, content["example"])


@of_each
def test_a_sample_can_be_read_by_its_language(method: str, path: str, operation: Any) -> None:
    found, call = sources(operation), call_of(method, path, operation)
    words = shlex.split(found["curl"].replace("\\\n", " "))
    assert words[0] == "curl"
    if call.body is not None:
        assert json.loads(words[words.index("-d") + 1]) == call.body
    ast.parse(found["Python"])
    assert found["Go"].count("`") in (0, 2), "a raw string cannot hold its own quote"
    assert found["PHP"].startswith("<?php\n")


@pytest.mark.slow
def test_the_samples_in_typescript_pass_its_strict_checks(tmp_path: Path) -> None:
    for *_, operation in CALLED:
        (tmp_path / f"{operation['operationId']}.mts").write_text(sources(operation)["TypeScript"], "utf-8")
    settings = {
        "compilerOptions": {
            "strict": True,
            "noEmit": True,
            "module": "nodenext",
            "target": "es2022",
            "lib": ["es2023"],
            "moduleDetection": "force",
            "types": ["node"],
            "typeRoots": [str(ROOT / "node_modules" / "@types")],
        },
        "include": ["*.mts"],
    }
    (tmp_path / "tsconfig.json").write_text(json.dumps(settings), "utf-8")
    command = [str(ROOT / ".venv" / "bin" / "node"), str(ROOT / "node_modules" / "typescript" / "bin" / "tsc")]
    done = subprocess.run([*command, "-p", str(tmp_path)], capture_output=True, text=True, check=False, timeout=240)
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.parametrize("value", VALUES)
def test_a_literal_is_the_value(value: Any) -> None:
    assert json.loads(laid_out(value, JSON)) == value
    assert ast.literal_eval(laid_out(value, PYTHON)) == value


def test_a_literal_of_php_escapes_what_php_would_read() -> None:
    assert laid_out('it\'s $5 \\ "x"', PHP) == r"'it\'s $5 \\ " + '"x"' + "'"
    assert laid_out("$5\r\n", PHP) == r'"\$5\r\n"'
    assert laid_out({"a": {}, "b": [None, True]}, PHP) == "['a' => new stdClass(), 'b' => [null, true]]"


def test_each_way_to_prove_who_calls_is_in_every_language() -> None:
    words = {
        Proof.KEY: ["POSTHASTE_API_KEY"] * 5,
        Proof.NOTIFIER: ["-u ", "auth=(", "Basic ${btoa(", "SetBasicAuth", "CURLOPT_USERPWD"],
    }
    for proof, expected in words.items():
        call = SampleCall("GET", "/templates", proof)
        for program, word in zip((curl, python, typescript, go, php), expected, strict=True):
            assert word in program(call)
    bare = SampleCall("GET", "/health", Proof.NONE)
    for program in (curl, python, typescript, go, php):
        assert "POSTHASTE_API_KEY" not in program(bare)


@pytest.mark.parametrize(
    ("schema", "name", "value"),
    [
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "error", None),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "job_id", given.JOB),
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
