import uuid
from dataclasses import replace

import pytest

from shared.domain.hours.zones import is_zone
from shared.domain.notices.notifier import (
    Notifier,
    PasswordHash,
    is_name,
    is_password,
    new_password,
    password_digest,
    with_password,
)

NOW = 1_790_000_000_000
HOUR = 3_600_000


def notifier(*passwords: str, **changes: object) -> Notifier:
    made = Notifier(
        name="clinic-1",
        account="acc_000000000001",
        id_space="5f0c7f0e-3f0b-4a53-9a58-1b7f2d6e8a11",
        timezone="Australia/Sydney",
        created_at=NOW,
        passwords=tuple(PasswordHash(password_digest(x)) for x in passwords),
    )
    made = replace(made, **changes)  # type: ignore[arg-type]
    assert all(x not in repr(made) for x in passwords)
    return made


def test_a_password_has_256_random_bits_and_is_stored_as_its_hash() -> None:
    password = new_password()
    assert is_password(password)
    assert password != new_password()
    assert not is_password(password + "x")
    assert not is_password("x" * len(password))
    known = notifier(password)
    assert known.accepts(password, NOW)
    assert not known.accepts(new_password(), NOW)
    assert password_digest(password) not in repr(known)


@pytest.mark.parametrize("state", ["disabled", "deleted"])
def test_a_notifier_that_is_disabled_or_deleted_accepts_no_password(state: str) -> None:
    password = new_password()
    assert not notifier(password, **{state: True}).accepts(password, NOW)


def test_two_passwords_are_valid_during_a_rotation() -> None:
    first, second, third = (new_password() for _ in range(3))
    once = with_password(notifier(first), second, NOW, NOW + HOUR)
    assert once.version == 2
    assert [once.accepts(x, NOW) for x in (first, second, third)] == [True, True, False]
    assert [once.accepts(x, NOW + HOUR) for x in (first, second)] == [False, True]
    twice = with_password(once, third, NOW + 1, NOW + 2 * HOUR)
    assert len(twice.passwords) == 2
    assert [twice.accepts(x, NOW + 1) for x in (first, second, third)] == [False, True, True]


def test_a_rotation_never_prolongs_a_password() -> None:
    first, second, third = (new_password() for _ in range(3))
    once = with_password(notifier(first), second, NOW, NOW)
    assert not once.accepts(first, NOW)
    again = with_password(once, third, NOW, NOW + HOUR)
    assert len(again.passwords) == 2
    assert not again.accepts(first, NOW)
    ending = with_password(again, new_password(), NOW, NOW + 9 * HOUR)
    assert ending.passwords[0].until == NOW + 9 * HOUR
    assert with_password(ending, first, NOW, NOW + HOUR).passwords[0].until == NOW + HOUR


@pytest.mark.parametrize(
    ("text", "good"), [("clinic-1", True), ("a", True), ("-a", False), ("A", False), ("a:b", False)]
)
def test_a_name_fits_into_keys_and_basic_credentials(text: str, *, good: bool) -> None:
    assert is_name(text) is good
    assert not is_name(text + "\n")
    assert not is_name("x" * 64)


def test_ids_of_two_notifiers_never_collide() -> None:
    mine = notifier()
    other = notifier(id_space=str(uuid.uuid4()))
    assert mine.notice_id("1") == mine.notice_id("1")
    assert len({mine.notice_id("1"), mine.notice_id("2"), other.notice_id("1")}) == 3
    assert uuid.UUID(mine.notice_id("1")).version == 5


def test_a_zone_is_one_of_the_iana_data_base() -> None:
    assert is_zone("Australia/Sydney")
    assert not is_zone("Australia/Nowhere")
    assert not is_zone("../../etc/passwd")
    assert notifier().zone.key == "Australia/Sydney"
