"""Messages of digests: what each group reads."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.domain.channels.sms import MAX_TEXT
from shared.domain.content.content import Content, DigestLines, Mailbox, pack, unpack
from shared.domain.content.sms import segments
from shared.domain.digests import rendering
from shared.domain.digests.events import DigestEvent
from shared.domain.digests.policy import DigestPolicy
from shared.domain.digests.rendering import Groups, compose_group, digest_content
from shared.domain.digests.samples import preview, sample_events, sample_key
from tests.domain.digests.examples import KEY, NOW, POLICY, policy

MARKED = '<li id="{{ n }}">{{ event_type }} {{ text }}</li>'
PLAIN = replace(POLICY, subject="")
TEXTS = st.text(max_size=30)


def events(n: int, **data: str) -> list[DigestEvent]:
    return [DigestEvent("task.failed", (), NOW + 1000 * i, {"n": f"e{i}", **data}) for i in range(n)]


def content(
    of: DigestPolicy, happened: Sequence[DigestEvent], groups: Sequence[Sequence[int]] = (), key: str = KEY
) -> Content:
    made = digest_content(of, key, happened, "https://mail.example.com/unsubscribe/")
    assert made.digest is not None
    chosen = groups or [range(len(happened))]
    return replace(made, digest=replace(made.digest, groups=tuple(map(tuple, chosen))))


def message(of: DigestPolicy, happened: Sequence[DigestEvent], link: str = "") -> Content:
    return compose_group(content(of, happened), 0, link)


@given(
    st.lists(st.builds(lambda name, text: DigestEvent(name, (), NOW, {"text": text}), TEXTS, TEXTS), min_size=1),
    st.data(),
    st.integers(1, 5),
)
def test_each_message_lists_its_group_or_counts_it(happened: list[DigestEvent], data: st.DataObject, most: int) -> None:
    numbered = [replace(x, data={**x.data, "n": f"e{i}"}) for i, x in enumerate(happened)]
    subset = st.lists(st.integers(0, len(numbered) - 1), min_size=1, unique=True).map(sorted)
    groups = data.draw(st.lists(subset, min_size=1, max_size=4))
    of = policy(template="{{ events }}", line=MARKED, line_text="#{{ n }}#", max_lines=most)
    made = content(of, numbered, groups)
    assert unpack(pack(made)) == made or any("\ud800" <= c <= "\udfff" for x in happened for c in x.type)
    whole = Groups(made)
    assert len(whole) == len(groups)
    for number, group in enumerate(groups):
        got = whole.of(number)
        assert got == compose_group(made, number)
        shown = [int(n) for n in re.findall(r'<li id="e(\d+)">', got.html)]
        assert shown == [int(n) for n in re.findall(r"#e(\d+)#", got.text)] == group[:most]
        more = re.findall(r"… and (\d+) more", got.html)
        assert len(group) - len(shown) == (int(more[0]) if more else 0)
        assert got.subject == f"{len(group)} events"
        assert (got.merge, got.digest) == (False, None)


@given(TEXTS, TEXTS, TEXTS)
def test_a_value_is_never_markup_and_never_read_again(name: str, value: str, key: str) -> None:
    hostile = f"<b>{value}</b>{{{{ unsubscribe_url }}}}\ufdd2\ufdd3\x00\ud800"
    happened = [DigestEvent(name + hostile, (), NOW, {"x": hostile, "y": "1"})]
    got = compose_group(content(replace(PLAIN, line="{{ x }}"), happened, key=key + "<b>"), 0, "https://link")
    assert "<b>" not in got.html
    assert "https://link" not in got.html
    assert not re.search(r"[\x00\ud800-\udfff\ufdd0-\ufdef]", got.html + got.text)
    assert got.html.endswith("</html>\n")


def test_the_default_mail_counts_types_and_lists_events() -> None:
    happened = [*events(3, task="import"), replace(events(4)[3], type="task.succeeded")]
    got = message(replace(PLAIN, timezone="Europe/Berlin", sender=Mailbox("a@example.com")), happened)
    assert got.subject == "acme/production: task.failed x3, task.succeeded x1"
    assert '<tr><td class="n">3</td><td>task.failed</td></tr>' in got.html
    assert (
        '<td class="t">2026-09-21 16:13:20</td><td class="e">task.failed</td><td>n: e0 · task: import</td>' in got.html
    )
    assert "<h1>production: task.failed x3, task.succeeded x1</h1>" in got.html
    assert "prefers-color-scheme: dark" in got.html
    assert "2026-09-21 16:13:20 to 16:13:23 CEST" in got.text
    assert "3  task.failed\n1  task.succeeded\n" in got.text
    assert "2026-09-21 16:13:20  task.failed  n: e0 · task: import\n" in got.text
    assert "unsubscribe" not in got.html + got.text
    assert "{{" not in got.html + got.text
    assert got.sender == Mailbox("a@example.com")


def test_a_link_is_offered_by_the_policy_alone() -> None:
    got = message(replace(PLAIN, unsubscribe=True), events(1), "https://x/?a=1&b=2")
    assert '<a href="https://x/?a=1&amp;b=2">Stop these digests</a>' in got.html
    assert "Stop these digests: https://x/?a=1&b=2\n" in got.text
    assert got.unsubscribe == "https://mail.example.com/unsubscribe/"
    assert message(PLAIN, events(1)).unsubscribe == ""


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({"template": "<p>{{ events }}</p>"}, r'<p><table class="events"[^>]*><tr>.*</tr></table></p>'),
        (
            {"template": "<table>{{ Events }}</table>", "line": "<tr><td>{{ n }}</td></tr>"},
            "<table><tr><td>e0.*</table>",
        ),
        ({"line": "<li>{{ n }}</li>"}, "<ul><li>e0</li>\n<li>e1</li></ul>"),
        ({"line": "<p>{{ n }}</p>"}, "<div><p>e0</p>\n<p>e1</p></div>"),
        ({"template": "{{ types }}"}, r'^<table class="types"[^>]*><tr>.*</tr></table>$'),
    ],
)
def test_lines_have_what_their_elements_need_around_them(changes: dict[str, Any], found: str) -> None:
    assert re.search(found, message(replace(PLAIN, **changes), events(2)).html, re.DOTALL)


@pytest.mark.parametrize(
    ("line", "more"),
    [
        ("", '<tr><td colspan="20" class="more">… and 2 more</td></tr>'),
        ("<li>{{ n }}</li>", '<li class="more">… and 2 more</li>'),
        ("{{ n }}<br>", '<p class="more">… and 2 more</p>'),
    ],
)
def test_what_is_left_out_is_counted_in_a_line_of_the_same_kind(line: str, more: str) -> None:
    got = message(replace(PLAIN, line=line, max_lines=1), events(3))
    assert got.html.count(more) == 1
    assert "\n… and 2 more\n" in got.text


def test_a_template_s_text_part_is_derived() -> None:
    got = message(
        replace(
            PLAIN, template="<h1>{{ count }} events</h1>{{ events }}", line="<p>{{ N }}: <b>{{ event_type }}</b></p>"
        ),
        events(2),
    )
    assert got.text == "2 events\n\ne0: task.failed\ne1: task.failed"


def test_names_of_data_are_placeholders_whatever_they_are_made_of() -> None:
    happened = [DigestEvent("x", (), NOW, {"detail-type": "A", "Region": "B", "event_type": "C", "timestamp": "D"})]
    line = "{{ detail_type }}|{{ region }}|{{ event_type }}|{{ timestamp }}|{{ missing }}|"
    assert "A|B|x|2026-09-21 14:13:20||" in message(replace(PLAIN, line_text=line), happened).text


@pytest.mark.slow
def test_a_long_value_is_cut_and_a_long_message_counts_the_rest() -> None:
    long = events(1000, text="&" * 5000)
    got = message(replace(PLAIN, line='<tr><td id="{{ n }}">{{ text }}</td></tr>', max_lines=1000), long)
    shown = got.html.count("<td id=")
    assert 0 < shown < 1000
    assert f"… and {1000 - shown} more" in got.html
    assert len(got.html) + len(got.text) < rendering.MAX_LINES + 100_000
    many = message(replace(PLAIN, line="{{ text }}" * 300, max_lines=1), long[:1])
    assert len(many.html) < 100_000


def test_a_text_message_is_one_line_in_the_cheap_alphabet() -> None:
    of = replace(PLAIN, channel="sms")
    got = message(of, events(12))
    assert (got.text, got.html, got.subject) == ("production: task.failed x12", "", "")
    listed = message(replace(of, text="{{ events }}", line_text="{{ n }} {{ text }}"), events(200, text="x" * 100))
    assert len(listed.text) < MAX_TEXT
    assert re.search(r"\nand 19\d more$", listed.text)
    assert segments(listed.text).encoding == "gsm7"


def test_the_same_is_rendered_whenever_it_is_asked_for() -> None:
    made = content(replace(PLAIN, unsubscribe=True), events(50), [range(0, 50, 2), range(50)])
    again = content(replace(PLAIN, unsubscribe=True), events(50), [range(0, 50, 2), range(50)])
    assert pack(made) == pack(again)
    assert Groups(unpack(pack(made))).of(1, "x") == compose_group(again, 1, "x")


def test_a_content_of_another_kind_is_refused() -> None:
    with pytest.raises(ValueError, match="none of a digest"):
        Groups(Content(Mailbox("a@example.com"), "Hello", text="x"))


def test_a_preview_has_a_value_for_every_placeholder() -> None:
    of = replace(PLAIN, line="<li>{{ event_type }} {{ customer }} {{ task }}</li>", unsubscribe=True)
    got = preview(of, NOW)
    assert "task.failed customer nightly-import" in got.html
    assert "Stop these digests" in got.html
    assert sample_key(of) == "acme/production"
    assert sample_key(replace(of, prefix="acme/test")) == "acme/test"
    assert [x.at for x in sample_events(of, NOW)][-1] == NOW
    assert preview(replace(PLAIN, channel="sms"), NOW).text == "production: task.failed x3, task.succeeded x2"


def test_a_long_subject_is_cut() -> None:
    got = message(replace(PLAIN, subject="{{ batch_key }} {{ summary }} " * 40), events(1))
    assert len(got.subject) == rendering.MAX_SUBJECT


@pytest.mark.parametrize(
    ("first", "last", "said"),
    [
        ("2026-09-21 09:00:00 CEST", "2026-09-21 09:00:00 CEST", "2026-09-21 09:00:00 CEST"),
        ("2026-09-21 09:00:00 CEST", "2026-09-21 09:00:01 CEST", "2026-09-21 09:00:00 to 09:00:01 CEST"),
        (
            "2026-09-21 09:00:00 CEST",
            "2026-09-22 09:00:00 CEST",
            "2026-09-21 09:00:00 CEST to 2026-09-22 09:00:00 CEST",
        ),
        ("2026-10-25 02:59:00 CEST", "2026-10-25 02:01:00 CET", "2026-10-25 02:59:00 CEST to 2026-10-25 02:01:00 CET"),
        ("early", "late", "early to late"),
    ],
)
def test_a_period_names_a_day_once(first: str, last: str, said: str) -> None:
    lines = DigestLines(("a", "b"), ("a", "b"), ("x", "x"), (first, last), "acme", 10, ((0, 1),))
    content = Content(Mailbox("a@example.com"), "{{ period }}", "", "{{ period }}", merge=True, digest=lines)
    assert compose_group(content, 0).text == said
