"""What a router has learned: in memory and on DynamoDB."""

from uuid import uuid4

import pytest

from shared.adapters.dynamo.cells.routes import DAYS, DynamoCellRoutes
from shared.ports.cells import CellRoutes
from tests.fakes.cells import FakeCellRoutes
from tests.fakes.clock import FakeClock

DAY_S = 86_400


@pytest.fixture(params=["memory", "dynamo"])
def routes(request: pytest.FixtureRequest, clock: FakeClock) -> CellRoutes:
    if request.param == "memory":
        return FakeCellRoutes()
    return made(request, clock)


def made(request: pytest.FixtureRequest, clock: FakeClock) -> DynamoCellRoutes:
    client, name = request.getfixturevalue("moto_dynamo"), f"routes-{uuid4().hex}"
    client.create_table(
        TableName=name,
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )
    return DynamoCellRoutes(client, name, clock)


def test_the_last_note_of_a_caller_is_its_cell(routes: CellRoutes) -> None:
    assert routes.get("K#0123456789abcdef") is None
    routes.put("K#0123456789abcdef", "a")
    routes.put("N#clinic", "a")
    routes.put("K#0123456789abcdef", "b")
    assert (routes.get("K#0123456789abcdef"), routes.get("N#clinic")) == ("b", "a")


def test_a_note_is_forgotten_after_its_days(request: pytest.FixtureRequest, clock: FakeClock) -> None:
    routes = made(request, clock)
    routes.put("N#clinic", "a")
    clock.advance(DAYS * DAY_S - 1)
    assert routes.get("N#clinic") == "a"
    clock.advance(1)
    assert routes.get("N#clinic") is None
