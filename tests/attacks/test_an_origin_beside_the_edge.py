"""Requests to API Gateway past the firewall before it, and clients that claim another address by its headers.

Then: clients that knew API Gateway's own name passed by a distribution and its rules. All clients of a distribution had
its address, so a key of one network was refused to all, or taken from all.
"""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from functions.api.handler import respond
from functions.console.handler import respond as respond_console
from functions.webhooks import receive
from shared.bootstrap.edge import edge_of
from shared.contracts import (
    EDGE_CLOSED,
    EDGE_HEADER,
    EDGE_OPEN,
    ENV_EDGE,
    ENV_SETTINGS,
    Settings,
    edge_secret_name,
)
from shared.ports import MalformedSecret, Retriable
from shared.web.access.edge import VIEWER, Edge
from tests.api.conftest import Api, Reply, event
from tests.console.console import Console, build_console
from tests.fakes.clock import FakeClock
from tests.providers.test_sendgrid_events import signed
from tests.webhooks.test_receive import BODY, QUEUE, USING

KEYS = {"current": "k" * 64, "next": "n" * 64}
HOME, ELSEWHERE, CLOUDFRONT = "203.0.113.7", "198.51.100.9", "192.0.2.200"
CLOSED = Edge(lambda: KEYS)
OPEN = Edge(lambda: KEYS, closed=False)

pytestmark = pytest.mark.promise(9)


def sent(key: str = KEYS["current"], viewer: str = f"{HOME}:46532") -> dict[str, str]:
    """Return the headers that the edge adds."""
    return {EDGE_HEADER: key, VIEWER: viewer}


def come(api: Api, edge: Edge, headers: Mapping[str, str], key: str = "", body: Any = None) -> Reply:
    """Make a call that API Gateway sees coming from CloudFront."""
    method, path = ("POST", "/batches") if body else ("GET", "/credentials")
    what = event(method, path, body=body, headers={"Authorization": f"Bearer {key or api.key}", **headers})
    what["requestContext"]["http"]["sourceIp"] = CLOUDFRONT
    got = respond(what, "request-1", lambda: api.services, edge)
    return Reply(got["statusCode"], {k.lower(): v for k, v in got["headers"].items()}, got["body"])


@pytest.fixture
def bound(api: Api) -> str:
    """Return a key of one network of each kind."""
    return api.services.accounts.create_key(api.account, networks=["203.0.113.0/24", "2001:db8:7::/48"])[0]


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {EDGE_HEADER: ""},
        {EDGE_HEADER: "k" * 63},
        {EDGE_HEADER: "k" * 65},
        {EDGE_HEADER: f"{KEYS['current']}, {KEYS['next']}"},
        {EDGE_HEADER: "ķ" * 64},
        {VIEWER: f"{HOME}:1", "X-Forwarded-For": HOME},
    ],
)
def test_beside_the_edge_nothing_is_answered_or_stored(api: Api, headers: Mapping[str, str]) -> None:
    before = api.stored()
    got = come(api, CLOSED, headers, body=api.body())
    assert (got.status, got.code) == (403, "address_closed")
    assert api.stored() == before


def test_a_key_that_was_taken_away_opens_nothing(api: Api) -> None:
    edge = Edge(lambda: {"next": KEYS["next"]})
    assert come(api, edge, sent(KEYS["next"])).status == 200
    assert come(api, edge, sent(KEYS["current"])).code == "address_closed"


@pytest.mark.parametrize("keys", [{}, {"current": ""}])
def test_without_any_key_the_edge_is_shut(api: Api, keys: dict[str, str]) -> None:
    for given in ("", "x"):
        assert come(api, Edge(lambda: keys), {EDGE_HEADER: given}).code == "address_closed"


@pytest.mark.parametrize(
    ("viewer", "status"),
    [
        (f"{HOME}:46532", 200),
        ("2001:db8:7:0:0:0:0:1:46532", 200),
        ("[2001:db8:7::1]:46532", 200),
        (f"{ELSEWHERE}:46532", 403),
        (HOME, 403),
        ("", 403),
        (f"{HOME}, {ELSEWHERE}:46532", 403),
        (f"{HOME}%eth0:46532", 403),
    ],
)
def test_a_key_works_from_its_networks_also_behind_the_edge(api: Api, bound: str, viewer: str, status: int) -> None:
    got = come(api, CLOSED, sent(viewer=viewer), bound)
    assert got.status == status
    if status != 200:
        assert got.code == "network_not_allowed"


def test_a_client_says_nothing_about_where_it_comes_from(api: Api, bound: str) -> None:
    said = {"X-Forwarded-For": HOME, "X-Real-IP": HOME, "Forwarded": f"for={HOME}", "True-Client-IP": HOME}
    assert come(api, CLOSED, {**sent(viewer=f"{ELSEWHERE}:1"), **said}, bound).code == "network_not_allowed"


def test_while_the_origin_is_open_the_viewer_is_believed_of_the_edge_alone(api: Api, bound: str) -> None:
    assert come(api, OPEN, {}).status == 200
    for forged in ({VIEWER: f"{HOME}:1"}, {VIEWER: f"{HOME}:1", EDGE_HEADER: "x"}):
        assert come(api, OPEN, forged, bound).code == "network_not_allowed"
    assert come(api, OPEN, sent(), bound).status == 200


def test_nothing_after_the_door_sees_the_key(api: Api) -> None:
    what = event("GET", "/credentials", headers=sent())
    passed = CLOSED.passed(what)
    assert passed is not None
    assert KEYS["current"] not in json.dumps(passed)
    assert passed["requestContext"]["requestId"] == what["requestContext"]["requestId"]
    assert what["requestContext"]["http"]["sourceIp"] == "192.0.2.1", "the event itself is not changed"


def test_a_function_reads_the_keys_of_its_stage_once_in_five_minutes() -> None:
    asked: list[str] = []

    class Client:
        def get_secret_value(self, SecretId: str) -> dict[str, str]:  # noqa: N803 - boto3's name
            asked.append(SecretId)
            return {"SecretString": json.dumps(KEYS)}

    env = {ENV_SETTINGS: Settings("dev", (), {}).dumps()}
    assert edge_of(env, Client()).passed({}) == {}, "there is no edge"
    edge = edge_of({**env, ENV_EDGE: EDGE_CLOSED}, Client())
    assert edge.passed({"headers": {}}) is None
    assert asked == [], "what has no key at all costs no call"
    for _ in range(3):
        assert edge.passed({"headers": sent()}) is not None
    assert asked == [edge_secret_name("dev")]
    assert edge_of({**env, ENV_EDGE: EDGE_OPEN}, Client()).passed({"headers": {}}) is not None


@pytest.mark.parametrize(("fault", "status"), [(Retriable("secrets"), 503), (MalformedSecret("x"), 500)])
def test_keys_that_cannot_be_read_let_no_request_in(api: Api, fault: Exception, status: int) -> None:
    def keys() -> Mapping[str, str]:
        raise fault

    assert come(api, Edge(keys), sent()).status == status


def test_the_console_is_shut_beside_the_edge_and_limits_a_client_by_its_own_address(moto_dynamo: Any) -> None:
    console: Console = build_console(moto_dynamo, FakeClock())
    what = event("GET", "/console/sign-in")
    assert respond_console(what, "r", lambda: console.services, CLOSED)["statusCode"] == 403
    what = event("GET", "/console/sign-in", headers=sent())
    assert respond_console(what, "r", lambda: console.services, CLOSED)["statusCode"] == 200


@pytest.mark.parametrize(
    ("headers", "host", "status"),
    [
        ({}, "send.example.eu", 403),
        ({EDGE_HEADER: "x"}, "send.example.eu", 403),
        (sent(), "send.example.eu", 200),
        ({}, "abc.lambda-url.eu-west-1.on.aws", 200),
    ],
)
def test_posts_of_providers_come_by_the_edge_or_to_the_function(
    headers: Mapping[str, str], host: str, status: int
) -> None:
    QUEUE.bodies = []
    QUEUE.fault = None
    what = {
        "rawPath": "/webhooks/sendgrid/main",
        "requestContext": {"domainName": host, "http": {"method": "POST"}},
        "headers": {"content-type": "application/json", **signed(BODY), **headers},
        "body": BODY.decode(),
    }
    assert receive.receive(what, replace(USING, edge=CLOSED))["statusCode"] == status
    assert QUEUE.is_empty() == (status != 200)
