"""A stranger writes `evil.example` or `http://…` as their name, and a mail that greets them by it shows a link.

Then: there was no way to keep mail programs and phones from making a link of such a value.
"""

import re
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.domain.content.plain_text import text_template
from shared.domain.content.plain_values import plain
from shared.domain.content.templates import InvalidTemplateError, Template, TemplateKind
from tests.tiers import examples

LINKED: Final = re.compile(
    r"[^\W\d][\w+.-]*[:\uff1a]/|(?:mailto|tel|sms|javascript):\S"
    r"|\w[.\u2024\u3002\uff0e\uff61][^\W\d]|\d+(?:\.\d+){3}"
)
"""What some program makes a link of: a scheme, a domain in any script, an address."""
LINKS: Final = [
    "evil.example",
    "Ann evil.example Smith",
    "EVIL.EXAMPLE",
    "www.evil.example/win?a=1",
    "http://evil.example",
    "https://localhost/x",
    "HTTP://1.2.3.4/",
    "1.2.3.4",
    "ann@evil.example",
    "mailto:ann@evil.example",
    "tel:+431",
    "javascript:alert(1)",
    "пример.рф",
    "例え。テスト",
    "evil\uff0eexample",
    "evil\u2024example",
    "win4.me",
    "4you.example",
    "a.b.c.d",
    "t.me/evil",
]
NAMES: Final = [
    "Ann",
    "Dr. Ann Smith",
    "J. R. Smith",
    "O'Neil",
    "Ann-Marie",
    "3.50",
    "10:30",
    "2026-11-29",
    "Hi...",
    "a / b",
    "",
]


@pytest.mark.parametrize("value", LINKS)
def test_what_programs_make_links_of_is_kept_apart(value: str) -> None:
    assert LINKED.search(value)
    assert not LINKED.search(plain(value))
    assert plain(value).replace(" ", "") == value.replace(" ", "")


@pytest.mark.parametrize("value", NAMES)
def test_names_and_numbers_stay_as_they_are(value: str) -> None:
    assert plain(value) == value


@settings(max_examples=examples(300))
@given(st.text(alphabet=st.sampled_from("a1.:/@ -\u3002\uff0e\u00e9\u2024_w")))
def test_no_value_is_a_link_and_nothing_is_left_out(value: str) -> None:
    shown = plain(value)
    assert not LINKED.search(shown)
    assert shown.replace(" ", "") == value.replace(" ", "")
    assert plain(shown) == shown


@pytest.mark.parametrize("kind", TemplateKind)
def test_a_placeholder_says_so_in_each_kind_of_template(kind: TemplateKind) -> None:
    template = Template.parse("Hello {{ Name | plain }} {{name|plain}}, {{ name }}", kind)
    assert template.variables == ("name",)
    assert template.render({"name": "evil.example"}) == "Hello evil. example evil. example, evil.example"


def test_a_plain_value_is_escaped_too() -> None:
    template = Template.parse("{{ name | plain }}", TemplateKind.HTML)
    assert template.render({"name": "<b>evil.example"}) == "&lt;b&gt;evil. example"


def test_the_text_made_from_html_keeps_values_plain() -> None:
    html = Template.parse("<p>Dear {{ name | plain }}, see {{ url }}</p>", TemplateKind.HTML)
    assert text_template(html).text == "Dear {{ name | plain }}, see {{ url }}"


@pytest.mark.parametrize(
    "text", ["{{ name | upper }}", "{{ name | }}", "{{ | plain }}", "{{ name | plain | plain }}", "{{ name | PLAIN }}"]
)
def test_nothing_else_may_follow_a_name(text: str) -> None:
    with pytest.raises(InvalidTemplateError) as refused:
        Template.parse(text, TemplateKind.TEXT)
    assert [x.code for x in refused.value.faults] == ["invalid_name"]
    assert "{{ name | plain }}" in refused.value.faults[0].message
