"""The page of a preview in a real browser: two widths, a mail's own styles, and nothing of a mail that acts."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.content.page import PreviewedMessage, page
from tests.fakes.browser import Browser, browsing

pytestmark = pytest.mark.browser


@pytest.fixture
def browser() -> Iterator[Browser]:
    with browsing(scripts=True) as opened:
        yield opened


def test_a_mail_is_shown_in_both_widths_and_cannot_act(browser: Browser, tmp_path: Path) -> None:
    mail = (
        "<!doctype html><style>@media (max-width: 500px) { p { color: rgb(1, 2, 3) } } p { font-size: 20px }</style>"
        '<script>document.body.textContent = "run"</script>'
        '<meta http-equiv="refresh" content="0;url=about:blank"><p id="news">News</p>'
    )
    file = tmp_path / "preview.html"
    file.write_text(page(PreviewedMessage("Message 1", [("Subject", "<b>Hi</b>")], mail, "News")), encoding="utf-8")
    browser.do("POST", "/url", {"url": file.as_uri()})
    browser.shows("Message 1")
    assert browser.text("dd") == "<b>Hi</b>"
    for width, color in (("390", "rgba(1, 2, 3, 1)"), ("1024", "rgba(0, 0, 0, 1)")):
        assert browser.style(f'iframe[width="{width}"]', "width") == f"{width}px"
        browser.enter(f'iframe[width="{width}"]')
        assert browser.text("#news") == "News", "no script of a mail runs, and no refresh"
        assert browser.style("#news", "font-size") == "20px"
        assert browser.style("#news", "color") == color
        browser.do("POST", "/frame", {"id": None})
