"""Pictures in the stack: strangers reach one function with one right, and only if the settings have pictures."""

import json
from typing import Any

import pytest

from infra.settings import SettingsError
from shared.contracts import ENV_BUCKET, HANDLERS, Settings
from tests.infra.conftest import deployment
from tests.infra.synthesis import synthesised
from tests.infra.template import Template
from tests.infra.test_console import CONSOLE

QUOTA = 10_000
"""Requests per second of an account in a region, by default."""
ROUTES = {"GET /images/{account}/{file}", "HEAD /images/{account}/{file}"}


@pytest.fixture(scope="module")
def with_pictures() -> Template:
    return Template(json.loads(synthesised(deployment(images={}, console=CONSOLE)).read_text("utf-8")))


def touching(found: Template) -> dict[str, set[str]]:
    """Return what each function may do with pictures."""
    rights: dict[str, set[str]] = {}
    for service in found.functions():
        for s in found.statements(service):
            if any(r.endswith("/images/*") for r in s.resources):
                rights.setdefault(service, set()).update(s.actions)
    return rights


@pytest.mark.slow
def test_strangers_reach_a_function_that_reads_pictures_and_does_nothing_else(with_pictures: Template) -> None:
    function = with_pictures.functions()["pictures"]
    assert function["Handler"] == HANDLERS["pictures"]
    rights = {(a, r) for s in with_pictures.statements("pictures") for a in s.actions for r in s.resources}
    mine = {(a, r) for a, r in rights if not a.startswith("logs:")}
    assert {a for a, _ in mine} == {"s3:GetObject"}
    assert all(r.endswith("/images/*") for _, r in mine)
    variables = set(function["Environment"]["Variables"])
    assert {x for x in variables if x.startswith("POSTHASTE")} == {ENV_BUCKET}, "it knows no table, key or setting"


@pytest.mark.slow
def test_the_bucket_stays_private(with_pictures: Template) -> None:
    (bucket,) = (x for x in with_pictures.of("S3::Bucket").values())
    assert set(bucket["PublicAccessBlockConfiguration"].values()) == {True}
    for policy in with_pictures.of("S3::BucketPolicy").values():
        assert all(x["Effect"] == "Deny" for x in policy["PolicyDocument"]["Statement"])


@pytest.mark.slow
def test_accounts_keep_pictures_by_the_api_and_the_console_alone(with_pictures: Template) -> None:
    assert touching(with_pictures) == {
        "pictures": {"s3:GetObject"},
        "api": {"s3:PutObject", "s3:DeleteObject"},
        "console": {"s3:PutObject", "s3:DeleteObject"},
    }


@pytest.mark.slow
def test_pictures_have_routes_and_a_throttle_of_their_own(with_pictures: Template) -> None:
    routes = {x["RouteKey"]: x for x in with_pictures.of("ApiGatewayV2::Route").values()}
    assert set(routes) >= ROUTES
    assert {routes[x]["AuthorizationType"] for x in ROUTES} == {"NONE"}
    (stage,) = with_pictures.of("ApiGatewayV2::Stage").values()
    apart = {x: row for x, row in stage["RouteSettings"].items() if x != "ANY /console"}
    shares = [stage["DefaultRouteSettings"], *apart.values()]
    assert set(apart) >= ROUTES
    assert sum(x["ThrottlingRateLimit"] for x in shares) == QUOTA
    assert sum(x["ThrottlingBurstLimit"] for x in shares) == QUOTA / 2
    assert sum(stage["RouteSettings"][x]["ThrottlingRateLimit"] for x in ROUTES) == 1500


def test_without_the_setting_there_are_none(template: Template) -> None:
    assert "pictures" not in template.functions()
    assert not ROUTES & {x["RouteKey"] for x in template.of("ApiGatewayV2::Route").values()}
    assert touching(template) == {"operate": {"s3:DeleteObject", "s3:DeleteObjectVersion"}}, "of accounts that leave"


@pytest.mark.parametrize(
    ("given", "most"),
    [(None, (0, 0)), ({}, (500, 100)), ({"count": 7}, (7, 100)), ({"megabytes": 2000}, (500, 2000))],
)
def test_functions_get_the_most_of_an_account(given: Any, most: tuple[int, int]) -> None:
    found = deployment(**({} if given is None else {"images": given})).settings
    assert Settings.loads(found.dumps()).images == found.images == most


@pytest.mark.parametrize(
    "given", [{"count": 0}, {"count": 2001}, {"megabytes": 0}, {"megabytes": 2001}, {"bytes": 1}, True]
)
def test_bounds_that_make_no_sense_are_refused(given: Any) -> None:
    with pytest.raises(SettingsError, match="images"):
        deployment(images=given)
