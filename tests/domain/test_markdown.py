"""Markdown becomes HTML whose tags come from Markdown alone, and whose placeholders are those that were written."""

import re
import time
from html.parser import HTMLParser

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shared.domain.content.markdown import MAX_CHARACTERS, made_of, page
from shared.domain.content.templates import Template, TemplateKind

FITTED = 'style="max-width:100%;height:auto"'
OURS = {"p", "br", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "li", "a", "img", "em", "strong", "code", "pre", "s"}
OURS |= {"blockquote", "hr", "table", "thead", "tbody", "tr", "th", "td"}


def body(source: str) -> str:
    """Return what is within the frame of each page."""
    found = re.search(r'padding:24px">\n(.*)</div>\n</body>', page(source), re.DOTALL)
    assert found is not None
    return found[1].strip()


@pytest.mark.parametrize(
    ("source", "html"),
    [
        ("Hello,\n\nyou.", "<p>Hello,</p>\n<p>you.</p>"),
        ("a\nb", "<p>a<br />\nb</p>"),
        ("# A **b**", "<h1>A <strong>b</strong></h1>"),
        ("- a\n- b", "<ul>\n<li>a</li>\n<li>b</li>\n</ul>"),
        ("~~a~~", "<p><s>a</s></p>"),
        ("<b>a</b> & c", "<p>&lt;b&gt;a&lt;/b&gt; &amp; c</p>"),
        ("[a](https://x.example)", '<p><a href="https://x.example">a</a></p>'),
        ("[a](javascript:x)", "<p>[a](javascript:x)</p>"),
        ("![a](data:text/html;x)", "<p>![a](data:text/html;x)</p>"),
        ("{{ a_b_c }} {{ _x_ }}", "<p>{{ a_b_c }} {{ _x_ }}</p>"),
        ("[a]({{ url }})", '<p><a href="{{ url }}">a</a></p>'),
        ("![]({{ url }}?a={{ b }})", f'<p><img {FITTED} src="{{{{ url }}}}?a={{{{ b }}}}" alt="" /></p>'),
        ('{{ a | default: "*b*" }}', '<p>{{ a | default: "*b*" }}</p>'),
        ("a|b\n-|-\n1|{{ x | plain }}", None),
        ("zplaceholder0e {{ x }} zplaceholderz0e", "<p>zplaceholder0e {{ x }} zplaceholderz0e</p>"),
    ],
)
def test_what_becomes_of_markdown(source: str, html: str | None) -> None:
    assert body(source) == html if html else "<td>{{ x | plain }}</td>" in body(source)


class _Seen(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}


@example("<script>a</script> <b onclick=a>b</b>")
@given(st.text("<>&\"'/=!-[]()*_`#|:. \nabsrcipt{}", max_size=60))
def test_no_text_brings_a_tag_of_its_own(source: str) -> None:
    found = _Seen()
    found.feed(body(source))
    assert found.tags <= OURS
    assert found.attributes <= {"href", "src", "alt", "title", "start", "style", "class"}


def test_a_value_is_data_in_a_message_of_markdown() -> None:
    html = Template.parse(page("**{{ name }}** [x]({{ url }})"), TemplateKind.HTML)
    shown = html.render({"name": "*a* <b>[c](d)", "url": "javascript:x()"})
    assert '<strong>*a* &lt;b&gt;[c](d)</strong> <a href="">x</a>' in shown


@pytest.mark.parametrize("unit", ["[", "![", "[a](", "*a ", "_a*", "`", "> ", "a|b\n-|-\n", "a\n"])
def test_the_time_is_linear(unit: str) -> None:
    began = time.process_time()
    page(unit * (MAX_CHARACTERS // len(unit)))
    assert time.process_time() - began < 20


def test_a_picture_is_no_wider_than_the_mail_and_a_page_of_before_is_known() -> None:
    source = '![Our shop](https://mail.example.com/images/a/b.png) `<img src="x">`'
    made = page(source)
    shown = '<img style="max-width:100%;height:auto" src="https://mail.example.com/images/a/b.png" alt="Our shop" />'
    assert made.count("<img") == 1
    assert shown in made
    assert made_of(source, made)
    assert made_of(source, made.replace(' style="max-width:100%;height:auto"', ""))
    assert not made_of(source, made + " ")
