"""A text part from HTML: reading order, nothing that is not seen, placeholders that stay placeholders."""

import re
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shared.domain.content.plain_text import plain_text, text_template
from shared.domain.content.templates import FaultCode, InvalidTemplateError, Template, TemplateKind

MAIL = """<!DOCTYPE html>
<html><head><title>News</title><style>@media x{.a{color:red}}</style>
<!--[if mso]><body class="mso"><![endif]--><meta charset="utf-8"></head>
<body bgcolor=white><div style="DISPLAY : none; max-height:0">Preview <div>of</div> it&#847;&zwnj;&nbsp;</div>
<table role="presentation"><tr><td><img src="logo.png" alt="Ann&#39;s shop"></td><td>
<a href="https://x.test/view/{{ id }}">
In the browser</a></td></tr></table>
<h1>Hello&nbsp;{{ First_Name }}!</h1>
<p>We <b>have</b>
  something <i>for</i>&shy; you:</p>
<ul><li>one</li><li><p>two &amp; <a href='https://x.test/two?a=1&amp;b=2'>more </a>of it</p>
<ol><li>a<li>b</ol></li></ul>
<table><thead><tr><th>What<th>Price</tr></thead><tr><td>Tea</td><td> </td><td>&euro;&nbsp;3</td></tr></table>
<hr>
Yours,<br>Ann<br/><br>P.S. <a href="https://x.test/">x.test</a> or <a href="mailto:a@x.test?subject=Hi">mail</a>
<script>if (a < b) document.write("<p>no</p>")</script><img src=pixel.gif></body></html>"""


def test_a_whole_mail() -> None:
    template = text_template(Template.parse(MAIL, TemplateKind.HTML))
    assert template.kind is TemplateKind.TEXT
    assert template.variables == ("id", "first_name")
    assert template.text == (
        "Ann's shop | In the browser (https://x.test/view/{{ id }})\n\n"
        "Hello {{ first_name }}!\n\n"
        "We have something for you:\n\n"
        "- one\n"
        "- two & more (https://x.test/two?a=1&b=2) of it\n\n"
        "  1. a\n"
        "  2. b\n\n"
        "What | Price\n"
        "Tea | € 3\n\n"
        "---\n\n"
        "Yours,\nAnn\n\nP.S. x.test or mail (a@x.test)"
    )


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("", ""),
        ("plain", "plain"),
        ("  a \n\t b  ", "a b"),
        ("a<b>b</b>c", "abc"),
        ("a <b>b</b> c", "a b c"),
        ("a<p>b<p>c", "a\n\nb\n\nc"),
        ("<div><div>a</div></div><div>b</div>c", "a\nb\nc"),
        ("<h2>a</h2>b", "a\n\nb"),
        ("a<br>b<BR/><br />c<br><br><br>d", "a\nb\n\nc\n\nd"),
        ("<td>a</td><td><br>b</td>", "a\nb"),
        ("<pre>a  \nb</pre>", "a\nb"),
        ("<pre> \n a</pre>", " a"),
        ("<img alt=a alt=b>", "a"),
        ("<blockquote>a</blockquote>b", "a\n\nb"),
        ("<pre>\n a\n  b\n</pre>c  d", " a\n  b\n\nc d"),
        ("<ol><li>a</li><li></li><li>b<ul><li>c</ul></ol>d", "1. a\n3. b\n  - c\n\nd"),
        ("<li>a<li>b", "- a\n- b"),
        ("<ul><li></ul>a", "a"),
        ("<dl><dt>a<dd>b</dl>c", "a\nb\n\nc"),
        ("<td>a</td><td><p>b</p></td>", "a\n\nb"),
        ("<a href='http://a.test'>a</a>b", "a (http://a.test)b"),
        ("<a href=http://a.test/x>HTTP://A.test/x/</a>", "HTTP://A.test/x/"),
        ("<a href='http://a.test'><img src=x></a>.", "http://a.test."),
        ("<a href='http://a.test'><p>a</p></a>b", "a (http://a.test)\n\nb"),
        ("<a href='http://a.test'>a", "a (http://a.test)"),
        ("<a href='http://a.test'>a<a href='http://b.test'>b</a></a>", "a (http://a.test)b (http://b.test)"),
        ("<a href='#top'>a</a><a name=b>b</a><a href=' JavaScript:x'>c</a><a href=''>d</a>", "abcd"),
        ("<a href=' http://a.test/\nx y '>a</a>", "a (http://a.test/x%20y)"),
        ("<a href='tel:+15005550001'>call</a>", "call (+15005550001)"),
        ("<a href='mailto:a@b.test'>a@b.test</a>", "a@b.test"),
        ("<img alt='x &lt;y&gt;'>", "x <y>"),
        ("<p title='a > b'>c</p>", "c"),
        ("<p title=it's>c</p>", "c"),
        ("<p title = \"x' > \">c</p>", "c"),
        ("a < b <3 c<", "a < b <3 c<"),
        ("a<b", "a"),
        ("a</b", "a"),
        ("a</ b>c</>d<?x?>e<!y>f<![CDATA[g]]>h", "acdefh"),
        ("a<!-- > -- <p> -->b<!-->c<!--->d<!-- e", "abcd"),
        ("a<style>p{}</style><STYLE x='>'>q</Style >b<script>'</p>'</script>c<title>t</title>d", "abcd"),
        ("a<script>b</scripts>c</script>d<style>e", "ad"),
        ("a<head>b</head>c<head>d</head>e", "acde"),
        ("a<head>b<body>c", "a\nc"),
        ("a<head>b", "ab"),
        ("<header>a</header>b", "a\nb"),
        ("a<svg><text>b</text><svg></svg>c</svg>d<template>e</template>f<svg/>g", "adfg"),
        ("a<span style='color:red;display:none'>b<span>c</span>d</span>e", "ae"),
        ("a<p style='display:none'>b", "a\n\nb"),
        ("a<div title='display:none'>b</div>", "a\nb"),
        ("&lt;b&gt; &amp;amp; &euro;&#8364;&#x20AC; &copy &bogus;", "<b> &amp; €€€ © &bogus;"),
        ("&#0; &#xD800;", "\ufffd \ufffd"),
        ("a\u200bb&shy;c &zwnj;&nbsp;&zwnj; \u0645\u06cc\u200c\u062e", "abc \u0645\u06cc\u200c\u062e"),
    ],
)  # fmt: skip
def test_text_of(html: str, text: str) -> None:
    assert plain_text(html) == text


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("{{ NAME }}", "{{ name }}"),
        ("<b>{{a}}</b>{{\nb\n}}", "{{ a }}{{ b }}"),
        ("<a href={{ url }}>go</a>", "go ({{ url }})"),
        ("<a href='{{url}}'>{{ url }}</a>", "{{ url }}"),
        ("<a href='https://x.test/?a={{a}}&amp;b={{b}}'>go</a>", "go (https://x.test/?a={{ a }}&b={{ b }})"),
        ("<img alt='{{a}}'><img src='{{b}}'>", "{{ a }}"),
        ("<style>{{a}}</style><!-- {{b}} -->{{c}}", "{{ c }}"),
        ("&#123;&#123;x}&#125;", "{ {x} }"),
        ("&lbrace;{<b></b>{{x}}&#125;&rbrace;", "{ { {{ x }} } }"),
        ("{<b>{</b>{<!-- -->}<i>}</i>}", "{ { {} } }"),
        ("{a{b}}", "{a{b} }"),
        ("&#xFDD0;x&#xFDD1;", "x"),
        ("<{{x}}>", "<{{ x }}>"),
    ],
)
def test_placeholders_and_nothing_else_are_placeholders(html: str, text: str) -> None:
    assert text_template(Template.parse(html, TemplateKind.HTML)).text == text


TAGS = "<p> </p> <li> <ul> </ul> <ol> <td> <tr> <br> <b> </b> <pre> </pre> <hr> <script> </script> <head> </head> <svg>"
OTHERS = "<!-- --> <a\xa0href=x> </a> <img\xa0alt=i> </svg> </div> < > ' \" = / &lt; &#123; &#125; { } {{b}} word & #"
WORDS = st.sampled_from(
    [w.replace("\xa0", " ") for w in f"{TAGS} {OTHERS}".split(" ")]
    + ["<a href='{{u}}'>", "<div style='display:none'>", "{{ Name }}", " ", "\n", "\u00a0", "\u200c"]
)
DOCUMENTS = st.lists(WORDS, max_size=25).map("".join)


@given(DOCUMENTS)
@example(f"<p>&#{'9' * 4301};</p>")
@example(f"<img alt='&#{'0' * 5000};'>&#{'0' * 5000}65;")
def test_every_html_template_gives_a_text_template(html: str) -> None:
    try:
        template = Template.parse(html, TemplateKind.HTML)
    except InvalidTemplateError:
        return
    text = text_template(template)
    assert set(text.variables) <= set(template.variables)
    # What was a placeholder in the text is one in the HTML, no more often than there.
    for name in text.variables:
        shown = text.text.count("{{ " + name + " }}")
        assert shown <= len(re.findall(r"\{\{\s*" + name + r"\s*\}\}", html, re.IGNORECASE))
    # A value that is no markup, nor makes markup of what stands before it, gives the same text whether it is put in
    # before or after. All differ: a link whose text is its address is shown once.
    values = {name: f"({i})" for i, name in enumerate(template.variables)}
    joined = plain_text(template.render(values))
    assert re.sub(r"[\s{}]", "", text.render(values)) == re.sub(r"[\s{}]", "", joined)


@given(DOCUMENTS | st.text(max_size=60))
def test_blanks_are_collapsed(html: str) -> None:
    text = plain_text(html)
    assert not re.search(r"[ \t]\n", text)
    assert not text.startswith("\n")
    assert not text.endswith("\n")
    if "<pre" not in html:
        assert "\n\n\n" not in text
        assert not re.search(r"\S  ", text)
        assert not set(text) & set("\t\r\u00a0\u200b\u00ad")


@given(st.text(max_size=40).filter(lambda t: "<" not in t and "&" not in t))
def test_text_without_markup_stays(text: str) -> None:
    kept = re.sub("[\u00ad\u034f\u200b\ufeff]|\u200c(?=\\s|$)", "", text)
    assert plain_text(text) == re.sub(r"\s+", " ", kept).strip()


UNITS = ["<!--", "<a ", "<a x='", "<", "</", "</a ", "&", "<![", "<?", "<script>", "<style>", "<head>", "<a href='x'>"]


@pytest.mark.parametrize(
    "unit", [*UNITS, "<ul>", "<div style='display:none'>", "<a x=", "&#1", "<pre>", "<svg>", "<a href=x>y"]
)
def test_time_is_linear(unit: str) -> None:
    began = time.process_time()
    plain_text(unit * (300_000 // len(unit)))
    assert time.process_time() - began < 5


@pytest.mark.slow
def test_a_text_that_grew_too_large_is_refused() -> None:
    with pytest.raises(InvalidTemplateError) as caught:
        text_template(Template.parse("<hr>" * 250_000, TemplateKind.HTML))
    assert [f.code for f in caught.value.faults] == [FaultCode.TOO_LARGE]
