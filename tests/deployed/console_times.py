"""`python -m tests.deployed.console_times`: how long each page of the console takes on a running local cloud.

Signs in, makes something for every list to show, and follows links until each page is known by an address. Then it
opens each page twenty times on one connection, and measures until the last byte. What a browser does with the page is
not in it. Prints a line for each page, the slowest last, and fails if one is over its budget.
"""

import gzip
import html
import re
import sys
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import urljoin, urlsplit

from functions.console.screens import ROUTES
from infra.local import sign_in
from infra.local.cloud import current
from infra.local.console import LocalCloudError, say
from infra.local.paths import paths
from tests.console.examples import pages
from tests.deployed.furnished import Furnisher
from tests.deployed.inside import clients
from tests.deployed.visitor import Visitor

VISITS: Final = 20
BUDGET: Final = 0.3
"""Seconds of a page, once its function is warm."""
RARE: Final = frozenset(
    {
        "sign in",
        "style",
        "ask to retry",
        "ask to resume",
        "ask to resume all",
        "ask to resume an account",
        "ask to resume a credential",
        "ask to close a breaker",
        "delivery",
        "notice",
        "ask to change a member's role",
        "ask to remove a member",
        "ask to withdraw an invitation",
    }
)
"""Pages that no link may lead to: public ones, those of a failure, a pause or others, and what waits for the sweeper.

Notices are searched for.
"""
LIVE: Final = "job, renewed"
"""What a page of a job asks for every two seconds."""
_LOOKS: Final = 8
"""Addresses of one page whose links are followed: the job that can be stopped is not the newest one."""
_LINK: Final = re.compile(r'(?:href|<form method="get" action)="([^"]+)"')
_PAGES: Final = frozenset(pages())
_PATTERNS: Final = [
    (route.name, re.compile(re.sub(r"\{\w+\}", "[^/]+", route.path))) for route in ROUTES if route.method == "GET"
]


@dataclass(frozen=True, slots=True)
class PageTime:
    """What a page took. `seconds`: of each visit; `size`: bytes as sent, compressed."""

    name: str
    seconds: Sequence[float]
    size: int

    @property
    def median(self) -> float:
        return sorted(self.seconds)[len(self.seconds) // 2]

    @property
    def p95(self) -> float:
        """Of twenty visits one took longer."""
        return sorted(self.seconds)[(len(self.seconds) * 95 - 1) // 100]

    def __str__(self) -> str:
        took = f"median {self.median * 1000:4.0f} ms, p95 {self.p95 * 1000:4.0f} ms"
        return f"{self.name:<30} {took}, {self.size / 1000:4.1f} kB"


def addresses_of(visitor: Visitor) -> dict[str, str]:
    """Follow the console's links; return an address of each page, below the console, by the page's name."""
    waiting, seen, found = [""], {""}, dict[str, list[str]]()
    while waiting:
        path = waiting.pop(0)
        known = found.setdefault(_name(path), [])
        if len(known) == _LOOKS:
            continue
        known.append(path)
        here = f"{visitor.home}/{path}".rstrip("/")
        links = _LINK.findall(gzip.decompress(visitor.open(path)[1]).decode())
        there = [urljoin(here, html.unescape(link)).partition("#")[0] for link in links]
        inside = [x.removeprefix(f"{visitor.home}/") for x in there if x.startswith(f"{visitor.home}/")]
        fresh = [x for x in dict.fromkeys(inside) if x not in seen and _name(x)]
        seen.update(fresh)
        waiting += fresh
    first = {name: paths[0] for name, paths in found.items()}
    return {**first, LIVE: f"{first['job']}?part=live"}


def _name(path: str) -> str:
    """Return the name of the page at an address; empty: it is no page."""
    whole = f"/console/{urlsplit(path).path}".rstrip("/")
    name = next((name for name, pattern in _PATTERNS if pattern.fullmatch(whole)), "")
    return name if name in _PAGES else ""


def measured(visitor: Visitor, addresses: Mapping[str, str]) -> list[PageTime]:
    """Return what pages take, the slowest last. Rounds go over all pages, so that a slow moment meets several.

    Args:
        visitor: with a session.
        addresses: of pages, by their names.
    """
    seconds: dict[str, list[float]] = {name: [] for name in addresses}
    sizes = {name: len(visitor.open(path)[1]) for name, path in addresses.items()}  # warms it, too
    for _ in range(VISITS):
        for name, path in addresses.items():
            seconds[name].append(visitor.open(path)[0])
    return sorted((PageTime(name, seconds[name], sizes[name]) for name in addresses), key=lambda x: x.p95)


def main() -> int:
    """Return the exit code: 1 if a page is over its budget."""
    try:
        running = current(paths())
    except LocalCloudError as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    Furnisher(running, clients(running)[0], f"times-{uuid.uuid4().hex[:10]}").furnish()
    with Visitor(running, sign_in.OPERATOR) as visitor:
        found = measured(visitor, addresses_of(visitor))
    for page in found:
        say(str(page))
    return int(found[-1].p95 > BUDGET)


if __name__ == "__main__":
    sys.exit(main())
