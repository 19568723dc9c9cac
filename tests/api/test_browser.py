"""The unsubscription page in a real browser, driven by the W3C's WebDriver protocol."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from functions.api.openapi import FILE
from infra.local.processes import wait_for
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


FOUND = "return [...document.querySelectorAll('.opblock-summary-path')].map((path) => path.dataset.path)"
WIDTHS = "return [document.documentElement.scrollWidth, window.innerWidth]"


@pytest.fixture
def reader() -> Iterator[Browser]:
    with browsing(scripts=True) as opened:
        yield opened


def run(browser: Browser, script: str) -> Any:
    return browser.do("POST", "/execute/sync", {"script": script, "args": []})


def test_the_documentation_shows_every_operation(site: str, reader: Browser) -> None:
    reader.do("POST", "/url", {"url": f"{site}/docs"})
    reader.shows("Posthaste API")
    reader.find("#docs .opblock")  # waits for it
    assert "Version" in reader.text("#intro")
    document = json.loads(FILE.read_text("utf-8"))
    assert sorted(run(reader, FOUND)) == sorted(path for path, methods in document["paths"].items() for _ in methods)
    assert reader.text(".servers option").startswith(f"{site} "), "the deployment that the page is from"


def test_the_documentation_finds_an_operation_by_words(site: str, reader: Browser) -> None:
    reader.do("POST", "/url", {"url": f"{site}/docs"})
    reader.do("POST", reader.find(".operation-filter-input") + "/value", {"text": "stop campaign"})
    assert wait_for(lambda: run(reader, FOUND) == ["/campaigns/{id}/stop"], 30)


@pytest.mark.parametrize("width", [390, 1440])
def test_a_link_opens_an_operation_with_samples_and_tries_it_out(
    api: Api, site: str, reader: Browser, width: int
) -> None:
    mobile = width < 700
    reader.devtools("Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1, mobile=mobile)
    reader.do("POST", "/url", {"url": f"{site}/docs#/Service/getHealth"})
    block = "#operations-Service-getHealth"
    assert "curl" in reader.text(f"{block} .samples pre")
    shown, room = run(reader, WIDTHS)
    assert shown <= room == width if mobile else shown <= room, "nothing to scroll sideways"
    tabs = f"return [...document.querySelectorAll('{block} .samples [role=tab]')].map((tab) => tab.textContent)"
    assert run(reader, tabs) == ["curl", "Python", "TypeScript", "Go", "PHP"]
    reader.do("POST", reader.find(f"{block} .samples [role=tab]:nth-child(2)") + "/click", {})
    assert "import httpx" in reader.text(f"{block} .samples pre")
    reader.do("POST", reader.find(f"{block} .try-out button") + "/click", {})
    run(reader, f"document.querySelector('{block} .execute').scrollIntoView({{block: 'center'}})")
    reader.do("POST", reader.find(f"{block} .execute") + "/click", {})
    assert '"ok"' in reader.text(f"{block} .live-responses-table .microlight")
