"""Whether a scripted API is one that there could be: requests and answers have the shapes that openapi.json says."""

import json
import re
from typing import Any, Final
from urllib.parse import urlsplit

from openapi_schema_validator import OAS31Validator

from functions.api.examples.parts import whole
from infra.local.paths import ROOT
from tests.cli.fakes import Answer, Asked, FakeApi

DOCUMENT: Final = whole(json.loads((ROOT / "functions/api/openapi.json").read_text(encoding="utf-8")))
PATHS: Final = {re.compile(re.sub(r"\{[^}]+\}", "[^/]+", path)): methods for path, methods in DOCUMENT["paths"].items()}


def check(api: FakeApi, *, but: str = "/bucket/") -> None:
    """Assert that what was asked and answered is within the API's own description; `but`: a path that is none of it."""
    for asked, answer in zip(api.asked, api.given, strict=True):
        path = urlsplit(asked.path).path
        if not path.startswith(but) and not answer.drop and answer.raw is None:
            _check(path, asked, answer)


def _check(path: str, asked: Asked, answer: Answer) -> None:
    methods = next((m for pattern, m in PATHS.items() if pattern.fullmatch(path)), None)
    assert methods is not None, f"the API has no {path}"
    operation = methods.get(asked.method.lower())
    assert operation is not None, f"{path} has no {asked.method}"
    taken = operation.get("requestBody")
    if taken and (media := asked.headers.get("Content-Type")) != "application/json":
        assert media in taken["content"], f"{asked.method} {path} takes no {media}"
    elif taken:
        _valid(asked.json, taken, f"{asked.method} {path}")
    else:
        assert asked.body in (b"", b"{}"), f"{asked.method} {path} takes no body"
    described = operation["responses"].get(str(answer.status))
    assert described is not None, f"{asked.method} {path} never answers {answer.status}"
    _valid(answer.body, described, f"{answer.status} of {asked.method} {path}")


def _valid(value: Any, described: dict[str, Any], what: str) -> None:
    ((_, media),) = list(described["content"].items())[:1]
    schema = {**media["schema"], "components": DOCUMENT["components"]}
    errors = [f"{'.'.join(map(str, e.path))}: {e.message}" for e in OAS31Validator(schema).iter_errors(value)]
    assert not errors, f"{what}: {errors}"
