"""Texts that recipients wrote, on DynamoDB and in memory."""

from dataclasses import replace

import pytest

from shared.adapters.dynamo.recipients.texts import DynamoTexts
from shared.domain.audit import Log
from shared.domain.texts import KEPT_DAYS, ReceivedText, text_id
from shared.domain.times import DAY_MS
from shared.ports import Texts
from tests.contracts.conftest import ACCOUNT
from tests.fakes.clock import FakeClock
from tests.fakes.faults import When
from tests.fakes.stores import FakeStores, Stores
from tests.fakes.tables import MotoStores
from tests.fakes.texts import FakeTexts


@pytest.fixture
def texts(stores: Stores) -> Texts:
    if isinstance(stores, FakeStores):
        return FakeTexts(stores.journal, stores.tap)
    assert isinstance(stores, MotoStores)
    return DynamoTexts(stores.dynamo, records=stores.tables.records)


def written(clock: FakeClock, n: int = 0, **changes: object) -> ReceivedText:
    name = text_id("texts", f"SM{n}", "", "")
    plain = ReceivedText(ACCOUNT, name, "texts", "sms", "+14155550100", "+15005550006", "Hello\nthere", clock.ms + n)
    return replace(plain, **changes)  # type: ignore[arg-type]


def test_texts_are_listed_newest_first_by_account(texts: Texts, clock: FakeClock) -> None:
    some = [written(clock, i, wish="stopped" if i else "", to="" if i else "+1") for i in range(5)]
    for x in (*some, written(clock, 9, account="acc_other")):
        texts.add(x)
    first, place = texts.page(ACCOUNT, after="", limit=3, now=clock.ms)
    rest, end = texts.page(ACCOUNT, after=place, limit=3, now=clock.ms)
    assert [*first, *rest] == some[::-1]
    assert end == ""


@pytest.mark.parametrize("when", [None, When.REPEATED])
def test_a_text_that_is_reported_again_stays_as_it_is(
    texts: Texts, stores: Stores, clock: FakeClock, when: When | None
) -> None:
    if when is not None:
        stores.tap.arm(0, when)
    one = written(clock, wish="stopped")
    texts.add(one)
    texts.add(replace(one, at=one.at + 1000))
    assert texts.page(ACCOUNT, after="", limit=9, now=clock.ms) == ([one], "")
    (event,) = stores.journal.since(ACCOUNT, Log.EVENTS, 0)
    assert (event.kind, event.id, event.at) == ("text.received", one.id, one.at)
    assert dict(event.data) == {"credential": "texts", "channel": "sms", "wish": "stopped"}


def test_a_text_whose_time_is_over_is_not_listed(texts: Texts, clock: FakeClock) -> None:
    texts.add(written(clock))
    assert texts.page(ACCOUNT, after="", limit=9, now=clock.ms + KEPT_DAYS * DAY_MS - 1000)[0] != []
    assert texts.page(ACCOUNT, after="", limit=9, now=clock.ms + KEPT_DAYS * DAY_MS) == ([], "")


@pytest.mark.slow
@pytest.mark.promise(9)
@pytest.mark.parametrize("stores", ["dynamo"], indirect=True)
def test_an_operator_erases_the_texts_of_a_number(texts: Texts, clock: FakeClock) -> None:
    assert isinstance(texts, DynamoTexts)
    other = written(clock, 200, sender="+14155550199")
    for x in (*(written(clock, i) for i in range(120)), other):
        texts.add(x)
    for dry in (True, False):
        assert list(texts.erase(["acc_none", ACCOUNT], "+14155550100", dry=dry)) == [ACCOUNT] * 120
    assert texts.page(ACCOUNT, after="", limit=9, now=clock.ms) == ([other], "")


def test_a_text_has_one_id_however_it_is_reported() -> None:
    assert text_id("a", "SM1", "+1", "x") == text_id("a", "SM1", "+2", "y")
    assert text_id("a", "SM1", "", "") != text_id("b", "SM1", "", "")
    assert text_id("a", "", "+1", "x") != text_id("a", "", "+1", "y")
    assert len(text_id("a", "", "+1", "\ud800")) == 32
