"""Messages that are written as Markdown: saved as HTML with a text part, and shown as Markdown again."""

import html
import re

import pytest

from shared.domain.content.markdown import MAX_CHARACTERS
from shared.domain.people import Role
from tests.console.campaigns import SAID, fields, made, saved, sent, stored, with_list
from tests.console.console import Console
from tests.console.test_previews import framed

TEXT = "# Dear {{ name }}\n\nThis is *new*:\n\n- a < b\n\n[Leave]({{ unsubscribe_url }})"
WRITTEN = {"format": "markdown", "body": TEXT}


def typed(page: str) -> tuple[str, str]:
    """Return what a form is written as, and its body."""
    (choice,) = re.findall(r'name="format" id="[^"]+" value="([a-z]+)" checked', page)
    found = re.search(r'<textarea id="body"[^>]*>\n(.*?)</textarea>', page, re.DOTALL)
    assert found is not None
    return choice, html.unescape(found[1])


def test_markdown_is_sent_as_html_and_as_the_text_that_was_typed(console: Console) -> None:
    console.member(role=Role.SENDER)
    campaign = with_list(console, **WRITTEN)
    page = console.shown(f"/campaigns/{campaign}")
    assert "no link to unsubscribe" not in page
    shown = framed(console.shown(f"/campaigns/{campaign}/preview?row=2"))
    assert "<h1>Dear Ben</h1>" in shown
    assert "<li>a &lt; b</li>" in shown
    sent(console, campaign)
    console.api.world.run()
    said = [content for provider in console.api.world.providers.values() for content in provider.said]
    assert sorted(content.text.partition("\n")[0] for content in said) == ["# Dear Ann", "# Dear Ben"]
    assert all("This is <em>new</em>:" in content.html for content in said)


@pytest.mark.parametrize("kind", ["campaign", "template"])
def test_a_message_is_markdown_again_until_it_is_changed_elsewhere(console: Console, kind: str) -> None:
    console.member()
    name = made(console, **WRITTEN) if kind == "campaign" else stored(console, **WRITTEN)
    edit = f"/{kind}s/{name}/edit"
    assert typed(console.shown(edit)) == ("markdown", TEXT)
    assert typed(console.shown(f"/campaigns/new?{kind}={name}")) == ("markdown", TEXT)
    form = {**SAID, **fields(console.shown(edit))}
    assert console.post(f"/{console.account}{edit}", **{**form, **WRITTEN, "body": "Bye\n\n{{ name }}"}).status == 303
    assert typed(console.shown(edit)) == ("markdown", "Bye\n\n{{ name }}")
    form = {**SAID, **fields(console.shown(edit))}
    assert console.post(f"/{console.account}{edit}", **{**form, "format": "html", "text": "Mine"}).status == 303
    assert typed(console.shown(edit)) == ("html", SAID["body"])


def test_an_empty_form_begins_with_text_and_a_sample_with_html(console: Console) -> None:
    console.member()
    for place in ("campaigns", "templates"):
        assert typed(console.shown(f"/{place}/new")) == ("markdown", "")
        assert typed(console.shown(f"/{place}/new?sample=1"))[0] == "html"
    assert 'name="format"' not in console.shown("/campaigns/new?channel=sms")
    saved(console, stored(console))


def test_what_is_wrong_with_markdown_is_said_once_with_the_line_that_was_typed(console: Console) -> None:
    console.member(role=Role.SENDER)
    wrong = {**SAID, **WRITTEN, "body": "One\n\n{{ #if }}"}
    got = console.post(f"/{console.account}/campaigns/new", **wrong)
    assert got.status == 422
    (said,) = re.findall(r'<small class="error" id="body-error">([^<]+)</small>', got.text)
    assert said.startswith("Line 3, column 1: ")
    assert said.count("Line ") == 1
    assert typed(got.text) == ("markdown", wrong["body"])
    assert "text-error" not in got.text
    for place in ("new", "preview"):
        got = console.post(f"/{console.account}/campaigns/{place}", **{**wrong, "body": "a" * (MAX_CHARACTERS + 1)})
        assert "Markdown has at most 100,000 characters." in got.text
    empty = console.post(f"/{console.account}/campaigns/new", **{**wrong, "body": " \n"})
    assert "Write the message." in empty.text
