"""Segments of short messages, against the `gsm0338` codec and a reckoning that really cuts the text up."""
# ruff: noqa: RUF001 - Greek letters are in the GSM alphabet, and typographic ones are not

import sys

import gsm0338
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from shared.domain.channels.sms import SMS
from shared.domain.content.sms import MAX_HINTS, Encoding, Forcing, Segments, forcing, segments, written

CODEC = gsm0338.Codec()
DOUBLES = "\f^{}\\[~]|€"
PLAIN = "@ΔaZ\n5ñ"


def septets(character: str) -> int:
    """Return how many septets a character takes, 0 if it has none."""
    if character == "\x1b":  # the escape itself: the codec knows it, no text can hold it
        return 0
    try:
        return len(CODEC.encode(character)[0])
    except UnicodeEncodeError:
        return 0


def cut(text: str) -> Segments:
    """Reckon by filling one segment after the other."""
    if all(septets(c) for c in text):
        encoding, alone, joined, sizes = Encoding.GSM_7, 160, 153, [septets(c) for c in text]
    else:
        sizes = [len(c.encode("utf-16-be", "surrogatepass")) // 2 for c in text]
        encoding, alone, joined = Encoding.UCS_2, 70, 67
    if sum(sizes) <= alone:
        return Segments(encoding, len(text), sum(sizes), 1)
    filled = [0]
    for size in sizes:
        if filled[-1] + size > joined:
            filled.append(0)
        filled[-1] += size
    return Segments(encoding, len(text), sum(sizes), len(filled))


@pytest.mark.slow
def test_the_alphabet_is_the_codecs() -> None:
    for code in (*range(0x3000), *range(0x3000, sys.maxunicode, 97)):
        character = chr(code)
        found = segments(character)
        expected = septets(character) if code < 0x3000 else 0
        if expected:
            assert found == Segments(Encoding.GSM_7, 1, expected, 1), character
        else:
            assert found == Segments(Encoding.UCS_2, 1, 2 if code > 0xFFFF else 1, 1), hex(code)


@pytest.mark.parametrize(
    ("text", "encoding", "units", "count"),
    [
        ("", "gsm7", 0, 1),
        ("a" * 160, "gsm7", 160, 1),
        ("a" * 161, "gsm7", 161, 2),
        ("a" * 306, "gsm7", 306, 2),
        ("a" * 307, "gsm7", 307, 3),
        ("€" * 80, "gsm7", 160, 1),
        ("€" * 80 + "a", "gsm7", 161, 2),
        ("€" * 152, "gsm7", 304, 2),
        ("€" * 153, "gsm7", 306, 3),
        ("€" * 380, "gsm7", 760, 5),
        ("€" * 381, "gsm7", 762, 6),
        ("a" * 152 + "€" + "a" * 151, "gsm7", 305, 2),
        ("a" * 152 + "€" + "a" * 152, "gsm7", 306, 3),
        ("\u4f60" * 70, "ucs2", 70, 1),
        ("\u4f60" * 71, "ucs2", 71, 2),
        ("\u4f60" * 134, "ucs2", 134, 2),
        ("\u4f60" * 135, "ucs2", 135, 3),
        ("\U0001f600" * 35, "ucs2", 70, 1),
        ("\U0001f600" * 36, "ucs2", 72, 2),
        ("\U0001f600" * 66, "ucs2", 132, 2),
        ("\U0001f600" * 67, "ucs2", 134, 3),
        ("é" * 69 + "ê", "ucs2", 70, 1),
        ("€" * 70 + "ê", "ucs2", 71, 2),
    ],
)
def test_segments(text: str, encoding: str, units: int, count: int) -> None:
    assert segments(text) == Segments(Encoding(encoding), len(text), units, count)


@given(st.text(st.sampled_from(PLAIN + DOUBLES), max_size=700))
@example("a" * 152 + "€" * 200)
@example("€" * 400)
def test_gsm_7_as_cut(text: str) -> None:
    assert segments(text) == cut(text)


@given(st.text(st.sampled_from(DOUBLES + "a"), min_size=60, max_size=100), st.integers(1, 8), st.integers(0, 4))
def test_gsm_7_over_many_segments(unit: str, times: int, shift: int) -> None:
    assert segments("a" * shift + unit * times) == cut("a" * shift + unit * times)


@given(st.text(st.sampled_from("aê\U0001f600\U0001f469\u200d€"), max_size=300), st.integers(1, 4))
def test_ucs_2_as_cut(unit: str, times: int) -> None:
    text = unit * times
    assume("ê" in text or "\u200d" in text or "\U0001f600" in text)
    assert segments(text) == cut(text)


@given(st.text(max_size=300))
def test_any_text_as_cut(text: str) -> None:
    assert segments(text) == cut(text)


@given(st.text(st.characters(), max_size=40) | st.text(st.sampled_from(PLAIN + "“ê\t"), max_size=40))
def test_what_forces_ucs_2(text: str) -> None:
    hints = forcing(text)
    assert bool(hints) == (segments(text).encoding is Encoding.UCS_2)
    assert [h.character for h in hints] == list(dict.fromkeys(c for c in text if not septets(c)))[:MAX_HINTS]
    assert [h.offset for h in hints] == [text.index(h.character) for h in hints]
    for hint in hints:
        text = text if hint.instead is None else text.replace(hint.character, hint.instead)
    assert all(h.instead is None for h in forcing(text))


def test_a_hint_says_what_to_write_instead() -> None:
    assert forcing("It’s ê and ’") == (Forcing("’", 2, "'"), Forcing("ê", 5, None))
    assert [h.instead for h in forcing("“x”…\u00a0\t–`\u200b")] == ['"', '"', "...", " ", " ", "-", "'", ""]
    assert len(forcing("".join(map(chr, range(0x4E00, 0x4E00 + 50))))) == MAX_HINTS


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ("Cafe\u0301 a\u0300", "Caf\u00e9 \u00e0"),
        ("\u212b \u2126", "\u00c5 \u03a9"),  # signs that are letters of GSM 7
        ("\ufeffHi\u00ad \u200bAnn\u2060\u200e!", "Hi Ann!"),
        ("\u202a+49 151\u202c and \u2068Ann\u2069", "+49 151 and Ann"),
        ("\U0001f469\u200d\U0001f4bb \u2764\ufe0f", "\U0001f469\u200d\U0001f4bb \u2764\ufe0f"),
        ("\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645", "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645"),
        ("\u05e9\u05dc\u05d5\u05dd\u200e C++\u200f", "\u05e9\u05dc\u05d5\u05dd\u200e C++\u200f"),
        ("abc\u202e123\u202c", "abc\u202e123\u202c"),
        ("\u0e01\u0e02\u200b\u0e04", "\u0e01\u0e02\u200b\u0e04"),
        ("\ufa19\u5c71", "\ufa19\u5c71"),  # a name with a variant of its letter
        ("\uac00 \u1100\u1161", "\uac00 \uac00"),
        ("plain", "plain"),
    ],
)
def test_a_text_is_sent_composed_and_without_marks_that_show_nothing(given: str, sent: str) -> None:
    assert written(given) == sent
    assert SMS.segments(given) == SMS.segments(sent) == segments(sent)


@given(st.text(max_size=60) | st.text(st.sampled_from("ae\u0301\u0300\u200b\u200e\u05d0"), max_size=20))
def test_what_is_written_is_written_as_it_is(text: str) -> None:
    assert written(written(text)) == written(text)
