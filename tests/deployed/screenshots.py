"""`python -m tests.deployed.screenshots`: pictures of a running local cloud for the README, into docs/images.

Sends the example newsletter and stores two pictures: the inbox with an open message, and the API's documentation.
A picture of more than 200 kB fails.
"""

import base64
import struct
import sys
from pathlib import Path
from typing import Final

from infra.local import newsletter
from infra.local.cloud import current
from infra.local.console import LocalCloudError, say
from infra.local.paths import ROOT, paths
from tests.deployed.inside import clients
from tests.fakes.browser import ELEMENT, Browser, browsing

FOLDER: Final = ROOT / "docs" / "images"
SIZE: Final = (1280, 800)
"""Pixels of a page, without the browser's frame."""
LARGEST: Final = 200_000
ROWS: Final = 20
"""Messages in the inbox, more than a page shows."""


def shoot(browser: Browser, name: str) -> Path:
    """Store what the browser shows.

    Raises:
        LocalCloudError: the picture is too large, or not of the page's size.
    """
    data = base64.b64decode(browser.do("GET", "/screenshot"))
    size = struct.unpack(">II", data[16:24])  # the header of a PNG: https://www.w3.org/TR/png-3/#11IHDR
    if size != SIZE or len(data) > LARGEST:
        raise LocalCloudError(f"{name} has {size[0]} x {size[1]} pixels and {len(data):,} bytes")
    file = FOLDER / f"{name}.png"
    file.write_bytes(data)
    say(f"{file.relative_to(ROOT)}: {len(data) // 1000} kB")
    return file


def main() -> int:
    """Return the exit code."""
    try:
        running = current(paths())
        newsletter.send(running)
        FOLDER.mkdir(exist_ok=True)
        with browsing(scripts=True) as browser:
            width, height = SIZE
            browser.devtools(
                "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False
            )
            browser.do("POST", "/url", {"url": running.env["SIMULATOR_URL"] + "/"})
            browser.find(f"li:nth-child({ROWS})")
            browser.do("POST", browser.find("li button") + "/click", {})
            frame = browser.find("iframe").removeprefix("/element/")
            browser.do("POST", "/frame", {"id": {ELEMENT: frame}})
            browser.text("body")
            browser.do("POST", "/frame", {"id": None})
            shoot(browser, "inbox")
            browser.do("POST", "/url", {"url": f"{clients(running)[0].url}/docs"})
            browser.text("h1")
            shoot(browser, "api")
    except LocalCloudError as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
