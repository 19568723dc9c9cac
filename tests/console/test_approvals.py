"""Approvals at the console: a page of what waits, its approval by another member, and the limit."""

import pytest

from shared.domain.people import Identity, Role
from tests.console.campaigns import fields, with_list
from tests.console.console import ANN, Console

ACME = frozenset({"acme"})
BEA = Identity("github", "bea", "Bea", "Bea Careful", organizations=ACME)
DAY = 86_400


@pytest.fixture
def console(console: Console) -> Console:
    """Return a console of two members, who have been that for a day. Ann is signed in, and all lists wait."""
    console.member(BEA)
    console.member(ANN)
    limited(console, which="every")
    console.api.world.clock.advance(DAY + 1)
    console.member(ANN)
    return console


def limited(console: Console, **limit: str) -> None:
    """Set or propose a limit by the form and its question."""
    query = "&".join(f"{name}={value}" for name, value in limit.items())
    asked = fields(console.shown(f"/approvals/limit?{query}"))
    assert console.post(f"/{console.account}/approvals/limit", **asked).status == 303


def asked(console: Console) -> str:
    """Have a list wait, and return its campaign."""
    campaign = with_list(console)
    form = fields(console.shown(f"/campaigns/{campaign}/send"))
    got = console.post(f"/{console.account}/campaigns/{campaign}/send", **form)
    assert got.status == 303
    assert got.headers["location"].endswith(f"campaigns/{campaign}")
    return campaign


def decide(console: Console, campaign: str, what: str, **more: str) -> int:
    """Answer what the page of a request asks, and return the status."""
    form = fields(console.shown(f"/campaigns/{campaign}/{what}"))
    return console.post(f"/{console.account}/campaigns/{campaign}/{what}", **form, **more).status


@pytest.mark.slow
def test_another_member_approves_what_the_page_shows(console: Console) -> None:
    campaign = asked(console)
    page = console.shown(f"/campaigns/{campaign}")
    assert "The list waits for approval" in page
    mine = console.shown(f"/campaigns/{campaign}/approve")
    assert "You asked for this" in mine
    assert "Approve and send" not in mine
    assert decide(console, campaign, "approve") == 409
    console.member(BEA)
    assert campaign in console.shown("/approvals")
    theirs = console.shown(f"/campaigns/{campaign}/approve")
    for shown in ("Approve and send", "user:Ann", "Hello {{ name }}", "news@example.com"):
        assert shown in theirs
    got = console.post(f"/{console.account}/campaigns/{campaign}/approve", **fields(theirs))
    assert got.status == 303
    console.api.world.jobs = [got.headers["location"].rpartition("/")[2]]
    console.api.world.settle()
    assert len(console.api.world.oracle.taken) == 2
    assert "The approval was given" in console.shown(f"/campaigns/{campaign}")
    assert "Nothing waits for approval" in console.shown("/approvals")


@pytest.mark.slow
def test_a_change_after_the_page_was_shown_is_not_approved(console: Console) -> None:
    campaign = asked(console)
    console.member(BEA)
    form = fields(console.shown(f"/campaigns/{campaign}/approve"))
    console.member(ANN)
    again = fields(console.shown(f"/campaigns/{campaign}/send?rate=1"))
    assert console.post(f"/{console.account}/campaigns/{campaign}/send", **again).status == 303
    console.member(BEA)
    got = console.post(f"/{console.account}/campaigns/{campaign}/approve", **form)
    assert (got.status, "something else" in got.text) == (409, True)
    assert console.api.world.oracle.taken == []


@pytest.mark.slow
def test_a_request_is_refused_with_its_reason_or_withdrawn(console: Console) -> None:
    campaign = asked(console)
    console.member(BEA)
    assert decide(console, campaign, "refuse", reason="ask ann@example.org") == 422
    assert decide(console, campaign, "refuse", reason="wrong price") == 303
    page = console.shown(f"/campaigns/{campaign}")
    assert "The approval was refused" in page
    assert "wrong price" in page
    console.member(ANN)
    campaign = asked(console)
    assert "Withdraw the request" in console.shown(f"/campaigns/{campaign}/refuse")
    assert decide(console, campaign, "refuse") == 303
    assert "The approval was withdrawn" in console.shown(f"/campaigns/{campaign}")


@pytest.mark.slow
def test_a_looser_limit_needs_another_admin(console: Console) -> None:
    limited(console, which="none")
    page = console.shown("/approvals")
    assert "Every list waits." in page
    assert "A looser limit is proposed" in page
    assert "Approve it" not in page
    form = fields(console.shown("/approvals/agree"))
    assert console.post(f"/{console.account}/approvals/agree", **form).status == 409
    console.member(BEA)
    assert "Approve it" in console.shown("/approvals")
    assert console.post(f"/{console.account}/approvals/agree", **form).status == 303
    assert "No list waits." in console.shown("/approvals")
    assert console.post(f"/{console.account}/approvals/disagree", **form).status == 409


@pytest.mark.slow
@pytest.mark.parametrize("role", [Role.VIEWER, Role.SENDER])
def test_only_admins_change_the_limit(console: Console, role: Role) -> None:
    console.member(Identity("github", "new", "new", organizations=ACME), role)
    assert console.get(f"/{console.account}/approvals/limit?which=none").status == 403
    assert ("Rows in a day" in console.shown("/approvals")) is False


@pytest.mark.slow
def test_what_is_no_limit_is_refused(console: Console) -> None:
    for above in ("many", "-1", "", "99999999999"):
        assert console.get(f"/{console.account}/approvals/limit?which=some&above={above}").status == 422
