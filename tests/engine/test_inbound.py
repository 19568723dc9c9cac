"""STOP and START of numbers change the lists of the credential's own accounts."""

import pytest

from shared.contracts import Credential, ProviderEvent
from shared.domain.recipients.suppressions import Reach
from shared.engine.outcome.inbound import from_number, heed, receive
from tests.fakes.texts import FakeTexts
from tests.fakes.world import ACCOUNT, World, credential

NUMBER = "+14155550100"


@pytest.fixture
def world() -> World:
    return World(credential("one", 10))


def lists(world: World, account: str = ACCOUNT) -> set[Reach]:
    return {r for r in Reach if world.records.suppressed(account, [NUMBER], (r,))}


def wish(kind: str, at: int = 100) -> ProviderEvent:
    return ProviderEvent(NUMBER, kind, at)


@pytest.mark.promise(11)
@pytest.mark.parametrize("channel", ["sms", "whatsapp"])
def test_a_stop_is_heeded_for_each_account_of_the_credential(world: World, channel: str) -> None:
    texts = Credential("texts", "twilio", channel, 1, accounts=(ACCOUNT, "acc_other"))
    assert heed(world.records, texts, [wish("stopped")], world.clock.ms) == 1
    assert lists(world) == lists(world, "acc_other") == {Reach(channel)}
    assert heed(world.records, texts, [wish("started", 300), wish("stopped", 200)], world.clock.ms) == 1
    assert lists(world) == lists(world, "acc_other") == set()


def test_a_start_takes_back_no_suppression_of_the_owner(world: World) -> None:
    texts = Credential("texts", "twilio", "sms", 1, accounts=(ACCOUNT,))
    world.records.suppress(ACCOUNT, NUMBER, "manual", world.clock.ms, reach=Reach.SMS)
    heed(world.records, texts, [wish("started")], world.clock.ms)
    assert lists(world) == {Reach.SMS}


@pytest.mark.parametrize(("channel", "accounts"), [("sms", ("*",)), ("email", (ACCOUNT,))])
def test_nothing_is_changed_where_nobody_is_known(world: World, channel: str, accounts: tuple[str, ...]) -> None:
    about = Credential("texts", "twilio", channel, 1, accounts=accounts)
    assert heed(world.records, about, [wish("stopped")], world.clock.ms) == 0
    assert lists(world) == set()


@pytest.mark.parametrize("order", [1, -1])
def test_each_text_is_kept_for_each_account_of_the_credential(world: World, order: int) -> None:
    texts, kept = Credential("texts", "twilio", "sms", 1, accounts=(ACCOUNT, "acc_other")), FakeTexts()
    hello = ProviderEvent(NUMBER, "written", 90, "SM1", "+15005550006", "x" * 2000)
    stop = ProviderEvent(NUMBER, "stopped", 100, "SM2", "+15005550006", "Stop")
    for _ in range(2):
        assert receive(world.records, kept, texts, [hello, stop][::order], world.clock.ms) == 1
    assert lists(world) == lists(world, "acc_other") == {Reach.SMS}
    for account in (ACCOUNT, "acc_other"):
        found, _ = kept.page(account, after="", limit=9, now=0)
        assert [(x.at, x.sender, x.to, len(x.text), x.wish) for x in found] == [
            (100_000, NUMBER, "+15005550006", 4, "stopped"),
            (90_000, NUMBER, "+15005550006", 1600, ""),
        ]


def test_a_text_that_wishes_nothing_changes_no_list(world: World) -> None:
    texts = Credential("texts", "twilio", "sms", 1, accounts=(ACCOUNT,))
    assert receive(world.records, FakeTexts(), texts, [wish("stopped")], world.clock.ms) == 1
    assert receive(world.records, FakeTexts(), texts, [ProviderEvent(NUMBER, "written", 200)], world.clock.ms) == 0
    assert lists(world) == {Reach.SMS}


def test_a_credential_of_all_accounts_keeps_no_text(world: World) -> None:
    texts, kept = Credential("texts", "twilio", "sms", 1), FakeTexts()
    assert receive(world.records, kept, texts, [wish("stopped")], world.clock.ms) == 0
    assert kept.items == {}
    assert lists(world) == set()


def test_only_a_number_s_text_is_one() -> None:
    assert from_number(wish("stopped"))
    assert from_number(wish("started"))
    assert from_number(wish("written"))
    assert not from_number(wish("delivered"))
    assert not from_number(ProviderEvent("0123456789abcdefghjkmnpqrs-0-0-1", "stopped", 1))
