"""`make test-changed`: the tests of the first tier whose imports reach what changed since main, the nearest first.

On main itself it is what is not committed. A file that is no module counts as the modules that name it; if there are
none, as those of its folder. A module that another one finds by a name made at run time (a provider by its id) is not
seen as imported: its own tests are.
"""

import argparse
import shutil
import subprocess
import sys
import time
from collections.abc import Collection, Iterable, Mapping
from pathlib import PurePosixPath
from typing import Final

from infra.settings import ROOT
from tests.docs.complexity import ALL, modules
from tests.imports import graph, name_of
from tests.quick import counted, shared

EVERYWHERE: Final = frozenset({"tests.conftest", "tests.tiers", "pyproject.toml"})
"""What every test depends on, if it imports it or not."""
SECONDS: Final = 50.0
"""From the start of the tests: a change of what much depends on reaches nearly all of them."""
REPORTS: Final = ROOT / ".local" / "changed"


def main(words: list[str]) -> int:
    """Run what the change reaches; return pytest's exit code, 0 if it reaches nothing."""
    parser = argparse.ArgumentParser(prog="python -m tests.changed", description=__doc__)
    parser.add_argument("--since", default="", help="a commit; by default where this branch left main")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="after which no test begins")
    parser.add_argument("--list", action="store_true", help="print the test modules, and run nothing")
    options, more = parser.parse_known_args(words)
    began = time.monotonic()
    files = changed(options.since or base())
    chosen = reached(files, {name_of(path): path.read_text("utf-8") for path in modules(ALL)})
    sys.stdout.write(f"{len(files)} changed files reach {len(chosen)} test modules\n")
    paths = [f"{name.replace('.', '/')}.py" for name in chosen]
    if options.list or not paths:
        sys.stdout.write("".join(f"{path}\n" for path in paths))
        return 0
    code, outcome = shared(paths, REPORTS, f"--seconds={options.seconds}", *more)
    late = outcome.left["late"]
    sys.stdout.write(f"{counted(outcome)} in {time.monotonic() - began:.0f} s")
    sys.stdout.write(f"; no time for {late} others that it reaches: make test\n" if late else "\n")
    return code


def base() -> str:
    """Return the commit at which this branch left main: on main, the last one."""
    return _git("merge-base", "HEAD", "main").strip()


def changed(since: str) -> list[str]:
    """Return the files of the working tree that differ from a commit, those that git does not track yet included."""
    named = _git("diff", "--name-only", "-z", since) + _git("ls-files", "--others", "--exclude-standard", "-z")
    return sorted({name for name in named.split("\0") if name})


def reached(files: Iterable[str], texts: Mapping[str, str]) -> list[str]:
    """Return the test modules that some files reach, the nearest first.

    Args:
        files: that changed, by their place in the tree; also such as are there no more.
        texts: of all modules, by name.
    """
    begun = {name for file in files for name in _counts_as(file, texts)}
    tests = [name for name in texts if _is_test(name)]
    if begun & EVERYWHERE:
        return sorted(tests)
    importers = _importers({**dict.fromkeys(begun, ""), **texts})
    distance, edge, steps = dict.fromkeys(begun, 0), begun, 0
    while edge:
        steps += 1
        edge = {name for each in edge for name in importers.get(each, ())} - distance.keys()
        distance |= dict.fromkeys(edge, steps)
    return sorted((name for name in tests if name in distance), key=lambda name: (distance[name], name))


def _is_test(name: str) -> bool:
    return name.rpartition(".")[2].startswith("test_")


def _counts_as(file: str, texts: Mapping[str, str]) -> set[str]:
    """Return the names of the modules whose importers a changed file reaches."""
    path = PurePosixPath(file)
    if file in EVERYWHERE:
        return {file}
    if path.suffix == ".py":
        return {name_of(ROOT / file)}
    if naming := {name for name, text in texts.items() if path.name in text}:
        return naming
    for folder in path.parents:
        package = ".".join(folder.parts)
        if package and (inside := {name for name in texts if name.rpartition(".")[0] == package}):
            return inside
    return set()


def _importers(texts: Mapping[str, str]) -> dict[str, set[str]]:
    """Return module → those that import it; a conftest is imported by the tests of its folder."""
    found: dict[str, set[str]] = {}
    for name, others in graph(texts).items():
        for other in others | _conftests(name, texts):
            found.setdefault(other, set()).add(name)
    return found


def _conftests(name: str, texts: Collection[str]) -> set[str]:
    """Return the conftests of a test's folders; that of all tests brings only what its users import themselves."""
    if not _is_test(name):
        return set()
    parts = name.split(".")
    return {x for n in range(2, len(parts)) if (x := ".".join((*parts[:n], "conftest"))) in texts}


def _git(*words: str) -> str:
    git = shutil.which("git") or "git"
    return subprocess.run([git, *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
