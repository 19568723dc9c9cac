"""The unsubscription page in a real browser, driven by the W3C's WebDriver protocol."""

from collections.abc import Iterator

import pytest

from tests.api.conftest import Api
from tests.api.site import pages
from tests.api.test_unsubscribe import ANN, link, off
from tests.fakes.browser import Browser, browsing, contrast

pytestmark = pytest.mark.browser
TAB = [{"type": kind, "value": "\ue004"} for kind in ("keyDown", "keyUp")]


@pytest.fixture
def site(api: Api) -> Iterator[str]:
    with pages(api) as address:
        yield address


@pytest.fixture
def browser() -> Iterator[Browser]:
    with browsing(scripts=False) as opened:
        yield opened


def test_a_person_unsubscribes_and_takes_it_back(api: Api, site: str, browser: Browser) -> None:
    browser.do("POST", "/url", {"url": site + link(api)})
    browser.shows("Unsubscribe")
    assert "a•••@example.org" in browser.text("main")
    assert off(api) == {}
    browser.press()
    browser.shows("You are unsubscribed")
    assert off(api)[ANN][0] == "page"
    browser.do("POST", "/refresh", {})
    assert list(off(api)) == [ANN]
    browser.do("POST", "/url", {"url": site + link(api)})
    assert browser.text("button") == "Undo"
    browser.press()
    browser.shows("You are subscribed")
    assert off(api) == {}
    browser.press()
    browser.shows("You are unsubscribed")
    assert list(off(api)) == [ANN]
    browser.press()
    browser.shows("You are subscribed")
    assert browser.do("GET", "/cookie") == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_is_read_at_any_width_and_by_any_light(api: Api, site: str, browser: Browser, scheme: str) -> None:
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.devtools("Emulation.setEmulatedMedia", features=features)
    browser.devtools("Emulation.setDeviceMetricsOverride", width=320, height=640, deviceScaleFactor=1, mobile=True)
    browser.do("POST", "/url", {"url": site + link(api, address=f"ann@{'long' * 15}.{'name' * 15}.example.org")})
    for css in ("h1", "b", "button"):
        rect = browser.do("GET", browser.find(css) + "/rect")
        assert rect["x"] >= 0
        assert rect["x"] + rect["width"] <= 320, "WCAG 2.2, 1.4.10: nothing to scroll sideways"
    own = browser.style("button", "color"), browser.style("button", "background-color")
    assert contrast(*own) >= 7
    ground = "rgb(0, 0, 0)" if scheme == "dark" else "rgb(255, 255, 255)"
    assert contrast(browser.style("main", "color"), ground) >= 7, "WCAG 2.2, 1.4.6"
    browser.do("POST", "/actions", {"actions": [{"type": "key", "id": "keys", "actions": TAB}]})
    assert browser.style("button", "outline-style") == "solid", "WCAG 2.2, 2.4.7: one sees where the focus is"


def test_the_page_is_what_assistive_technology_needs(api: Api, site: str, browser: Browser) -> None:
    browser.do("POST", "/url", {"url": site + link(api)})
    button, main = browser.find("button"), browser.find("main")
    assert browser.do("GET", button + "/computedrole") == "button"
    assert browser.do("GET", button + "/computedlabel") == "Unsubscribe"
    assert browser.do("GET", main + "/computedrole") == "main"
    assert browser.do("GET", "/title") == browser.text("h1") == "Unsubscribe"
    assert browser.do("GET", browser.find("html") + "/attribute/lang") == "en"
    assert browser.do("GET", button + "/rect")["height"] >= 44, "WCAG 2.2, 2.5.5: a target for fingers"
    browser.do("POST", button + "/value", {"text": "\ue007"})  # the enter key
    browser.shows("You are unsubscribed")


def test_the_documentation_shows_every_operation(site: str) -> None:
    with browsing(scripts=True) as opened:
        opened.do("POST", "/url", {"url": f"{site}/docs"})
        opened.shows("Posthaste API")
        opened.find("#main h2")  # waits for it
        assert "Version" in opened.text("#intro")
        assert "/messages" in opened.text("#main")
