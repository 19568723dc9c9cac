"""Pictures on a local cloud: by the API and in the console, in the mail, and read by a browser that has no key."""

import base64
import http.client
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from infra.local import sign_in
from infra.local.accounts import ACCOUNT
from infra.local.cloud import Cloud
from infra.local.processes import wait_for
from simulator.client import ControlClient
from tests.console.fitting import PHONE, WINDOW, assert_fits, resize
from tests.deployed.api import Api
from tests.deployed.test_console import sign_in_as
from tests.fakes.browser import Browser
from tests.fakes.image_files import exif, jpeg, png

MINUTE = 70.0
"""Seconds after which no process has a deleted picture any more."""
WIDTHS = (PHONE, 390, WINDOW)
LOADED = "const x = document.querySelector({!r}); return x.complete && x.naturalWidth"


def colour(tag: str, more: str = "") -> bytes:
    """Return a colour of this test's own: the same picture is there once."""
    return (tag + more).encode()[-3:]


def added(api: Api, data: bytes, alt: str = "Shop") -> Any:
    answer = api.call("POST", "/images", {"data": base64.b64encode(data).decode(), "alt": alt})
    assert answer.status == 201, answer
    return answer.body


def looked_at(url: str, method: str = "GET") -> tuple[int, dict[str, str], bytes]:
    """Ask for an address as a mail program does, without a key."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.netloc, timeout=35)
    try:
        connection.request(method, parts.path)
        answer = connection.getresponse()
        return answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read()
    finally:
        connection.close()


@pytest.mark.deployed
def test_a_picture_is_read_by_everybody_until_it_is_deleted(api: Api, tag: str) -> None:
    photo = jpeg(2, 3, exif(1))
    first = added(api, png(20, 30, colour=colour(tag)))
    assert added(api, photo)["size"] == len(jpeg()), "nothing of the camera is kept"
    status, headers, data = looked_at(first["url"])
    assert (status, data) == (200, png(20, 30, colour=colour(tag)))
    assert headers["content-type"] == "image/png"
    assert headers["cache-control"] == "public, max-age=31536000, immutable"
    assert headers["x-content-type-options"] == "nosniff"
    assert "sandbox" in headers["content-security-policy"]
    assert looked_at(first["url"], "HEAD")[0] == 200
    assert first["id"] in {x["id"] for x in api.get("/images")["items"]}
    assert looked_at(first["url"].replace(".png", ".gif"))[0] == 404
    assert api.call("POST", "/images", {"data": base64.b64encode(b"<svg/>").decode()}).status == 422
    assert api.call("DELETE", f"/images/{first['id']}").status == 200
    assert first["id"] not in {x["id"] for x in api.get("/images")["items"]}
    assert wait_for(lambda: looked_at(first["url"])[0] == 404, MINUTE, pause=2)


@pytest.mark.browser
def test_a_picture_is_put_into_a_campaign_shown_beside_it_and_sent(
    cloud: Cloud, api: Api, control: ControlClient, browser: Browser, tag: str, tmp_path: Path
) -> None:
    file = tmp_path / "logo.png"
    file.write_bytes(png(640, 240, colour=colour(tag, "b")))
    sign_in_as(browser, cloud, sign_in.OPERATOR)
    browser.click(f"//main//table//a[.='{ACCOUNT}']")
    browser.shows("Overview")
    browser.click("nav.side a[href$='/campaigns']")
    browser.click("//a[.='Start with a sample']")
    browser.click("//summary[.='Add a picture']")
    browser.do("POST", f"{browser.find('#picture-file')}/value", {"text": str(file)})
    browser.reads("#picture-said", "logo.png is chosen")
    browser.do("POST", f"{browser.find('#picture-alt')}/value", {"text": f"Logo {tag}"})
    browser.click("#picture-add")
    browser.reads("#picture-said", "The picture is in the message.")
    text = str(browser.script("return document.getElementById('body').value"))
    assert f"![Logo {tag}](" in text or f'alt="Logo {tag}" width="600"' in text
    assert wait_for(lambda: bool(browser.script(LOADED.format(".thumbs img"))), 20)
    browser.script("scrollTo(0, 0)")
    assert_fits(browser, "a campaign with a picture", WIDTHS)
    resize(browser, WINDOW)
    browser.enter("#preview")
    browser.enter("iframe.mail")
    shown = f"img[alt='Logo {tag}']"
    browser.find(shown)
    url = str(browser.script(f"return document.querySelector({shown!r}).src"))
    assert wait_for(lambda: bool(browser.script(LOADED.format(shown))), 20), "the preview's policy lets it load"
    browser.do("POST", "/frame", {"id": None})
    assert looked_at(url)[0] == 200
    browser.click("//button[.='Create campaign']")
    browser.find("#preview")
    body = {
        "from": "news@example.com",
        "to": f"{tag}@example.org",
        "subject": f"Picture {tag}",
        "html": f'<p>Hello</p><img src="{url}" alt="Logo {tag}" width="600">',
    }
    answer = api.call("POST", "/batches", body)
    assert answer.status == 202, answer
    api.finished(answer.body["job_id"], leaves=("sent",))
    mail = next(x for x in control.json("GET", "/inbox.json?limit=1000")["messages"] if tag in x["to"])
    browser.do("POST", "/url", {"url": f"http://127.0.0.1:{cloud.simulator_port}/?ref={mail['ref']}"})
    browser.enter("article iframe")
    browser.find(shown)
    assert wait_for(lambda: bool(browser.script(LOADED.format(shown))), 20), "the inbox shows it"
    browser.do("POST", "/frame", {"id": None})


@pytest.mark.browser
def test_pictures_have_a_page_without_scripts(
    cloud: Cloud, api: Api, browser: Browser, tag: str, tmp_path: Path
) -> None:
    file = tmp_path / "shop.png"
    file.write_bytes(png(64, 24, colour=colour(tag, "c")))
    sign_in_as(browser, cloud, sign_in.OPERATOR)
    browser.click(f"//main//table//a[.='{ACCOUNT}']")
    browser.click("nav.side a[href$='/templates']")
    browser.click("//a[.='Pictures for messages']")
    browser.devtools("Emulation.setScriptExecutionDisabled", value=True)
    browser.do("POST", f"{browser.find('#file')}/value", {"text": str(file)})
    browser.do("POST", f"{browser.find('#alt')}/value", {"text": f"Shop {tag}"})
    browser.click("//button[.='Add the picture']")
    browser.find(f"//img[@alt='Shop {tag}']")
    browser.devtools("Emulation.setScriptExecutionDisabled", value=False)
    browser.script("scrollTo(0, 0)")
    assert_fits(browser, "the page of pictures", WIDTHS)
    (found,) = [x for x in api.get("/images")["items"] if x["alt"] == f"Shop {tag}"]
    assert looked_at(found["url"])[0] == 200
    resize(browser, WINDOW)
    browser.click(f"//li[.//img[@alt='Shop {tag}']]//a[contains(@class, 'danger')]")
    browser.click("//button[.='Delete']")
    assert wait_for(lambda: not [x for x in api.get("/images")["items"] if x["id"] == found["id"]], 10)
