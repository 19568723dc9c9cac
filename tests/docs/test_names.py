"""One name, one thing: a reader who greps for a class finds one."""

import ast
from collections import defaultdict

import pytest

from infra.settings import ROOT

VIEWS = {"Hint"}
"""Views of the API, whose names the OpenAPI document publishes."""


@pytest.mark.slow
def test_no_two_public_classes_share_a_name() -> None:
    found: defaultdict[str, list[str]] = defaultdict(list)
    for top in ("shared", "functions", "cli", "infra"):
        for file in sorted((ROOT / top).rglob("*.py")):
            for node in ast.parse(file.read_text("utf-8")).body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    found[node.name].append(str(file.relative_to(ROOT)))
    assert len(found) > 300
    assert {name: files for name, files in found.items() if len(files) > 1 and name not in VIEWS} == {}
