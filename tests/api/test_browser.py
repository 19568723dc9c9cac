"""The unsubscription page in a real browser, driven by the W3C's WebDriver protocol."""

import json
from collections.abc import Iterator

import pytest

from functions.api.openapi import FILE
from tests.api.conftest import Api
from tests.api.site import pages
from tests.api.test_unsubscribe import ANN, link, off
from tests.fakes.axe import violations
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
        rect = browser.rect(css)
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
    assert browser.attribute("html", "lang") == "en"
    assert browser.rect("button")["height"] >= 44, "WCAG 2.2, 2.5.5: a target for fingers"
    browser.do("POST", button + "/value", {"text": "\ue007"})  # the enter key
    browser.shows("You are unsubscribed")


FOUND = "return [...document.querySelectorAll('.opblock-summary-path')].map((path) => path.dataset.path)"
WIDTHS = "return [document.documentElement.scrollWidth, window.innerWidth]"
BLOCK = "#operations-Service-getHealth"
PLACES = f"""
window.places = [];
const look = () => {{
  const block = document.querySelector('{BLOCK} .samples');
  if (block) places.push(Math.round(block.getBoundingClientRect().top));
  requestAnimationFrame(look);
}};
look();
"""
"""Notes in each frame where the operation's samples are in the window."""


@pytest.fixture
def reader() -> Iterator[Browser]:
    with browsing(scripts=True) as opened:
        yield opened


def sized(reader: Browser, width: int) -> None:
    """Give the window the width of a phone or of a screen."""
    mobile = width < 700
    reader.devtools("Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1, mobile=mobile)


def test_the_documentation_shows_every_operation(site: str, reader: Browser) -> None:
    reader.do("POST", "/url", {"url": f"{site}/docs"})
    reader.shows("Posthaste API")
    reader.find("#docs .opblock")  # waits for it
    reader.reads("#intro", "Version")
    document = json.loads(FILE.read_text("utf-8"))
    paths = sorted(path for path, methods in document["paths"].items() for _ in methods)
    reader.until(lambda: len(reader.script(FOUND)) >= len(paths), "an operation is missing")
    assert sorted(reader.script(FOUND)) == paths
    assert reader.text(".servers option").startswith(f"{site} "), "the deployment that the page is from"


def test_the_documentation_finds_an_operation_by_words(site: str, reader: Browser) -> None:
    reader.do("POST", "/url", {"url": f"{site}/docs"})
    reader.do("POST", reader.find(".operation-filter-input") + "/value", {"text": "stop campaign"})
    reader.until(lambda: reader.script(FOUND) == ["/campaigns/{id}/stop"], "the search finds other operations")


@pytest.mark.parametrize("width", [390, 1440])
def test_a_link_leads_to_its_operation_at_once(site: str, reader: Browser, width: int) -> None:
    sized(reader, width)
    reader.devtools("Page.addScriptToEvaluateOnNewDocument", source=PLACES)
    reader.do("POST", "/url", {"url": f"{site}/docs#/Service/getHealth"})
    reader.until(lambda: len(reader.script("return places")) > 60, "no operation is open")
    places = reader.script("return places")
    assert 0 < places[0] < 800, "one sees the samples"
    assert set(places) == {places[0]}, "they do not move away from the pointer"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_samples_are_what_assistive_technology_needs(site: str, reader: Browser, scheme: str) -> None:
    reader.devtools("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    reader.do("POST", "/url", {"url": f"{site}/docs#/Service/getHealth"})
    reader.reads(f"{BLOCK} .samples pre", "curl")
    assert violations(reader, f"{BLOCK} .samples") == []


@pytest.mark.parametrize("width", [390, 1440])
def test_a_link_opens_an_operation_with_samples_and_tries_it_out(
    api: Api, site: str, reader: Browser, width: int
) -> None:
    sized(reader, width)
    reader.do("POST", "/url", {"url": f"{site}/docs#/Service/getHealth"})
    reader.reads(f"{BLOCK} .samples pre", "curl")
    shown, room = reader.script(WIDTHS)
    assert shown <= room == width if width < 700 else shown <= room, "nothing to scroll sideways"
    reader.click(f"{BLOCK} .try-out button")
    reader.click(f"{BLOCK} .execute")
    reader.reads(f"{BLOCK} .live-responses-table .microlight", '"ok"')


def test_an_operation_has_samples_of_curl_and_of_both_sdks(site: str, reader: Browser) -> None:
    sized(reader, 1440)
    block = "#operations-Batches-createBatch"
    reader.do("POST", "/url", {"url": f"{site}/docs#/Batches/createBatch"})
    reader.reads(f"{block} .samples pre", "curl")
    tabs = f"return [...document.querySelectorAll('{block} .samples [role=tab]')].map((tab) => tab.textContent)"
    assert reader.script(tabs) == ["curl", "Python", "TypeScript"]
    reader.click(f"{block} .samples [role=tab]:nth-child(2)")
    reader.reads(f"{block} .samples pre", "api.create_batch(")


@pytest.mark.parametrize("width", [320, 390, 1440])
def test_the_page_of_errors_is_read_at_any_width(site: str, reader: Browser, width: int) -> None:
    sized(reader, width)
    reader.do("POST", "/url", {"url": f"{site}/errors"})
    reader.shows("Errors")
    shown, room = reader.script(WIDTHS)
    assert shown <= room == width if width < 700 else shown <= room, "WCAG 2.2, 1.4.10: nothing to scroll sideways"
