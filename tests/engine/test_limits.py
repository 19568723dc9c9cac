"""Limits of a day where nobody waits for an answer: notices and digests wait for the next day, and none is lost."""

from dataclasses import replace
from datetime import timedelta

from shared.contracts import Credential
from shared.domain.digests.window import WindowState
from shared.domain.notices.notice import DeliveryMethod, Phase
from shared.domain.spending.limits import BARRED, CODE, Rules, day_of
from shared.engine.notices.texts import NoticeText
from shared.engine.spender import Spender
from tests.engine.digests.hub import DigestHub, event
from tests.engine.notices.hub import DAY, Hub
from tests.fakes.spending import FakeSpending
from tests.fakes.world import ACCOUNT

DAY_S = 86_400


def limited(hub: Hub | DigestHub, *countries: str, **most: int) -> FakeSpending:
    """Give the account of a hub limits and countries; return what it has used."""
    store = FakeSpending(hub.clock)
    rules = Rules(most, countries=frozenset(countries))
    hub.world.spender = Spender(store=store, rules=lambda _: rules, settings=hub.world.settings, clock=hub.clock)
    hub.reboot()
    return store


def test_notices_beyond_the_day_s_limit_wait_for_the_next_day() -> None:
    hub = Hub()
    store = limited(hub, sms=3)
    for n in range(5):
        hub.new(n)
    hub.minute()
    assert len(hub.taken()) == 3
    assert store.used(ACCOUNT, day_of(hub.clock.ms)) == {"sms": 3}
    waiting = [hub.notice(n) for n in range(5) if hub.notice(n).phase is Phase.WAITING]
    assert [x.next_at % (DAY_S * 1000) for x in waiting] == [0, 0]
    hub.minute()
    assert len(hub.taken()) == 3
    hub.pass_time(DAY_S)
    assert len(set(hub.taken())) == len(hub.taken()) == 5


def test_a_notice_counts_as_the_segments_of_its_own_text() -> None:
    hub = Hub()
    hub.texts["long"] = {DeliveryMethod.SMS: NoticeText("x" * 200)}
    store = limited(hub, sms=5)
    for n in range(3):
        hub.new(n, template="long")
    hub.minute()
    assert len(hub.taken()) == 2
    assert store.used(ACCOUNT, day_of(hub.clock.ms)) == {"sms": 4}


def test_a_notice_that_ends_before_the_next_day_says_so() -> None:
    hub = Hub()
    limited(hub, sms=0)
    hub.new(expires=DAY + timedelta(days=1))
    hub.minute()
    hub.pass_time(DAY_S)
    assert hub.taken() == []
    assert hub.notice().phase is Phase.ENDED


def test_a_digest_beyond_the_day_s_limit_is_made_on_the_next_day_and_raises_no_alarm() -> None:
    hub = DigestHub()
    limited(hub, email=2)
    first = hub.add(event("one", "ann", "ben"))
    hub.close()
    second = hub.add(event("two", "ann"))
    hub.close()
    hub.clock.advance(60)
    hub.minute()
    assert (hub.window(first).state, hub.window(second).state) == (WindowState.PROCESSED, WindowState.CLOSED)
    assert hub.window(second).fault == CODE
    for _ in range(24):
        hub.clock.advance(3600)
        hub.minute()
    assert hub.window(second).state is WindowState.PROCESSED
    assert hub.late == []


def test_a_maker_that_is_too_late_gives_back_what_it_counted() -> None:
    hub = DigestHub()
    store = limited(hub, email=10)
    window = hub.add(event("one", "ann", "ben"))
    hub.clock.advance(hub.policy.window)
    closed = hub.windows.close(window, hub.clock.ms)
    assert closed is not None
    hub.maker.make(closed)
    hub.maker.make(closed)
    assert store.used(ACCOUNT, day_of(hub.clock.ms)) == {"email": 2}


def test_a_notice_to_a_country_that_is_not_allowed_ends_without_a_run() -> None:
    hub = Hub()
    limited(hub, "DE")
    hub.new(0)
    hub.new(1, phone="+4915112345678")
    hub.minute()
    assert hub.taken() == ["+4915112345678"]
    assert hub.notice(0).phase is Phase.ENDED


def test_a_digest_leaves_out_numbers_of_countries_that_are_not_allowed() -> None:
    hub = DigestHub(Credential("one", "one", "sms", 100), channel="sms")
    hub.world.settings.routes["sms"] = ("one",)
    limited(hub, "DE")
    people = ("+4915112345678", "+61412000000")
    hub.add(replace(event("one"), recipients=people))
    hub.close()
    (job,) = hub.records.jobs  # type: ignore[attr-defined]
    chunk = hub.records.chunk(job, 0)
    assert chunk is not None
    assert {x.key: x.skip for x in chunk.recipients} == {people[0]: "", people[1]: BARRED}
