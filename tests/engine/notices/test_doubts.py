"""A notice of whose message nothing is known: its notifier hears of it within minutes, and can cancel it."""

from dataclasses import replace

import pytest

from shared.domain.jobs.feedback import ProviderEventKind
from shared.domain.jobs.outcomes import Unknown
from shared.domain.jobs.runs import SAFE_MS
from shared.domain.jobs.states import Cell
from shared.domain.notices.notice import NoticeStatus, Phase
from tests.engine.notices.hub import HOUR, Hub
from tests.fakes.faults import Crash, When

MINUTES = 10 * 60
DOUBTED = ("TEMP_FAIL", "DELIVERY_UNKNOWN")
CANCELED = ("CANCELED", "DELIVERY_UNKNOWN")


def doubtful() -> Hub:
    """Return a hub with one notice, whose call has ended without an answer."""
    hub = Hub()
    hub.world.providers["text"].answer = Unknown("connection_closed")
    hub.new()
    hub.minute()
    hub.world.providers["text"].answer = None
    assert hub.cell() is Cell.UNKNOWN
    return hub


def orphaned() -> Hub:
    """Return a hub with one notice, whose worker dies before it writes what its call brought."""
    hub = Hub()
    hub.new()
    hub.begin()
    hub.world.tap.arm_at("records.put_detail", When.BEFORE)
    with pytest.raises(Crash):
        hub.engine()
    hub.world.tap.disarm()
    hub.reboot()
    hub.pass_time(MINUTES, step=60)
    assert hub.cell() is Cell.UNKNOWN
    return hub


def absent(hub: Hub) -> None:
    """Let the provider prove that it never had the message."""
    run = hub.notice().runs[-1]
    hub.feedback(run.job, run.index, ProviderEventKind.ABSENT)


def test_a_notifier_hears_of_an_unknown_notice_within_ten_minutes() -> None:
    hub = doubtful()
    hub.pass_time(MINUTES, step=60)
    assert hub.said() == [DOUBTED]
    assert hub.store.log[-1].stamp - hub.notice().created_at <= MINUTES * 1000
    assert "may have gone out" in hub.store.log[-1].message
    assert (hub.notice().phase, hub.cell()) == (Phase.ACTIVE, Cell.UNKNOWN)


def test_a_notifier_hears_of_an_unknown_notice_whose_run_goes_on() -> None:
    hub = Hub(rate=1)
    for n in range(9):
        hub.new(n)
    provider = hub.world.providers["text"]
    provider.answer = Unknown("timeout")
    provider.before = lambda _targets: hub.records.paused.add(hub.notifier.account)  # type: ignore[attr-defined]
    hub.pass_time(MINUTES, step=60)
    run = hub.notice().runs[-1]
    states = [hub.cell(n) for n in range(9)]
    assert set(states) == {Cell.UNKNOWN, Cell.QUEUED}
    assert [hub.said(n) for n in range(9)] == [[DOUBTED] if x is Cell.UNKNOWN else [] for x in states]
    assert hub.world.job(run.job).finished_at == 0


def test_a_look_tells_of_a_doubt_that_the_stream_has_lost() -> None:
    hub = Hub()
    hub.world.providers["text"].answer = Unknown("timeout")
    hub.new()
    hub.begin()
    hub.world.jobs[:] = list(hub.records.jobs)  # type: ignore[attr-defined]
    hub.world.run()
    hub.stream.clear()
    hub.pass_time(MINUTES, step=60)
    assert hub.said() == [DOUBTED]


def test_an_unknown_notice_is_cancelled_within_ten_minutes() -> None:
    hub = doubtful()
    hub.cancel()
    hub.pass_time(MINUTES, step=60)
    assert hub.said() == [DOUBTED, CANCELED]
    assert "may have reached the person" in hub.store.log[-1].message
    assert (hub.notice().phase, hub.cell()) == (Phase.ENDED, Cell.UNKNOWN_CLOSED)
    assert list(hub.records.notice_runs(hub.clock.ms + 10**9)) == []


def test_a_cancelled_doubt_that_is_proven_absent_is_not_sent() -> None:
    hub = doubtful()
    hub.cancel()
    hub.pass_time(MINUTES, step=60)
    absent(hub)
    hub.pass_time(24 * HOUR, step=600)
    assert (hub.taken(), hub.said()) == ([], [DOUBTED, CANCELED])


def test_a_doubt_that_is_proven_absent_is_sent_and_said() -> None:
    hub = doubtful()
    absent(hub)
    hub.pass_time(60, step=60)
    run = hub.notice().runs[-1]
    hub.feedback(run.job, run.index, "delivered")
    assert (len(hub.taken()), hub.said()) == (1, [DOUBTED, ("SUCCESS", "")])


def test_a_doubt_that_is_proven_absent_and_out_of_hours_is_no_doubt_any_more() -> None:
    hub = doubtful()
    hub.records.paused.add(hub.notifier.account)  # type: ignore[attr-defined]
    absent(hub)
    hub.pass_time(12 * HOUR, step=600)
    assert hub.said() == [DOUBTED, ("TEMP_FAIL", "TEMP_DELIVERY_FAIL")]
    assert hub.notice().phase is Phase.WAITING
    assert hub.cancel().status is NoticeStatus.CANCELED
    assert hub.said()[-1] == ("CANCELED", "")


def test_an_update_of_an_unknown_notice_is_rejected_with_the_reason() -> None:
    hub = doubtful()
    hub.update(first_name="Grace")
    hub.pass_time(MINUTES, step=60)
    assert hub.said() == [DOUBTED, ("TEMP_FAIL", "UPDATE_CONFLICT")]
    assert "may have gone out" in hub.store.log[-1].message


def test_a_cancellation_waits_while_a_worker_that_was_lost_may_still_send() -> None:
    hub = orphaned()
    taken = hub.taken()
    lost = hub.ledgers.read_all(hub.notice().runs[-1].job)[0].released_at
    hub.cancel()
    hub.pass_time((lost + SAFE_MS - hub.clock.ms) / 1000 - 60, step=60)
    assert (hub.said(), hub.cell()) == ([DOUBTED], Cell.UNKNOWN)
    hub.pass_time(180, step=60)
    assert (hub.said(), hub.cell()) == ([DOUBTED, CANCELED], Cell.UNKNOWN_CLOSED)
    assert hub.taken() == taken


def test_a_lost_message_that_is_proven_absent_while_its_cancellation_waits_is_withdrawn() -> None:
    hub = orphaned()
    hub.cancel()
    hub.pass_time(600, step=60)
    assert hub.said() == [DOUBTED]
    run = hub.notice().runs[-1]
    hub.records.paused.add(hub.notifier.account)  # type: ignore[attr-defined]
    hub.feedback(run.job, run.index, ProviderEventKind.ABSENT)
    hub.pass_time(120, step=60)
    assert (hub.said(), hub.cell()) == ([DOUBTED, ("CANCELED", "")], Cell.WITHDRAWN)


def test_what_ended_in_doubt_is_cancelled_with_the_doubt() -> None:
    hub = doubtful()
    hub.pass_time(13 * HOUR, step=600)
    assert hub.said() == [DOUBTED, ("PERM_FAIL", "DELIVERY_UNKNOWN")]
    hub.cancel()
    assert hub.said()[-1] == CANCELED


def test_a_receipt_that_comes_before_the_cancellation_is_carried_out_counts() -> None:
    hub = doubtful()
    hub.cancel()
    run = hub.notice().runs[-1]
    hub.feedback(run.job, run.index, "delivered")
    hub.pass_time(MINUTES, step=60)
    assert hub.said() == [DOUBTED, ("SUCCESS", ""), ("SUCCESS", "ALREADY_DELIVERED")]


@pytest.mark.parametrize("when", When)
@pytest.mark.parametrize("call", ["ledgers.read", "records.details", "ledgers.swap", "notices.write"])
def test_a_cancellation_whose_function_dies_is_made_up_for(call: str, when: When) -> None:
    hub = doubtful()
    hub.cancel()
    hub.world.tap.arm_at(call, when)
    try:
        hub.pass_time(60, step=60)
    except Crash:
        hub.stream.clear()
        hub.reboot()
    hub.world.tap.disarm()
    hub.pass_time(MINUTES, step=60)
    assert hub.said() == [DOUBTED, CANCELED]


def test_a_doubt_is_said_once_however_often_it_is_told() -> None:
    hub = doubtful()
    ledger = hub.ledgers.read_all(hub.notice().runs[-1].job)[0]
    hub.words.tell(replace(ledger, told=bytes(1)))
    assert hub.said() == [DOUBTED]
