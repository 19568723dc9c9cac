import base64
import string
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shared.domain.content.unsubscribe import MAX_TOKEN, Unsubscription, read, sign
from shared.domain.sealing import MIN_KEY, Keys

OLD, NOW, OTHER = (c * MIN_KEY for c in "onx")
KEYS = Keys(NOW, (OLD,))
LETTERS = string.ascii_letters + string.digits + "-_"
FIELD = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=30)
WANTED = st.builds(Unsubscription, FIELD, FIELD, FIELD, st.booleans(), st.just("") | FIELD)
ANN = Unsubscription("acc_000000000001", "ann@example.com", "01k9zq3v5n8e7r2t4y6w1x0abc")


@given(WANTED)
@example(ANN)
def test_a_token_says_what_was_signed(wanted: Unsubscription) -> None:
    token = sign(KEYS, wanted)
    assert read(KEYS, token) == wanted
    assert set(token) <= set(LETTERS)
    assert token[-1].isalnum()
    assert token == sign(KEYS, wanted)


@given(WANTED, st.data())
def test_every_other_character_at_any_place_is_refused(wanted: Unsubscription, data: st.DataObject) -> None:
    token = sign(KEYS, wanted)
    place = data.draw(st.integers(0, len(token) - 1))
    other = data.draw(st.characters().filter(lambda c: c != token[place]))
    assert read(KEYS, token[:place] + other + token[place + 1 :]) is None


def test_every_bit_flip_is_refused() -> None:
    token = sign(KEYS, ANN)
    for place, old in enumerate(token):
        for other in {chr(ord(old) ^ 1 << bit) for bit in range(8)} | set(LETTERS) - {old}:
            assert read(KEYS, token[:place] + other + token[place + 1 :]) is None, (place, other)


@given(WANTED, st.integers(0, 40))
def test_a_token_cut_or_lengthened_is_refused(wanted: Unsubscription, by: int) -> None:
    token = sign(KEYS, wanted)
    assert read(KEYS, token[:-1][: -by - 1] + "1") is None
    assert read(KEYS, token + by * "1" + "1") is None
    assert read(KEYS, token[:-1] + "=" * by + "=1") is None
    assert read(KEYS, token + "\n") is None


@given(st.text(max_size=80) | st.text(LETTERS, max_size=80).map(lambda t: t + "1"))
@example("")
@example("1")
@example("A" * MAX_TOKEN + "1")
def test_an_unsigned_token_is_refused(text: str) -> None:
    assert read(KEYS, text) is None


@given(WANTED, WANTED)
def test_two_tokens_say_two_things(one: Unsubscription, other: Unsubscription) -> None:
    assert (sign(KEYS, one) == sign(KEYS, other)) == (one == other)


def test_a_key_that_was_replaced_still_verifies_and_no_longer_signs() -> None:
    before = sign(Keys(OLD), ANN)
    assert read(KEYS, before) == ANN
    assert sign(KEYS, ANN) != before
    assert read(Keys(OLD), sign(KEYS, ANN)) is None
    assert read(Keys(NOW, (OTHER, OLD)), before) == ANN


@given(WANTED)
def test_a_foreign_key_signs_nothing(wanted: Unsubscription) -> None:
    assert read(KEYS, sign(Keys(OTHER), wanted)) is None


def test_a_short_key_is_none() -> None:
    with pytest.raises(ValueError, match="fewer than 32"):
        Keys(NOW[1:])
    with pytest.raises(ValueError, match="fewer than 32"):
        Keys(NOW, ("",))


@pytest.mark.parametrize(
    "wanted",
    [
        Unsubscription("", "a", "j"),
        Unsubscription("acc", "", "j"),
        Unsubscription("acc", "a", ""),
        Unsubscription("acc", "a\0b", "j"),
        Unsubscription("acc", "a" * 700, "j"),
    ],
)
def test_what_cannot_be_signed(wanted: Unsubscription) -> None:
    with pytest.raises(ValueError, match="unsubscription"):
        sign(KEYS, wanted)


def test_the_longest_address_fits() -> None:
    longest = "l" * 64 + "@" + ".".join(["d" * 62] * 3)
    assert read(KEYS, sign(KEYS, Unsubscription(ANN.account, longest, ANN.job))) is not None


@pytest.mark.promise(9)
def test_a_token_is_unreadable_without_the_key() -> None:
    """Links stand in logs of proxies, browsers and mail filters."""
    one, other = (
        base64.urlsafe_b64decode(token[:-1] + "=" * (-len(token[:-1]) % 4))
        for token in (sign(KEYS, ANN), sign(KEYS, replace(ANN, address="bnn@example.com")))
    )
    for said in (b"acc_", b"ann", b"example", b"01k9", b"\0\0"):
        assert said not in one
    same = sum(a == b for a, b in zip(one, other, strict=True))
    assert same <= len(one) // 8, "whose fields are alike have tokens that are not"


def test_the_longest_policy_and_address_fit_into_a_header() -> None:
    wanted = Unsubscription("acc_" + "x" * 16, f"{'a' * 64}@{'b' * 185}.com", "j" * 26, policy="p" * 200)
    token = sign(KEYS, wanted)
    assert read(KEYS, token) == wanted
    assert (
        len(token)
        <= MAX_TOKEN
        < 998 - len("List-Unsubscribe: <https://abcdefghij.execute-api.eu-central-1.amazonaws.com>")
    )
