import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from functions.router.caller import caller_of
from functions.router.directory import Directory
from functions.router.handler import respond
from functions.router.services import RouterServices
from shared.domain.accounts import new_key_text
from shared.domain.namespaces import KeyKind
from shared.ports import Response
from shared.web import http
from tests.api.conftest import event
from tests.fakes.cells import FakeCellRoutes, FakeCells, Sent
from tests.fakes.clock import FakeClock

A, B = "https://a.example.com", "https://b.example.com"
ASK = "/cells/callers/"


def said(status: int, body: Any = None, **headers: str) -> Response:
    more = {"content-type": "application/json", **{name.replace("_", "-"): x for name, x in headers.items()}}
    return Response(status, more, b"" if body is None else json.dumps(body).encode())


@dataclass
class Cell:
    """A cell that has some callers: their `asked` paths.

    Attributes:
        down: raised in place of any answer.
        answer: to a request that is passed on.
    """

    callers: set[str]
    down: Exception | None = None
    answer: Callable[[Sent], Response] = lambda _: said(202, {"job_id": "j"}, x_request_id="of-the-cell")

    def __call__(self, sent: Sent) -> Response:
        if self.down is not None:
            raise self.down
        if sent.path.startswith(ASK):
            return said(204 if sent.path in self.callers else 404)
        return self.answer(sent)


@dataclass
class Routed:
    """A router before two cells."""

    cells: Mapping[str, Cell]
    http: FakeCells
    routes: FakeCellRoutes
    clock: FakeClock
    directory: Directory

    @property
    def services(self) -> RouterServices:
        return RouterServices({"a": A, "b": B}, self.routes, self.http, self.clock)

    def again(self) -> None:
        """Start another process of the router."""
        self.directory = self.services.directory()

    def send(self, raw: Mapping[str, Any]) -> dict[str, Any]:
        """Return an answer, with its problem's code as `code`, and its headers in lower case."""
        got = respond(raw, "of-the-router", self.services, self.directory)
        headers = {name.lower(): x for name, x in got["headers"].items()}
        body = json.loads(got["body"]) if got["body"] else {}
        return {"status": got["statusCode"], "code": body.get("code"), "headers": headers, "body": body}

    def post(self, key: str, **headers: str) -> dict[str, Any]:
        """Post a batch."""
        more = {"Authorization": f"Bearer {key}", **{name.replace("_", "-"): x for name, x in headers.items()}}
        return self.send(event("POST", "/batches", body='{"to": "ann@example.org"}', headers=more))

    def passed(self, address: str) -> list[Sent]:
        """Return the requests that were passed on to a cell."""
        return [sent for to, sent in self.http.sent if to == address and not sent.path.startswith(ASK)]

    def asked(self) -> int:
        """Return how often cells were asked for a caller."""
        return sum(sent.path.startswith(ASK) for _, sent in self.http.sent)


@pytest.fixture
def key() -> str:
    return new_key_text(KeyKind.LIVE)


def asked_of(key: str) -> str:
    """Return the path by which a cell is asked for a key."""
    found = caller_of(http.read(event("GET", "/jobs", headers={"Authorization": f"Bearer {key}"}), "r"))
    assert found is not None
    return found.asked


@pytest.fixture
def routed(key: str) -> Routed:
    cells = {A: Cell(set()), B: Cell({asked_of(key)})}
    clock, routes, wire = FakeClock(), FakeCellRoutes(), FakeCells(cells)
    services = RouterServices({"a": A, "b": B}, routes, wire, clock)
    return Routed(cells, wire, routes, clock, services.directory())
