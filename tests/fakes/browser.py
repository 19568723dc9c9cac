"""A real browser without a window, driven by the W3C's WebDriver protocol."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from typing import Any

import pytest

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
"""The key of an element's id: https://www.w3.org/TR/webdriver2/#elements"""


class Browser:
    """One session of a browser without a window. `scripts`: whether pages may run any."""

    def __init__(self, port: int, *, scripts: bool) -> None:
        self._port = port
        options = {
            "args": ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"],
            "prefs": {"profile.managed_default_content_settings.javascript": 1 if scripts else 2},
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


@contextmanager
def browsing(*, scripts: bool) -> Iterator[Browser]:
    """Start a browser, and end it."""
    program = shutil.which("chromedriver")
    if program is None:
        pytest.fail("there is no browser to drive: install one by `make browser`")
    driver = subprocess.Popen([program, "--port=0"], stdout=subprocess.PIPE, text=True)
    try:
        assert driver.stdout is not None
        said = next((line for line in driver.stdout if "successfully on port" in line), "")
        port = int(said.rstrip(".\n").rpartition(" ")[2])
        opened = Browser(port, scripts=scripts)
        yield opened
        opened.close()
    finally:
        driver.terminate()
        driver.wait(10)
        if driver.stdout is not None:
            driver.stdout.close()


def contrast(one: str, other: str) -> float:
    """Return the contrast of two computed colors (WCAG 2.2, "contrast ratio")."""

    def luminance(color: str) -> float:
        parts = [int(x) / 255 for x in re.findall(r"[\d.]+", color)[:3]]
        red, green, blue = (x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    low, high = sorted(map(luminance, (one, other)))
    return (high + 0.05) / (low + 0.05)
