"""The built-in mail of a digest in a real browser: by any light, at any width, whatever its events hold."""

import base64
from collections.abc import Iterator
from dataclasses import replace

import pytest

from shared.domain.digests.samples import preview
from tests.domain.digests.examples import NOW, policy
from tests.domain.digests.test_rendering import events, message
from tests.fakes.browser import Browser, browsing, contrast

pytestmark = pytest.mark.browser


@pytest.fixture
def browser() -> Iterator[Browser]:
    with browsing(scripts=False) as opened:
        yield opened


def show(browser: Browser, html: str, scheme: str, width: int) -> None:
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.devtools("Emulation.setEmulatedMedia", features=features)
    browser.devtools("Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1, mobile=True)
    browser.do("POST", "/url", {"url": f"data:text/html;base64,{base64.b64encode(html.encode()).decode()}"})


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_digest_is_read_by_any_light(browser: Browser, scheme: str) -> None:
    show(browser, preview(policy(subject="", unsubscribe=True), NOW).html, scheme, 760)
    card, page = (browser.style(css, "background-color") for css in (".card", ".page"))
    far = {"light": "rgb(0, 0, 0)", "dark": "rgb(255, 255, 255)"}[scheme]
    assert min(contrast(ground, far) for ground in (card, page)) > 15
    for css, ground in ((".key", card), ("h1", card), (".n", card), (".t", card), (".e", card), (".foot", page)):
        assert contrast(browser.style(css, "color"), ground) >= 7, f"{css}: WCAG 2.2, 1.4.6"
    assert contrast(browser.style(".foot a", "color"), page) >= 4.5, "WCAG 2.2, 1.4.3"
    assert browser.text("h1") == "production: task.failed x3, task.succeeded x2"


@pytest.mark.parametrize("width", [320, 390, 760])
def test_nothing_in_a_digest_is_cut_at_the_side(browser: Browser, width: int) -> None:
    long = [replace(x, type=f"task.{'failed' * 12}") for x in events(2, path="/srv/" + "long" * 60)]
    show(browser, message(policy(subject=""), long).html, "light", width)
    for css in (".key", "h1", ".types", ".events", ".t", ".e", ".events td:last-child"):
        rect = browser.rect(css)
        assert rect["x"] >= 0
        assert rect["x"] + rect["width"] <= width, f"{css}: WCAG 2.2, 1.4.10"


@pytest.mark.parametrize("width", [640, 760])
def test_a_usual_type_is_in_one_line(browser: Browser, width: int) -> None:
    one = [replace(events(1)[0], type="task.succeeded")]
    show(browser, message(policy(subject=""), one).html, "light", width)
    rows = [browser.rect(css)["height"] for css in (".t", ".e")]
    assert browser.style(".e", "line-height") == "21px"
    assert rows[0] == rows[1] < 2 * 21
