"""An account of one's own: made once, with a key that is shown once, and no further right for the console."""

import html
import re
from dataclasses import replace

import pytest

from shared.domain.people import Identity, Role
from tests.api.conftest import Reply
from tests.console.console import ANN, Console
from tests.fakes.clock import FakeClock

KEY = re.compile(r"ph_live_[A-Za-z0-9_-]{43}")
BEN = Identity("github", "2", "ben", "Ben <b>Example</b>")


def fields(page: str) -> dict[str, str]:
    """Return the hidden fields of the form that makes an account."""
    form = page[page.index('id="own"') :]
    return {name: html.unescape(value) for name, value in re.findall(r'name="(\w+)" value="([^"]*)"', form)}


def offered(console: Console, who: Identity = ANN) -> dict[str, str]:
    console.sign_in(who)
    return fields(console.get("").text)


def key_of(got: Reply) -> str:
    found = KEY.search(got.text)
    return found[0] if found else ""


@pytest.mark.slow
def test_a_newcomer_makes_an_account_and_sees_its_key_once(console: Console) -> None:
    form = offered(console, BEN)
    assert not KEY.search(str(form)), "the page that offers has it sealed"
    got = console.ask("POST", "/join", form=form)
    assert got.status == 200
    key = console.api.services.accounts.find_by_key(key_of(got))
    assert key is not None
    assert got.headers["cache-control"] == "no-store"
    account = console.services.accounts.get(key.account)
    assert account is not None
    assert account.name == "Ben <b>Example</b>"
    ((user, membership),) = console.services.people.members(key.account)
    assert (user.login, membership.role, user.own) == ("ben", Role.ADMIN, key.account)
    assert console.get("").headers["location"].endswith(key.account)
    assert not KEY.search(console.get(f"/{key.account}").text)


def test_pressing_twice_shows_the_same_key_and_later_none(console: Console, clock: FakeClock) -> None:
    form = offered(console)
    first, again = console.ask("POST", "/join", form=form), console.ask("POST", "/join", form=form)
    assert key_of(first) == key_of(again) != ""
    clock.advance(600)
    late = console.ask("POST", "/join", form=form)
    assert late.status == 200
    assert key_of(late) == ""
    assert "its key was shown then" in late.text
    assert len(console.services.accounts.list_accounts()) == 2, "the one that was there, and one more"


def test_a_second_page_of_the_same_person_makes_no_second_account(console: Console) -> None:
    one = offered(console)
    other = fields(console.get("").text)
    key = console.api.services.accounts.find_by_key(key_of(console.ask("POST", "/join", form=one)))
    got = console.ask("POST", "/join", form=other)
    assert key_of(got) == ""
    assert key is not None
    assert set(re.findall(r"acc_[0-9a-z]{12}", got.text)) == {key.account}


@pytest.mark.slow
def test_a_console_that_stops_between_account_and_membership_goes_on_with_the_same_form(
    console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    form = offered(console)
    with monkeypatch.context() as patched:
        patched.setattr(type(console.services.people), "settle", lambda *_: 1 / 0)
        assert console.ask("POST", "/join", form=form).status == 500
    got = console.ask("POST", "/join", form=form)
    key = console.api.services.accounts.find_by_key(key_of(got))
    assert key is not None
    assert console.get(f"/{key.account}").status == 200
    assert len(console.services.accounts.list_accounts()) == 2


def test_another_person_s_form_an_old_one_and_a_made_up_one_make_nothing(console: Console, clock: FakeClock) -> None:
    bens = offered(console, BEN)["offer"]
    mine = offered(console)
    for offer in (bens, "nonsense", ""):
        got = console.ask("POST", "/join", form={**mine, "offer": offer})
        assert got.status == 409
    clock.advance(3601)
    assert console.ask("POST", "/join", form=mine).status == 409
    assert console.ask("POST", "/join", form={**mine, "csrf": "x"}).status == 403
    assert len(console.services.accounts.list_accounts()) == 1


def test_a_person_who_was_removed_from_their_account_does_not_come_back(console: Console) -> None:
    form = offered(console)
    key = console.api.services.accounts.find_by_key(key_of(console.ask("POST", "/join", form=form)))
    assert key is not None
    ((user, _),) = console.services.people.members(key.account)
    console.services.people.remove(user.id, key.account, by="user:other")
    assert console.ask("POST", "/join", form=form).status == 200
    assert console.services.people.members(key.account) == []
    assert "Make my account" not in console.get("").text


def test_without_the_function_people_have_to_be_invited(console: Console) -> None:
    console.services = replace(console.services, first_accounts=None)
    console.sign_in()
    page = console.get("").text
    assert "Make my account" not in page
    assert "You are not a member of an account yet" in page
    assert console.post("/join").status == 404
