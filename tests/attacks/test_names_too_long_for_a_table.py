"""A name in a path, a query or a form that is longer than any key of a table: 1,024 bytes, or 2,048 of a partition.

Then: an operation that looked it up failed with a 500, and rang the operators' alarm.
"""

import html
import inspect
import json
import re
from typing import Any, Final
from urllib.parse import quote

import pytest

from functions.api.openapi import FILE
from functions.console.screen import PageRoute
from functions.console.screens import ROUTES
from shared.domain.people import Identity, Role
from tests.api.conftest import Api
from tests.api.test_apart import BODIES
from tests.console.console import build_console
from tests.fakes.clock import FakeClock

LONG: Final = "é" * 1_100
"""2,200 bytes."""
NAMED: Final = [
    (method.upper(), path)
    for path, methods in json.loads(FILE.read_text(encoding="utf-8"))["paths"].items()
    for method in methods
    if "{" in path
]
ASKED: Final = re.compile(r"(?:form|query)(?:\.get\(|\[)\"([a-z_]+)\"|(?:typed|chosen|day)\(look, \"([a-z_]+)\"")
"""How pages read their fields."""


@pytest.mark.promise(10)
@pytest.mark.parametrize(("method", "path"), NAMED, ids=" ".join)
def test_no_operation_of_the_api_fails(api: Api, method: str, path: str) -> None:
    login = api.notifier() if path.startswith("/message") else None
    where = re.sub(r"\{\w+\}", quote(LONG), path)
    body = None if method in ("GET", "DELETE") else BODIES.get((method, path), {})
    got = api.call(method, where, body) if login is None else api.basic(method, where, login, body)
    assert got.status < 500, got.text


def fields(route: PageRoute) -> set[str]:
    """Return the fields that the module of a page reads."""
    module = inspect.getmodule(inspect.unwrap(getattr(route.handler, "func", route.handler)))
    assert module is not None
    return {one or other for one, other in ASKED.findall(inspect.getsource(module))}


@pytest.mark.slow
@pytest.mark.promise(10)
def test_no_page_of_the_console_fails(moto_dynamo: Any, clock: FakeClock) -> None:
    console = build_console(moto_dynamo, clock)
    console.member(Identity("github", "3", "kira"), role=Role.ADMIN)
    campaign, job = console.api.campaign(), console.api.accepted()
    there = {"account": console.account, "campaign": campaign, "job": job, "message": "0.0"}
    found = re.search(r'name="csrf" value="([^"]+)"', console.shown())
    assert found is not None
    token, asked = html.unescape(found[1]), 0
    for route in ROUTES:
        path = route.path.removeprefix("/console")
        if path in ("/sign-out", "/sign-out-everywhere"):
            continue
        known = re.sub(r"\{(\w+)\}", lambda m: there.get(m[1], "x"), path)
        long = re.sub(r"\{(\w+)\}", lambda m: console.account if m[1] == "account" else quote(LONG), path)
        tries: list[tuple[str, dict[str, str]]] = [(long, {})]
        tries += [(known, {field: LONG}) for field in sorted(fields(route))]
        for where, given in tries:
            asked += 1
            if route.method == "POST":
                got = console.ask("POST", where, form={"csrf": token, **given})
            else:
                got = console.get(f"{where}?{'&'.join(f'{k}={quote(v)}' for k, v in given.items())}")
            assert got.status < 500
            assert got.status != 403, (route.name, given.keys(), got.text[-500:])
    assert asked > 2 * len(ROUTES)
