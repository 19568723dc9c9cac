"""Samples of the API: each operation has them, and they are what the API, a shell and the SDKs' types take."""

import ast
import json
import shlex
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from functions.api.examples.document import operations
from functions.api.openapi import FILE
from functions.api.operations import ROUTES
from shared.web.http import Request
from shared.web.routing import find
from tests.sdks.conftest import Tool
from tools.samples import LANGUAGES, Sample, samples
from tools.sdks import __main__ as sdks
from tools.sdks.document import operations as of_sdks
from tools.wheel import ROOT

FORM = "application/x-www-form-urlencoded"
DOCUMENT = json.loads(FILE.read_text("utf-8"))
SAMPLES = list(samples())
PROOFS = {
    "getBatch": ("Bearer $POSTHASTE_API_KEY", "Posthaste()", "Posthaste()"),
    "putMessages": (
        '-u "$POSTHASTE_NOTIFIER:',
        'Posthaste(os.environ["POSTHASTE_URL"], notifier=(',
        "{ url: process.env.POSTHASTE_URL!, notifier: {",
    ),
}
STRICT = {
    "strict": True,
    "noEmit": True,
    "module": "nodenext",
    "target": "es2022",
    "lib": ["es2023", "dom"],
    "moduleDetection": "force",
    "allowImportingTsExtensions": True,
    "types": ["node"],
    "typeRoots": [str(ROOT / "node_modules" / "@types")],
    "paths": {"posthaste-sdk": [str(sdks.TYPESCRIPT / "src" / "index.ts")]},
}


def of(label: str) -> list[Sample]:
    return [x for x in SAMPLES if x.label == label]


def test_every_operation_has_a_sample_of_curl_and_of_each_sdk_that_has_it() -> None:
    known = [x.name for x in of_sdks(DOCUMENT)]
    everything = [x["operationId"] for *_, x in operations(DOCUMENT) if x["tags"] != ["Webhooks"]]
    assert [x.operation for x in of("curl")] == everything
    assert [x.operation for x in of("Python")] == [x.operation for x in of("TypeScript")] == known
    assert list(LANGUAGES) == list(dict.fromkeys(x.label for x in SAMPLES))


def test_curl_calls_the_operation_with_its_example() -> None:
    found = {x["operationId"]: (method, path, x) for method, path, x in operations(DOCUMENT)}
    for sample in of("curl"):
        method, path, operation = found[sample.operation]
        words = shlex.split(sample.source.replace("\\\n", " "))
        url = next(word for word in words if word.startswith("$POSTHASTE_URL"))
        parts = urlsplit(url.removeprefix("$POSTHASTE_URL")).path
        asked = words[words.index("-X") + 1] if "-X" in words else "GET"
        request = Request("x", asked, tuple(parts.strip("/").split("/")), {}, {}, b"", parts.endswith("/"))
        route, _ = find(ROUTES, request)
        assert (route.method, route.path) == (method, path)
        content = operation.get("requestBody", {}).get("content", {})
        data = [words[i + 1] for i, word in enumerate(words) if word == "-d"]
        if form := content.get(FORM):
            assert dict(x.split("=", 1) for x in data) == form["example"]
        else:
            known = content.get("application/json", {})
            assert [json.loads(x) for x in data] == ([known["example"]] if "example" in known else [])


def test_each_way_to_prove_who_calls_is_in_every_language() -> None:
    for operation, proofs in PROOFS.items():
        found = [x.source for x in SAMPLES if x.operation == operation]
        assert [proof in source for proof, source in zip(proofs, found, strict=True)] == [True] * 3, operation
    (health,) = [x.source for x in SAMPLES if x.operation == "getHealth"]
    assert health == 'curl -sS --fail-with-body "$POSTHASTE_URL/health"\n'


def test_a_python_sample_has_the_words_of_python() -> None:
    for sample in of("Python"):
        names = {x.id for x in ast.walk(ast.parse(sample.source)) if isinstance(x, ast.Name)}
        assert not names & {"true", "false", "null"}, sample.operation


@pytest.mark.slow
def test_the_samples_in_python_pass_its_strict_checks(tmp_path: Path, tool: Tool) -> None:
    for sample in of("Python"):
        (tmp_path / f"{sample.operation}.py").write_text(sample.source, "utf-8")
    files = sorted(str(x) for x in tmp_path.glob("*.py"))
    tool("mypy", "--strict", "--scripts-are-modules", *files, folder=tmp_path, MYPYPATH=str(sdks.PYTHON / "src"))


@pytest.mark.slow
def test_the_samples_in_typescript_pass_its_strict_checks(tmp_path: Path, tool: Tool) -> None:
    for sample in of("TypeScript"):
        (tmp_path / f"{sample.operation}.mts").write_text(sample.source, "utf-8")
    (tmp_path / "tsconfig.json").write_text(json.dumps({"compilerOptions": STRICT, "include": ["*.mts"]}), "utf-8")
    tool("node", str(ROOT / "node_modules" / "typescript" / "bin" / "tsc"), "-p", str(tmp_path), folder=tmp_path)
