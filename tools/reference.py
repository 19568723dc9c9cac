"""The site's reference: a page for each group of operations, made from the OpenAPI document when the site is built."""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

from functions.api.examples.document import Operation, operations
from functions.api.openapi import FILE
from tools.samples import LANGUAGES, Sample, samples

FOLDER: Final = "reference"


def pages() -> dict[str, str]:
    """Return the pages: path on the site → Markdown, in the order of the document."""
    groups: dict[str, list[str]] = {}
    by_operation: dict[str, list[Sample]] = {}
    for sample in samples():
        by_operation.setdefault(sample.operation, []).append(sample)
    for method, path, operation in operations(json.loads(FILE.read_text("utf-8"))):
        lines = _lines(method, path, operation, by_operation.get(operation["operationId"], []))
        groups.setdefault(operation["tags"][0], []).append("\n".join(lines))
    return {f"{FOLDER}/{_name(tag)}.md": f"# {tag}\n\n" + "\n".join(parts) for tag, parts in groups.items()}


def menu() -> list[dict[str, str]]:
    """Return the pages as the site's menu has them."""
    return [{text.partition("\n")[0].removeprefix("# "): path} for path, text in pages().items()]


def _name(tag: str) -> str:
    return re.sub(r"\W+", "-", tag.lower())


def _lines(method: str, path: str, operation: Operation, found: Sequence[Sample]) -> Iterator[str]:
    """Yield the lines about an operation: what it does, samples in tabs, and an example of its answer."""
    yield f"## {operation['summary']} {{#{operation['operationId']}}}\n"
    scope = f", scope `{operation['x-scope']}`" if "x-scope" in operation else ""
    yield f"`{method} {path}`{scope}\n"
    if "description" in operation:
        yield f"{operation['description']}\n"
    for sample in found:
        yield f'=== "{sample.label}"\n'
        yield _indented(_fenced(sample.source, LANGUAGES[sample.label][0]))
    for status, answer in operation["responses"].items():
        example = answer.get("content", {}).get("application/json", {}).get("example")
        if status.startswith("2") and example is not None:
            yield f"The answer is {status}:\n"
            yield _fenced(json.dumps(example, indent=2, ensure_ascii=False) + "\n", "json")


def _fenced(text: str, lexer: str) -> str:
    return f"```{lexer}\n{text.expandtabs(4)}```\n"


def _indented(text: str) -> str:
    return "".join(f"    {line}\n" if line else "\n" for line in text.splitlines()) + "\n"


def generated(path: str) -> bool:
    """Check whether a page of the site is one of these: it is no file of the repository."""
    return path.startswith(f"{FOLDER}/")


def add_to(nav: list[Any]) -> None:
    """Add the pages to the group Send of the site's menu."""
    group = next(entry["Send"] for entry in nav if isinstance(entry, dict) and "Send" in entry)
    group.append({"Reference": menu()})
