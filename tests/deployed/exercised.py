"""`python -m tests.deployed.exercised FILE …`: what no test on a local cloud has done, by the requests of its API.

Each operation of the API and each page and action of the console is asked for on a cloud, where its function has the
rights of the template and no more. `UNEXERCISED` names the others, with the reason. Exits with 1 if one is missing
in both, or in both of them.
"""

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from functions.api.operations import ROUTES as OPERATIONS
from functions.console.screens import ROUTES as PAGES

_NAMES: Final = "it asks the DNS for a domain's record, and the clouds of tests have no domains"
UNEXERCISED: Final[Mapping[str, str]] = {"verifySender": _NAMES, "console: look for a domain's record": _NAMES}


def routes() -> dict[str, str]:
    """Return the method and path of each operation and page, by its name; pages are those of the console."""
    found = {f"console: {page.name}": f"{page.method} {page.path}" for page in PAGES}
    return found | {operation.name: f"{operation.method} {operation.path}" for operation in OPERATIONS}


def exercised(requests: Iterable[str], wanted: Mapping[str, str]) -> set[str]:
    """Return the names of what some requests have asked for.

    Args:
        requests: method and path of each.
        wanted: routes by name; where several fit a request it is the one with the most parts that are no parameters.
    """
    tree: dict[tuple[str, int], list[tuple[str, list[str]]]] = {}
    for name, route in wanted.items():
        method, parts = _parts(route)
        tree.setdefault((method, len(parts)), []).append((name, parts))
    found = set()
    for request in requests:
        method, parts = _parts(request)
        fit = [(name, route) for name, route in tree.get((method, len(parts)), ()) if _fits(parts, route)]
        if fit:
            found.add(max(fit, key=lambda x: sum(not part.startswith("{") for part in x[1]))[0])
    return found


def _parts(route: str) -> tuple[str, list[str]]:
    method, _, path = route.partition(" ")
    return method, path.rstrip("/").split("/")


def _fits(parts: list[str], route: list[str]) -> bool:
    return all(have == want or want.startswith("{") for have, want in zip(parts, route, strict=True))


def faults(requests: Iterable[str]) -> list[str]:
    """Return what is wrong, in sentences."""
    wanted = routes()
    found = exercised(requests, wanted)
    missing = [f"no test on a cloud does: {name} ({wanted[name]})" for name in wanted.keys() - found - {*UNEXERCISED}]
    stale = [f"a test on a cloud does: {name}; take it out of UNEXERCISED" for name in found & {*UNEXERCISED}]
    return sorted([*missing, *stale, *(f"there is no {name}" for name in {*UNEXERCISED} - wanted.keys())])


def main(files: list[str]) -> int:
    """Return the exit code."""
    wrong = faults(line for file in files for line in Path(file).read_text("utf-8").splitlines())
    sys.stdout.write("".join(f"{line}\n" for line in wrong))
    sys.stdout.write(f"{len(routes()) - len(UNEXERCISED)} operations and pages, {len(wrong)} faults\n")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
