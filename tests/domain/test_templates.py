"""Templates: what is refused and where, what a value can do to a message (nothing), what a change asks of a list."""
# ruff: noqa: RUF001 - letters that look like others are the subject here

import re
import time
from html.parser import HTMLParser

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from shared.domain.content.templates import (
    MAX_BYTES,
    MAX_FAULTS,
    MAX_NAME,
    MAX_PLACEHOLDERS,
    MAX_VARIABLES,
    Changes,
    FaultCode,
    InvalidTemplateError,
    Template,
    TemplateFault,
    TemplateKind,
    changes,
    variables,
)

NAMES = st.from_regex(r"[A-Za-z0-9_]{1,8}", fullmatch=True)
BLANKS = st.text(" \t\r\n", max_size=3)
LITERALS = st.text(st.characters(exclude_characters="{}\0", exclude_categories=["Cs"]), max_size=20)
VALUES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)


def faults(text: str, kind: TemplateKind = TemplateKind.TEXT) -> tuple[TemplateFault, ...]:
    with pytest.raises(InvalidTemplateError) as caught:
        Template.parse(text, kind)
    return caught.value.faults


def codes(text: str, kind: TemplateKind = TemplateKind.TEXT) -> list[tuple[str, int]]:
    return [(f.code.value, f.offset) for f in faults(text, kind)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{", [("unclosed", 0)]),
        ("a {{ name", [("unclosed", 2)]),
        ("{{ name }", [("unclosed", 0)]),
        ("{{ a {{ b }}", [("unclosed", 0)]),
        ("{{ a " + "x" * 200 + " }}", [("unclosed", 0), ("unopened", 206)]),
        ("{{}}", [("empty_name", 0)]),
        ("{{ \t\r\n}}", [("empty_name", 0)]),
        ("{{#x}}y{{/x}}", [("no_sections", 0), ("no_sections", 7)]),
        ("{{ # x }}", [("no_sections", 0)]),
        ("{{^x}}", [("no_sections", 0)]),
        ("{{!x}}", [("no_comments", 0)]),
        ("{{>x}}", [("no_partials", 0)]),
        ("{{{x}}}", [("no_unescaped", 0)]),
        ("{{{x}}}}", [("no_unescaped", 0)]),
        ("{{{x}} y", [("no_unescaped", 0)]),
        ("{{{{x}}}} y", [("no_unescaped", 0)]),
        ("{{&x}}", [("no_unescaped", 0)]),
        ("{{a.b}}", [("invalid_name", 0)]),
        ("{{'x'}}", [("invalid_name", 0)]),
        ('{{"x"}}', [("invalid_name", 0)]),
        ("{{a b}}", [("invalid_name", 0)]),
        ("{{a-b}}", [("invalid_name", 0)]),
        ("{{a|b}}", [("invalid_name", 0)]),
        ("{{=<% %>=}}", [("invalid_name", 0)]),
        ("{{\u00a0x}}", [("invalid_name", 0)]),
        ("{{prénom}}", [("invalid_name", 0)]),
        ("{{а}}", [("invalid_name", 0)]),
        ("{{x٣}}", [("invalid_name", 0)]),
        ("{{a}b}}", [("invalid_name", 0)]),
        ("a }}", [("unopened", 2)]),
        ("{ name }}", [("unopened", 7)]),
        ("{a} }}", [("unopened", 4)]),
        ("}}}", [("unopened", 0)]),
        ("{{x}}}", [("unopened", 5)]),
        ("{{x}}}}", [("unopened", 5)]),
        ("{{}} {{x}} {{y.z}} }}", [("empty_name", 0), ("invalid_name", 11), ("unopened", 19)]),
        ("{{" + "n" * (MAX_NAME + 1) + "}}", [("name_too_long", 0)]),
        ("a\0b", [("control_character", 1)]),
        ("a\ud800", [("control_character", 1)]),
        ("a\ufdd0", [("control_character", 1)]),
    ],
)
@pytest.mark.parametrize("kind", TemplateKind)
def test_refused_with_its_code_and_place(text: str, expected: list[tuple[str, int]], kind: TemplateKind) -> None:
    if kind is TemplateKind.SUBJECT:
        text = re.sub(r"[\t\r\n]", " ", text)
    assert codes(text, kind) == expected
    assert codes("Dear all, " + text, kind) == [(code, offset + 10) for code, offset in expected]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("{{name}}", ("name",)),
        ("{{ \t\r\nname\n }}", ("name",)),
        ("{{ First_Name }}{{first_name}}{{FIRST_NAME}}", ("first_name",)),
        ("{{b}}{{a}}{{B}}{{c1}}{{_}}{{9}}", ("b", "a", "c1", "_", "9")),
        ("{{" + "n" * MAX_NAME + "}}", ("n" * MAX_NAME,)),
        ("no variable", ()),
        ("", ()),
        ("{ a } :-} :-{", ()),
        ("@media (x){.a{b:c}}", ()),
        ("{a{b{c}d}}", ()),
        ("@media (x){.a{b:{{c}}}}", ("c",)),
        ('{"a":{"b":{"c":"{{ d }}"}}}', ("d",)),
        ("{{a}} }", ("a",)),
        ("{ {{a}} }", ("a",)),
    ],
)
def test_variables_in_order_of_first_appearance(text: str, names: tuple[str, ...]) -> None:
    template = Template.parse(text, TemplateKind.TEXT)
    assert template.variables == names
    rendered = template.render({n: f"<{n}>" for n in names})
    assert rendered == re.sub(r"\{\{\s*(\w+)\s*\}\}", lambda m: f"<{m[1].lower()}>", text)


@pytest.mark.parametrize(
    ("before", "line", "column"),
    [("", 1, 1), ("é", 1, 2), ("\n", 2, 1), ("a\r\nbc", 2, 3), ("a\rb\n\nc\n  ", 5, 3), ("\U0001f600", 1, 2)],
)
def test_place_of_a_fault(before: str, line: int, column: int) -> None:
    (fault,) = faults(before + "{{}} after\n")
    assert (fault.offset, fault.line, fault.column) == (len(before), line, column)


def test_the_error_names_the_first_fault_and_shows_no_text() -> None:
    with pytest.raises(
        InvalidTemplateError, match=r"^line 2, column 4: A name has only .* here is '\.' \(U\+002E\)\.$"
    ):
        Template.parse("a\nbc {{secret.b}} {{}}", TemplateKind.TEXT)
    assert "secret" not in repr(Template.parse("secret", TemplateKind.TEXT))


@pytest.mark.parametrize("character", ["\n", "\r", "\t", "\0", "\x7f", "\x85", "\u2028", "\u2029"])
def test_a_subject_is_one_line(character: str) -> None:
    assert codes(f"ab{character}c", TemplateKind.SUBJECT) == [("control_character", 2)]
    if character != "\0":
        assert Template.parse(f"ab{character}c", TemplateKind.SMS).render({}) == f"ab{character}c"


def test_limits() -> None:
    full = "é" * (MAX_BYTES // 2)
    assert Template.parse(full, TemplateKind.TEXT).render({}) == full
    assert codes(full + "{{") == [("too_large", MAX_BYTES // 2)]
    assert codes("a" + full) == [("too_large", MAX_BYTES // 2)]
    names = [f"{{{{v{i}}}}}" for i in range(MAX_VARIABLES)]
    assert len(Template.parse("".join(names), TemplateKind.TEXT).variables) == MAX_VARIABLES
    assert Template.parse("".join([*names, "{{V0}}"]), TemplateKind.TEXT).render({"v0": "x"}) == "xx"
    assert codes("".join([*names, "{{v}}"])) == [("too_many_variables", sum(map(len, names)))]
    assert Template.parse("{{a}}" * MAX_PLACEHOLDERS, TemplateKind.TEXT).render({"a": "b"}) == "b" * MAX_PLACEHOLDERS
    assert codes("{{a}}" * (MAX_PLACEHOLDERS + 5)) == [("too_many_placeholders", 5 * MAX_PLACEHOLDERS)]


def test_faults_are_bounded_and_by_place() -> None:
    found = faults("\0{{}}" * 100)
    assert len(found) == MAX_FAULTS
    assert [f.offset for f in found] == [n for i in range(MAX_FAULTS // 2) for n in (5 * i, 5 * i + 1)]


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["{{", "{", "}", "{{a ", "{{ ", "{ ", "{{{x}}}", "\0", "\n", "{}"])
def test_reading_is_linear(unit: str) -> None:
    began = time.process_time()
    try:
        Template.parse("{{" + unit * (MAX_BYTES // len(unit) - 2), TemplateKind.TEXT)
    except InvalidTemplateError as error:
        assert error.faults[0].offset == 0  # noqa: PT017 - any of them may refuse or not; the time is what matters
    assert time.process_time() - began < 5


@given(st.lists(st.tuples(LITERALS, NAMES, BLANKS, BLANKS), max_size=8), LITERALS, st.data())
def test_rendering_puts_each_value_in_its_place(
    parts: list[tuple[str, str, str, str]], tail: str, data: st.DataObject
) -> None:
    text = "".join(f"{literal}{{{{{a}{name}{b}}}}}" for literal, name, a, b in parts) + tail
    template = Template.parse(text, TemplateKind.TEXT)
    assert template.variables == tuple(dict.fromkeys(name.lower() for _, name, _, _ in parts))
    values = data.draw(st.fixed_dictionaries({"recipient": VALUES}, optional=dict.fromkeys(template.variables, VALUES)))
    expected = "".join(literal + values.get(name.lower(), "") for literal, name, _, _ in parts) + tail
    assert template.render(values) == expected
    assert Template.parse(text, TemplateKind.SMS).render(values) == expected


@given(st.text("{}ax._ #", max_size=30))
@example("{{a}}}")
@example("{{{a}}")
def test_every_text_is_either_refused_or_has_no_braces_left_to_wonder_about(text: str) -> None:
    try:
        template = Template.parse(text, TemplateKind.TEXT)
    except InvalidTemplateError as error:
        assert all(text[f.offset] in "{}" for f in error.faults)  # noqa: PT017 - both outcomes are legitimate
        assert any(pair in text for pair in ("{{", "}}"))
        return
    bare = re.sub(r"\{\{ *[ax_]+ *\}\}", "|", text)
    assert "{{" not in bare
    assert template.render({}) == re.sub(r"\{\{ *[ax_]+ *\}\}", "", text)
    depth = 0
    for run in re.findall(r"\{|\}+", bare):
        assert len(run) == 1 or len(run) <= depth
        depth = depth + 1 if run == "{" else max(0, depth - len(run))


@given(VALUES)
def test_a_value_is_not_read_again(value: str) -> None:
    assert Template.parse("{{a}}{{b}}", TemplateKind.TEXT).render({"a": "{{b}}", "b": value}) == "{{b}}" + value


@pytest.mark.parametrize("kind", TemplateKind)
def test_a_missing_value_is_nothing_but_the_recipient_is_never_missing(kind: TemplateKind) -> None:
    template = Template.parse("[{{a}}{{recipient}}]", kind)
    assert template.render({"recipient": "r", "b": "ignored"}) == "[r]"
    assert template.render({"recipient": "r", "a": ""}) == "[r]"
    for values in ({"a": "x"}, {"a": "x", "recipient": ""}):
        with pytest.raises(ValueError, match="recipient"):
            template.render(values)
    assert Template.parse("[{{a}}]", kind).render({}) == "[]"


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.seen: list[object] = []
        self.data = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, attrs))

    def handle_endtag(self, tag: str) -> None:
        self.seen.append(tag)

    def handle_comment(self, data: str) -> None:
        self.seen.append(("comment", data))

    def handle_data(self, data: str) -> None:
        self.data += data


@given(st.text("<>&\"'/=!-abs;#39 \n", min_size=1, max_size=30) | VALUES)
@example("<script>")
@example("' onclick='x")
@example('"><b>')
@example("&lt;")
def test_a_value_opens_no_tag_and_ends_no_attribute(value: str) -> None:
    assume("\r" not in value)
    assume("\0" not in value)
    template = Template.parse("<p title=\"{{v}}\" lang='{{v}}'>{{v}}</p>", TemplateKind.HTML)
    rendered = template.render({"v": value})
    parser = _Tags()
    parser.feed(rendered)
    parser.close()
    assert parser.seen == [("p", [("title", value), ("lang", value)]), "p"]
    assert parser.data == value


def test_escaping_by_kind() -> None:
    value = "<b a=\"c\" d='e'>&amp;</b>"
    escaped = "&lt;b a=&quot;c&quot; d=&#x27;e&#x27;&gt;&amp;amp;&lt;/b&gt;"
    for kind in TemplateKind:
        rendered = Template.parse("<i>{{v}}</i>&{{v}}", kind).render({"v": value})
        shown = escaped if kind is TemplateKind.HTML else value
        assert rendered == f"<i>{shown}</i>&{shown}"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("Ann\r\nBcc: eve@example.com", "Ann Bcc: eve@example.com"),
        ("a\n\n\tb", "a b"),
        ("a\0b", "a b"),
        ("a\u2028b\u2029c\x85d\x7fe", "a b c d e"),
        ("a\ud800b", "a b"),
        (" a  b ", " a  b "),
        ("<é>", "<é>"),
    ],
)
def test_a_value_stays_in_the_line(value: str, shown: str) -> None:
    assert Template.parse("Hi {{v}}!", TemplateKind.SUBJECT).render({"v": value}) == f"Hi {shown}!"


@given(st.text(max_size=30))
def test_no_value_opens_a_header(value: str) -> None:
    rendered = Template.parse("Hi {{v}}", TemplateKind.SUBJECT).render({"v": value})
    assert len(rendered.splitlines()) == 1
    assert not re.search(r"[\x00-\x1f\x7f-\x9f]", rendered)
    rendered.encode()  # no lone surrogate either


def test_equal_by_text_and_kind() -> None:
    assert Template.parse("{{a}}", TemplateKind.TEXT) == Template.parse("{{a}}", TemplateKind.TEXT)
    assert Template.parse("{{a}}", TemplateKind.TEXT) != Template.parse("{{a}}", TemplateKind.HTML)
    assert Template.parse("{{a}}", TemplateKind.TEXT) != Template.parse("{{A}}", TemplateKind.TEXT)


def test_what_a_changed_template_asks_of_a_list() -> None:
    def t(*texts: str) -> list[Template]:
        return [Template.parse(text, TemplateKind.TEXT) for text in texts]

    assert variables(t("{{b}}{{a}}", "{{A}}{{c}}")) == ("b", "a", "c")
    columns = ["recipient", " A ", "b"]
    assert changes(t("{{a}}"), t("{{a}}"), columns) == Changes((), (), ())
    assert changes(t("{{a}}{{z}}"), t("{{b}}", "{{a}}{{B}}"), columns) == Changes(("b",), ("z",), ())
    assert changes(t("{{c}}"), t("{{d}}{{c}}{{a}}"), columns) == Changes(("d", "a"), (), ("d", "c"))
    assert changes([], t("{{recipient}}{{x}}"), []) == Changes(("recipient", "x"), (), ("x",))


def test_codes_are_stable() -> None:
    assert {c.value for c in FaultCode} == {
        "control_character", "empty_name", "invalid_name", "name_too_long", "no_comments", "no_partials",
        "no_sections", "no_unescaped", "too_large", "too_many_placeholders", "too_many_variables", "unclosed",
        "unopened",
    }  # fmt: skip
