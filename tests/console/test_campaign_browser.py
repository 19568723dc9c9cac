"""A campaign in a real browser: files that go straight to the bucket, previews that run nothing, and the keyboard."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.console.bucket import Bucket, bucket
from tests.console.campaigns import ROWS, made, with_list
from tests.console.console import Console
from tests.console.site import session_cookie, site
from tests.fakes.browser import PATIENCE, Browser, BrowserError, browsing

TAB, ENTER, SPACE = "\ue004", "\ue007", " "
SOON = 300
"""Milliseconds that a renewed preview is given before it is asked for again."""
RENEWED = {"target frame detached", "no such element", "no such frame", "no such window", "stale element reference"}
LONGEST = 60
"""Times that Tab is pressed until an element is reached."""
pytestmark = pytest.mark.browser


@contextmanager
def opened(
    console: Console, patch: pytest.MonkeyPatch, *, scripts: bool = True
) -> Iterator[tuple[Browser, str, Bucket]]:
    """Open the console as a member; yields the browser, the account's address and the bucket."""
    with site(console) as address:
        scheme, _, host = address.split("/")[:3]
        with bucket(console, f"{scheme}//{host}", patch) as files, browsing(scripts=scripts) as browser:
            console.member()
            go(browser, f"{address}/style")
            browser.do("POST", "/cookie", session_cookie(console))
            size = {"width": 1280, "height": 900, "deviceScaleFactor": 1, "mobile": False}
            browser.devtools("Emulation.setDeviceMetricsOverride", **size)
            yield browser, f"{address}/{console.account}", files


def go(browser: Browser, url: str) -> None:
    browser.do("POST", "/url", {"url": url})


def type_into(browser: Browser, css: str, text: str) -> None:
    browser.do("POST", f"{browser.find(css)}/value", {"text": text})


def press(browser: Browser, *keys: str) -> None:
    """Press keys, one after the other, wherever the focus is."""
    actions = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
    browser.do("POST", "/actions", {"actions": [{"type": "key", "id": "keys", "actions": actions}]})


def tab_to(browser: Browser, css: str) -> None:
    """Press Tab until an element has the focus."""
    for _ in range(LONGEST):
        if browser.script(f"return document.activeElement.matches({css!r})"):
            return
        press(browser, TAB)
    pytest.fail(f"{css} cannot be reached by the keyboard")


def shown(browser: Browser, css: str) -> str:
    """Return what the preview's message shows, in the frame within its frame; empty while the preview is renewed."""
    browser.do("POST", "/timeouts", {"implicit": SOON})
    try:
        browser.enter("#preview")
        browser.enter("iframe.mail")
        return str(browser.do("GET", browser.find(css) + "/text"))
    except BrowserError as error:
        if error.kind not in RENEWED:
            raise
        return ""
    finally:
        browser.do("POST", "/frame", {"id": None})
        browser.do("POST", "/timeouts", {"implicit": int(PATIENCE * 1000)})


def no_faults(browser: Browser) -> None:
    """Check that the browser has refused nothing and no script has failed."""
    log: list[Any] = browser.do("POST", "/se/log", {"type": "browser"})
    assert [x["message"] for x in log if x["level"] == "SEVERE" and "favicon" not in x["message"]] == []


DROP = """
const [files, spot, kind] = arguments;
const given = new DataTransfer();
for (const [name, text] of files) given.items.add(new File([text], name));
const event = new DragEvent(kind, {dataTransfer: given, bubbles: true, cancelable: true});
document.querySelector(spot).dispatchEvent(event);
return event.defaultPrevented;
"""
"""Drags files, given by name and text, over an element, or drops them; returns whether the page takes the event."""


UPLOADED = "return document.getElementById('upload-bar').value"
SAID_SO = """
window.said = [];
const state = document.getElementById("upload-state");
new MutationObserver(() => said.push(state.textContent)).observe(state, {childList: true});
"""
"""Collects each sentence about an upload."""


def drag(browser: Browser, files: dict[str, str], spot: str = "#upload", kind: str = "drop") -> bool:
    """Let files go over an element, or hold them over it (`dragover`). Tell whether the browser leaves them alone."""
    taken = browser.do("POST", "/execute/sync", {"script": DROP, "args": [list(files.items()), spot, kind]})
    return bool(taken)


def slow(browser: Browser, rate: int) -> None:
    """Let the browser upload no more than some bytes per second; -1: as many as it can."""
    limits = {"offline": False, "latency": 0, "downloadThroughput": -1, "uploadThroughput": rate}
    browser.devtools("Network.enable")
    browser.devtools("Network.emulateNetworkConditions", **limits)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made_file = tmp_path / "people <b>.csv"
    rows = "".join(f"p{i}@example.org,Person {i}\r\n" for i in range(2_000))
    made_file.write_text(f"recipient,name\r\n{rows}nobody,Kim\r\n", "utf-8")
    return made_file


def test_a_list_of_two_thousand_is_sent_by_clicking(
    console: Console, monkeypatch: pytest.MonkeyPatch, file: Path
) -> None:
    with opened(console, monkeypatch) as (browser, account, files):
        browser.devtools("Emulation.setTimezoneOverride", timezoneId="Australia/Sydney")
        go(browser, account)
        browser.click("nav.side a[href$='/campaigns']")
        browser.click("//a[.='Start with a sample']")
        browser.shows("New campaign")
        browser.until(lambda: "Good morning, first_name" in shown(browser, "h1"), "the preview does not come by itself")
        browser.click("//button[.='Create campaign']")
        browser.shows("The garden letter")
        rows = "".join(f"p{i}@example.org,Person {i},Turin\r\n" for i in range(2_000))
        file.write_text(f"recipient,first_name,city\r\n{rows}nobody,Kim,Turin\r\n", "utf-8")
        type_into(browser, "#file", str(file))
        browser.reads(".state", "The list is being read")
        assert [name.partition("/")[0] for name in files.files.items] == ["uploads"]
        console.api.lists.read()
        browser.reads(".state", "2,000 messages to send")
        assert "nobody" in browser.text("#problems ~ .scroll")
        browser.until(lambda: "Good morning, Person 0" in shown(browser, "h1"), "the first row is not shown")
        assert browser.script("return document.getElementById('zone').value") == "Australia/Sydney"
        browser.click("//button[.='Continue to the summary']")
        browser.shows("Send 2,000 messages?")
        browser.click("//button[.='Send 2,000 messages']")
        browser.shows("The garden letter")
        no_faults(browser)
    (job,) = console.api.call("GET", "/campaigns").json["items"][0]["jobs"]
    console.api.world.jobs.append(job)
    console.api.world.settle()
    assert console.api.call("GET", f"/jobs/{job}").json["counts"]["sent"] == 2_000


def test_a_failed_upload_says_so_and_is_repeated(console: Console, monkeypatch: pytest.MonkeyPatch, file: Path) -> None:
    with opened(console, monkeypatch) as (browser, account, files):
        campaign = made(console)
        go(browser, f"{account}/campaigns/{campaign}")
        files.broken = True
        type_into(browser, "#file", str(file))
        browser.reads("#upload-fault", "The upload failed")
        assert "(503)" in browser.text("#upload-reason")
        assert browser.script("return document.activeElement.id") == "upload-again"
        assert console.api.call("GET", f"/campaigns/{campaign}").json["state"] == "draft"
        files.page = "https://elsewhere.example"
        browser.click("#upload-again")
        browser.reads("#upload-reason", "connection was lost")
        files.broken, files.page = False, "/".join(account.split("/")[:3])
        browser.click("#upload-again")
        browser.reads(".state", "The list is being read")
        console.api.lists.read()
        browser.reads(".state", "2,000 messages")


def test_a_file_is_dropped_and_several_are_explained(console: Console, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(console, monkeypatch) as (browser, account, files):
        campaign = made(console)
        go(browser, f"{account}/campaigns/{campaign}")
        assert drag(browser, {"one.csv": ROWS, "two.csv": ROWS})
        browser.reads("#upload-note", "These are 2 files, and a campaign takes one list at a time. Drop one of them")
        assert browser.attribute("#upload-note", "role") == "alert"
        assert drag(browser, {})
        browser.reads("#upload-note", "That was no file")
        assert drag(browser, {"one.csv": ROWS}, "h1"), "a file beside the place does not replace the page"
        assert files.files.items == {}
        assert drag(browser, {"one.csv": ROWS}, kind="dragover")
        assert browser.attribute("#upload", "class") == "drop over"
        assert drag(browser, {"one.csv": ROWS})
        browser.reads(".state", "The list is being read")
        console.api.lists.read()
        browser.reads(".state", "2 messages to send")


def test_an_upload_shows_how_far_it_is_and_can_be_cancelled(
    console: Console, monkeypatch: pytest.MonkeyPatch, file: Path
) -> None:
    with opened(console, monkeypatch) as (browser, account, files):
        campaign = made(console)
        go(browser, f"{account}/campaigns/{campaign}")
        browser.script(SAID_SO)
        slow(browser, 16_000)
        type_into(browser, "#file", str(file))
        browser.until(lambda: 10 < browser.script(UPLOADED) < 100, "the bar does not move")
        assert drag(browser, {"one.csv": ROWS})
        browser.reads("#upload-note", "A file is uploaded already")
        browser.click("#upload-stop")
        browser.reads("#upload-reason", "You cancelled it")
        assert browser.script("return document.activeElement.id") == "upload-again"
        assert browser.script("return document.getElementById('upload-progress').checkVisibility()") is False
        assert files.files.items == {}
        slow(browser, 60_000)
        browser.click("#upload-again")
        browser.until(lambda: browser.script("return said.some((x) => x.endsWith(' 50 % uploaded'))"), "not half of it")
        steps = browser.script("return said.map((x) => Number(x.match(/(\\d+) %/)[1]))")
        assert {step % 10 for step in steps} == {0}, "what is read out changes in steps"
        browser.reads(".state", "The list is being read")
    assert console.api.call("GET", f"/campaigns/{campaign}").json["state"] == "uploading"


def test_a_session_that_has_ended_is_said_before_anything_is_uploaded(
    console: Console, monkeypatch: pytest.MonkeyPatch, file: Path
) -> None:
    with opened(console, monkeypatch) as (browser, account, files):
        campaign = made(console)
        go(browser, f"{account}/campaigns/{campaign}")
        console.api.world.clock.advance(13 * 3600)
        type_into(browser, "#file", str(file))
        browser.reads("#upload-reason", "Your session has ended")
        assert files.files.items == {}


def test_what_is_typed_is_there_again_after_a_new_sign_in(console: Console, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(console, monkeypatch) as (browser, account, _):
        new = f"{account}/campaigns/new?channel=sms"
        go(browser, new)
        type_into(browser, "#name", "Long thought about")
        type_into(browser, "#body", "Hello {{ name }}")
        console.api.world.clock.advance(13 * 3600)
        browser.click("//button[.='Create campaign']")
        browser.shows("Sign in to Posthaste")
        assert browser.attribute("main a.button", "href").endswith(f"back={console.account}/campaigns/new")
        console.member()
        browser.do("POST", "/cookie", session_cookie(console))
        go(browser, new.partition("?")[0])
        browser.reads("main", "What you typed is here again")
        assert browser.do("GET", "/url") == new
        values = "return ['name', 'body'].map((x) => document.getElementById(x).value)"
        assert browser.script(values) == ["Long thought about", "Hello {{ name }}"]
        browser.click("//button[.='Create campaign']")
        browser.shows("Long thought about")
        go(browser, new)
        assert browser.script(values) == ["", ""], "a form that was taken is not filled in again"


def test_the_steps_back_after_sending_offer_no_list_that_was_sent(
    console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(console, monkeypatch) as (browser, account, _):
        campaign = with_list(console)
        go(browser, f"{account}/campaigns/{campaign}")
        browser.click("//button[.='Continue to the summary']")
        browser.click("//button[starts-with(., 'Send ')]")
        browser.find("#live")
        for _ in range(2):
            browser.do("POST", "/back", {})
            browser.shows("October")
            browser.reads("main", "Drop a file here")
            assert "to send" not in browser.text(".state")


def test_a_preview_follows_what_is_typed_runs_nothing_and_leaves_no_history(
    console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(console, monkeypatch) as (browser, account, _):
        go(browser, f"{account}/campaigns/new")
        browser.click("#format-html")
        before = browser.script("return history.length")
        type_into(browser, "#subject", "Hello")
        evil = "<h1>One</h1><script>top.document.title = 'taken'</script><img src=x onerror=\"top.name = 'taken'\">"
        type_into(browser, "#body", evil)
        browser.until(lambda: shown(browser, "h1") == "One", "the preview does not follow")
        type_into(browser, "#body", "<h2>Two</h2>")
        browser.until(lambda: shown(browser, "h2") == "Two", "the preview does not follow twice")
        assert browser.script("return history.length") == before
        assert browser.script("return document.title + top.name") == "New campaign \u2013 Posthaste"
        wide = browser.rect("#preview")["width"]
        browser.click("#phone")
        browser.until(lambda: browser.rect("#preview")["width"] <= 392 < wide, "no width of a phone")
        assert browser.script("return document.activeElement.id") == "phone"


def test_a_change_is_previewed_as_each_row_of_the_list_gets_it(
    console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(console, monkeypatch) as (browser, account, _):
        campaign = with_list(console)
        go(browser, f"{account}/campaigns/{campaign}/edit")
        browser.until(lambda: "Dear Ann" in shown(browser, "p"), "the first row is not shown")
        type_into(browser, "#body", "<h1>Bye, {{ name }}</h1>")
        browser.until(lambda: shown(browser, "h1") == "Bye, Ann", "the preview does not follow")
        browser.script("document.getElementById('row').select()")
        type_into(browser, "#row", f"2{ENTER}")
        browser.until(lambda: shown(browser, "h1") == "Bye, Ben", "the preview does not follow the row")
        browser.shows("The message")
    assert "Bye" not in console.shown(f"/campaigns/{campaign}/edit"), "nothing is saved"


def test_a_column_is_put_where_the_cursor_is_by_a_click(console: Console, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(console, monkeypatch) as (browser, account, _):
        campaign = with_list(
            console, "recipient,First name,name\r\na@example.org,Ann,Ann B.\r\n", body="<h1></h1><p>x</p>"
        )
        go(browser, f"{account}/campaigns/{campaign}/edit")
        browser.script("const body = document.getElementById('body'); body.focus(); body.setSelectionRange(4, 4)")
        browser.click("//button[.='{{ first_name }}']")
        browser.until(lambda: shown(browser, "h1") == "Ann", "the preview does not have it")
        assert browser.script("return document.activeElement.id") == "body"
        browser.script("document.getElementById('subject').select()")
        browser.click("//button[.='{{ name }}']")
        values = "return ['subject', 'body'].map((x) => document.getElementById(x).value)"
        assert browser.script(values) == ["{{ name }}", "<h1>{{ first_name }}</h1><p>x</p>"]
        browser.click("#format-markdown")
        browser.script("document.getElementById('body').value = '# Good day, {{ first_name }}\\n\\n'")
        browser.script("document.getElementById('body').focus()")
        browser.click("//button[.='[Unsubscribe]({{ unsubscribe_url }})']")
        browser.until(lambda: shown(browser, "h1") == "Good day, Ann", "the preview shows no Markdown")
        assert shown(browser, "a") == "Unsubscribe"


def write(browser: Browser, css: str, text: str) -> None:
    """Go to a field by the keyboard, and type into it."""
    tab_to(browser, css)
    press(browser, *text)


def choose(browser: Browser, css: str) -> None:
    """Go to a link or a button by the keyboard, and press Enter."""
    tab_to(browser, css)
    press(browser, ENTER)


def test_a_campaign_is_written_and_sent_by_the_keyboard_alone(
    console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(console, monkeypatch) as (browser, account, _):
        made(console)
        go(browser, f"{account}/campaigns")
        choose(browser, "main a[href$='/campaigns/new']")
        browser.shows("New campaign")
        write(browser, "#name", "By keys")
        write(browser, "#from", "news@example.com")
        write(browser, "#subject", "Hello {{ name }}")
        write(browser, "#body", f"Dear {{{{ name }}}},{ENTER}hello.")
        tab_to(browser, "#phone, #desktop")
        choose(browser, "main form button.primary")
        browser.shows("By keys")
        tab_to(browser, "#file")
        choose(browser, "details:has(#rows) > summary")
        write(browser, "#rows", f"recipient,name{ENTER}a@example.org,Ann{ENTER}b@example.org,Ben")
        choose(browser, "form[action$='/paste'] button")
        browser.reads(".state", "The list is being read")
        console.api.lists.read()
        browser.reads(".state", "2 messages to send")
        write(browser, "#sheet", "3")
        write(browser, "#rate", "5")
        choose(browser, "main form[action$='/send'] button")
        browser.shows("Send 2 messages?")
        assert "5 a second" in browser.text(".facts")
        choose(browser, "main form button.primary")
        browser.shows("By keys")
        browser.find("#live")
    (found,) = (x for x in console.api.call("GET", "/campaigns").json["items"] if x["name"] == "By keys")
    assert found["jobs"]


def test_without_scripts_a_small_list_is_pasted_and_sent(console: Console, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(console, monkeypatch, scripts=False) as (browser, account, _):
        campaign = made(console)
        go(browser, f"{account}/campaigns/{campaign}")
        assert "Your browser runs no scripts" in browser.text("noscript")
        browser.click("//summary[.='Paste a small list']")
        type_into(browser, "#rows", "recipient,name\na@example.org,Ann")
        browser.click("//button[.='Take this list']")
        browser.shows("October")
        console.api.lists.read()
        go(browser, f"{account}/campaigns/{campaign}")
        browser.click("//button[.='Continue to the summary']")
        browser.shows("Send 1 message?")
        browser.click("//button[.='Send 1 message']")
        browser.find("#live")
    assert console.api.call("GET", f"/campaigns/{campaign}").json["jobs"]
