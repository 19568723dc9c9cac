"""`python -m tests.deployed.exercised FILE …`: what no test on a local cloud has done, by the requests of its API.

Each operation of the API and each page and action of the console is asked for on a cloud, where its function has the
rights of the template and no more. `UNEXERCISED` names the others, with the reason. Exits with 1 if one is missing
in both, or in both of them.
"""

import contextlib
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

from functions.api.operations import ROUTES as OPERATIONS
from functions.console.screens import ROUTES as PAGES
from shared.web.http import Request
from shared.web.problems import Problem
from shared.web.routing import find

_NAMES: Final = "it asks the DNS for a domain's record, and the clouds of tests have no domains"
UNEXERCISED: Final[Mapping[str, str]] = {"verifySender": _NAMES, "console: look for a domain's record": _NAMES}


def routes() -> dict[str, str]:
    """Return the method and path of each operation and page, by its name; pages are those of the console."""
    return {_name(route): f"{route.method} {route.path}" for route in (*OPERATIONS, *PAGES)}


def exercised(requests: Iterable[str]) -> set[str]:
    """Return the names of what some requests, each a method and a path, have asked for, as the functions route them."""
    found = set()
    for request in requests:
        method, _, path = request.partition(" ")
        segments = tuple(map(unquote, path.strip("/").split("/")))
        asked = Request("", method, segments, {}, {}, b"", slash=path.endswith("/"))
        with contextlib.suppress(Problem):  # a page of the API that is no operation, or a provider's webhook
            found.add(_name(find(PAGES if segments[0] == "console" else OPERATIONS, asked)[0]))
    return found


def _name(route: Any) -> str:
    return f"console: {route.name}" if route in PAGES else str(route.name)


def faults(requests: Iterable[str]) -> list[str]:
    """Return what is wrong, in sentences."""
    wanted, found = routes(), exercised(requests)
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
