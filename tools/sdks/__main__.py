"""`make sdks`: make what is generated of the SDKs, and build both packages into dist/.

`python -m tools.sdks --sources` makes only the sources.
"""

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from shared.web.problems import CODES
from tools.sdks import python, typescript
from tools.sdks.document import for_types, operations
from tools.wheel import ROOT, version

DOCUMENT: Final = ROOT / "functions" / "api" / "openapi.json"
PYTHON: Final = ROOT / "sdks" / "python"
TYPESCRIPT: Final = ROOT / "sdks" / "typescript"
MODELS: Final = (
    *("--input-file-type", "openapi", "--output-model-type", "typing.TypedDict", "--target-python-version", "3.11"),
    *("--use-standard-collections", "--use-union-operator", "--enum-field-as-literal", "all", "--disable-timestamp"),
    *("--use-schema-description", "--formatters", "builtin", "--openapi-scopes", "schemas"),
)
"""How datamodel-code-generator writes the types: as TypedDicts, which take what a later version of the API adds."""
QUIET: Final = {
    f"npm_config_{name}": value
    for name, value in {"update_notifier": "false", "fund": "false", "audit": "false", "loglevel": "error"}.items()
}
"""Settings of npm: it asks for no newer npm, and prints nothing but errors."""


def main() -> None:
    """Make the sources and, unless told otherwise, the packages."""
    sources()
    if "--sources" not in sys.argv[1:]:
        for file in packages():
            print(file.relative_to(ROOT))  # noqa: T201 - what was made


def sources() -> None:
    """Write what is generated from the OpenAPI document, if it or a generator has changed since the last time."""
    with (TYPESCRIPT / "package.json").open(encoding="utf-8") as held:
        fcntl.flock(held, fcntl.LOCK_EX)  # tests that run at once make them once
        _write_sources()


def _write_sources() -> None:
    made = _fingerprint()
    into, other = PYTHON / "src" / "posthaste_sdk" / "_generated", TYPESCRIPT / "src" / "generated"
    stamp = other / "made.txt"
    if stamp.is_file() and stamp.read_text(encoding="utf-8") == made and (into / "operations.py").is_file():
        return
    for folder in (into, other):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    document = json.loads(DOCUMENT.read_text(encoding="utf-8"))
    known = list(operations(document))
    written = {
        into / "__init__.py": f'"""Made by `make sdks`: changes here are lost."""\n\nVERSION = "{version()}"\n',
        into / "operations.py": python.module(known),
        into / "codes.py": python.codes(CODES),
        other / "operations.ts": typescript.module(known),
        other / "codes.ts": typescript.codes(CODES),
        other / "version.ts": f'// Made by `make sdks`.\nexport const VERSION = "{version()}";\n',
    }
    for place, text in written.items():
        place.write_text(text, encoding="utf-8")
    with TemporaryDirectory() as work:
        bare = Path(work) / DOCUMENT.name
        bare.write_text(json.dumps(for_types(document)), encoding="utf-8")
        run("datamodel-codegen", "--input", str(bare), "--output", str(into / "models.py"), *MODELS)
        how = ("--default-non-nullable=false", "--alphabetize")
        run("npx", "openapi-typescript", str(bare), "-o", "src/generated/schema.ts", *how, folder=TYPESCRIPT)
    stamp.write_text(made, encoding="utf-8")


def packages(into: Path = ROOT / "dist", work: Path = ROOT / "build" / "posthaste-sdk") -> list[Path]:
    """Build the packages of both SDKs with the product's version; return their files.

    Args:
        into: the folder they are put in.
        work: a folder for what they are made from, which is emptied first: builds at once do not meet.
    """
    uv = str(Path(sys.executable).with_name("uv"))
    how = ("--offline", "--no-build-isolation", "--python", sys.executable)
    shutil.rmtree(work, ignore_errors=True)
    copy, package = work / "python", work / "typescript"
    shutil.copytree(PYTHON, copy, ignore=shutil.ignore_patterns("build", "*.egg-info", "__pycache__"))
    run(uv, "build", "-q", *how, "--out-dir", str(into), str(copy))
    for settings, out in (("tsconfig.build.json", package / "dist"), ("tsconfig.cjs.json", package / "dist" / "cjs")):
        run("npx", "tsc", "-p", settings, "--outDir", str(out), folder=TYPESCRIPT)
    (package / "dist" / "cjs" / "package.json").write_text('{"type": "commonjs"}\n', encoding="utf-8")
    for name in ("README.md", "LICENSE"):
        shutil.copy(TYPESCRIPT / name, package)
    facts = json.loads((TYPESCRIPT / "package.json").read_text(encoding="utf-8"))
    kept = {name: value for name, value in facts.items() if name not in {"scripts", "devDependencies"}}
    (package / "package.json").write_text(json.dumps(kept | {"version": version()}, indent=2), encoding="utf-8")
    run("npm", "pack", "--silent", "--pack-destination", str(into), folder=package)
    names = (f"posthaste_sdk-{version()}-py3-none-any.whl", f"posthaste_sdk-{version()}.tar.gz")
    return [into / name for name in (*names, f"posthaste-sdk-{version()}.tgz")]


def run(*words: str, folder: Path = ROOT) -> None:
    """Run a tool of this environment; its failure ends this program."""
    beside = Path(sys.executable).parent
    path = f"{beside}:{os.environ['PATH']}"
    subprocess.run(words, cwd=folder, check=True, stdout=sys.stderr, env={**os.environ, **QUIET, "PATH": path})


def _fingerprint() -> str:
    """Return what changes when the document, the version or a generator does."""
    found = hashlib.sha256(version().encode())
    lock = (ROOT / "requirements" / "dev.txt", TYPESCRIPT / "package-lock.json")
    for file in (DOCUMENT, *lock, *sorted(Path(__file__).parent.glob("*.py"))):
        found.update(file.read_bytes())
    return f"{found.hexdigest()}\n"


if __name__ == "__main__":
    main()
