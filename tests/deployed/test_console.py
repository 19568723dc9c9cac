"""The console of a local cloud, by clicking: who is let in, who is kept out, and a session that expires."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from infra.local import deploy, sign_in
from infra.local.accounts import ACCOUNT
from infra.local.cloud import Cloud
from shared.contracts import ENV_PEOPLE_TABLE
from tests.fakes.browser import Browser, browsing

pytestmark = pytest.mark.browser
HOURS_12 = 12 * 3_600_000
"""Milliseconds that a session lasts."""


@pytest.fixture
def browser() -> Iterator[Browser]:
    with browsing(scripts=True) as opened:
        size = {"width": 1280, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        opened.devtools("Emulation.setDeviceMetricsOverride", **size)
        yield opened


def sign_in_as(browser: Browser, cloud: Cloud, login: str) -> None:
    """Open the console, and be somebody at the simulated provider of identities."""
    browser.do("POST", "/url", {"url": f"{cloud.api}/console"})
    browser.shows("Sign in to Posthaste")
    browser.click("main a.button")
    browser.shows("Who are you?")
    browser.click(f"button[value='{login}']")


def test_who_is_not_allowed_is_refused_and_keeps_nothing(cloud: Cloud, browser: Browser) -> None:
    sign_in_as(browser, cloud, "stranger")
    browser.shows("You may not use this console")
    browser.do("POST", "/url", {"url": f"{cloud.api}/console"})
    browser.shows("Sign in to Posthaste")


def test_who_cancels_at_the_provider_is_not_signed_in(cloud: Cloud, browser: Browser) -> None:
    browser.do("POST", "/url", {"url": f"{cloud.api}/console/begin"})
    browser.click("button[name='cancel']")
    browser.shows("You did not sign in")


def test_a_session_that_has_expired_leads_to_the_sign_in_and_back_to_the_page(
    cloud: Cloud, browser: Browser, stacks: list[deploy.Stack], aws: Callable[[str], Any]
) -> None:
    sign_in_as(browser, cloud, sign_in.OPERATOR)
    browser.click(f"//main//table//a[.='{ACCOUNT}']")
    browser.click("//nav[@class='side']//a[.='Jobs']")
    browser.shows("Jobs")
    _age_sessions(stacks, aws)
    browser.click("//nav[@class='side']//a[.='Members']")
    browser.shows("Sign in to Posthaste")
    browser.click("main a.button")
    browser.click(f"button[value='{sign_in.OPERATOR}']")
    browser.shows("Members")
    browser.click(".person summary")
    browser.click("//button[.='Sign out']")
    browser.shows("Sign in to Posthaste")


def _age_sessions(stacks: list[deploy.Stack], aws: Callable[[str], Any]) -> None:
    """Make all sessions older than they may be."""
    functions = [name for stack in stacks for name, _ in stack.of_type("AWS::Lambda::Function")]
    found = [aws("lambda").get_function_configuration(FunctionName=name) for name in functions]
    tables = {x.get("Environment", {}).get("Variables", {}).get(ENV_PEOPLE_TABLE) for x in found} - {None}
    (people,) = tables
    for item in aws("dynamodb").scan(TableName=people)["Items"]:
        if item["pk"]["S"].startswith("S#"):
            for name in ("created_at", "expires"):
                item[name] = {"N": str(int(item[name]["N"]) - HOURS_12)}
            aws("dynamodb").put_item(TableName=people, Item=item)
