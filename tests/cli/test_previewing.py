"""`preview --open`: a page that any browser shows, and nothing in it that acts; `template preview` and `test`."""

import html
import re
import stat
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from cli.content import page
from cli.content.page import PreviewedMessage
from tests.cli.fakes import Answer, FakeApi, Run
from tests.cli.scripts import CAMPAIGN, TEMPLATE, campaign, deleted, preview, problem, template

EVIL = '"><script>alert(1)</script><form action="https://evil.example"></form><img src=x onerror=alert(2)>'


class Elements(HTMLParser):
    """Collects the elements of a page, without those within a frame's text."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, {name: value or "" for name, value in attrs}))


def elements(text: str) -> list[tuple[str, dict[str, str]]]:
    parser = Elements()
    parser.feed(text)
    return parser.found


@pytest.fixture
def browser(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The addresses that a browser was asked to open."""
    asked: list[str] = []

    def opened(url: str) -> bool:
        asked.append(url)
        return True

    monkeypatch.setattr("webbrowser.open", opened)
    return asked


def file_of(text: str) -> Path:
    found = re.search(r"/\S+/preview\.html", text)
    assert found is not None, text
    return Path(found[0])


def test_a_message_is_shown_in_two_widths_and_as_text(run: Run, api: FakeApi, browser: list[str]) -> None:
    api.answers(preview(row=7, html="<p>Dear Ann</p>", text="Dear Ann"))
    done = run("campaign", "preview", CAMPAIGN, "--row", "7", "--open", terminal=True)
    assert done.code == 0, done.err
    file = file_of(done.out)
    assert browser == [file.as_uri()]
    found = elements(file.read_text(encoding="utf-8"))
    frames = [attributes for tag, attributes in found if tag == "iframe"]
    assert [(x["width"], x["srcdoc"]) for x in frames] == [
        (width, '<base target="_blank"><p>Dear Ann</p>') for width in ("390", "1024")
    ]
    assert api.asked[0].path == f"/campaigns/{CAMPAIGN}/preview?sheet_row=7"
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert "<pre>Dear Ann</pre>" in file.read_text(encoding="utf-8")


def test_nothing_in_a_page_acts() -> None:
    text = page.page(PreviewedMessage(EVIL, [("Subject", EVIL)], EVIL, EVIL, fault=EVIL))
    found = elements(text)
    assert {tag for tag, _ in found} <= {
        *("html", "head", "meta", "title", "style", "body", "h1", "p", "dl", "dt", "dd"),
        *("main", "figure", "figcaption", "iframe", "pre"),
    }
    assert not [name for _, attributes in found for name in attributes if name.startswith("on")]
    frames = [attributes for tag, attributes in found if tag == "iframe"]
    assert [x["sandbox"] for x in frames] == ["allow-popups allow-popups-to-escape-sandbox"] * 2
    assert all(EVIL in x["srcdoc"] for x in frames)
    (policy,) = [a["content"] for tag, a in found if tag == "meta" and a.get("http-equiv") == "Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "script-src" not in policy


@pytest.mark.parametrize("terminal", [True, False])
def test_where_there_is_no_browser_the_file_is_named(
    run: Run,
    api: FakeApi,
    monkeypatch: pytest.MonkeyPatch,
    terminal: bool,  # noqa: FBT001 - a parameter
) -> None:
    monkeypatch.setattr("webbrowser.open", lambda _url: False)
    api.answers(preview(row=1))
    done = run("campaign", "preview", CAMPAIGN, "--open", terminal=terminal)
    assert (done.code, file_of(done.err).is_file()) == (0, True)


def test_a_program_gets_the_file_and_no_browser_is_opened(run: Run, api: FakeApi, browser: list[str]) -> None:
    api.answers(preview(row=1))
    found = run("campaign", "preview", CAMPAIGN, "--open", "--json").json
    assert Path(found["file"]).is_file()
    assert found["row"] == 1
    assert browser == []


def test_a_draft_without_a_list_has_example_values(run: Run, api: FakeApi) -> None:
    api.answers(Answer({**preview().body, "row": None}))
    assert run("campaign", "preview", CAMPAIGN).out.startswith("message with example values:\n")
    assert api.asked[0].path == f"/campaigns/{CAMPAIGN}/preview"


def test_a_stored_template_is_rendered_with_values(run: Run, api: FakeApi, browser: list[str]) -> None:
    body = "<p>Dear {{ name }}, {{ city }}</p>"
    api.answers(Answer({**template(3).body, "body": body}))
    done = run("template", "preview", TEMPLATE, "--value", "name=Ann & Ben", "--open", terminal=True)
    assert done.code == 0, done.err
    text = file_of(done.out).read_text(encoding="utf-8")
    assert html.escape("<p>Dear Ann &amp; Ben, city</p>") in text
    assert "<dd>Hi Ann &amp; Ben</dd>" in text
    assert "<pre>Dear Ann &amp; Ben, city</pre>" in text
    assert "October, version 3" in text
    assert len(browser) == 1
    unknown = run("template", "preview", TEMPLATE, "--value", "nmae=Ann")
    assert (unknown.code, "it has name, city" in unknown.err) == (2, True)


def test_a_text_message_is_shown_with_its_segments(run: Run, api: FakeApi, browser: list[str]) -> None:
    said: dict[str, Any] = {"channel": "sms", "subject": None, "from": None, "body": "Hi {{ name }} „x“ " + "y" * 70}
    api.answers(Answer({**template().body, **said}))
    text = file_of(run("template", "preview", TEMPLATE, "--open", terminal=True).out).read_text(encoding="utf-8")
    assert "2 segments of ucs2" in text
    assert "UCS-2 because of &#x27;„&#x27;" in text
    assert "iframe" not in [tag for tag, _ in elements(text)]
    shown = run("template", "preview", TEMPLATE).out
    assert "segments: 2" in shown


def test_a_stored_template_that_shows_nothing_says_so(run: Run, api: FakeApi) -> None:
    api.answers(Answer({**template().body, "body": "<p>{{ name }}</p>"}))
    assert run("template", "preview", TEMPLATE, "--value", "name=", "--json").json["error"] == "empty_message"
    assert run("template", "preview", TEMPLATE, "--json").json["error"] is None


def test_a_text_message_is_shown_as_it_is_sent(run: Run, api: FakeApi) -> None:
    said: dict[str, Any] = {"channel": "sms", "subject": None, "from": None, "body": "Cafe\u0301 \u200e" * 20}
    api.answers(Answer({**template().body, **said}))
    shown = run("template", "preview", TEMPLATE, "--json").json
    assert (shown["text"], shown["sms"]["encoding"]) == ("Caf\u00e9 " * 20, "gsm7")


def test_a_test_of_a_template_leaves_no_campaign_behind(run: Run, api: FakeApi) -> None:
    sent = Answer({"batch_id": "b" * 26, "job_id": "b" * 26, "recipients": 1, "skipped": 0}, 202)
    api.answers(template(2), campaign(status=201), sent, deleted())
    done = run("template", "test", TEMPLATE, "me@example.com", "--value", "name=Ada")
    assert (done.code, "one message to me@example.com" in done.out) == (0, True)
    assert [(x.method, x.path) for x in api.asked] == [
        ("GET", f"/templates/{TEMPLATE}"),
        ("POST", "/campaigns"),
        ("POST", f"/campaigns/{CAMPAIGN}/test"),
        ("DELETE", f"/campaigns/{CAMPAIGN}"),
    ]
    assert api.asked[1].json["template_version"] == 2
    assert api.asked[2].json == {"recipient": "me@example.com", "params": {"name": "Ada"}}
    del api.asked[:]
    api.answers(template(2), campaign(status=201), problem(422, "from_missing", "It has no sender."), deleted())
    assert run("template", "test", TEMPLATE, "me@example.com").code != 0
    assert api.asked[-1].method == "DELETE"
