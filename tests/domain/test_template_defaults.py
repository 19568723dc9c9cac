"""A default: what a placeholder shows where a row has no value for it."""

import pytest

from shared.domain.campaigns.campaign import Message
from shared.domain.content.plain_text import text_template
from shared.domain.content.templates import InvalidTemplateError, Template, TemplateKind

THERE = 'Hello {{ name | default: "there" }}!'


@pytest.mark.parametrize("kind", TemplateKind)
@pytest.mark.parametrize(
    ("values", "shown"),
    [
        ({"name": "Ann"}, "Hello Ann!"),
        ({}, "Hello there!"),
        ({"name": ""}, "Hello there!"),
        ({"name": "\u200b\ufeff"}, "Hello there!"),
        ({"name": "0"}, "Hello 0!"),
    ],
)
def test_a_default_stands_for_a_value_that_shows_nothing(
    kind: TemplateKind, values: dict[str, str], shown: str
) -> None:
    template = Template.parse(THERE, kind)
    assert template.render(values) == shown
    assert template.variables == ("name",)


def test_a_blank_is_no_value() -> None:
    assert Template.parse(THERE, TemplateKind.TEXT).render({"name": " \u00a0 "}) == "Hello there!"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("{{ name | default: 'there' }}", "there"),
        ("{{name|default:'there'}}", "there"),
        ('{{ name |\n default\t:\n "there" }}', "there"),
        ('{{ name | default: "there\'s" }}', "there's"),
        ("{{ name | default: 'say \"hi\"' }}", 'say "hi"'),
        ('{{ name | default: "" }}', ""),
        ('{{ name | default: "plain" }}', "plain"),
        ('{{ name | default: "a | b: c" }}', "a | b: c"),
        ('{{ name | plain | default: "you" }}', "you"),
        ('{{ name | default: "you" | plain }}', "you"),
    ],
)
def test_ways_to_write_it(text: str, shown: str) -> None:
    template = Template.parse(text, TemplateKind.TEXT)
    assert template.render({}) == shown
    apart = "evil. example" if "| plain" in text.replace('"plain"', "") else "evil.example"
    assert template.render({"name": "evil.example"}) == apart


@pytest.mark.parametrize(
    "text",
    [
        "{{ name | there }}",
        "{{ name | default }}",
        "{{ name | default: there }}",
        "{{ name | default: \u201cthere\u201d }}",
        "{{ name | default: &quot;there&quot; }}",
        "{{ name | default: \"there' }}",
        '{{ name | default: "a" | default: "b" }}',
        '{{ name | default: "a" | plain | plain }}',
        '{{ name | default: "a\nb" }}',
        '{{ name | DEFAULT: "a" }}',
        '{{ name | default "a" }}',
    ],
)
def test_anything_else_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(InvalidTemplateError) as refused:
        Template.parse(text, TemplateKind.TEXT)
    assert [x.code for x in refused.value.faults] == ["invalid_name"]
    assert THERE[6:-1] in refused.value.faults[0].message


def test_braces_in_a_default_are_refused() -> None:
    for text in ('{{ name | default: "{{ other }}" }}', '{{ name | default: "a}b" }}'):
        with pytest.raises(InvalidTemplateError):
            Template.parse(text, TemplateKind.TEXT)


def test_a_default_is_data_like_a_value() -> None:
    html = Template.parse("<a title=\"{{ a | default: '<b>&amp;' }}\">{{ a | default: '<i>' }}</a>", TemplateKind.HTML)
    assert html.render({}) == '<a title="&lt;b&gt;&amp;amp;">&lt;i&gt;</a>'
    for whole in (
        "<a href=\"{{ url | default: 'javascript:x()' }}\">",
        "<a href=\"{{ a | default: 'java' }}{{ b }}\">",
    ):
        link = Template.parse(whole, TemplateKind.HTML)
        assert link.render({"b": "script:x()"}) == '<a href="">'
    assert Template.parse("<a href=\"{{ url | default: '/all' }}\">", TemplateKind.HTML).render({}) == '<a href="/all">'


def test_the_text_made_from_html_keeps_defaults() -> None:
    written = "<p>Dear {{ Name | plain | default: 'x < y' }} and {{ b | default: 'say \"hi\"' }}, {{ b }}{{ b }}</p>"
    made = text_template(Template.parse(written, TemplateKind.HTML))
    assert made.text == 'Dear {{ name | plain | default: "x < y" }} and {{ b | default: \'say "hi"\' }}, {{ b }}{{ b }}'
    assert made.render({}) == 'Dear x < y and say "hi", '
    link = Template.parse("<a href=\"{{ u | default: 'x' }}\">{{ u | default: 'x' }}</a>", TemplateKind.HTML)
    assert text_template(link).render({}) == "x"


def test_a_variable_is_needed_where_a_place_of_it_has_no_default() -> None:
    template = Template.parse("{{ a | default: '' }}{{ b }}{{ b | default: 'x' }}", TemplateKind.TEXT)
    assert template.needed == {"b"}
    message = Message(body="<p>{{ a | default: 'x' }}</p>", subject="{{ a | default: 'y' }}")
    assert message.missing("email", ["recipient"], unsubscribe=True) == ("a",), "a misspelt name is no default's"
