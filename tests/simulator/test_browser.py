"""The inbox in a real browser: a reader opens a mail, follows its links, searches, and runs no script of a mail."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qsl

import pytest

from simulator import Simulator
from tests.api.conftest import build_api
from tests.api.site import pages
from tests.api.test_unsubscribe import ANN, link, off
from tests.fakes.axe import assert_accessible
from tests.fakes.browser import Browser, browsing
from tests.fakes.clock import FakeClock
from tests.simulator.conftest import Send, listening, mail
from tests.simulator.test_twilio_api import send as send_text

pytestmark = pytest.mark.browser


@pytest.fixture
def browser() -> Iterator[Browser]:
    with browsing(scripts=True) as opened:
        yield opened


@pytest.mark.parametrize("target", ["", ' target="_self"', ' target="_top"'])
def test_the_link_of_a_mail_in_the_inbox_unsubscribes(
    sim: Simulator, send: Send, moto_dynamo: Any, browser: Browser, target: str
) -> None:
    api = build_api(moto_dynamo, FakeClock())
    with pages(api) as site:
        script = '<script>document.body.textContent = "run"</script>'
        html = f'<p>News</p>{script}<a href="{site + link(api)}"{target}>No more</a>'
        assert send(mail(ANN, content=[{"type": "text/html", "value": html}])).status == 202
        browser.do("POST", "/url", {"url": sim.url + "/"})
        browser.click("li button")
        browser.enter("iframe")
        browser.find("a")
        assert "News" in browser.text("body"), "no script of a mail runs"
        inbox = browser.follow("a")
        browser.shows("Unsubscribe")
        assert off(api) == {}
        browser.press()
        browser.shows("You are unsubscribed")
        assert list(off(api)) == [ANN]
        browser.do("POST", "/window", {"handle": inbox})


LONG = "A subject that takes more than one line of the list, and onewordthatdoesnotendbeforetheedgeoftherow"
EVIL = '<img src=x onerror="document.title=`run`"><script>document.title="run"</script>'


def test_what_strangers_write_is_text_in_the_inbox(sim: Simulator, send: Send, browser: Browser) -> None:
    content = [{"type": "text/plain", "value": EVIL}, {"type": "text/html", "value": f"<p>Hello</p>{EVIL}"}]
    body = mail("ada@example.com", content=content, subject=EVIL)
    body["headers"] = {"X-Evil": EVIL}
    assert send(body).status == 202
    browser.do("POST", "/url", {"url": sim.url + "/"})
    browser.click("li button")
    assert browser.text("h2") == EVIL
    browser.enter("iframe")
    assert browser.text("p") == "Hello"
    policy = browser.attribute("head > meta:first-child", "content")
    assert policy.startswith("default-src 'none'; img-src data:"), "the frame's own"
    browser.do("POST", "/frame", {"id": None})
    browser.click("[role=tab]:nth-child(2)")
    assert browser.text("pre") == EVIL
    browser.click("[role=tab]:nth-child(3)")
    assert EVIL in browser.text("#part-2")
    assert browser.script("return document.title") == "Inbox · provider simulator", "nothing ran"


def test_a_link_opens_the_message_of_a_reference_and_words_find_others(
    sim: Simulator, send: Send, browser: Browser
) -> None:
    assert send(mail(*[f"{name}@example.com" for name in ("ada", "grace", "joan")])).status == 202
    refs = {m["to"]: m["ref"] for m in sim.control.json("GET", "/inbox.json")["messages"]}
    assert len(set(refs.values())) == 3
    ref = refs["grace@example.com"]
    browser.do("POST", "/url", {"url": f"{sim.url}/?ref={ref}"})
    assert "grace@example.com" in browser.text("article dl")
    browser.do("POST", browser.find("#words") + "/value", {"text": "joan"})
    browser.until(lambda: browser.script("return document.querySelectorAll('li button').length") == 1, "no search")
    assert "joan@example.com" in browser.text("#list")
    assert browser.script("return location.search") == "?q=joan"
    browser.do("POST", "/url", {"url": f"{sim.url}/?ref=unknown"})
    assert "This message is not in the inbox" in browser.text("article .none")


def test_a_row_keeps_the_focus_while_new_messages_arrive(sim: Simulator, send: Send, browser: Browser) -> None:
    assert send(mail("ada@example.com")).status == 202
    browser.do("POST", "/url", {"url": sim.url + "/"})
    browser.find("li button")
    browser.script("document.querySelector('li button').focus()")
    assert send(mail("grace@example.com")).status == 202
    browser.find("li:nth-child(2)")
    assert "ada@example.com" in browser.script("return document.activeElement.textContent")
    assert browser.text("li:first-child .to") == "grace@example.com", "newest first"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1080, 1280])
def test_the_inbox_is_accessible_and_cuts_nothing_off(
    sim: Simulator, send: Send, browser: Browser, scheme: str, width: int
) -> None:
    assert send(mail("someone.with.quite.a.long.name@a-long-company.example.com", subject=LONG)).status == 202
    assert send(mail("reader20@example.com", subject="The Example Gazette, spring")).status == 202
    browser.devtools("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    browser.devtools("Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1, mobile=False)
    browser.do("POST", "/url", {"url": sim.url + "/"})
    browser.find("li button")
    assert_accessible(browser, width)
    browser.click("li button")
    browser.find("iframe, pre")
    assert_accessible(browser, width)


def test_the_phone_that_got_a_text_answers_it(sim: Simulator, browser: Browser) -> None:
    with listening() as hook:
        sim.control.webhooks("twilio", "main", url=hook.url, delay={"ms": 1}, behaviours={"+15550100000": "silent"})
        assert send_text(sim).status == 201
        browser.do("POST", "/url", {"url": sim.url + "/"})
        browser.click("li button")
        browser.click("form.answer button")
        assert browser.text("form.answer output:not(:empty)") == "sent"
        assert sim.control.flush(now=True)["failed"] == 0
        (fields,) = (dict(parse_qsl(post.body.decode())) for post in hook.posts)
        assert (fields["From"], fields["Body"], fields["SmsStatus"]) == ("+15550100000", "STOP", "received")
