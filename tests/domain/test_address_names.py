import hashlib
import hmac

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.domain.recipients.address_names import (
    MOST,
    MOVE_MS,
    PLAIN,
    SWITCH_MS,
    NameKeys,
    Names,
    NamesState,
    bound,
    digits,
    generation_of,
    is_stand_in,
    person,
    stand_in,
)
from shared.domain.recipients.addresses import address_hash
from tests.tiers import examples

ANN = "ann@example.com"
ONE, TWO, THREE = (name * 12 for name in ("one-k", "two-k", "three"))
KEYS = NameKeys((ONE, TWO, THREE))


def test_a_name_without_a_key_is_what_earlier_versions_stored() -> None:
    assert KEYS.name(ANN, PLAIN) == Names().new(ANN) == address_hash(ANN)
    assert Names().all(ANN) == [address_hash(ANN)]


def test_each_key_is_over_the_name_before() -> None:
    first = hmac.digest(ONE.encode(), hashlib.sha256(ANN.encode()).digest(), "sha256")
    second = hmac.digest(TWO.encode(), first, "sha256")
    assert [KEYS.name(ANN, n) for n in (1, 2)] == [f"k{first.hex()}", f"l{second.hex()}"]


@given(st.text(min_size=1), st.integers(0, 3), st.integers(0, 3))
@settings(max_examples=examples(50))
def test_a_name_is_raised_without_its_address(address: str, own: int, target: int) -> None:
    name = KEYS.name(address, own)
    assert generation_of(name) == own
    assert KEYS.raised(name, target) == KEYS.name(address, max(own, target))


@given(st.lists(st.text(min_size=1), min_size=1, max_size=5))
@settings(max_examples=examples(20))
def test_names_sort_by_their_generation(addresses: list[str]) -> None:
    by_generation = [[KEYS.name(x, n) for x in addresses] for n in range(4)]
    for n, names in enumerate(by_generation[1:], 1):
        assert max(by_generation[n - 1]) < bound(n) < min(names)
        assert all(len(bytes.fromhex(digits(x))) == 32 for x in names)


def test_another_key_makes_other_names() -> None:
    assert NameKeys((TWO,)).name(ANN, 1) != NameKeys((ONE,)).name(ANN, 1)


def test_an_erased_address_and_a_person_in_the_audit_log_are_their_name() -> None:
    plain, keyed = address_hash(ANN), KEYS.name(ANN, 2)
    assert (stand_in(plain), stand_in(keyed)) == (f"sha256:{plain}", f"hmac:{keyed}")
    assert (person(plain), person(keyed)) == (f"sha256:{plain[:16]}", f"hmac:{keyed[:17]}")
    assert is_stand_in(stand_in(plain))
    assert is_stand_in(stand_in(keyed))
    assert not is_stand_in(ANN)


def test_a_name_of_a_key_that_is_not_known_is_none() -> None:
    with pytest.raises(LookupError):
        NameKeys((ONE,)).name(ANN, 2)


@pytest.mark.parametrize("keys", [("short",), ("",), ("x" * 40,) * (MOST + 1)])
def test_keys_that_are_too_short_or_too_many_are_refused(keys: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="key"):
        NameKeys(keys)


def test_checks_recognise_keys_and_do_not_contain_them() -> None:
    assert KEYS.checks[:2] == NameKeys((ONE, TWO)).checks
    assert len(set(KEYS.checks)) == 3
    assert not any(key in repr(KEYS) for key in (ONE, TWO, THREE))


def test_names_get_the_key_only_when_every_process_knows_of_it() -> None:
    moving = NamesState(0, 1, at=1_000)
    assert list(moving.reading) == [0, 1]
    assert [moving.writing(1_000 + x) for x in (0, SWITCH_MS - 1, SWITCH_MS, MOVE_MS)] == [0, 0, 1, 1]
    assert MOVE_MS > SWITCH_MS
    settled = NamesState(1, 1, at=1_000)
    assert (list(settled.reading), settled.writing(0), settled.settled) == ([1], 1, True)
    assert not moving.settled
