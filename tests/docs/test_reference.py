"""The site's reference has every operation with its samples and its answer, and each page is in the menu."""

import json

import pytest

from functions.api.examples.document import operations
from functions.api.openapi import FILE
from tools.reference import add_to, generated, menu, pages
from tools.samples import LANGUAGES, samples

PAGES = pages()
MADE = {(x.operation, x.label) for x in samples()}


def test_every_operation_is_on_one_page_with_its_samples_and_answer() -> None:
    everything = "\n".join(PAGES.values())
    for method, path, operation in operations(json.loads(FILE.read_text("utf-8"))):
        name = operation["operationId"]
        assert everything.count(f"{{#{name}}}\n") == 1
        begin = everything.index(f"{{#{name}}}\n")
        part = everything[begin:].partition("\n## ")[0]
        assert f"`{method} {path}`" in part
        assert [part.count(f'=== "{x}"') for x in LANGUAGES] == [int((name, x) in MADE) for x in LANGUAGES]
        shown = [x for x in operation["responses"].items() if x[0][0] == "2" and "application/json" in str(x[1])]
        assert part.count("The answer is 2") == len([x for x in shown if "example" in str(x[1])]), name


def test_code_in_a_tab_is_indented_as_a_whole() -> None:
    lines = PAGES["reference/batches.md"].splitlines()
    opened = lines.index('=== "Python"')
    closed = lines.index("    ```", opened)
    assert all(line.startswith("    ") for line in lines[opened + 1 : closed] if line)
    assert "\t" not in "\n".join(lines)


@pytest.mark.slow
def test_every_page_is_in_the_menu() -> None:
    nav: list[object] = [{"Start": []}, {"Send": ["api.md"]}]
    add_to(nav)
    assert nav[1] == {"Send": ["api.md", {"Reference": menu()}]}
    assert [path for entry in menu() for path in entry.values()] == list(PAGES)
    assert {"Batches": "reference/batches.md"} in menu()
    assert all(map(generated, PAGES))
    assert not generated("api.md")
