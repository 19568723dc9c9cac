"""The samples of the API's operations, made by the script that makes them on the API's page."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from functions.api.docs.page import text_of
from functions.api.examples import given
from functions.api.examples.document import operations
from functions.api.openapi import FILE

LANGUAGES: Final[Mapping[str, tuple[str, str]]] = {
    "curl": ("sh", "sh"),
    "Python": ("python", "py"),
    "TypeScript": ("ts", "mts"),
}
"""Label → the lexer of the site's code blocks, and the suffix of a program's file."""
Asked = tuple[str, str, dict[str, Any], dict[str, str]]
"""Method, path, operation, and the values of the path's parameters."""
_ASKS: Final = """
const asked = JSON.parse(require("fs").readFileSync(0, "utf8"));
console.log(JSON.stringify(asked.map((each) => samplesOf(...each))));
"""


@dataclass(frozen=True, slots=True)
class Sample:
    """A program in one language. `operation`: the id of the operation that it calls."""

    operation: str
    label: str
    source: str


def samples() -> Iterator[Sample]:
    """Yield the samples of the committed document, in its order."""
    asked: list[Asked] = [
        (method, path, operation, given.values(path))
        for method, path, operation in operations(json.loads(FILE.read_text("utf-8")))
    ]
    for (_, _, operation, _), made in zip(asked, _made(asked), strict=True):
        for sample in made:
            yield Sample(operation["operationId"], sample["label"], sample["source"])


def _made(asked: list[Asked]) -> list[list[dict[str, str]]]:
    beside = Path(sys.executable).parent
    done = subprocess.run(
        ["node", "-e", text_of("samples.js") + _ASKS],
        input=json.dumps(asked),
        env={**os.environ, "PATH": f"{beside}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=True,
    )
    found: list[list[dict[str, str]]] = json.loads(done.stdout)
    return found
