"""Local parts in quotes, and those of mobile operators that need them: what is accepted, and what is one mailbox."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.domain.erasure import mentions
from shared.domain.mails.envelope import return_path
from shared.domain.recipients.addresses import MAX_ADDRESS, MAX_LOCAL, Address, Invalid, parse, parse_many, split_list
from shared.domain.recipients.local_parts import spellings
from shared.domain.recipients.reader import EmailReader
from tests.tiers import examples


def valid(text: str) -> Address:
    found = parse(text)
    assert isinstance(found, Address), found
    return found


def reason(text: str) -> str:
    found = parse(text)
    assert isinstance(found, Invalid), found
    return found.reason


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ('"john doe"@example.com', '"john doe"@example.com'),
        ('"a..b"@Example.com', '"a..b"@example.com'),
        ('"name."@bücher.example', '"name."@xn--bcher-kva.example'),
        ('"doe, john (x); [y]: z"@example.com', '"doe, john (x); [y]: z"@example.com'),
        (r'"a\"b\\c"@example.com', r'"a\"b\\c"@example.com'),
        (r'"a\.\.b"@example.com', '"a..b"@example.com'),
        ('"jörg müller"@example.com', '"jörg müller"@example.com'),
        ("a..b@docomo.ne.jp", '"a..b"@docomo.ne.jp'),
        ("name.@EZWEB.ne.jp", '"name."@ezweb.ne.jp'),
        (".name@b2.ezweb.ne.jp", '".name"@b2.ezweb.ne.jp'),
        ("user..name.@docomo.ne.jp", '"user..name."@docomo.ne.jp'),
    ],
)
def test_a_local_part_that_needs_quotes_has_them(text: str, address: str) -> None:
    assert valid(text).address == valid(f"<{text}>").address == valid(f"Ann <{text}>").address == address
    assert valid(address).address == address


@pytest.mark.parametrize(
    "text", ['"john"@example.com', '"john.doe"@example.com', r'"j\o\hn"@example.com', '"jörg"@a.test']
)
def test_quotes_that_are_not_needed_are_left_out(text: str) -> None:
    plain = text.replace('"', "").replace("\\", "")
    assert valid(text) == valid(plain)


def test_all_spellings_of_a_mailbox_have_one_key() -> None:
    spelt = ["A..b@docomo.ne.jp", '"a..B"@DOCOMO.ne.jp', r'"a.\.b"@docomo.ne.jp', 'Ann <"a..b"@docomo.ne.jp>']
    assert {valid(text).key for text in spelt} == {'"a..b"@docomo.ne.jp'}
    parsed = parse_many([*spelt, '"john"@docomo.ne.jp', "John@docomo.ne.jp"])
    assert (len(parsed.recipients), parsed.duplicates) == (2, 4)


@pytest.mark.parametrize("domain", ["gmail.com", "notdocomo.ne.jp", "docomo.ne.jp.example", "softbank.ne.jp"])
@pytest.mark.parametrize("local", ["a..b", ".a", "a."])
def test_elsewhere_such_periods_are_a_slip_and_the_reason_names_the_way(local: str, domain: str) -> None:
    assert "period" in reason(f"{local}@{domain}")
    assert reason(f"{local}@{domain}").endswith("write what is before the @ in quotes.")
    assert valid(f'"{local}"@{domain}').address == f'"{local}"@{domain}'


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('""@example.com', "nothing before the @"),
        ('"  "@example.com', "nothing before the @"),
        ('"a@b"@example.com', "An @ or an angle bracket"),
        ('"a<b"@example.com', "An @ or an angle bracket"),
        ('"a b>"@example.com', "An @ or an angle bracket"),
        ('"a\u200bb c"@example.com', "an invisible character (U+200B)"),
        ('"a\ue000b c"@example.com', "a character in quotes"),
        ('"a\ufffd c"@example.com', "not read as UTF-8"),
        ('"a\tb"@example.com', "control character"),
        ('"a"b"@example.com', "have to surround"),
        ('"a".b@example.com', "have to surround"),
        ('b."a"@example.com', "have to surround"),
        ('"a b"@localhost', "period"),
        ('"a b"@[192.0.2.1]', "IP address in brackets"),
        ('"a b"@', "nothing after the @"),
        ("...@docomo.ne.jp", "period"),
        ("a b@docomo.ne.jp", "invalid characters"),
        (f'"{"a " * 32}"@example.com', f"longer than {MAX_LOCAL} bytes"),
        (f'"aaa b"@{"aaaaaaaaa." * 24}example', f"longer than {MAX_ADDRESS} bytes"),
    ],
)
def test_what_is_no_such_address_is_refused_with_a_reason(text: str, words: str) -> None:
    assert words in reason(text)


def test_a_comma_in_quotes_ends_no_recipient() -> None:
    text = 'a@example.com, "doe, john"@example.com, Ann <"doe, ann"@example.com>'
    assert split_list(text) == ["a@example.com", '"doe, john"@example.com', 'Ann <"doe, ann"@example.com>']


def test_lists_read_them_as_the_other_doors_do() -> None:
    reader = EmailReader()
    for text in ["x@docomo.ne.jp", "A..b@docomo.ne.jp", '"john doe"@example.com', 'Ann <"x y"@example.com>']:
        found = valid(text)
        assert reader.read(text) == (found.address, found.key, found.display)


def test_return_paths_take_them_too() -> None:
    assert return_path("a..b@docomo.ne.jp") == valid('"a..b"@docomo.ne.jp')
    assert return_path('"john doe"@example.com') == valid('"john doe"@example.com')


def test_a_person_is_erased_in_both_spellings() -> None:
    names = spellings(valid("A..b@docomo.ne.jp").key)
    assert names == {'"a..b"@docomo.ne.jp', "a..b@docomo.ne.jp"}
    assert mentions("Ask a..b@docomo.ne.jp", names)
    assert mentions('Ask "a..b"@docomo.ne.jp', names)
    assert spellings("ann@example.com") == {"ann@example.com"}


@settings(max_examples=examples(60))
@given(st.text(st.characters(codec="utf-8"), max_size=20) | st.text('ab."\\ @<', max_size=20))
def test_whatever_is_in_quotes_has_one_form(content: str) -> None:
    escaped = content.replace("\\", "\\\\").replace('"', '\\"')
    found = parse(f'"{escaped}"@example.com')
    if isinstance(found, Address):
        assert parse(found.address) == found
        assert valid(found.key).key == found.key
        assert not set("<>@") & set(found.address[:-12])
