"""A list's value is a script where the template has a link: `href="{{ url }}"` with `javascript:alert(1)`.

Then: it was sent as it is. A click ran it in readers that run such links.
"""

import pytest

from shared.domain.content.templates import Template, TemplateKind

SCRIPTS = [
    "javascript:alert(1)",
    "JavaScript:alert(1)",
    " \t\x01javascript:alert(1)",
    "java\nscript:alert(1)",
    "java\tscript\r:alert(1)",
    "vbscript:msgbox",
    "livescript:x",
    "data:text/html,<script>alert(1)</script>",
    "data:image/svg+xml,<svg onload='alert(1)'/>",
    "DATA:,x",
]
LINKS = [
    "https://example.com/?a=javascript:x",
    "/javascript:x",
    "mailto:ann@example.org",
    "tel:+431",
    "sms:1",
    "javascript",
    "database:1",
    "my javascript: notes",
    "",
]
ATTRIBUTES = [
    '<a href="{{ url }}">x</a>',
    "<a href='{{ url }}'>x</a>",
    "<a href={{url}}>x</a>",
    '<a class="b" HREF = "{{ url }}">x</a>',
    '<a href="  {{ url }}">x</a>',
    '<a href="{{ none }}{{ url }}">x</a>',
    '<a href="{{ none }} {{ url }}#end">x</a>',
    '<form action="{{ url }}">',
    '<button formaction="{{ url }}">',
    '<img src="{{ url }}">',
    '<td background="{{ url }}">',
    '<use xlink:href="{{ url }}"/>',
    '<a title="a"href="{{ url }}">x</a>',
]


def rendered(html: str, value: str) -> str:
    return Template.parse(html, TemplateKind.HTML).render({"url": value})


@pytest.mark.parametrize("html", ATTRIBUTES)
@pytest.mark.parametrize("value", SCRIPTS)
def test_a_script_is_left_out_of_a_link(html: str, value: str) -> None:
    assert rendered(html, value) == rendered(html, "")


@pytest.mark.parametrize("html", ATTRIBUTES)
@pytest.mark.parametrize("value", LINKS)
def test_another_link_stays(html: str, value: str) -> None:
    assert rendered(html, value) == html.replace("{{ url }}", value).replace("{{url}}", value).replace("{{ none }}", "")


def test_a_script_in_two_values_is_left_out() -> None:
    html = Template.parse('<a href="{{ a }}{{ b }}/x">{{ a }}{{ b }}</a>', TemplateKind.HTML)
    assert html.render({"a": "java", "b": "script:x"}) == '<a href="/x">javascript:x</a>'
    assert html.render({"a": "https:", "b": "//x"}) == '<a href="https://x/x">https://x</a>'


@pytest.mark.parametrize(
    "html",
    ["<p>{{ url }}</p>", '<a href="https://x/?q={{ url }}">x</a>', '<p title="{{ url }}">', "<p>href= is: {{ url }}"],
)
def test_words_beside_a_link_stay(html: str) -> None:
    assert "javascript:x" in rendered(html, "javascript:x")


def test_an_image_in_the_message_stays() -> None:
    value = "data:image/png;base64,AAAA"
    assert value in rendered('<img src="{{ url }}">', value)
    assert value not in rendered('<a href="{{ url }}">x</a>', value)


@pytest.mark.parametrize("kind", [TemplateKind.TEXT, TemplateKind.SUBJECT, TemplateKind.SMS])
def test_a_text_has_no_links(kind: TemplateKind) -> None:
    assert Template.parse('href="{{ url }}"', kind).render({"url": "javascript:x"}) == 'href="javascript:x"'
