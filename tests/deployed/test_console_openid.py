"""The console of a local cloud with an OpenID provider, whose settings its function is given meanwhile."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from infra.local import sign_in
from infra.local.accounts import ACCOUNT
from infra.local.cloud import Cloud
from shared.contracts import ENV_CONSOLE, HANDLERS
from shared.contracts.console import ConsoleSettings
from simulator.client import ControlClient
from tests.deployed.inside import Inside
from tests.fakes.browser import Browser, browsing

pytestmark = pytest.mark.browser


@contextmanager
def trusting(inside: Inside, settings: ConsoleSettings) -> Iterator[None]:
    """Give the console's function other settings meanwhile."""
    functions, name = inside.functions, inside.names[HANDLERS["console"]]
    own = functions.get_function_configuration(FunctionName=name)["Environment"]["Variables"]
    other = {**own, ENV_CONSOLE: settings.dumps()}
    try:
        functions.update_function_configuration(FunctionName=name, Environment={"Variables": other})
        yield
    finally:
        functions.update_function_configuration(FunctionName=name, Environment={"Variables": own})


def arrive(browser: Browser, cloud: Cloud, login: str) -> None:
    """Open the console, and be somebody at the provider."""
    browser.do("POST", "/url", {"url": f"{cloud.api}/console"})
    browser.reads("main a.button", "Sign in with Acme")
    browser.click("main a.button")
    browser.shows("Who are you?")
    browser.click(f"button[value='{login}']")


def test_a_member_of_a_group_signs_in_and_who_is_in_none_is_refused(
    cloud: Cloud, inside: Inside, control: ControlClient
) -> None:
    simulator = cloud.env["SIMULATOR_URL"]
    control.json("PUT", "/_control/openid", sign_in.app(cloud.api))
    settings = ConsoleSettings(
        "openid",
        sign_in.CLIENT_ID,
        organizations=("group:posthaste",),
        roles={"group:Keepers": "operator"},
        issuer=f"{simulator}/openid",
        name="Acme",
    )
    with trusting(inside, settings), browsing(scripts=True) as browser:
        arrive(browser, cloud, "stranger")
        browser.shows("You may not use this console")
        arrive(browser, cloud, "mona")
        browser.shows("Accounts")
        browser.click(f"//main//table//a[.='{ACCOUNT}']")
        browser.shows("Overview")
        browser.click(".person summary")
        browser.click("//button[.='Sign out']")
        browser.shows("Sign in to Posthaste")
