"""The inbox in a real browser: a reader opens a mail, follows its link to unsubscribe, and is unsubscribed."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qsl

import pytest

from simulator import Simulator
from tests.api.conftest import build_api
from tests.api.site import pages
from tests.api.test_unsubscribe import ANN, link, off
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
