"""Pictures in a real browser, in the form of a campaign: dropped, described, uploaded, put where the cursor is."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.console.console import Console
from tests.console.fitting import PHONE, WINDOW, assert_fits, resize
from tests.console.test_campaign_browser import no_faults, opened, press, tab_to, type_into
from tests.fakes.browser import Browser
from tests.fakes.image_files import png

pytestmark = pytest.mark.browser
ENTER = "\ue007"
DROP = """
const given = new DataTransfer();
given.items.add(new File([new Uint8Array(arguments[0])], arguments[1], {type: arguments[2]}));
const event = new DragEvent("drop", {dataTransfer: given, bubbles: true, cancelable: true});
document.querySelector(".pictures .drop").dispatchEvent(event);
return event.defaultPrevented;
"""
WIDE = "return document.querySelector('.thumbs img').naturalWidth"
AT_THE_BEGINNING = "const x = document.getElementById('body'); x.value = 'Hello'; x.setSelectionRange(0, 0);"
BODY = "return document.getElementById('body').value"


@pytest.fixture
def form(console: Console, monkeypatch: pytest.MonkeyPatch) -> Iterator[Browser]:
    """A browser at the form of a new campaign, whose pictures are read at the console's own address."""
    with opened(console, monkeypatch) as (browser, account, _):
        pictures = replace(console.services.pictures(), address=account.rpartition("/console")[0])
        console.services = replace(console.services, pictures=lambda: pictures)
        browser.do("POST", "/url", {"url": f"{account}/campaigns/new"})
        browser.click("#format-html")
        browser.script(AT_THE_BEGINNING)
        browser.click("//summary[.='Add a picture']")
        yield browser


def drop(browser: Browser, data: bytes, name: str = "logo.png", kind: str = "image/png") -> None:
    taken = browser.do("POST", "/execute/sync", {"script": DROP, "args": [list(data), name, kind]})
    assert taken, "the browser does not open the file"


@pytest.mark.parametrize("width", [WINDOW, 390])
def test_a_dropped_picture_is_described_uploaded_and_in_the_message(
    form: Browser, console: Console, width: int
) -> None:
    resize(form, width)
    drop(form, png(640, 240))
    form.reads("#picture-said", "logo.png is chosen. Say what it shows")
    assert form.script("return document.activeElement.id") == "picture-alt"
    type_into(form, "#picture-alt", 'Ann\'s "shop"')
    press(form, ENTER)
    form.reads("#picture-said", "The picture is in the message.")
    (found,) = console.services.pictures().pictures.all(console.account)
    url = console.services.pictures().url(found)
    assert form.script(BODY) == (
        f'<img src="{url}" alt="Ann&#x27;s &quot;shop&quot;" width="600" style="max-width:100%;height:auto">Hello'
    )
    form.until(lambda: form.script(WIDE) == 640, "the picture is not shown")
    assert form.script("return document.activeElement.id") == "body"
    form.click("#format-markdown")
    form.script(AT_THE_BEGINNING)
    form.click(".thumbs button")
    assert form.script(BODY) == f'![Ann\'s "shop"]({url})Hello'
    form.script("scrollTo(0, 0)")
    assert_fits(form, f"the form with a picture at {width} px", (PHONE, 390, WINDOW))
    no_faults(form)


@pytest.mark.parametrize(
    ("data", "name", "kind", "says"),
    [
        (b"<svg/>", "a.svg", "image/svg+xml", "That is no PNG, JPEG, GIF or WebP file."),
        (bytes(1_048_577), "a.png", "image/png", "more than 1 MB"),
        (b"<svg/>", "a.png", "image/png", "It is no PNG, JPEG, GIF or WebP file."),
        (png(5000, 1), "a.png", "image/png", "5,000 by 1 pixels"),
    ],
    ids=["svg", "large", "a lie", "wide"],
)
def test_a_file_that_is_no_picture_says_why_and_leaves_the_message(
    form: Browser, console: Console, data: bytes, name: str, kind: str, says: str
) -> None:
    drop(form, data, name, kind)
    form.click("#picture-add")
    form.reads("#picture-said", says if kind == "image/png" and len(data) < 10**6 else "Choose a picture first.")
    assert form.script(BODY) == "Hello"
    assert console.services.pictures().pictures.all(console.account) == []


def test_a_picture_is_added_by_the_keyboard_alone(form: Browser, console: Console, tmp_path: Path) -> None:
    (tmp_path / "shop.png").write_bytes(png(64, 24))
    type_into(form, "#picture-file", str(tmp_path / "shop.png"))
    form.reads("#picture-said", "shop.png is chosen")
    press(form, *"Shop")
    tab_to(form, "#picture-add")
    press(form, ENTER)
    form.reads("#picture-said", "The picture is in the message.")
    assert 'alt="Shop"' in str(form.script(BODY))
    tab_to(form, ".thumbs button")
    press(form, ENTER)
    assert str(form.script(BODY)).count("<img") == 2
    no_faults(form)
