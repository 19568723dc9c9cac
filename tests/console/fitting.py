"""What each page of the console is held to, at each width and in each scheme. The browser loads the page only once."""

from collections.abc import Sequence
from typing import Final

from tests.fakes.axe import assert_laid_out, dim, violations
from tests.fakes.browser import Browser

PHONE: Final = 320
"""CSS pixels: the least width of WCAG 2.2, 1.4.10."""
WINDOW: Final = 1280
ALL_WIDTHS: Final = (PHONE, 360, 768, WINDOW, 1440)


def resize(browser: Browser, width: int) -> None:
    """Give the page a width in CSS pixels: that of a phone, or of a window."""
    size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width == PHONE}
    browser.devtools("Emulation.setDeviceMetricsOverride", **size)


def paint(browser: Browser, scheme: str) -> None:
    """Show the page in a scheme: `light` or `dark`."""
    browser.devtools("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])


def assert_fits(browser: Browser, where: str, widths: Sequence[int] = ALL_WIDTHS) -> None:
    """Hold the page that the browser shows to its layout at each width, and to axe-core on a phone and in a window.

    Args:
        browser: which shows it, and may run scripts.
        where: which page it is, for what is said of a failure.
        widths: in CSS pixels.
    """
    paint(browser, "light")
    for width in widths:
        resize(browser, width)
        assert_laid_out(browser, width, f"{where} at {width} px")
        if width in (PHONE, WINDOW):
            found = violations(browser)
            paint(browser, "dark")
            found += dim(browser)
            paint(browser, "light")
            assert not found, f"{where} at {width} px: {found}"
