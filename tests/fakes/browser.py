"""A real browser without a window, driven by the W3C's WebDriver protocol."""

import json
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from typing import Any

import pytest

from infra.local.processes import wait_for

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
"""The key of an element's id: https://www.w3.org/TR/webdriver2/#elements"""
PATIENCE = 20.0
"""Seconds that a page may take to show what is expected of it."""
STARTS = 3
"""Tries to start what drives browsers."""
STALE = "stale element reference"
GONE = "does not belong to the document"
"""What chromedriver says, as an unknown error, of an element that is replaced while it reads it."""
MOVING = frozenset({STALE, "element click intercepted", "element not interactable"})
"""What the browser answers while a page replaces or moves an element: https://www.w3.org/TR/webdriver2/#errors"""


class BrowserError(AssertionError):
    """The browser refuses a command. `kind` is the error code of the protocol."""

    def __init__(self, value: dict[str, Any]) -> None:
        super().__init__(value)
        self.kind: str = STALE if GONE in value.get("message", "") else value["error"]


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
        self.do("POST", "/timeouts", {"implicit": int(PATIENCE * 1000)})

    def _ask(self, method: str, path: str, body: Any = None) -> Any:
        connection = HTTPConnection("127.0.0.1", self._port, timeout=60)
        try:
            connection.request(method, path, None if body is None else json.dumps(body))
            value = json.loads(connection.getresponse().read())["value"]
        finally:
            connection.close()
        if isinstance(value, dict) and "error" in value:
            raise BrowserError(value)
        return value

    def do(self, method: str, path: str, body: Any = None) -> Any:
        """Give one command of the session."""
        return self._ask(method, self._session + path, body)

    def find(self, css: str) -> str:
        """Return an element, by a selector of CSS or by an XPath, which begins with `//`. Waits until it is there."""
        using = "xpath" if css.startswith("//") else "css selector"
        found = self.do("POST", "/element", {"using": using, "value": css})
        return f"/element/{found[ELEMENT]}"

    def shows(self, heading: str) -> None:
        """Wait until the page with that heading is there; a click does not wait for where it leads."""
        self.find(f"//h1[.='{heading}']")

    def until(self, condition: Callable[[], bool], why: str) -> None:
        """Wait until a condition of the page is true. A page may replace its elements meanwhile.

        Args:
            condition: asks the page.
            why: what the page lacks if it never becomes true.
        """

        def holds() -> bool:
            try:
                return condition()
            except BrowserError as error:
                if error.kind not in MOVING:
                    raise
                return False

        assert wait_for(holds, PATIENCE), why

    def _with(self, css: str, command: Callable[[str], Any]) -> Any:
        """Give a command about an element, whose id it gets; again if the page replaces the element meanwhile."""
        answers: list[Any] = []

        def given() -> bool:
            answers.append(command(self.find(css).removeprefix("/element/")))
            return True

        self.until(given, f"{css} does not come to rest")
        return answers[0]

    def _on(self, method: str, css: str, command: str, body: Any = None) -> Any:
        """Give a command of an element."""
        return self._with(css, lambda name: self.do(method, f"/element/{name}{command}", body))

    def click(self, css: str) -> None:
        """Click an element as soon as it is there and nothing covers it."""
        self._on("POST", css, "/click", {})

    def hold(self, css: str) -> None:
        """Press the mouse over an element, and keep it pressed until `release`."""
        self._with(css, lambda name: self._point(type="pointerMove", origin={ELEMENT: name}, x=0, y=0))
        self._point(type="pointerDown", button=0)

    def release(self) -> None:
        """Let the mouse go."""
        self._point(type="pointerUp", button=0)

    def _point(self, **action: Any) -> None:
        self.do("POST", "/actions", {"actions": [{"type": "pointer", "id": "mouse", "actions": [action]}]})

    def press(self) -> None:
        """Press the page's button."""
        self.click("button")

    def style(self, css: str, name: str) -> str:
        """Return an element's computed style, e.g. a color as `rgba(0, 0, 0, 1)`."""
        found: str = self._on("GET", css, f"/css/{name}")
        return found

    def attribute(self, css: str, name: str) -> str:
        """Return an element's attribute."""
        found: str = self._on("GET", css, f"/attribute/{name}")
        return found

    def rect(self, css: str) -> dict[str, float]:
        """Return where an element is and how large, in CSS pixels: x, y, width, height."""
        found: dict[str, float] = self._on("GET", css, "/rect")
        return found

    def devtools(self, command: str, **parameters: Any) -> None:
        """Give a command of Chromium's own protocol."""
        self.do("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def text(self, css: str) -> str:
        """Return what an element shows."""
        shown: str = self._on("GET", css, "/text")
        return shown

    def reads(self, css: str, text: str) -> None:
        """Wait until an element shows a text: a page answers what one does, but not at once."""
        self.until(lambda: text in self.text(css), f"{css} never shows {text!r}")

    def script(self, text: str) -> Any:
        """Return what a script returns that runs in the page."""
        return self.do("POST", "/execute/sync", {"script": text, "args": []})

    def enter(self, css: str) -> None:
        """Give what follows to the page in a frame."""
        self._with(css, lambda name: self.do("POST", "/frame", {"id": {ELEMENT: name}}))

    def follow(self, css: str) -> str:
        """Click a link that opens a window and go there. Return the handle of the window before."""
        before = self.do("GET", "/window")
        known = self.do("GET", "/window/handles")
        self.click(css)
        self.until(lambda: self.do("GET", "/window/handles") != known, f"{css} opens no window")
        (opened,) = set(self.do("GET", "/window/handles")) - set(known)
        self.do("POST", "/window", {"handle": opened})
        return str(before)

    def close(self) -> None:
        """End it."""
        self._ask("DELETE", self._session)


@contextmanager
def browsing(*, scripts: bool) -> Iterator[Browser]:
    """Start a browser, and end it."""
    program = shutil.which("chromedriver")
    if program is None:
        pytest.fail("there is no browser to drive: install one by `make browser`")
    with _driver(program) as port:
        opened = Browser(port, scripts=scripts)
        try:
            yield opened
        finally:
            opened.close()  # the driver's end alone leaves the browser running


@contextmanager
def _driver(program: str) -> Iterator[int]:
    """Start what drives browsers, and end it; yields its port. If that is taken, start again."""
    for _ in range(STARTS):
        driver = subprocess.Popen([program, "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            assert driver.stdout is not None
            said = next((line for line in driver.stdout if "successfully on port" in line), "")
            if said:
                yield int(said.rstrip(".\n").rpartition(" ")[2])
                return
        finally:
            driver.terminate()
            driver.wait(10)
            if driver.stdout is not None:
                driver.stdout.close()
    pytest.fail("no driver of browsers starts")


def contrast(one: str, other: str) -> float:
    """Return the contrast of two computed colors (WCAG 2.2, "contrast ratio")."""

    def luminance(color: str) -> float:
        parts = [int(x) / 255 for x in re.findall(r"[\d.]+", color)[:3]]
        red, green, blue = (x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    low, high = sorted(map(luminance, (one, other)))
    return (high + 0.05) / (low + 0.05)
