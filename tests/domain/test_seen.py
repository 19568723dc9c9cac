"""What a reader can see of a message."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.domain.characters.invisible import seen
from shared.domain.content.plain_text import plain_text
from shared.domain.content.seen import nothing_to_see, seen_in
from tests import budgets


@pytest.mark.parametrize(
    "html",
    [
        "",
        " \n",
        "<b></b>",
        "<p>&nbsp;</p>",
        "<p>\u200b&#8203;&shy;\ufeff\u2060\u3164\u2800</p>",
        "<html><head><title>October</title><style>p { color: red }</style></head><body><p> </p></body></html>",
        "<script>alert(1)</script>",
        "<!-- only a comment -->",
        '<div style="display: none">a preview</div>',
        '<a href="https://example.com"></a>',
        "<table><tr><td></td></tr></table>",
        "<br><br>",
        '<img src="https://example.com/open.gif" width="1" height="1">',
        '<img src="https://example.com/open.gif" style="display:none">',
        '<img src="">',
        "<img>",
    ],
)
def test_html_that_shows_nothing(html: str) -> None:
    assert not seen_in(html)
    assert nothing_to_see(html, "" if html else " ")


@pytest.mark.parametrize(
    "html",
    [
        "x",
        "<p>.</p>",
        "\U0001f600",
        "<p>\u0645</p>",
        '<img src="cid:logo">',
        '<img src="https://example.com/a.png" width="1" height="600">',
        '<img alt="Ann">',
        "<hr>",
        "<input type=text>",
        '<svg><path d="M0 0"/></svg>',
        '<td background="a.png"></td>',
        '<div style="background-image: url(a.png)"></div>',
        '<div style="display:none">preview</div><p>Hi</p>',
    ],
)
def test_html_that_shows_something(html: str) -> None:
    assert seen_in(html)
    assert not nothing_to_see(html, "")


@pytest.mark.parametrize("before", range(240, 262))
@pytest.mark.parametrize(("reference", "shows"), [("&nbsp;", False), ("&#8203;", False), ("&#65;", True), ("&", True)])
def test_a_reference_that_is_far_behind_is_read_whole(before: int, reference: str, shows: bool) -> None:  # noqa: FBT001
    assert seen_in(" " * before + reference + " " * 20) == shows


def test_megabytes_of_references_are_not_all_read() -> None:
    begun = time.process_time()
    assert seen_in("&#34;" * 2_000_000)
    assert budgets.kept(time.process_time() - begun, 0.1)


def test_the_html_is_what_is_read_where_there_is_any() -> None:
    assert nothing_to_see("<p></p>", "Hello")
    assert not nothing_to_see("<p>Hello</p>", "")
    assert not nothing_to_see("", "Hello")
    assert nothing_to_see("", "\u2060\u200b\t")


@given(st.text(st.sampled_from('<>/pbimgsvtyle= "x\u200b!-&;#8203'), max_size=60))
def test_a_text_that_is_made_of_html_is_seen_in_it(html: str) -> None:
    if seen(plain_text(html.replace("<a", "").replace("li", "").replace("ol", ""))):
        assert seen_in(html)
