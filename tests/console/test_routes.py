"""Every route of the console, from its table: who may not do it, and what its answers let a browser do.

A new route is in here by itself. A path's parameter needs an example in `path`.
"""

import html
import re
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from itertools import count
from typing import Any, Final

import pytest

from functions.console.rendering import POLICY
from functions.console.screen import PageRoute
from functions.console.screens import ROUTES
from shared.domain.accounts import Scope
from shared.domain.people import Identity, Role
from tests.api.conftest import Reply
from tests.api.watched import Watched
from tests.console.console import Console
from tests.console.examples import EXAMPLES, OLGA, Example, pages

ACME: Final = frozenset({"acme"})
MEMBERS: Final = {
    role: Identity("github", f"member-{role.value}", f"acme-{role.value}", organizations=ACME) for role in Role
}
STRANGER: Final = Identity("github", "stranger", "acme-stranger", organizations=ACME)
RIVAL: Final = Identity("github", "rival", "acme-rival", organizations=ACME)
LEAVER: Final = Identity("github", "leaver", "acme-leaver", organizations=ACME)
NUMBERS: Final = count(1)
POSTS: Final = [route for route in ROUTES if route.method == "POST"]
PAGES: Final = [route for route in ROUTES if route.method == "GET" and "{account}" in route.path]
OF_THINGS: Final = [x for x in ROUTES if "{account}" in x.path and x.path.count("{") > 1 and not x.operators]
GIVE_UP: Final = "give up a domain"
"""Routes whose address names something of an account."""
OF_ACCOUNTS: Final = [route for route in POSTS if "{account}" in route.path and not route.operators]
WRITES: Final = frozenset({"PutItem", "UpdateItem", "DeleteItem", "TransactWriteItems", "BatchWriteItem"})
FRAMES: Final = ("preview of a campaign", "preview of a template")
Directives = dict[str, list[str]]


def browser(example: Example, identity: Identity) -> Console:
    """Return another browser, in another network, in which somebody is signed in."""
    found = replace(example.console, cookies={}, address=f"2001:db8:{next(NUMBERS):x}::1")
    assert found.sign_in(identity).status == 303
    return found


@pytest.fixture(scope="module")
def operator(example: Example) -> Console:
    return browser(example, OLGA)


@pytest.fixture(scope="module")
def stranger(example: Example) -> Console:
    return browser(example, STRANGER)


@pytest.fixture(scope="module")
def members(example: Example) -> dict[Role, Console]:
    """The browsers of a member of each role."""
    for role, person in MEMBERS.items():
        example.console.services.people.invite("github", person.login, example.account, role)
    return {role: browser(example, person) for role, person in MEMBERS.items()}


@pytest.fixture(scope="module")
def rival(example: Example) -> tuple[str, Console]:
    """Another account, and the browser of its admin."""
    account = example.console.api.services.accounts.create_account("Rival", ["example.com"])
    example.console.services.people.invite("github", RIVAL.login, account, Role.ADMIN)
    return account, browser(example, RIVAL)


def token(console: Console, account: str = "") -> str:
    """Return the token of the forms of a browser's session. `account`: one that it may see, if it is another."""
    shown = (console.get(where).text for where in ("", f"/{account or console.account}"))
    found = (re.search(r'name="csrf" value="([^"]+)"', page) for page in shown)
    return html.unescape(next(match[1] for match in found if match))


def path(example: Example, route: PageRoute) -> str:
    """Return an address of a route, below the console."""
    named = {
        "account": example.account,
        "job": example.waiting,
        "campaign": example.draft,
        "template": example.template,
        "image": example.image,
        "hook": example.hook,
        "delivery": example.delivery,
        "window": example.window,
        "mail": example.mail,
        "message": "0.0",
        "notice": example.notice,
        "upload": "0" * 26,
        "credential": "one",
        "domain": "news.example.net",
        "key": example.key,
        "queue": "feedback",
    }
    return route.path.removeprefix("/console").format(**named)


@contextmanager
def nothing_written(example: Example) -> Iterator[None]:
    """Fail if a table is written to meanwhile; what an account may still ask for is not counted."""
    written: list[str] = []

    def note(model: Any, params: Any, **_: Any) -> None:
        if model.name in WRITES and params.get("Key", {}).get("sk") not in Watched.UNNOTED:
            written.append(model.name)

    events = example.console.client.meta.events
    events.register("before-parameter-build.dynamodb", note)
    try:
        yield
    finally:
        events.unregister("before-parameter-build.dynamodb", note)
    assert not written


def refused(example: Example, console: Console, route: PageRoute, form: dict[str, str]) -> Reply:
    """Ask for what a route does, which must change nothing; return the answer."""
    with nothing_written(example):
        return console.ask("POST", path(example, route), form=form)


def directives(policy: str) -> Directives:
    """Return a Content-Security-Policy by directive."""
    parts = [part.split() for part in policy.split(";")]
    return {name: values for name, *values in parts}


def test_the_table_has_routes_that_change_something() -> None:
    assert len(OF_ACCOUNTS) > 30
    assert not [route.name for route in POSTS if route.public], "what is public changes nothing"
    free = {route.name for route in POSTS if route.scope is Scope.READ and not route.operators}
    assert free == {"preview of a form", "make an account", "sign out", "sign out everywhere"}
    alone = {route.name for route in POSTS if "{account}" not in route.path and not route.operators}
    assert alone == {"make an account", "sign out", "sign out everywhere"}
    assert len({route.name for route in ROUTES}) == len(ROUTES)


@pytest.mark.parametrize("route", POSTS, ids=lambda x: x.name)
def test_nothing_is_done_without_the_token_of_the_session(
    example: Example, operator: Console, stranger: Console, route: PageRoute
) -> None:
    for form in ({}, {"csrf": ""}, {"csrf": token(stranger)}):
        got = refused(example, operator, route, form)
        assert got.status == 403
        assert "This form is not from your session" in got.text
        assert got.headers["content-security-policy"] == POLICY


@pytest.mark.slow
@pytest.mark.parametrize("route", OF_ACCOUNTS, ids=lambda x: x.name)
def test_nothing_is_done_by_a_role_that_does_not_include_it(
    example: Example, members: dict[Role, Console], route: PageRoute
) -> None:
    lacking = [role for role in Role if route.scope not in role.scopes]
    assert bool(lacking) is (route.scope is not Scope.READ)
    for role in lacking:
        got = refused(example, members[role], route, {"csrf": token(members[role])})
        assert got.status == 403
        assert f"Your role in this account is {role.value}" in got.text
        assert got.headers["content-security-policy"] == POLICY


def test_members_of_a_suspended_account_make_nothing_and_may_end_what_there_is(
    example: Example, members: dict[Role, Console]
) -> None:
    admin = members[Role.ADMIN]
    accounts = example.console.services.accounts
    form = {"csrf": token(admin)}
    accounts.suspend(example.account)
    try:
        for route in (x for x in OF_ACCOUNTS if not x.ends):
            got = refused(example, admin, route, form)
            assert (got.status, "The account is suspended" in got.text) == (403, True), route.name
        assert admin.ask("POST", f"/{example.account}/campaigns/preview", form=form).status == 200
    finally:
        accounts.unsuspend(example.account)
    assert {route.name for route in OF_ACCOUNTS if route.ends} == {
        *(
            "stop",
            "delete a campaign",
            "withdraw a list",
            "refuse a list",
            "delete a template",
            "delete an image",
            "cancel a window",
            "drop a destination",
        ),
        *("pause a webhook", "delete a webhook", "give up a domain", "suppress an address", "remove a member"),
        *("withdraw an invitation", "preview of a form", "preview of a change"),
    }


@pytest.mark.parametrize("route", [r for r in POSTS if "{account}" in r.path or r.operators], ids=lambda x: x.name)
def test_nothing_is_there_for_a_stranger(example: Example, stranger: Console, route: PageRoute) -> None:
    got = refused(example, stranger, route, {"csrf": token(stranger)})
    assert got.status == 404
    assert got.headers["content-security-policy"] == POLICY


@pytest.mark.parametrize("route", [r for r in PAGES if not r.operators], ids=lambda x: x.name)
def test_a_page_is_there_for_members_alone_and_open_to_roles_that_include_it(
    example: Example, members: dict[Role, Console], stranger: Console, route: PageRoute
) -> None:
    where = path(example, route)
    assert stranger.get(where).status == 404
    refusing = {role for role, console in members.items() if console.get(where).status == 403}
    assert refusing == {role for role in Role if route.scope not in role.scopes}


@pytest.mark.parametrize("route", OF_THINGS, ids=lambda x: f"{x.method} {x.name}")
def test_what_is_another_account_s_is_not_there_under_one_s_own(
    example: Example, rival: tuple[str, Console], route: PageRoute
) -> None:
    account, console = rival
    where = path(example, route).replace(example.account, account)
    form = {"csrf": token(console, account), "version": "1", "keys": "live"} if route.method == "POST" else None
    assert account in where
    with nullcontext() if route.name == GIVE_UP else nothing_written(example):
        got = console.ask(route.method, where, form=form)
    assert got.status == (303 if route.name == GIVE_UP else 404), "giving up what one has not is no fault"
    assert example.console.get(f"/{example.account}/senders/news.example.net").status == 200


@pytest.mark.parametrize("route", [r for r in ROUTES if r.operators], ids=lambda x: f"{x.method} {x.name}")
def test_what_is_for_operators_is_not_there_for_an_admin(
    example: Example, members: dict[Role, Console], route: PageRoute
) -> None:
    console = members[Role.ADMIN]
    form = {"csrf": token(console)} if route.method == "POST" else None
    with nothing_written(example):
        assert console.ask(route.method, path(example, route), form=form).status == 404


@pytest.mark.slow
@pytest.mark.parametrize("end", ["sign-out", "sign-out-everywhere"])
def test_nothing_is_done_in_a_session_that_has_ended(example: Example, end: str) -> None:
    example.console.api.world.clock.advance(1)
    console = browser(example, LEAVER)
    held, cookies = token(console), dict(console.cookies)
    assert console.ask("POST", f"/{end}", form={"csrf": held}).status == 303
    for route in POSTS:
        console.cookies.clear()
        console.cookies |= cookies
        got = refused(example, console, route, {"csrf": held})
        assert got.status == 303, route.name
        assert got.headers["location"].endswith("sign-in"), route.name


@pytest.mark.parametrize("page", pages())
def test_a_page_may_do_no_more_than_show_itself(example: Example, page: str) -> None:
    least = directives(POLICY)
    for where in EXAMPLES[page](example):
        got = example.console.get(f"/{where}".rstrip("/"))
        assert got.status == 200
        policy = directives(got.headers["content-security-policy"])
        assert "unsafe" not in str(policy)
        other = {name for name in {*policy, *least} if policy.get(name) != least.get(name)}
        assert other <= {"connect-src", "frame-src"}
        assert policy.get("frame-src", ["'self'"]) == ["'self'"]
        assert policy["connect-src"][0] == "'self'"
        assert "frame-src" not in policy or "<iframe" in got.text, "only what has a frame may show one"


def test_a_message_in_its_frame_may_do_nothing(example: Example) -> None:
    console = example.console
    shown = [console.get(path(example, route)) for route in ROUTES if route.name in FRAMES]
    form = {"csrf": token(console), "channel": "email", "subject": "Hello", "body": "<p>Hello</p>"}
    shown.append(console.ask("POST", f"/{example.account}/campaigns/preview", form=form))
    assert len(shown) == len(FRAMES) + 1
    for got in shown:
        assert got.status == 200
        policy = directives(got.headers["content-security-policy"])
        assert policy["default-src"] == policy["form-action"] == policy["base-uri"] == ["'none'"]
        assert policy["sandbox"] == []
        assert policy["frame-ancestors"] == ["'self'"]
        assert "script-src" not in policy
