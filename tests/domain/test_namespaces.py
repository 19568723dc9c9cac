"""An account, its team space and its namespaces: who acts as whom."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.contracts import Credential
from shared.domain.accounts import ALL_SCOPES, TEST_SCOPES, default_scopes, is_account_id, is_key_text, new_key_text
from shared.domain.namespaces import (
    KeyKind,
    accounts_of,
    is_team,
    kind_of,
    namespace,
    namespaces_of,
    owner,
    team_space,
)

ACCOUNTS = st.from_regex(r"acc_[0-9a-z]{12}", fullmatch=True)


@given(ACCOUNTS)
def test_a_team_space_is_of_one_account_and_is_none_itself(account: str) -> None:
    space = team_space(account)
    assert owner(space) == owner(account) == account
    assert team_space(space) == space
    assert (is_team(space), is_team(account), is_account_id(space)) == (True, False, False)
    assert accounts_of(account) == (account, space)


@given(ACCOUNTS, ACCOUNTS)
def test_no_namespaces_of_two_accounts_are_the_same(one: str, other: str) -> None:
    names = set(namespaces_of(one))
    assert len(names) == 3
    assert one == other or names.isdisjoint(namespaces_of(other))


@given(ACCOUNTS)
def test_the_kind_of_a_thing_follows_from_its_account(account: str) -> None:
    assert kind_of(account, test=False) is KeyKind.LIVE
    assert kind_of(account, test=True) is KeyKind.TEST
    assert kind_of(team_space(account), test=False) is KeyKind.TEAM
    assert not is_team(namespace(account, test=True))
    assert namespace(team_space(account), test=True) == team_space(account)


@pytest.mark.parametrize("kind", list(KeyKind))
def test_the_text_of_a_key_begins_with_its_kind(kind: KeyKind) -> None:
    text = new_key_text(kind)
    assert text.startswith(f"ph_{kind.value}_")
    assert is_key_text(text)


def test_only_live_keys_have_the_scope_admin_by_default() -> None:
    assert {kind: default_scopes(kind) for kind in KeyKind} == {
        KeyKind.LIVE: ALL_SCOPES,
        KeyKind.TEAM: TEST_SCOPES,
        KeyKind.TEST: TEST_SCOPES,
    }


def test_a_team_key_uses_the_credentials_of_its_account_and_no_other() -> None:
    mine = Credential("one", "sendgrid", "email", 10, accounts=("acc_000000000001",))
    assert mine.open_to(team_space("acc_000000000001"))
    assert not mine.open_to(team_space("acc_000000000002"))
