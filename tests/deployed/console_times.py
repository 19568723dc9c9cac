"""`python -m tests.deployed.console_times`: how long each page of the console takes on a running local cloud.

Signs in, makes something for every list to show, and follows links until each page is known by an address. Then it
opens each page twenty times on one connection, and measures until the last byte. What a browser does with the page is
not in it. Prints a line for each page, the slowest last, and fails if one is over its budget. On a machine with other
work only the processor time says something, which is the emulator's and that of all functions.
"""

import html
import re
import sys
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median_high
from typing import Final
from urllib.parse import urljoin, urlsplit

from functions.console.screens import ROUTES
from infra.local import accounts, sign_in
from infra.local.accounts import ACCOUNT
from infra.local.console import LocalCloudError, say
from tests.console.examples import pages
from tests.deployed.api import Api
from tests.deployed.furnished import LANE, NUMBER, Furnisher
from tests.deployed.inside import Inside, running
from tests.deployed.visitor import Visitor

VISITS: Final = 20
BUDGET: Final = 0.3
"""Seconds of a page, once its function is warm."""
UNLINKED: Final[Mapping[str, str]] = {
    "sign in": "sign-in",
    "style": "style",
    "ask to resume all": "credentials/all/resume",
    "ask to resume a credential": f"credentials/{LANE}/resume",
    "ask to close a breaker": f"credentials/{LANE}/close",
    "ask to redrive a queue": "dead-letters/feedback",
}
"""Public pages, and questions to which only a pause, a failing provider or a dead letter leads. They change nothing."""
FILLED: Final[Mapping[str, str]] = {"/approvals/limit": "which=every"}
"""End of the address of a form's page → what is filled in, where the empty form is refused."""
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
    """What a page took.

    Attributes:
        name: of the page.
        seconds: of each visit.
        processor: seconds of a processor for a visit, the middle of all: in some, other functions work or end.
        size: bytes as sent, compressed.
    """

    name: str
    seconds: Sequence[float]
    processor: float
    size: int

    @property
    def median(self) -> float:
        return median_high(self.seconds)

    @property
    def p95(self) -> float:
        """Of twenty visits one took longer; of fewer none."""
        return sorted(self.seconds)[(len(self.seconds) * 95 - 1) // 100]

    def __str__(self) -> str:
        named = {"median": self.median, "p95": self.p95, "processor": self.processor}
        took = ", ".join(f"{name} {seconds * 1000:4.0f} ms" for name, seconds in named.items())
        return f"{self.name:<30} {took}, {self.size / 1000:4.1f} kB"


@contextmanager
def furnished(inside: Inside, api: Api, visitor: Visitor, tag: str) -> Iterator[dict[str, str]]:
    """Furnish the demo account, whose lists wait for approval meanwhile.

    Args:
        inside: the running local cloud.
        api: with a key of its demo account.
        visitor: an operator.
        tag: part of each name.

    Yields:
        An address of each page, below the console, by the page's name.
    """
    furnisher, account = Furnisher(inside.cloud, api, tag), account_of(visitor)
    try:
        own = {name: f"{account}/{path}" for name, path in furnisher.furnish().items()}
        furnisher.invite(visitor, account)
        searched = f"{account}/notices?search=%2B61{NUMBER}"
        found = _followed(visitor, account, (searched, *own.values(), *UNLINKED.values()))
        yield {**found, **UNLINKED, **own, LIVE: f"{found['job']}?part=live"}
    finally:
        accounts.posthaste(inside.deployment, inside.port, "account", "approval", ACCOUNT, "--off")


def account_of(visitor: Visitor) -> str:
    """Return the id of the demo account."""
    page = visitor.text(f"?name={ACCOUNT}")
    found = re.search(rf'(acc_[0-9a-z]{{12}})"[^>]*>{ACCOUNT}<', page)
    assert found is not None, page
    return found[1]


def _followed(visitor: Visitor, account: str, begin: Sequence[str]) -> dict[str, str]:
    """Follow the console's links, but not to other accounts; return an address of each page, by the page's name.

    Args:
        visitor: with a session.
        account: whose pages are meant.
        begin: addresses to begin at, besides the first page and the account's.
    """
    waiting = ["", account, *begin]
    seen, found = {*waiting}, dict[str, list[str]]()
    while waiting:
        path = waiting.pop(0)
        known = found.setdefault(_name(path), [])
        if len(known) == _LOOKS:
            continue
        known.append(path)
        here = f"{visitor.home}/{path}".rstrip("/")
        links = _LINK.findall(visitor.text(path))
        there = [_filled(urljoin(here, html.unescape(link)).partition("#")[0]) for link in links]
        inside = [x.removeprefix(f"{visitor.home}/") for x in there if x.startswith(f"{visitor.home}/")]
        fresh = [x for x in dict.fromkeys(inside) if x not in seen and _name(x) and _apart(x) in ("", account)]
        seen.update(fresh)
        waiting += fresh
    return {name: paths[0] for name, paths in found.items()}


def _filled(address: str) -> str:
    """Return the address of a page, with what is filled in if it is a form's."""
    query = next((query for end, query in FILLED.items() if address.endswith(end)), "")
    return f"{address}?{query}" if query else address


def _apart(path: str) -> str:
    """Return the account that an address belongs to; empty: none."""
    first = re.split(r"[/?]", path, maxsplit=1)[0]
    return first if first.startswith("acc_") else ""


def _name(path: str) -> str:
    """Return the name of the page at an address; empty: it is no page."""
    whole = f"/console/{urlsplit(path).path}".rstrip("/")
    name = next((name for name, pattern in _PATTERNS if pattern.fullmatch(whole)), "")
    return name if name in _PAGES else ""


def measured(visitor: Visitor, addresses: Mapping[str, str], inside: Inside, visits: int = VISITS) -> list[PageTime]:
    """Return what pages take, the slowest last. Rounds go over all pages, so that a slow moment meets several.

    Args:
        visitor: with a session.
        addresses: of pages, by their names.
        inside: the cloud whose console it is.
        visits: of each page.
    """
    seconds: dict[str, list[float]] = {name: [] for name in addresses}
    spent: dict[str, list[float]] = {name: [] for name in addresses}
    sizes = {name: len(visitor.open(path)[1]) for name, path in addresses.items()}  # warms it, too
    for _ in range(visits):
        for name, path in addresses.items():
            before = inside.processor_seconds()
            seconds[name].append(visitor.open(path)[0])
            spent[name].append(inside.processor_seconds() - before)
    found = (PageTime(name, seconds[name], median_high(spent[name]), sizes[name]) for name in addresses)
    return sorted(found, key=lambda x: x.p95)


def main() -> int:
    """Return the exit code: 1 if a page is over its budget."""
    try:
        inside, api, _ = running()
    except LocalCloudError as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    tag = f"times-{uuid.uuid4().hex[:10]}"
    with Visitor(inside.cloud, sign_in.OPERATOR) as visitor, furnished(inside, api, visitor, tag) as addresses:
        found = measured(visitor, addresses, inside)
    for page in found:
        say(str(page))
    return int(found[-1].p95 > BUDGET)


if __name__ == "__main__":
    sys.exit(main())
