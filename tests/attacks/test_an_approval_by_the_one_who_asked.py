"""Somebody who may send alone wants to send alone what two have to look at: ways round the second pair of eyes.

Then: there was no second pair, so whoever had a key, or stole one, sent a million messages.
"""

from threading import Barrier, Thread
from typing import Any

import pytest

from shared.domain.accounts import ALL_SCOPES, Scope
from shared.domain.audit import SYSTEM, Act, audited
from shared.domain.campaigns.approval import Who
from shared.domain.ids import new_id
from shared.domain.people import first_key_name
from shared.domain.times import DAY_MS
from shared.engine.campaigns.campaigns import Reason, Refused, Sent
from shared.engine.lists.list_jobs import Order
from tests.api.approving import OPERATOR, Desk, desk
from tests.api.conftest import Api

pytestmark = pytest.mark.promise(14)
ANN = "user:ann"


@pytest.fixture
def four(api: Api) -> Desk:
    """Return a desk of an account whose lists all wait, with keys that are older than a day."""
    found = desk(api)
    api.world.clock.advance(DAY_MS / 1000)
    return found


def key_id(four: Desk, text: str) -> str:
    """Return the id of a key."""
    found = four.api.services.accounts.find_by_key(text)
    assert found is not None
    return found.id


def noted(four: Desk, act: Act, name: str, by: str, **data: str) -> None:
    """Add an entry to the account's audit log."""
    four.api.services.journal.write(audited(four.api.account, four.api.world.clock.ms, name, act, by, data))


def person(login: str) -> Who:
    """Return somebody who has signed in to the console."""
    return Who(f"user:{login}", new_id(0))


def by_people(four: Desk, one: Who, other: Who) -> Sent | Reason:
    """Have one person ask, and another approve, as the console does."""
    service = four.api.services.campaigns()
    campaign = service.campaigns.get(four.campaign)
    assert campaign is not None
    service.control.send(campaign, Order(by=one.actor, person=one.person))
    waits = service.campaigns.get(four.campaign)
    assert waits is not None
    assert waits.waiting is not None
    found = service.approvals.approve(waits, waits.waiting.id, other)
    if isinstance(found, Refused):
        return found.reason
    assert isinstance(found, Sent)
    return found


def test_by_the_same_key(four: Desk) -> None:
    name = four.waiting()
    assert four.approve(name, key=four.asks).code == "own_request"
    assert four.sent() == []


@pytest.mark.parametrize("days", [0, 400])
@pytest.mark.parametrize("asks_first", [True, False])
def test_by_the_key_that_replaced_it(four: Desk, days: int, *, asks_first: bool) -> None:
    accounts = four.api.services.accounts
    end = four.api.world.clock.ms + 1000 * DAY_MS
    rotated = accounts.rotate_key(four.api.account, key_id(four, four.asks), end, by=OPERATOR)
    assert rotated is not None
    again = accounts.rotate_key(four.api.account, rotated[1].id, end, by=OPERATOR)
    assert again is not None
    four.api.world.clock.advance(days * DAY_MS / 1000)
    four.campaign = four.api.campaign(key=four.asks)
    four.listed()
    old, new = four.asks, again[0]
    four.asks = old if asks_first else new
    assert four.approve(four.waiting(), key=new if asks_first else old).code == "own_request"
    assert four.sent() == []


@pytest.mark.parametrize("made_by_asker", [True, False])
def test_by_a_key_that_they_made_just_now(four: Desk, *, made_by_asker: bool) -> None:
    """Only operators make keys today. If somebody else could, this would still hold."""
    makes = key_id(four, four.asks if made_by_asker else four.approves)
    made, _ = four.api.services.accounts.create_key(four.api.account, scopes=ALL_SCOPES, by=makes)
    if made_by_asker:
        assert four.approve(four.waiting(), key=made).code == "own_request"
    else:
        asks, four.asks = four.asks, made
        assert four.approve(four.waiting(), key=four.approves).code == "own_request"
        four.asks = asks
    assert four.sent() == []
    four.api.world.clock.advance(DAY_MS / 1000 + 1)
    assert four.approve(four.waiting(), key=made).status == 202


def test_two_keys_that_one_has_made(four: Desk) -> None:
    makes = key_id(four, four.asks)
    accounts = four.api.services.accounts
    one, other = (accounts.create_key(four.api.account, scopes=ALL_SCOPES, by=makes)[0] for _ in range(2))
    four.asks = one
    assert four.approve(four.waiting(), key=other).code == "own_request"


def test_two_keys_that_an_operator_has_made_are_two(four: Desk) -> None:
    accounts = four.api.services.accounts
    made = [accounts.create_key(four.api.account, scopes=ALL_SCOPES, by=OPERATOR)[0] for _ in range(2)]
    four.asks = made[0]
    assert four.approve(four.waiting(), key=made[1]).status == 202


def test_by_another_login_of_the_same_person(four: Desk) -> None:
    ann = person("ann")
    assert by_people(four, ann, Who("user:renamed", ann.person)) is Reason.OWN_REQUEST


@pytest.mark.parametrize("first", ["person", "key"])
def test_by_the_key_of_their_own_account(four: Desk, first: str) -> None:
    """It was made with the account, long ago."""
    ann = person("ann")
    accounts = four.api.services.accounts
    name = first_key_name(ANN)
    _, key = accounts.create_key(four.api.account, scopes=ALL_SCOPES, name=name, by=SYSTEM)
    four.api.world.clock.advance(100 * DAY_MS / 1000)
    four.campaign = four.api.campaign(key=four.asks)
    four.listed()
    people = (ann, Who(key.id)) if first == "person" else (Who(key.id), ann)
    assert by_people(four, *people) is Reason.OWN_REQUEST


@pytest.mark.parametrize("own", ["asker", "approver"])
def test_by_a_member_whom_they_invited_just_now(four: Desk, own: str) -> None:
    ann, alias = person("ann"), person("alias")
    noted(four, Act.MEMBER_INVITED, alias.actor, by=ann.actor, role="sender")
    noted(four, Act.MEMBER_JOINED, alias.person, by=alias.actor, role="sender")
    people = (ann, alias) if own == "asker" else (alias, ann)
    assert by_people(four, *people) is Reason.OWN_REQUEST
    four.api.world.clock.advance(DAY_MS / 1000 + 1)
    assert isinstance(by_people(four, *people), Sent)


def test_by_two_aliases(four: Desk) -> None:
    ann, one, other = person("ann"), person("one"), person("other")
    for alias in (one, other):
        noted(four, Act.MEMBER_INVITED, alias.actor, by=ann.actor, role="sender")
    assert by_people(four, one, other) is Reason.OWN_REQUEST
    assert isinstance(by_people(four, one, person("bea")), Sent)


def test_by_a_key_that_may_not_send(four: Desk) -> None:
    name = four.waiting()
    for scope in (Scope.READ, Scope.ADMIN):
        assert four.approve(name, key=four.api.scoped(scope)).code == "missing_scope"


@pytest.mark.parametrize("kind", ["test", "team", "other account"])
def test_by_a_key_of_another_kind(four: Desk, kind: str) -> None:
    name = four.waiting()
    keys = {
        "test": four.api.test_key,
        "team": lambda: four.api.services.accounts.create_key(four.api.account, team=True, scopes=ALL_SCOPES)[0],
        "other account": four.api.other,
    }
    assert four.approve(name, key=keys[kind]()).code == "not_found"


def test_with_other_words_behind_what_was_shown(four: Desk) -> None:
    name = four.waiting()
    said = {"from": "news@example.com", "subject": "Send me money", "body": "<p>{{ name }}</p>"}
    path = f"/campaigns/{four.campaign}/template"
    before = four.shown()["template"]
    assert four.api.call("PUT", path, said, key=four.asks).status == 200
    assert four.approve(name).code == "not_waiting"
    back = {k: v for k, v in before.items() if v is not None}
    assert four.api.call("PUT", path, back, key=four.asks).status == 200
    assert four.approve(name).code == "not_waiting"
    assert four.sent() == []


def test_with_another_rate_or_time_behind_what_was_shown(four: Desk) -> None:
    name = four.waiting(rate=1)
    four.waiting(rate=5)
    assert four.approve(name).code == "approval_changed"
    four.waiting(scheduled_at=four.later(60))
    assert four.approve(name).code == "approval_changed"


def test_an_edit_at_the_moment_of_the_approval(four: Desk) -> None:
    """Whichever comes first: what is sent is what was shown, or nothing is."""
    name = four.waiting()
    said = {"from": "news@example.com", "subject": "Other", "body": "<p>{{ name }}</p>"}
    start = Barrier(2)
    answers: dict[str, Any] = {}

    def edit() -> None:
        start.wait()
        answers["edit"] = four.api.call("PUT", f"/campaigns/{four.campaign}/template", said, key=four.asks)

    def approve() -> None:
        start.wait()
        answers["approve"] = four.approve(name)

    threads = [Thread(target=edit), Thread(target=approve)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    approved = answers["approve"].status == 202
    assert len(four.sent()) == (2 if approved else 0)
    content = four.api.world.records.content(four.upload) if approved else None
    assert content is None or content.subject != "Other"


def test_in_many_small_lists(api: Api) -> None:
    found = desk(api, above=5)
    assert found.send().json.get("waiting_for") is None
    found.campaign = api.campaign(key=found.asks)
    found.listed()
    assert found.send().json.get("waiting_for") is None
    found.campaign = api.campaign(key=found.asks)
    found.listed()
    assert found.waiting()


def test_two_lists_at_the_same_moment(api: Api) -> None:
    """Each alone is below the limit, and both together are not: one of them waits."""
    found = desk(api, above=3)
    campaigns = [found.campaign, api.campaign(key=found.asks)]
    api.listed(campaigns[1], key=found.asks)
    control = api.services.campaigns().control
    stored = [api.services.campaigns().campaigns.get(name) for name in campaigns]
    policies = [api.services.campaigns().campaigns.to_send(x) for x in stored if x is not None]
    assert [x.limit.above for _, x in policies] == [3, 3]
    sent = [control.send(x, Order(by="a")) for x in stored if x is not None]
    assert [isinstance(x, Sent) for x in sent] == [True, False]


def test_by_loosening_the_limit_alone(four: Desk) -> None:
    asked = four.api.call("PUT", "/approval-limit", {"above": None}, key=four.asks)
    assert asked.status == 202
    body = {"approval_id": asked.json["proposal"]["approval_id"]}
    assert four.api.call("POST", "/approval-limit/approve", body, key=four.asks).code == "own_request"
    assert four.waiting()


def test_a_proposal_that_changes_behind_what_was_shown(four: Desk) -> None:
    four.api.call("PUT", "/approval-limit", {"above": 1}, key=four.asks)
    shown = four.api.call("GET", "/approval-limit", key=four.approves).json["proposal"]["approval_id"]
    four.api.call("PUT", "/approval-limit", {"above": 1_000_000}, key=four.asks)
    body = {"approval_id": shown}
    assert four.api.call("POST", "/approval-limit/approve", body, key=four.approves).code == "approval_changed"


@pytest.mark.parametrize("rotated", [True, False])
def test_a_list_whose_asker_was_revoked_meanwhile(four: Desk, *, rotated: bool) -> None:
    """A leaked key asked, and its owner has found it. A key that was replaced in time asked for good."""
    accounts, asks = four.api.services.accounts, key_id(four, four.asks)
    name = four.waiting()
    if rotated:
        assert accounts.rotate_key(four.api.account, asks, four.api.world.clock.ms, by=OPERATOR) is not None
    assert accounts.revoke_key(four.api.account, asks, by=OPERATOR)
    found = four.approve(name)
    assert found.json.get("code") == (None if rotated else "asker_gone")
    assert len(four.sent()) == (2 if rotated else 0)
