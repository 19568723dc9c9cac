"""Recipients: what is accepted, what is one mailbox, and that the fast path says what the library says."""
# ruff: noqa: RUF001 - names and addresses in many scripts are the subject here

import string
import subprocess
import sys
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shared.domain.recipients.addresses import (
    MAX_ADDRESS,
    MAX_INVALID,
    MAX_LOCAL,
    MAX_TEXT,
    Address,
    Invalid,
    InvalidCode,
    Parsed,
    _checked,
    _plain,
    address_hash,
    parse,
    parse_many,
    split_list,
)


def valid(text: str) -> Address:
    found = parse(text)
    assert isinstance(found, Address), found
    return found


def invalid(text: str) -> Invalid:
    found = parse(text)
    assert isinstance(found, Invalid), found
    assert found.code is InvalidCode.INVALID_ADDRESS
    return found


@pytest.mark.parametrize(
    ("text", "display", "address"),
    [
        ("ann@example.com", "", "ann@example.com"),
        ("  ann@example.com\t", "", "ann@example.com"),
        ("\u3000ann@example.com\u00a0", "", "ann@example.com"),
        ("<ann@example.com>", "", "ann@example.com"),
        ("Ann < ann@example.com >", "Ann", "ann@example.com"),
        ('"Lee, Ann" <ann@example.com>', "Lee, Ann", "ann@example.com"),
        ('"Ann \\"A\\" \\\\ Lee" <ann@example.com>', 'Ann "A" \\ Lee', "ann@example.com"),
        ('"a <b>" <ann@example.com>', "a <b>", "ann@example.com"),
        ('"Lee, Ann" at Example <ann@example.com>', "Lee, Ann at Example", "ann@example.com"),
        ("J. R. O'Neil (sales) <jr@example.com>", "J. R. O'Neil (sales)", "jr@example.com"),
        ("José Núñez <jose@example.com>", "José Núñez", "jose@example.com"),
        ("Jose\u0301 <jose@example.com>", "José", "jose@example.com"),
        ("נועה לוי <noa@example.com>", "נועה לוי", "noa@example.com"),
        ("می\u200cخواهم <m@example.com>", "می\u200cخواهم", "m@example.com"),
        ("山田 太郎 <taro@example.com>", "山田 太郎", "taro@example.com"),
        ("=?utf-8?B?5bGx55Sw?= =?utf-8?Q?_Jos=C3=A9?= <taro@example.com>", "山田 José", "taro@example.com"),
        ("=?no-such-charset?B?5bGx?= <taro@example.com>", "=?no-such-charset?B?5bGx?=", "taro@example.com"),
        ('"=?utf-8?B?5bGx55Sw?=" <taro@example.com>', "=?utf-8?B?5bGx55Sw?=", "taro@example.com"),
        ("ann@example.com <ann@example.com>", "ann@example.com", "ann@example.com"),
    ],
)
def test_names_and_brackets(text: str, display: str, address: str) -> None:
    found = valid(text)
    assert (found.display, found.address) == (display, address)


@pytest.mark.parametrize(
    ("text", "address", "key", "smtputf8"),
    [
        ("Ann.Lee+News@Example.COM", "Ann.Lee+News@example.com", "ann.lee+news@example.com", False),
        ("Info@Example.com", "Info@example.com", "info@example.com", False),
        ("a@münchen.example", "a@xn--mnchen-3ya.example", "a@xn--mnchen-3ya.example", False),
        ("a@MÜNCHEN.example", "a@xn--mnchen-3ya.example", "a@xn--mnchen-3ya.example", False),
        ("a@mu\u0308nchen.example", "a@xn--mnchen-3ya.example", "a@xn--mnchen-3ya.example", False),
        ("A@XN--MNCHEN-3YA.example", "A@xn--mnchen-3ya.example", "a@xn--mnchen-3ya.example", False),
        ("a@例え。example", "a@xn--r8jz45g.example", "a@xn--r8jz45g.example", False),
        ("a@straße.example", "a@xn--strae-oqa.example", "a@xn--strae-oqa.example", False),
        ("JOSÉ@example.com", "JOSÉ@example.com", "josé@example.com", True),
        ("jose\u0301@example.com", "josé@example.com", "josé@example.com", True),
        ("ΟΔΟΣ@example.com", "ΟΔΟΣ@example.com", "οδος@example.com", True),
        ("用户@例え.example", "用户@xn--r8jz45g.example", "用户@xn--r8jz45g.example", True),
        ("\u212aate@example.com", "Kate@example.com", "kate@example.com", False),
    ],
)
def test_the_same_mailbox_has_one_key(text: str, address: str, key: str, smtputf8: bool) -> None:  # noqa: FBT001
    assert valid(text) == Address("", address, key.replace("οδος", "οδο\u03c2"), smtputf8)


@pytest.mark.parametrize(
    "domain",
    ["example.com", "example.net", "example.org", "mail.example", "mail.test", "test.posthaste", "münchen.test"],
)
def test_reserved_names_for_tests_and_magic_recipients_are_accepted(domain: str) -> None:
    assert valid(f"bounce@{domain}").key.startswith("bounce@")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty"),
        (" \t ", "empty"),
        ("ann.example.com", "no @"),
        ("ann＠example.com", "full-width @"),
        ("ann@lee@example.com", "more than one @"),
        ("@example.com", "nothing before the @"),
        ("ann@", "nothing after the @"),
        ("<>", "no @"),
        ("ann>", "without an opening one"),
        (".ann@example.com", "cannot start with a period"),
        ("ann.@example.com", "immediately before the @-sign"),
        ("an..n@example.com", "two periods in a row"),
        ("an n@example.com", "invalid characters before the @-sign"),
        ("ann@exam ple.com", "invalid characters"),
        ("ann@exam_ple.com", "invalid characters"),
        ("ann@-example.com", "hyphen"),
        ("ann@example..com", "two periods in a row"),
        ("ann@example.com.", "cannot end with a period"),
        ("ann@example", "should have a period"),
        ("ann@test", "at least one period"),
        ("ann@example.123", "top-level domain"),
        ("ann@mail.invalid", "special-use or reserved"),
        ("ann@server.local", "special-use or reserved"),
        ("ann@ab--cd.example.com", "two letters followed by two dashes"),
        ("ann@xn--zzzzzzzzz.com", "not valid IDNA"),
        ("ann@[127.0.0.1]", "IP address in brackets"),
        ('"ann lee".x@example.com', "Quotes before the @"),
        ("mailto:ann@example.com", "invalid characters before the @-sign"),
        ("ann@example.com (Ann)", "invalid characters"),
        ("a\u037eb@example.com", "Unicode normalization"),
        ("a" * (MAX_LOCAL + 1) + "@example.com", "too long before the @-sign"),
        ("é" * (MAX_LOCAL // 2 + 1) + "@example.com", "longer than 64 bytes"),
        (f"ann@{'a' * 64}.example.com", "so many characters"),
        (f"ann@{'aaaaaaaaa.' * 26}example", "too long"),
        (f"{'n' * MAX_TEXT} <ann@example.com>", "longer than 998 characters"),
        ("Lee, Ann <ann@example.com>", "quote it"),
        ("a@example.com; Ann <ann@example.com>", "quote it"),
        ("<a@example.com> <ann@example.com>", "quote it"),
        ('Ann "A <ann@example.com>', "quote it"),
        ('"Ann <ann@example.com', "Quotes before the @"),
    ],
)
def test_what_is_no_address_is_refused_with_a_reason(text: str, reason: str) -> None:
    assert reason in invalid(text).reason


@pytest.mark.parametrize("control", ["\n", "\r", "\r\n", "\0", "\x0b", "\x1f", "\x7f", "\x85", "\u2028", "\ud800"])
@pytest.mark.parametrize(
    "place",
    ["ann@example.com{}Bcc: eve@example.com", "an{}n@example.com", "A{}nn <ann@example.com>", "{}a@example.com"],
)
def test_no_control_character_can_reach_a_header(control: str, place: str) -> None:
    found = invalid(place.format(control))
    assert "control character" in found.reason
    assert found.text.encode()
    assert not any(unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") for c in found.text)


def test_an_encoded_name_cannot_smuggle_a_line_break() -> None:
    assert "malformed" in invalid("=?utf-8?Q?Ann=0D=0ABcc:_eve?= <ann@example.com>").reason


def test_the_text_of_an_invalid_recipient_is_bounded() -> None:
    assert invalid("n" * 100_000).text == "n" * MAX_INVALID


@pytest.mark.parametrize(
    "text",
    [
        "sécrèt{}@sécrèt..example",
        "secret secret@example.com",
        "secret@xn--secret.example",
        "secret@1.אב.com",
        "secret@sec\u0640ret\u30fb.example",
        "s\u037eecret@example.com",
        f"{'secret' * 20}@example.com",
        f"a@{'secret' * 20}.example.com",
        "secret@secret@secret",
        "secret, secret <secret@example.com>",
    ],
)
def test_a_reason_never_quotes_the_address(text: str) -> None:
    reason = invalid(text).reason
    assert "secret" not in reason
    assert reason.isascii()
    assert reason.endswith(".")


def test_split_list() -> None:
    text = 'a@example.com, "Lee, Ann" <b@example.com>,, \r\n 例え <c@例え.example> ,"un, closed'
    assert split_list(text) == [
        "a@example.com",
        '"Lee, Ann" <b@example.com>',
        "例え <c@例え.example>",
        '"un',
        "closed",
    ]
    assert split_list(' 5" nails <a@example.com>, 6" nails <b@example.com>') == [
        '5" nails <a@example.com>',
        '6" nails <b@example.com>',
    ]
    assert split_list('"a \\", b" <a@example.com>,b@example.com') == ['"a \\", b" <a@example.com>', "b@example.com"]
    assert split_list(" , ,\n") == []


def test_a_line_break_inside_an_entry_stays_for_parse_to_refuse() -> None:
    (entry,) = split_list("a@example.com\nBcc: eve@example.com")
    assert "control character" in invalid(entry).reason


def test_parse_many_keeps_the_order_and_the_first_of_each() -> None:
    parsed = parse_many(
        [
            "Ann <Ann@example.com>",
            "nobody",
            "b@MÜNCHEN.example",
            "ann@EXAMPLE.com",
            " nobody ",
            "Nobody",
            "b@xn--mnchen-3ya.example",
            "",
        ]
    )
    assert [r.address if isinstance(r, Address) else r.text for r in parsed.recipients] == [
        "Ann@example.com",
        "nobody",
        "b@xn--mnchen-3ya.example",
        "Nobody",
        "",
    ]
    assert parsed.duplicates == 3
    assert parsed.recipients[0] == Address("Ann", "Ann@example.com", "ann@example.com", smtputf8=False)
    assert parse_many([]) == Parsed((), 0)


def test_address_hash_is_the_sha_256_of_the_key() -> None:
    assert address_hash("ann@example.com") == "71d4f55f72fa128dfb468a1a3901507c804b74316488744d769d7f4b16696476"
    assert address_hash("josé@example.com") != address_hash("jose@example.com")


def test_plain_addresses_do_not_load_the_library() -> None:
    program = (
        "import sys; from shared.domain.recipients.addresses import parse; "
        "parse('Ann <ann@example.com>'); print('email_validator' in sys.modules); "
        "parse('ann@例え.example'); print('email_validator' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert done.stdout.split() == ["False", "True"]


atext = st.sampled_from(string.ascii_letters + string.digits + "!#$%&'*+-/=?^_`{|}~")
locals_ = st.lists(st.text(atext, min_size=1, max_size=40), min_size=1, max_size=3).map(".".join)
labels = st.from_regex(r"[A-Za-z0-9]([A-Za-z0-9-]{0,70}[A-Za-z0-9])?", fullmatch=True)
tlds = st.sampled_from(["com", "Example", "TEST", "local", "Invalid", "arpa", "onion", "c0m", "c-m", "x1", "1", "c"])
ldh = st.tuples(st.lists(labels, max_size=5), tlds).map(lambda p: ".".join([*p[0], p[1]]))
near = st.text(alphabet="aZ0!~.-@xn \xe9", max_size=70)
specs = st.one_of(
    st.tuples(locals_, ldh).map("@".join),
    st.tuples(near, ldh).map("@".join),
    st.tuples(locals_, near).map("@".join),
    near,
)


@given(specs)
@example("a" * MAX_LOCAL + "@example.com")
@example("a" * (MAX_LOCAL + 1) + "@example.com")
@example("a@" + "a" * 63 + ".com")
@example("a@" + "a" * 64 + ".com")
@example("a@example." + "a" * 64)
@example("a@" + ("a" * 49 + ".") * 5 + "cc")
@example("a@" + ("a" * 49 + ".") * 5 + "ccc")
@example("Postmaster@example.com")
@example("a@xn--mnchen-3ya.example")
@example("a@ab--cd.example")
@example("a@mail.Local")
@example("a@local")
@example("a@test")
@example("a@example.com\n")
def test_the_fast_path_says_what_the_library_says(spec: str) -> None:
    fast = _plain("", spec)
    checked = _checked("", spec, spec)
    assert fast is None or fast == checked


@given(st.tuples(st.from_regex(r"[a-z][a-z0-9]{0,20}([._+-][a-z0-9]{1,20})?", fullmatch=True), labels))
def test_ordinary_addresses_take_the_fast_path(parts: tuple[str, str]) -> None:
    local, label = parts
    taken = _plain("", f"{local}@{label}.example.com") is not None
    assert taken == (len(label) <= 63 and "--" not in label)


def test_the_longest_address_is_the_same_on_both_paths() -> None:
    spec = "a" * MAX_LOCAL + "@" + ("b" * 61 + ".") * 3 + "cc"
    spec = spec.replace("@", "@b", 1)
    assert len(spec) == MAX_ADDRESS
    assert _plain("", spec) == _checked("", spec, spec) == Address("", spec, spec, smtputf8=False)
    assert _plain("", spec + "c") is None
    assert isinstance(_checked("", spec + "c", ""), Invalid)


def invalid_or_sound(found: Address | Invalid) -> bool:
    """What holds of every answer, whatever was asked."""
    if isinstance(found, Invalid):
        return len(found.text) <= MAX_INVALID and bool(found.text.encode()) >= bool(found.text)
    local, _, domain = found.address.rpartition("@")
    again = parse(found.address)
    return (
        domain.isascii()
        and domain == domain.lower()
        and "." in domain
        and found.smtputf8 == (not local.isascii())
        and unicodedata.is_normalized("NFC", found.address)
        and isinstance(again, Address)
        and (again.address, again.key, again.smtputf8) == (found.address, found.key, found.smtputf8)
        and not any(unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") for c in found.display + found.address)
        and valid(found.key).key == found.key
    )


@given(st.text(max_size=60))
def test_any_text_gives_an_answer(text: str) -> None:
    assert invalid_or_sound(parse(text))
    assert all(invalid_or_sound(r) for r in parse_many(split_list(text)).recipients)


international = st.tuples(
    st.text(st.characters(categories=["L", "N", "M"], include_characters="._+"), min_size=1, max_size=12),
    st.text(st.characters(categories=["L", "N", "M"], include_characters="-."), min_size=1, max_size=12),
)


@given(international)
@example(("İstanbul", "xn--"))
@example(("ǅ", "ΑΣ"))
def test_any_international_address_gives_a_sound_answer(parts: tuple[str, str]) -> None:
    assert invalid_or_sound(parse(f"Name <{parts[0]}@{parts[1]}.example>"))


@given(st.text(alphabet=string.ascii_letters + "éàçñß", min_size=1, max_size=12), st.sampled_from(["x", "mün", "例え"]))
def test_case_never_makes_another_mailbox(local: str, label: str) -> None:
    upper, lower = f"{local.upper()}@{label.upper()}.EXAMPLE", f"{local.upper().lower()}@{label}.example"
    assert valid(upper).key == valid(lower).key


names = st.text(st.characters(exclude_categories=["C", "Zl", "Zp"]), max_size=30)


@given(st.lists(st.tuples(names, st.integers(0, 99)), max_size=8))
def test_quoted_names_survive_a_list(people: list[tuple[str, int]]) -> None:
    quoted = [name.replace("\\", "\\\\").replace('"', '\\"') for name, _ in people]
    entries = split_list(", ".join(f'"{q}" <u{n}@example.com>' for q, (_, n) in zip(quoted, people, strict=True)))
    assert [(valid(e).display, valid(e).address) for e in entries] == [
        (unicodedata.normalize("NFC", name).strip(), f"u{n}@example.com") for name, n in people
    ]


@given(st.lists(st.sampled_from(["a@example.com", "A@example.com", "Ä@example.com", "ä@example.com", "x", "y", "x "])))
def test_parse_many_loses_nothing(texts: list[str]) -> None:
    parsed = parse_many(texts)
    assert len(parsed.recipients) + parsed.duplicates == len(texts)
    keys = [r.key if isinstance(r, Address) else r.text for r in parsed.recipients]
    assert len(keys) == len(set(keys))
    assert {r.key if isinstance(r, Address) else r.text for r in map(parse, texts)} == set(keys)


@pytest.mark.parametrize(
    "mark",
    ["\u200b", "\u200e", "\u2060", "\ufeff", "\u2009", "\u00ad", "\u00a0", "\u202f", "\u3164", "\u2800", "\ufe0f"],
)
def test_what_is_invisible_around_an_address_is_no_part_of_it(mark: str) -> None:
    for text in (f"{mark}ann@example.com", f"ann@example.com{mark}", f" {mark} <ann@example.com>{mark}"):
        assert parse(text) == parse("ann@example.com")


def test_what_is_invisible_within_an_address_is_named() -> None:
    found = parse("an\u200bn@example.com")
    assert isinstance(found, Invalid)
    assert found.reason == "The address has an invisible character (U+200B)."
