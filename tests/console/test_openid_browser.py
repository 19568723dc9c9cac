"""Signing in by an OpenID provider in a real browser: the console's pages, the provider's own, and back."""

from typing import Any

import pytest

from shared.web.sessions import COOKIE
from simulator import Simulator
from tests.console.console import Console
from tests.console.site import site
from tests.console.test_openid import trusting
from tests.console.test_sign_in import stored
from tests.fakes.browser import Browser, browsing
from tests.simulator.openid import Later, issue, signing_in


def arrive(browser: Browser, address: str, login: str) -> None:
    """Open the console, and be somebody at the provider."""
    browser.do("POST", "/url", {"url": f"{address}"})
    browser.shows("Sign in to Posthaste")
    browser.reads("main a.button", "Sign in with Acme")
    browser.click("main a.button")
    browser.shows("Who are you?")
    browser.click(f"button[value='{login}']")


@pytest.mark.browser
def test_a_member_of_a_group_signs_in_and_out_and_a_stranger_is_refused(console: Console) -> None:
    allowed: dict[str, Any] = {"organizations": ("group:posthaste",), "roles": {"group:Keepers": "operator"}}
    with Simulator(seed="tests") as sim, site(console) as address, browsing(scripts=True) as browser:
        back = f"{address}/signed-in"
        issue(sim, callback=back)
        with signing_in(sim, Later(), back=back, **allowed) as sign_in:
            trusting(console, sim, sign_in, **allowed)

            arrive(browser, address, "stranger")
            browser.shows("You may not use this console")
            assert "allow stranger" in browser.text("main")
            assert stored(console, "S#") == stored(console, "U#") == []

            arrive(browser, address, "mona")
            browser.shows("Accounts")
            browser.find(f"//main//a[contains(@href, '{console.account}')]")
            (cookie,) = (x for x in browser.do("GET", "/cookie") if x["name"] == COOKIE)
            assert (cookie["httpOnly"], cookie["secure"], cookie["sameSite"]) == (True, True, "Lax")
            assert browser.script("return document.cookie") == ""

            browser.click("details.person summary")
            browser.click("//button[.='Sign out']")
            browser.shows("Sign in to Posthaste")
            assert stored(console, "S#") == []
