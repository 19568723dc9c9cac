"""A stranger makes an account of their own at the console, and tries to send texts and calls at the operator's cost.

The oracle is what the provider was called with, not what the API answered.
"""

from typing import Any

import pytest

from shared.adapters.dynamo.accounts.first_accounts import DynamoFirstAccounts
from shared.adapters.dynamo.accounts.standings import DynamoAccountStatuses
from shared.adapters.dynamo.client import Dynamo
from shared.domain.accounts import key_digest, new_key_text
from shared.domain.ids import new_id
from shared.domain.namespaces import KeyKind
from shared.domain.people import Newcomer
from tests.api.conftest import Api, Reply
from tests.api.test_digests import event as digest_event
from tests.api.test_digests import put as put_policy

DEAR = "+37060012345"
TEXTS: dict[str, Any] = {"channel": "sms", "credential_id": "texts", "name": "Texts"}


@pytest.fixture
def stranger(api: Api) -> str:
    """Make an account as the console does; return its live key."""
    clock = api.world.clock
    key = new_key_text(KeyKind.LIVE)
    functions = Dynamo(api.client, sleep=clock.sleep, homes=api.tables.alone)
    DynamoFirstAccounts(functions, clock).make(Newcomer(new_id(clock.ms), "Eve", "user:eve", key_digest(key)))
    return key


def account_of(api: Api, key: str) -> str:
    found = api.services.accounts.find_by_key(key)
    assert found is not None
    return found.account


def key_of(api: Api, stranger: str, *, test: bool = False, team: bool = False) -> str:
    return api.services.accounts.create_key(account_of(api, stranger), test=test, team=team)[0]


def text(api: Api, key: str, **changes: Any) -> Reply:
    said = {"voice": {"say": "Hi"}} if changes.get("channel") == "voice" else {"text": "Hi"}
    return api.call("POST", "/batches", {"channel": "sms", "to": [DEAR], **said, **changes}, key=key)


def reached(api: Api) -> set[str]:
    """Have everything sent, and return all whom a provider was given."""
    api.lists.read()
    api.world.settle()
    return {t.address for t in api.world.oracle.taken}


@pytest.mark.parametrize("changes", [{}, {"route": ["texts"]}, {"scheduled_at": "2026-09-22T00:00:00Z"}])
def test_a_first_key_sends_no_text_in_any_form(api: Api, stranger: str, changes: dict[str, Any]) -> None:
    api.world.settings.routes["sms"] = ("texts",)
    refused = text(api, stranger, **changes)
    assert (refused.status, refused.code, refused.fields) == (403, "channel_not_open", ["channel"])
    assert "posthaste account open" in refused.json["errors"][0]["message"]
    assert reached(api) == set()


@pytest.mark.parametrize("channel", ["sms", "voice", "whatsapp"])
def test_each_channel_without_senders_is_closed(api: Api, stranger: str, channel: str) -> None:
    assert text(api, stranger, channel=channel).code == "channel_not_open"
    open_to_others = text(api, api.key, channel=channel)
    assert open_to_others.status == 422
    assert open_to_others.code == "no_route"


def test_a_team_key_of_such_an_account_reaches_no_guest_by_text(api: Api, stranger: str) -> None:
    api.world.settings.routes["sms"] = ("texts",)
    assert api.call("PUT", f"/guests/{DEAR}", key=stranger).status in (200, 201)
    assert text(api, key_of(api, stranger, team=True)).code == "channel_not_open"
    assert reached(api) == set()


def test_a_campaign_sends_neither_its_list_nor_a_test(api: Api, stranger: str) -> None:
    made = api.call("POST", "/campaigns", {**TEXTS, "template": {"body": "Hi"}}, key=stranger)
    assert made.status == 201
    campaign = made.json["campaign_id"]
    assert api.call("POST", f"/campaigns/{campaign}/test", {"recipient": DEAR}, key=stranger).code == "channel_not_open"
    api.listed(campaign, {"recipient": DEAR}, key=stranger)
    assert api.call("POST", f"/campaigns/{campaign}/send", {}, key=stranger).code == "channel_not_open"
    assert reached(api) == set()


def test_neither_a_digest_policy_nor_a_notifier_opens_a_way(api: Api, stranger: str) -> None:
    said: dict[str, Any] = {
        "channel": "sms",
        "text": "{{ events }}",
        "line_text": "{{ name }}",
        "from_": None,
        "route": ["texts"],
    }
    assert put_policy(api, key=stranger, **said).code == "channel_not_open"
    notifier = api.call("POST", "/notifiers", {"name": "eve", "timezone": "Europe/Vilnius"}, key=stranger)
    assert notifier.code == "channel_not_open"
    assert api.call("POST", "/events", digest_event(), key=stranger).code == "no_policy"


def test_a_proven_domain_opens_no_other_channel(api: Api, stranger: str) -> None:
    api.services.accounts.add_sender(account_of(api, stranger), "eve.example")
    assert api.batch(["ann@example.org"], key=stranger, **{"from": "eve@eve.example"}).status == 202
    assert text(api, stranger).code == "channel_not_open"


def test_an_operator_opens_one_channel_and_closes_it_again(api: Api, stranger: str) -> None:
    api.world.settings.routes["sms"] = ("texts",)
    accounts, account = api.services.accounts, account_of(api, stranger)
    accounts.open_channel(account, "sms", by="operator:1:ops")
    assert text(api, stranger).status == 202
    assert text(api, stranger, channel="voice").code == "channel_not_open"
    assert reached(api) == {DEAR}
    accounts.close_channel(account, "sms", by="operator:1:ops")
    assert text(api, stranger).code == "channel_not_open"
    log = api.call("GET", "/audit", key=stranger).json["items"]
    told = [(x["action"], x["actor"], x["data"]["channel"]) for x in log if "channel" in x["action"]]
    opened, closed = "account.channel_opened", "account.channel_closed"
    assert sorted(told) == [(closed, "operator:1:ops", "sms"), (opened, "operator:1:ops", "sms")]


def test_what_starts_later_asks_again(api: Api, stranger: str) -> None:
    of = DynamoAccountStatuses(
        Dynamo(api.client, sleep=api.world.clock.sleep, homes=api.tables.alone), api.tables.records
    )
    account = account_of(api, stranger)
    assert not of.opened(account, "sms")
    assert not of.opened(f"{account}-team", "sms")
    api.services.accounts.open_channel(account, "sms")
    assert of.opened(account, "sms")
    assert of.opened(api.account, "voice")


def test_test_keys_simulate_every_channel(api: Api, stranger: str) -> None:
    api.world.settings.routes["sms"] = ("texts",)
    assert text(api, key_of(api, stranger, test=True)).status == 202


def test_accounts_of_operators_need_no_step(api: Api) -> None:
    api.world.settings.routes["sms"] = ("texts",)
    assert text(api, api.key).status == 202
    assert reached(api) == {DEAR}
