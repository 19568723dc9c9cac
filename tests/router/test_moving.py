"""An account moves to another cell, behind a router: the real API and operators' function of both, over moto."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from functions.api.handler import respond
from functions.operate.handler import respond as operate
from functions.operate.services import OperateServices
from functions.router.handler import respond as route
from functions.router.services import RouterServices
from shared import contracts
from shared.adapters.dynamo.accounts.api_keys import CACHE
from shared.adapters.dynamo.cells.moves import QUIET_MS
from shared.contracts import Settings
from shared.ports import Response
from tests.api.conftest import Api, build_api, event
from tests.fakes.cells import FakeCellRoutes, FakeCells, Sent
from tests.fakes.clock import FakeClock

A, B = "https://a.example.com", "https://b.example.com"
ARN = "arn:aws:iam::1:user/erik"


class Cells:
    """Two cells and a router before them. The account of the first is in none of the second's tables."""

    def __init__(self, client: Any, clock: FakeClock) -> None:
        self.clock = clock
        self.cells = {A: build_api(client, clock), B: build_api(client, clock)}
        self.key, self.account = self.cells[A].key, self.cells[A].account
        wire = FakeCells({address: served(api) for address, api in self.cells.items()})
        self.router = RouterServices({"a": A, "b": B}, FakeCellRoutes(), wire, clock)
        self.directory = self.router.directory()
        self.state: dict[str, Any] = {}

    def send(self, method: str, path: str, body: Any = None, **headers: str) -> dict[str, Any]:
        """Send a request of the account's key to the router."""
        more = {"Authorization": f"Bearer {self.key}", **{k.replace("_", "-"): x for k, x in headers.items()}}
        got = route(event(method, path, body=body, headers=more), "r", self.router, self.directory)
        return {"status": got["statusCode"], **(json.loads(got["body"]) if got["body"] else {})}

    def batch(self, to: str, *, name: str = "") -> dict[str, Any]:
        """Post a batch to the router. `name`: its idempotency key."""
        more = {"Idempotency_Key": name} if name else {}
        return self.send("POST", "/batches", self.cells[A].body((to,)), **more)

    def operate(self, address: str, what: str, **body: Any) -> dict[str, Any]:
        """Call a cell's operators' function."""
        status, said = self.try_operate(address, what, **body)
        assert status == 200, said
        return said

    def try_operate(self, address: str, what: str, **body: Any) -> tuple[int, dict[str, Any]]:
        api = self.cells[address]
        variables = {
            contracts.ENV_SETTINGS: Settings("dev", (), {}).dumps(),
            contracts.ENV_LANE_URL_PREFIX: "https://sqs.us-east-1.amazonaws.com/123456789012/lane-",
            contracts.ENV_RECORDS_TABLE: api.tables.records,
            contracts.ENV_OPS_TABLE: api.tables.ops,
            contracts.ENV_IDENTITIES_TABLE: api.tables.homes.identities,
            contracts.ENV_AUDIT_TABLE: api.tables.homes.audit,
        }
        raw = {
            "rawPath": f"/operate/erase/moves/{what}",
            "headers": {"content-type": "application/json"},
            "requestContext": {"http": {"method": "POST"}, "authorizer": {"iam": {"userArn": ARN}}},
            "body": json.dumps(body),
        }
        found = operate(raw, "r", lambda: OperateServices(variables, self.clock))
        return found["statusCode"], json.loads(found["body"])

    def begin(self) -> dict[str, Any]:
        return self.operate(A, "begin", account=self.account, to=B)

    def carry(self, since: int = 0) -> int:
        """Pack the account in its old cell and put it into the other; return how many items were new."""
        self.state = self.state if since else self.begin()
        after, put = "", 0
        while True:
            page = self.operate(A, "pack", account=self.account, after=after, since=since)
            arrival = {"account_id": self.account, "origin": A, "names": self.state["names"], "items": page["items"]}
            put += int(self.operate(B, "unpack", **arrival)["put"])
            after = page["after"]
            if not after:
                return put

    def settle(self) -> None:
        """Let all that was accepted be sent, and the caches of processes end."""
        for api in self.cells.values():
            api.world.settle()
        self.clock.advance(QUIET_MS / 1000)

    def moved(self) -> None:
        """Move the account."""
        self.settle()
        self.begin()
        self.clock.advance(QUIET_MS / 1000)
        self.carry()
        self.operate(A, "leave", account=self.account)
        self.operate(B, "open", account=self.account)
        self.clock.advance(CACHE)


def served(api: Api) -> Callable[[Sent], Response]:
    def answer(sent: Sent) -> Response:
        path, _, query = sent.path.partition("?")
        raw = event(sent.method, path, body=sent.body.decode() or None, headers=sent.headers, query=query)
        got = respond(raw, "r", lambda: api.services)
        return Response(got["statusCode"], {k.lower(): v for k, v in got["headers"].items()}, got["body"].encode())

    return answer


@pytest.fixture
def cells(moto_dynamo: Any, monkeypatch: pytest.MonkeyPatch) -> Cells:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    return Cells(moto_dynamo, FakeClock())


def jobs(api: Api) -> int:
    return sum(item["sk"]["S"] == "JOB" for item in api.stored())


def test_a_keys_next_batch_goes_to_the_new_cell_and_none_is_sent_twice(cells: Cells) -> None:
    first = cells.batch("ann@example.org", name="order-7")
    assert (first["status"], jobs(cells.cells[A]), jobs(cells.cells[B])) == (202, 1, 0)
    cells.moved()
    assert cells.batch("ben@example.org")["status"] == 202
    assert (jobs(cells.cells[A]), jobs(cells.cells[B])) == (1, 1)
    again = cells.batch("ann@example.org", name="order-7")
    assert (again["status"], again["job_id"]) == (202, first["job_id"])
    assert (jobs(cells.cells[A]), jobs(cells.cells[B])) == (1, 1)


def test_what_the_account_has_goes_along(cells: Cells) -> None:
    old, new = cells.cells[A], cells.cells[B]
    test = old.test_key()
    made = old.call("POST", "/templates", {"name": "Hi", "channel": "email", "subject": "Hi", "html": "<p>Hi</p>"})
    guest = old.call("PUT", "/guests/ann@example.org", {})
    claim = old.call("POST", "/senders", {"domain": "example.net"})
    old.services.accounts.set_limits(cells.account, {"email": 5})
    cells.moved()
    assert (made.status, guest.status // 100, claim.status // 100) == (201, 2, 2)
    assert cells.send("GET", f"/templates/{made.json['template_id']}")["name"] == "Hi"
    assert "ann@example.org" in str(cells.send("GET", "/guests"))
    assert "example.net" in str(cells.send("GET", "/senders"))
    assert new.services.accounts.rules(cells.account) == old.services.accounts.rules(cells.account)
    assert new.call("GET", "/jobs", key=test).status == 200
    assert [x.id for x in new.services.accounts.list_keys(cells.account)]
    assert old.services.accounts.list_keys(cells.account) == []


def test_people_who_refused_get_nothing_from_the_new_cell(cells: Cells) -> None:
    store = cells.cells[A].services.suppressions
    store.put(cells.account, "ann@example.org", "complained")
    cells.moved()
    assert cells.batch("ann@example.org")["code"] == "no_valid_recipient"
    store.put(cells.account, "ben@example.org", "bounced")
    assert cells.carry(since=1) > 0
    assert cells.batch("ben@example.org")["code"] == "no_valid_recipient"


def test_neither_cell_accepts_between_its_steps(cells: Cells) -> None:
    cells.settle()
    cells.batch("first@example.org")
    cells.settle()
    cells.begin()
    cells.clock.advance(QUIET_MS / 1000)
    assert cells.batch("ann@example.org")["code"] == "account_moving"
    assert cells.send("GET", "/jobs")["status"] == 200
    cells.carry()
    assert cells.cells[B].batch(key=cells.key).code == "account_moving"
    assert cells.batch("ann@example.org")["code"] == "account_moving"
    cells.operate(A, "leave", account=cells.account)
    cells.clock.advance(CACHE)
    assert cells.cells[A].batch(key=cells.key).code == "account_moved"
    assert cells.cells[A].call("GET", "/jobs", key=cells.key).status == 421
    assert cells.batch("ann@example.org")["code"] == "account_moving"
    cells.operate(B, "open", account=cells.account)
    assert cells.batch("ann@example.org")["status"] == 202
    assert (jobs(cells.cells[A]), jobs(cells.cells[B])) == (1, 1)


def test_a_door_of_another_service_leads_to_the_new_cell(cells: Cells) -> None:
    cells.send("GET", "/jobs")
    cells.moved()
    mail = {"From": "news@example.com", "To": "ann@example.org", "Subject": "Hello", "TextBody": "Hello!"}
    got = route(
        event("POST", "/email", body=mail, headers={"X-Postmark-Server-Token": cells.key}),
        "r",
        cells.router,
        cells.directory,
    )
    assert (got["statusCode"], jobs(cells.cells[B])) == (200, 1)


def test_a_step_that_is_repeated_changes_nothing(cells: Cells) -> None:
    cells.moved()
    there = stored(cells.cells[B])
    assert cells.operate(A, "leave", account=cells.account)["changed"]
    assert cells.operate(B, "open", account=cells.account) == {"account_id": cells.account, "changed": False}
    assert stored(cells.cells[B]) == there


def stored(api: Api) -> list[Mapping[str, Any]]:
    return [x for x in api.stored() if not x["pk"]["S"].endswith("#AUDIT")]


def test_an_account_with_open_jobs_does_not_begin(cells: Cells) -> None:
    accepted = cells.batch("ann@example.org")
    status, said = cells.try_operate(A, "begin", account=cells.account, to=B)
    assert status == 422, said
    assert accepted["job_id"] in said["errors"][0]["message"]
    assert cells.batch("ben@example.org")["status"] == 202


def test_nothing_is_packed_before_all_requests_have_ended(cells: Cells) -> None:
    cells.settle()
    cells.begin()
    assert cells.try_operate(A, "pack", account=cells.account)[0] == 422
    cells.clock.advance(QUIET_MS / 1000)
    assert cells.try_operate(A, "pack", account=cells.account)[0] == 200


def test_a_move_is_cancelled_until_the_account_has_left(cells: Cells) -> None:
    cells.settle()
    cells.begin()
    assert cells.operate(A, "cancel", account=cells.account)["changed"]
    assert cells.batch("ann@example.org")["status"] == 202
    cells.moved()
    assert not cells.operate(A, "cancel", account=cells.account)["changed"]


@pytest.mark.parametrize("kind", ["notifiers", "endpoints of webhooks", "digest policies"])
def test_an_account_with_what_does_not_go_along_does_not_begin(cells: Cells, kind: str) -> None:
    api = cells.cells[A]
    if kind == "notifiers":
        api.notifier()
    elif kind == "digest policies":
        policy = {"window": 60, "from": "news@example.com"}
        assert api.call("PUT", "/digest-policies/orders", policy).status in {200, 201}
    else:
        hook = {"url": "https://ann.example/hook", "events": ["message.delivered"]}
        assert api.call("POST", "/hooks", hook).status == 201
    status, said = cells.try_operate(A, "begin", account=cells.account, to=B)
    assert status == 422, said
    assert kind in said["errors"][0]["message"]


def test_another_accounts_items_are_refused(cells: Cells) -> None:
    cells.settle()
    cells.begin()
    cells.clock.advance(QUIET_MS / 1000)
    page = cells.operate(A, "pack", account=cells.account)
    state = cells.operate(A, "begin", account=cells.account, to=B)
    other = {"account_id": "acc_000000000009", "origin": A, "names": state["names"], "items": page["items"]}
    before = stored(cells.cells[B])
    assert cells.try_operate(B, "unpack", **other)[0] == 422
    wrong = {**other, "account_id": cells.account, "names": {"floor": 1, "target": 1, "checks": ["x"]}}
    assert cells.try_operate(B, "unpack", **wrong)[0] == 422
    assert stored(cells.cells[B]) == before
