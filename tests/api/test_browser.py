"""The unsubscription page in a real browser, driven by the W3C's WebDriver protocol."""

import json
import re
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterable, Iterator
from http.client import HTTPConnection
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, make_server

import pytest

from tests.api.conftest import Api, event
from tests.api.test_unsubscribe import ANN, link, off

pytestmark = pytest.mark.browser
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
"""The key of an element's id: https://www.w3.org/TR/webdriver2/#elements"""
TAB = [{"type": kind, "value": "\ue004"} for kind in ("keyDown", "keyUp")]
PREFIX = "/below/a/path"
"""Pages must work wherever the API's address leads."""


class Quiet(WSGIRequestHandler):
    def log_message(self, *_args: Any) -> None:
        """Say nothing."""


@pytest.fixture
def site(api: Api) -> Iterator[str]:
    """The API's pages at an address of this machine."""

    def serve(environ: dict[str, Any], start: Callable[[str, list[tuple[str, str]]], object]) -> Iterable[bytes]:
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0)).decode()
        path = environ["PATH_INFO"].removeprefix(PREFIX)
        headers = {"content-type": environ.get("CONTENT_TYPE", "")}
        got = api.handle(event(environ["REQUEST_METHOD"], path, body=body, headers=headers))
        start(f"{got.status} X", list(got.headers.items()))
        return [got.text.encode()]

    with make_server("127.0.0.1", 0, serve, handler_class=Quiet) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}{PREFIX}"
        server.shutdown()


class Browser:
    """One session of a browser without a window; scripts are off."""

    def __init__(self, port: int) -> None:
        self._port = port
        options = {
            "args": ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"],
            "prefs": {"profile.managed_default_content_settings.javascript": 2},
        }
        wanted = {"capabilities": {"alwaysMatch": {"goog:chromeOptions": options}}}
        self._session = f"/session/{self._ask('POST', '/session', wanted)['sessionId']}"
        self.do("POST", "/timeouts", {"implicit": 20_000})

    def _ask(self, method: str, path: str, body: Any = None) -> Any:
        connection = HTTPConnection("127.0.0.1", self._port, timeout=60)
        try:
            connection.request(method, path, None if body is None else json.dumps(body))
            value = json.loads(connection.getresponse().read())["value"]
        finally:
            connection.close()
        assert not (isinstance(value, dict) and "error" in value), value
        return value

    def do(self, method: str, path: str, body: Any = None) -> Any:
        """Give one command of the session."""
        return self._ask(method, self._session + path, body)

    def find(self, css: str) -> str:
        """Return an element."""
        found = self.do("POST", "/element", {"using": "css selector", "value": css})
        return f"/element/{found[ELEMENT]}"

    def shows(self, heading: str) -> None:
        """Wait until the page with that heading is there; a click does not wait for where it leads."""
        self.do("POST", "/element", {"using": "xpath", "value": f"//h1[.='{heading}']"})

    def press(self) -> None:
        """Press the page's button."""
        self.do("POST", self.find("button") + "/click", {})

    def style(self, css: str, name: str) -> str:
        """Return an element's computed style, e.g. a color as `rgba(0, 0, 0, 1)`."""
        found: str = self.do("GET", f"{self.find(css)}/css/{name}")
        return found

    def devtools(self, command: str, **parameters: Any) -> None:
        """Give a command of Chromium's own protocol."""
        self.do("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def text(self, css: str) -> str:
        """Return what an element shows."""
        shown: str = self.do("GET", self.find(css) + "/text")
        return shown

    def close(self) -> None:
        """End it."""
        self._ask("DELETE", self._session)


@pytest.fixture
def browser() -> Iterator[Browser]:
    program = shutil.which("chromedriver")
    if program is None:
        pytest.fail("there is no browser to drive: install one by `make browser`")
    driver = subprocess.Popen([program, "--port=0"], stdout=subprocess.PIPE, text=True)
    try:
        assert driver.stdout is not None
        said = next((line for line in driver.stdout if "successfully on port" in line), "")
        port = int(said.rstrip(".\n").rpartition(" ")[2])
        opened = Browser(port)
        yield opened
        opened.close()
    finally:
        driver.terminate()
        driver.wait(10)
        if driver.stdout is not None:
            driver.stdout.close()


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


def contrast(one: str, other: str) -> float:
    """Return the contrast of two computed colors (WCAG 2.2, "contrast ratio")."""

    def luminance(color: str) -> float:
        parts = [int(x) / 255 for x in re.findall(r"[\d.]+", color)[:3]]
        red, green, blue = (x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    low, high = sorted(map(luminance, (one, other)))
    return (high + 0.05) / (low + 0.05)


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
