"""`python -m tests.deployed.screenshots`: pictures of a running local cloud for the pages, into docs/images.

Sends a batch and stores the inbox with an open message. Stores the digest of a policy without templates, by day and by
night. A picture of more than 200 kB fails.
"""

import base64
import sys
from pathlib import Path
from typing import Final

from examples.demo import digests
from examples.demo.api import call
from infra.local.cloud import current
from infra.local.console import LocalCloudError, say
from infra.local.paths import ROOT, paths
from infra.local.processes import wait_for
from tests.fakes.browser import Browser, browsing
from tests.fakes.pictures import packed, size_of

FOLDER: Final = ROOT / "docs" / "images"
SIZE: Final = (1080, 680)
"""Pixels of a page, without the browser's frame."""
DIGEST_SIZE: Final = (760, 580)
LARGEST: Final = 200_000
PATIENCE: Final = 120.0
"""Seconds that the messages take to arrive on a busy machine."""
ROWS: Final = 20
"""Messages in the inbox, more than a page shows."""
BATCH: Final = {
    "from": "news@example.com",
    "to": [f"Reader {n} <reader{n}@example.com>" for n in range(1, ROWS + 1)],
    "subject": "The Example Gazette, spring",
    "body": "<h1>Slow news, on time</h1><p>Gardens on roofs, a bridge that sings, and letters from readers.</p>"
    '<p><a href="https://example.com/">Read it in your browser</a></p>',
}


def opened(browser: Browser, url: str, size: tuple[int, int] = SIZE, scheme: str = "light") -> None:
    """Open a page.

    Args:
        browser: which shows it.
        url: its address.
        size: pixels.
        scheme: the light that the reader prefers: `light` or `dark`.
    """
    width, height = size
    browser.devtools(
        "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False
    )
    browser.devtools("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    browser.do("POST", "/url", {"url": url})


def shoot(browser: Browser, name: str, wanted: tuple[int, int] = SIZE) -> Path:
    """Store what the browser shows.

    Args:
        browser: which shows it.
        name: of the picture's file.
        wanted: pixels.

    Raises:
        LocalCloudError: the picture is too large, or not of the page's size.
    """
    data = packed(base64.b64decode(browser.do("GET", "/screenshot")))
    size = size_of(data)
    if size != wanted or len(data) > LARGEST:
        raise LocalCloudError(f"{name} has {size[0]} x {size[1]} pixels and {len(data):,} bytes")
    file = FOLDER / f"{name}.png"
    file.write_bytes(data)
    say(f"{file.relative_to(ROOT)}: {len(data) // 1000} kB")
    return file


def await_messages(browser: Browser) -> None:
    """Wait until the inbox shows the batch. Raises LocalCloudError if it does not come."""
    arrived = f"return document.querySelectorAll('#list li').length >= {ROWS}"
    if not wait_for(lambda: bool(browser.script(arrived)), PATIENCE):
        raise LocalCloudError(f"the inbox does not show {ROWS} messages")


def main() -> int:
    """Return the exit code."""
    try:
        running = current(paths())
        call(running, "POST", "/batches", BATCH)
        call(running, "PUT", "/digest-policies/acme/", {"from": digests.SENDER, "unsubscribe": True})
        html = call(running, "GET", "/digest-policies/acme//preview")["html"]
        page = f"data:text/html;base64,{base64.b64encode(html.encode()).decode()}"
        FOLDER.mkdir(exist_ok=True)
        with browsing(scripts=True) as browser:
            opened(browser, running.env["SIMULATOR_URL"] + "/")
            await_messages(browser)
            browser.click("li button")
            browser.enter("iframe")
            browser.find("body > *")
            browser.do("POST", "/frame", {"id": None})
            shoot(browser, "inbox")
            for scheme in ("light", "dark"):
                opened(browser, page, DIGEST_SIZE, scheme)
                shoot(browser, f"digest-{scheme}", DIGEST_SIZE)
    except LocalCloudError as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
