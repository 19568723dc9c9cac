"""`python -m tests.console.screenshots`: pictures of each page of the console, light, dark and narrow.

They go to `.local/screenshots/console`; those of the README go to `docs/images` as well. What they show is the same in
each run: a deployment in this process, with ids and times that do not change. A new page is in it by itself.
"""

import base64
import logging
import os
import re
import sys
from pathlib import Path
from typing import Final
from unittest.mock import patch

import boto3

from infra.local.console import say
from infra.local.paths import ROOT
from tests.console import site
from tests.console.examples import EXAMPLES, Example, build_example, pages, repeatable
from tests.fakes.browser import Browser, BrowserError, browsing
from tests.fakes.pictures import packed, size_of
from tests.fakes.tables import mock_aws

FOLDER: Final = ROOT / ".local" / "screenshots" / "console"
IMAGES: Final = ROOT / "docs" / "images"
WAYS: Final = (("light", "light", 1440), ("dark", "dark", 1440), ("tablet", "light", 768), ("narrow", "light", 360))
"""Names of pictures, with the scheme and the width in pixels."""
README: Final = {
    ("overview", "light"): "console-overview",
    ("message", "light"): "console-message",
    ("job", "dark"): "console-job",
}
"""Pictures of the README, by page and way."""
README_SIZE: Final = (1280, 800)
LARGEST: Final = 200_000
DRAWN: Final = "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => done()));"
PREVIEWED: Final = """
const frame = document.getElementById("preview"), form = document.querySelector("form[data-preview]");
return Boolean(frame && (frame.hasAttribute("src") || (form && form.elements.body.value)));
"""
"""Whether the page shows a message in a frame, as soon as that is loaded."""
STILL: Final = {"name": "prefers-reduced-motion", "value": "reduce"}
MOST: Final = 3_000
"""Pixels that a picture is high."""


def sized(browser: Browser, width: int, height: int) -> None:
    """Give the page a size, in pixels."""
    browser.devtools(
        "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False
    )


def await_preview(browser: Browser) -> None:
    """Wait until the message is there that a page shows in a frame, if it shows one."""
    if not browser.script(PREVIEWED):
        return

    def there() -> bool:
        browser.do("POST", "/frame", {"id": None})
        try:
            browser.enter("#preview")
            shown = browser.find(".framed :is(.mail, .bubble, .problem)")
            if browser.do("GET", f"{shown}/name") == "iframe":
                browser.enter(".mail")
                browser.find("body > *")
        except BrowserError as error:
            if error.kind not in ("no such frame", "no such element"):  # the frame, or what it shows, is on its way
                raise
            return False
        return True

    try:
        browser.until(there, "the preview does not come")
    finally:
        browser.do("POST", "/frame", {"id": None})


def shoot(browser: Browser, file: Path) -> bytes:
    """Store what the browser shows; return the picture."""
    browser.do("POST", "/execute/async", {"script": DRAWN, "args": []})
    data = packed(base64.b64decode(browser.do("GET", "/screenshot")))
    file.write_bytes(data)
    return data


def enter(browser: Browser, example: Example, address: str) -> None:
    """Let the browser have the session, and look the same everywhere."""
    browser.devtools("Emulation.setScrollbarsHidden", hidden=True)
    browser.devtools("Emulation.setTimezoneOverride", timezoneId="Europe/Berlin")
    site.enter(browser, example.console, address)


def take(browser: Browser, example: Example, address: str) -> int:
    """Take all pictures; return how many."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    taken = 0
    for page in pages():
        for n, path in enumerate(EXAMPLES[page](example)):
            for way, scheme, width in WAYS:
                browser.devtools(
                    "Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}, STILL]
                )
                sized(browser, width, 900)
                browser.do("POST", "/url", {"url": f"{address}/{path}".rstrip("/")})
                await_preview(browser)
                high = int(browser.script("return document.documentElement.scrollHeight"))
                sized(browser, width, min(high, MOST))
                shoot(browser, FOLDER / f"{re.sub('[^a-z]+', '-', page)}{f'-{n + 1}' if n else ''}-{way}.png")
                taken += 1
                if n == 0 and (page, way) in README:
                    sized(browser, *README_SIZE)
                    _check(shoot(browser, IMAGES / f"{README[page, way]}.png"), README[page, way])
    return taken


def _check(data: bytes, name: str) -> None:
    size = size_of(data)
    if size != README_SIZE or len(data) > LARGEST:
        raise SystemExit(f"{name} has {size[0]} x {size[1]} pixels and {len(data):,} bytes")


def main() -> int:
    """Return the exit code."""
    logging.disable(logging.CRITICAL)
    keys = {"AWS_ACCESS_KEY_ID": "testing", "AWS_SECRET_ACCESS_KEY": "testing"}
    with patch.dict(os.environ, keys), mock_aws():
        with repeatable():
            example = build_example(boto3.client("dynamodb", region_name="us-east-1"))
        with site.site(example.console) as address, browsing(scripts=True) as browser:
            enter(browser, example, address)
            taken = take(browser, example, address)
    say(f"{taken} pictures in {FOLDER.relative_to(ROOT)}, {len(README)} of them in {IMAGES.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
