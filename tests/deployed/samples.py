"""Run the samples of the OpenAPI document: `python -m tests.deployed.samples go php`, on a cloud that is up.

Each sample runs as its reader has it, but for literals that are theirs to replace: ids, names, times. It has to end
with exit code 0, which every sample does only if the API's answer is a success.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final

from functions.api.openapi import FILE
from functions.api.samples.document import SAMPLES, operations
from functions.api.samples.languages import LANGUAGES
from infra.local import deploy
from infra.local.paths import ROOT
from tests.deployed.inside import running
from tests.deployed.sample_props import Props

SECONDS: Final = 120
NODE: Final = (deploy.node_folder() or ROOT / ".venv" / "bin") / "node"
_RUNS: Final[Mapping[str, tuple[str, ...]]] = {
    "curl": ("sh", "-e"),
    "Python": (sys.executable,),
    "TypeScript": (str(NODE), "--disable-warning=ExperimentalWarning"),
    "Go": ("go", "run"),
    "PHP": ("php",),
}
"""Label of a language → what runs one of its files."""


OUT_OF_REACH: Final[Mapping[str, str]] = {"verifySender": "It succeeds only for a domain that has a record in DNS."}
"""Operations whose samples cannot succeed on a local cloud → why."""


@dataclass(frozen=True, slots=True)
class Sample:
    """A sample. `operation`: its id; `label`: of the language; `source`: the program."""

    operation: str
    label: str
    source: str


def samples(labels: Sequence[str]) -> Iterator[Sample]:
    """Yield the samples of the document in some languages, except those that this machine cannot make succeed."""
    for _, _, operation in operations(json.loads(FILE.read_text("utf-8"))):
        if operation["operationId"] in OUT_OF_REACH:
            continue
        for sample in operation.get(SAMPLES, ()):
            if sample["label"] in labels:
                yield Sample(operation["operationId"], sample["label"], sample["source"])


def run(
    sample: Sample,
    values: Mapping[str, str],
    environment: Mapping[str, str],
    folder: Path,
    own: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> str:
    """Run a sample; return what is wrong with it, or nothing.

    Args:
        sample: as in the document.
        values: what its literals are replaced by.
        environment: of its process.
        folder: for its file.
        own: label of a language → what runs one of its files here.
    """
    source = sample.source
    for literal, value in values.items():
        source = source.replace(literal, value)
    (language,) = [language for language in LANGUAGES if language.label == sample.label]
    file = folder / f"{sample.operation}.{language.suffix}"
    file.write_text(source, "utf-8")
    done = subprocess.run(
        [*own.get(sample.label, _RUNS[sample.label]), str(file)],
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    return "" if done.returncode == 0 else f"{sample.label} {sample.operation}: {done.stdout}{done.stderr}\n{source}"


def main(labels: Sequence[str]) -> int:
    """Run the samples in some languages; return the exit code."""
    missing = [label for label in labels if shutil.which(_RUNS[label][0]) is None]
    if missing:
        sys.stderr.write(f"error: no program on this machine runs {' or '.join(missing)}\n")
        return 1
    inside, api, control = running()
    props = Props(inside.cloud, api, control, uuid.uuid4().hex[:8])
    environment = {**os.environ, **inside.cloud.env}
    with tempfile.TemporaryDirectory() as folder:
        wrong = [run(x, props.values(x.operation), environment, Path(folder)) for x in samples(labels)]
    props.clean()
    sys.stdout.write("".join(filter(None, wrong)))
    sys.stdout.write(f"{len(wrong)} samples ran, {len(list(filter(None, wrong)))} failed\n")
    return int(any(wrong))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
