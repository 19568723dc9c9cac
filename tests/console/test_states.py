"""States of pages that no address shows by itself, in a browser: forms that are refused, lists that are read, alarms.

Each is held to what every page is held to: its layout at all widths, and axe-core in light and dark.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import pytest

from functions.api.error_page import as_html
from functions.console.pages.campaigns.previewing import FRAMED
from functions.console.screens import ROUTES
from shared.adapters.alarms import RaisedAlarms
from shared.domain.accounts import Scope
from shared.domain.people import Identity, Role
from tests.api.senders import signs
from tests.console.campaigns import SAID, made, sent, with_list
from tests.console.examples import EXAMPLES, LONG, Example
from tests.console.fitting import PHONE, WINDOW, assert_fits, resize
from tests.console.site import enter, go
from tests.console.test_alarms import PREFIX, FakeCloudWatch, raised
from tests.fakes.browser import Browser, browsing

pytestmark = pytest.mark.browser
DOMAIN: Final = "news.example.net"
NEWCOMER: Final = Identity("github", "77", "newcomer", "New Comer", organizations=frozenset({"acme"}))
READ: Final = {route.name for route in ROUTES if route.method == "GET" and route.scope is Scope.READ}
WRITTEN: Final = READ | {route.name for route in ROUTES if route.method == "GET" and route.scope is Scope.SEND}
OPERATORS: Final = {route.name for route in ROUTES if route.operators or "{account}" not in route.path}
FORM: Final = """
const [css, values] = arguments, form = document.querySelector(css);
for (const [name, value] of Object.entries(values)) form.elements[name].value = value;
HTMLFormElement.prototype.submit.call(form);
"""
"""Sends a form as it is, without the browser's own checks."""


def submit(browser: Browser, css: str, values: Mapping[str, str]) -> None:
    """Send a form with some values."""
    browser.do("POST", "/execute/sync", {"script": FORM, "args": [css, values]})


def _proven(x: Example) -> str:
    """Prove a domain that a provider signs for."""
    signs(x.console.api)
    dns: Any = x.console.api.services.dns()
    dns.records[f"_posthaste.{DOMAIN}"] = [f"posthaste-account={x.account}"]
    dns.records[DOMAIN] = [f"v=spf1 {' '.join(f'include:_spf{n}.mail.example.net' for n in range(9))} ~all"]
    assert x.console.post(f"/{x.account}/senders/{DOMAIN}/verify").status == 303
    return f"{x.account}/senders/{DOMAIN}"


def _alarmed(x: Example) -> str:
    """Pause the deployment, while two alarms are raised."""
    alarms = {"MetricAlarms": [raised("dead-letters", 1), raised("oldest-message-of-lane-one", 5, LONG)]}
    console = x.console
    watch = RaisedAlarms(FakeCloudWatch([alarms]), PREFIX, console.api.world.clock)
    console.services = replace(console.services, use_cases=replace(console.services.use_cases, alarms=watch))
    assert console.post("/credentials/all/pause", reason=LONG).status == 303
    return "credentials"


def _alarmed_overview(x: Example) -> str:
    _alarmed(x)
    return x.account


def _scheduled(x: Example, rate: str = "0.5") -> str:
    later = datetime.fromtimestamp(x.console.api.world.clock.now() + 86_400, UTC)
    at = quote(f"{later:%Y-%m-%dT%H:%M}")
    return (
        f"{x.account}/campaigns/{x.campaign}/send?when=later&at={at}&zone=America/Argentina/ComodRivadavia&rate={rate}"
    )


def _failed(x: Example) -> str:
    campaign = made(x.console, name=LONG)
    assert x.console.post(f"/{x.account}/campaigns/{campaign}/paste", rows="first,last\r\nAda,Adler").status == 303
    x.console.api.lists.read()
    return f"{x.account}/campaigns/{campaign}"


def _reading(x: Example) -> str:
    campaign = made(x.console, name="Read just now")
    assert (
        x.console.post(f"/{x.account}/campaigns/{campaign}/paste", rows="recipient,name\r\na@b.example,A").status == 303
    )
    return f"{x.account}/campaigns/{campaign}"


def _lacking(x: Example) -> str:
    """Give a campaign a list that lacks a column, and has rows that are not sent."""
    long = "x" * 90
    rows = f"recipient,first\r\na@example.org,Ann\r\na@example.org,Ann\r\n{long},Kim\r\n{long} {long},Lee\r\n"
    return f"{x.account}/campaigns/{with_list(x.console, rows, subject='Hello {{ a_name_of_a_column_that_is_long }}')}"


def _sent(x: Example) -> str:
    campaign = with_list(x.console, name="Sent twice")
    sent(x.console, campaign)
    return f"{x.account}/campaigns/{campaign}"


STATES: Final[Mapping[str, tuple[Callable[[Example], str], str]]] = {
    "a proven domain": (_proven, "DKIM by signer"),
    "raised alarms of a paused deployment": (_alarmed, "2 alarms of the deployment"),
    "raised alarms on the overview": (_alarmed_overview, "2 alarms of the deployment"),
    "a scheduled summary": (_scheduled, "America/Argentina/ComodRivadavia"),
    "a summary with obstacles": (lambda x: _scheduled(x, "1000000"), "The rate is too high"),
    "a list that is being read": (_reading, "The list is being read"),
    "a list that cannot be used": (_failed, "The list cannot be used"),
    "a list that lacks a column": (_lacking, "The list has no column"),
    "a campaign that was sent": (_sent, "Lists of this campaign"),
    "a change beside the preview of a row": (
        lambda x: f"{x.account}/campaigns/{x.campaign}/edit",
        "Message of recipient",
    ),
    "a page that is not there": (lambda x: f"{x.account}/jobs/{'0' * 26}", "There is no such job"),
}
"""What is shown → how it comes about, and words that the page has then."""


@pytest.mark.parametrize("state", STATES)
def test_a_state_of_a_page_is_accessible_and_fits(example: Example, address: str, browser: Browser, state: str) -> None:
    made_so, words = STATES[state]
    go(browser, f"{address}/{made_so(example)}")
    browser.reads("body", words)
    assert_fits(browser, state)


REFUSED: Final[Mapping[str, tuple[str, str, Mapping[str, str], str]]] = {
    "a campaign": (
        "campaigns/new?channel=email",
        "#writing",
        {"name": "", "from": "ann@elsewhere.example", "subject": "", "body": "Hello\n{{ #if }}", "reply_to": "nobody"},
        "This is not right yet",
    ),
    "a text message": ("campaigns/new?channel=sms", "#writing", {"name": LONG * 3, "body": "{{ x"}, "not right yet"),
    "a template": ("templates/new", "#writing", {"name": "", "from": "x", "body": ""}, "This is not right yet"),
    "a domain": ("senders", "main form[action$='/add']", {"domain": "a b"}, ""),
    "an address": ("suppressions", "main form[action$='/add']", {"address": "nobody"}, ""),
    "a login": ("members", "main form[action$='/invite']", {"login": "a b c"}, ""),
    "an endpoint": ("hooks", "main form[action$='/hooks/add']", {"url": "http://shop.example.com/events"}, ""),
}
"""What is refused → the page of its form, the form, what is typed, and words of the answer."""


@pytest.mark.parametrize("what", REFUSED)
def test_a_form_that_is_refused_is_accessible_and_fits(
    example: Example, address: str, browser: Browser, what: str
) -> None:
    page, css, values, words = REFUSED[what]
    go(browser, f"{address}/{example.account}/{page}")
    submit(browser, css, values)
    browser.reads("main .problem", words)
    assert_fits(browser, what)


def test_an_upload_that_failed_is_accessible_and_fits(
    example: Example, address: str, browser: Browser, tmp_path: Path
) -> None:
    file = tmp_path / f"{LONG}.csv"
    file.write_text("recipient,first_name,city\r\na@example.org,Ann,Graz\r\n", "utf-8")
    go(browser, f"{address}/{example.account}/campaigns/{example.draft}")
    browser.do("POST", f"{browser.find('#file')}/value", {"text": str(file)})
    browser.reads("#upload-reason", "The connection was lost")
    assert_fits(browser, "a failed upload")


def test_the_page_with_a_new_key_is_accessible_and_fits(example: Example, address: str) -> None:
    console = replace(example.console, cookies={}, address="2001:db8::77")
    assert console.sign_in(NEWCOMER).status == 303
    with browsing(scripts=True) as browser:
        enter(browser, console, address)
        go(browser, address)
        browser.click("main form[action$='join'] button")
        browser.reads("#key", "ph_live_")
        assert_fits(browser, "the page with the key")


@pytest.mark.parametrize("channel", ["email", "sms"])
def test_a_message_in_its_frame_is_accessible_and_fits(
    example: Example, address: str, browser: Browser, monkeypatch: pytest.MonkeyPatch, channel: str
) -> None:
    monkeypatch.setitem(FRAMED, "Content-Security-Policy", "default-src 'self' 'unsafe-inline'")  # axe-core is a script
    said = {"subject": f"{LONG} {{{{ name }}}}"} if channel == "email" else {"body": f"{LONG} ✓ {{{{ name }}}}"}
    recipients = (
        "recipient,name\r\na@example.org,Ann\r\n" if channel == "email" else "recipient,name\r\n+4915112345678,Ann\r\n"
    )
    campaign = with_list(example.console, recipients, **{**SAID, **said, "channel": channel})
    for row, words in (("1", LONG), ("9", "There is no recipient 9")):
        go(browser, f"{address}/{example.account}/campaigns/{campaign}/preview?row={row}")
        browser.reads("main", words)
        assert_fits(browser, f"the frame of row {row}")


@pytest.mark.parametrize(
    ("role", "reads", "width"), [(Role.VIEWER, READ, PHONE), (Role.SENDER, WRITTEN, WINDOW)], ids=["viewer", "sender"]
)
def test_pages_are_accessible_and_fit_in_the_eyes_of_members(
    example: Example, address: str, role: Role, reads: set[str], width: int
) -> None:
    person = Identity("github", f"eyes-{role.value}", f"eyes-{role.value}", organizations=frozenset({"acme"}))
    example.console.services.people.invite("github", person.login, example.account, role)
    console = replace(example.console, cookies={}, address=f"2001:db8::{len(role.value)}")
    assert console.sign_in(person).status == 303
    with browsing(scripts=True) as browser:
        enter(browser, console, address)
        for page in sorted(EXAMPLES.keys() & reads - OPERATORS):
            path = EXAMPLES[page](example)[0]
            go(browser, f"{address}/{path}")
            assert browser.script("return document.querySelector('main > .problem h1')") is None, path
            assert_fits(browser, f"{path} as a {role.value}", (width,))


@pytest.mark.parametrize("width", [PHONE, 390, WINDOW])
def test_the_page_of_errors_scrolls_only_down(browser: Browser, tmp_path: Path, width: int) -> None:
    page = tmp_path / "errors.html"
    page.write_text(as_html(), encoding="utf-8")
    go(browser, page.as_uri())
    resize(browser, width)
    assert browser.script("return document.documentElement.scrollWidth") <= width
