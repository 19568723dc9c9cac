"""What became of a run's message reaches its notice, once, in any order, and whoever dies meanwhile."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import date

import pytest

from shared.domain.jobs.ledger import Ledger
from shared.domain.jobs.outcomes import Rejected, Unknown
from shared.domain.jobs.states import Cell
from shared.domain.notices.notice import DeliveryMethod, Notice, NoticeChange, NoticeStatus, Phase
from shared.domain.notices.times import moment
from shared.ports import Retriable
from tests.engine.notices.hub import HOUR, ZONE, Hub
from tests.fakes.faults import Crash, When

GONE = Rejected("no_such_number", permanent=True)
DOWN = Rejected("down", permanent=False)


def sent(**changes: object) -> Hub:
    """Return a hub with one notice, whose message is sent."""
    hub = Hub(**changes)  # type: ignore[arg-type]
    hub.new()
    hub.minute()
    return hub


def last(hub: Hub, word: str, n: int = 0) -> None:
    run = hub.notice(n).runs[-1]
    hub.feedback(run.job, run.index, word)


def test_a_delivery_is_success() -> None:
    hub = sent()
    last(hub, "delivered")
    assert (hub.notice().phase, hub.notice().status, hub.said()) == (
        Phase.ENDED,
        NoticeStatus.SUCCESS,
        [("SUCCESS", "")],
    )


def test_a_provider_without_receipts_is_believed() -> None:
    hub = Hub()
    hub.world.providers["text"].has_feedback = False
    hub.reboot()
    hub.new()
    hub.minute()
    assert hub.said() == [("SUCCESS", "")]
    assert hub.store.log[-1].message == "accepted by the provider, no receipt"


def test_a_number_that_does_not_exist_fails_for_good() -> None:
    hub = Hub()
    hub.world.providers["text"].answer = GONE
    hub.new()
    hub.minute()
    assert hub.said() == [("PERM_FAIL", "PERM_DELIVERY_FAIL")]


def test_a_failure_after_acceptance_waits_and_tries_again() -> None:
    hub = sent()
    last(hub, "failed_temporarily")
    assert hub.said() == [("TEMP_FAIL", "TEMP_DELIVERY_FAIL")]
    assert hub.notice().phase is Phase.WAITING
    hub.pass_time(3 * 86_400, step=HOUR)
    assert len(hub.taken()) == 2
    last(hub, "delivered")
    assert hub.said() == [("TEMP_FAIL", "TEMP_DELIVERY_FAIL"), ("SUCCESS", "")]


def test_a_late_delivery_of_the_same_data_counts_and_withdraws_the_next_run() -> None:
    hub = sent()
    first = hub.notice().runs[-1]
    last(hub, "failed_temporarily")
    hub.clock.advance((hub.notice().next_at - hub.clock.ms) / 1000)
    hub.begin()
    second = hub.notice().runs[-1]
    assert (hub.notice().phase, hub.cell()) == (Phase.ACTIVE, Cell.QUEUED)
    hub.world.track("text", hub.world.word(first.job, first.index, "delivered"))
    hub.tell()
    assert hub.world.states(second.job) == [Cell.WITHDRAWN]
    hub.engine()
    assert hub.said()[-1] == ("SUCCESS", "")
    assert hub.taken() == ["+61412000000"]


def test_a_late_delivery_of_old_data_changes_nothing() -> None:
    hub = sent()
    first = hub.notice().runs[-1]
    last(hub, "failed_temporarily")
    hub.update(template="other")
    assert hub.notice().gen == 2
    hub.feedback(first.job, first.index, "delivered")
    assert hub.notice().status is NoticeStatus.NEW


def test_an_update_while_a_message_waits_withdraws_it() -> None:
    hub = Hub()
    hub.new()
    hub.begin()
    hub.texts["other"] = hub.texts["reminder"]
    hub.update(template="other")
    assert hub.notice().kept is not None
    hub.pass_time(120, step=60)
    notice = hub.notice()
    assert (notice.kept, notice.gen, hub.taken()) == (None, 2, ["+61412000000"])
    assert hub.world.states(notice.runs[0].job) == [Cell.WITHDRAWN]


def test_a_cancellation_of_what_is_sent_is_tried_and_rejected() -> None:
    hub = sent()
    hub.cancel()
    hub.pass_time(600, step=60)
    assert hub.said() == [("NEW", "CANCEL_CONFLICT")]
    assert hub.store.log[-1].action == "CANCEL"
    assert hub.store.log[-1].message.startswith("The provider has taken the message")
    assert hub.notice().kept is None
    last(hub, "delivered")
    assert hub.said()[-1] == ("SUCCESS", "")


def test_a_kept_cancellation_is_carried_out_by_a_failure() -> None:
    hub = sent()
    hub.cancel()
    last(hub, "failed_temporarily")
    assert (hub.notice().status, hub.said()) == (NoticeStatus.CANCELED, [("CANCELED", "")])


def test_a_kept_action_is_rejected_by_success() -> None:
    hub = sent()
    hub.cancel()
    last(hub, "delivered")
    assert hub.said() == [("SUCCESS", ""), ("SUCCESS", "ALREADY_DELIVERED")]


def test_a_word_is_told_once() -> None:
    hub = sent()
    last(hub, "delivered")
    ledger = hub.ledgers.read_all(hub.notice().runs[-1].job)[0]
    assert ledger.told == bytes([Cell.DELIVERED + 1])
    writes = hub.world.tap.calls.count("notices.write")
    assert hub.words.tell(ledger) == 0
    assert hub.world.tap.calls.count("notices.write") == writes


@pytest.mark.parametrize("when", When)
@pytest.mark.parametrize("call", ["notices.read", "notices.write", "ledgers.swap", "records.chunk"])
def test_a_teller_that_dies_is_made_up_for(call: str, when: When) -> None:
    hub = sent()
    run = hub.notice().runs[-1]
    attempt = hub.world.cells(run.job)[0][1]
    hub.world.track("text", hub.world.word(run.job, 0, "delivered", attempt=attempt))
    hub.world.tap.arm_at(call, when)
    try:
        hub.tell()
    except Crash:
        hub.stream.clear()
        hub.reboot()
    hub.world.tap.disarm()
    hub.pass_time(2 * HOUR, step=60)
    assert hub.said() == [("SUCCESS", "")]


def test_others_that_write_all_the_time_are_waited_for() -> None:
    hub = sent()
    write = hub.store.write
    hub.store.write = lambda old, change: False  # type: ignore[method-assign]
    last(hub, "delivered")
    assert hub.said() == []
    hub.store.write = write  # type: ignore[method-assign]
    hub.pass_time(2 * HOUR, step=60)
    assert hub.said() == [("SUCCESS", "")]


def test_a_fault_of_the_store_is_raised() -> None:
    hub = sent()
    run = hub.notice().runs[-1]
    hub.world.track("text", hub.world.word(run.job, 0, "delivered", attempt=1))
    hub.world.tap.arm_at("notices.read", error=lambda: Retriable("down"))
    with pytest.raises(Retriable):
        hub.words.tell(hub.stream[-1])


def test_an_unknown_message_gets_its_last_word_when_it_is_closed() -> None:
    hub = Hub()
    hub.world.providers["text"].answer = Unknown("timeout")
    hub.new()
    hub.minute()
    assert hub.said() == [("TEMP_FAIL", "DELIVERY_UNKNOWN")]
    hub.pass_time(13 * HOUR, step=600)
    assert hub.said() == [("TEMP_FAIL", "DELIVERY_UNKNOWN"), ("PERM_FAIL", "DELIVERY_UNKNOWN")]
    assert hub.cell() is Cell.UNKNOWN_CLOSED


def test_a_message_without_a_receipt_is_believed_when_it_is_closed() -> None:
    hub = sent()
    hub.pass_time(11 * HOUR, step=600)
    assert hub.said() == []
    hub.pass_time(2 * HOUR, step=600)
    assert hub.said() == [("SUCCESS", "")]
    assert (hub.cell(), hub.store.log[-1].message) == (Cell.SENT_CLOSED, "accepted by the provider, no receipt")
    assert list(hub.records.notice_runs(hub.clock.ms + 10**9)) == []


def test_nothing_is_closed_within_an_hour_of_its_run() -> None:
    hub = Hub(at=moment(ZONE, date(2026, 11, 30), 23 * 60 + 30))
    hub.notifier = replace(hub.notifier, closes=24)
    hub.new()
    hub.minute()
    assert hub.taken() == ["+61412000000"]
    hub.pass_time(0.9 * HOUR, step=60)
    assert hub.clock.ms > hub.notice().expires_at
    assert (hub.said(), hub.cell()) == ([], Cell.SENT)
    hub.pass_time(0.5 * HOUR, step=60)
    assert hub.said() == [("SUCCESS", "")]


def test_a_run_that_was_reopened_meanwhile_is_looked_at_again() -> None:
    hub = sent()
    run = hub.notice().runs[-1]
    read = hub.ledgers.read
    reopened = []

    def just_reopened(job: str, chunk: int) -> Ledger | None:
        found = read(job, chunk)
        assert found is not None
        reopened.append(job)
        return replace(found, cells=bytes([found.cells[0] & 0xF0 | Cell.RETRY]))

    hub.ledgers.read = just_reopened  # type: ignore[method-assign]
    hub.runs.look(run.job)
    hub.ledgers.read = read  # type: ignore[method-assign]
    assert reopened == [run.job]
    assert list(hub.records.notice_runs(hub.clock.ms + 10**9)) == [run.job]


def test_a_run_is_closed_before_its_items_expire() -> None:
    hub = sent()
    hub.runs = replace(hub.runs, feedback_timeout=30 * 86_400)
    hub.notice()
    far = hub.clock.ms + 400 * 86_400_000
    hub.store.items[hub.notice().uuid] = replace(hub.notice(), expires_at=far)
    left = hub.world.job(hub.notice().runs[-1].job).ttl - hub.clock.now()
    hub.pass_time(left - 3 * 86_400, step=12 * HOUR)
    assert hub.said() == []
    hub.pass_time(2 * 86_400, step=12 * HOUR)
    assert hub.said() == [("SUCCESS", "")]


def test_a_paused_account_never_sends_after_hours_and_the_notice_waits() -> None:
    hub = Hub()
    hub.records.paused.add(hub.notifier.account)  # type: ignore[attr-defined]
    hub.new()
    hub.pass_time(12 * HOUR, step=600)
    assert (hub.taken(), hub.notice().phase, hub.said()) == ([], Phase.WAITING, [])
    hub.records.paused.clear()  # type: ignore[attr-defined]
    hub.pass_time(13 * HOUR, step=600)
    assert hub.taken() == ["+61412000000"]


@pytest.mark.slow
def test_a_provider_that_is_down_all_day_costs_no_failure_of_the_notice() -> None:
    hub = Hub()
    hub.world.providers["text"].answer = DOWN
    hub.new()
    hub.pass_time(36 * HOUR, step=600)
    assert all(status == "TEMP_FAIL" for status, _ in hub.said())
    hub.world.providers["text"].answer = None
    hub.pass_time(48 * HOUR, step=600)
    assert hub.taken() == ["+61412000000"]


def test_one_notice_that_cannot_be_written_keeps_no_other_from_its_word() -> None:
    hub = Hub()
    for n in range(3):
        hub.new(n)
    hub.minute()
    run = hub.notice(0).runs[-1]
    broken = next(n for n in range(3) if hub.notice(n).runs[-1].index == 0)
    write = hub.store.write

    def refused(old: Notice | None, change: NoticeChange) -> bool:
        if old is not None and old.uuid == hub.notice(broken).uuid:
            raise ValueError("an item that DynamoDB does not take")
        return write(old, change)

    def refused_with_others(changes: Sequence[tuple[Notice, NoticeChange]]) -> bool:
        return all(refused(old, change) for old, change in changes)

    hub.store.write, hub.store.write_all = refused, refused_with_others  # type: ignore[method-assign]
    words = [hub.world.word(run.job, i, "delivered") for i in range(3)]
    hub.world.track("text", *words)
    with pytest.raises(ValueError, match="does not take"):
        hub.words.tell(hub.stream[-1])
    assert [hub.said(n) for n in range(3) if n != broken] == [[("SUCCESS", "")]] * 2
    assert hub.said(broken) == []


def told(count: int) -> tuple[Hub, list[Ledger]]:
    """Return a hub with as many notices in one run, all of which are delivered, and ledgers that say so."""
    hub = Hub()
    for n in range(count):
        hub.new(n)
    hub.minute()
    run = hub.notice(0).runs[-1]
    hub.world.track("text", *(hub.world.word(run.job, i, "delivered") for i in range(count)))
    hub.world.tap.calls.clear()
    return hub, [hub.stream[-1]]


def test_the_words_of_a_run_are_told_by_few_transactions() -> None:
    hub, (ledger,) = told(90)
    assert hub.words.tell(ledger) == 90
    assert [hub.said(n) for n in range(90)] == [[("SUCCESS", "")]] * 90
    assert [x for x in hub.world.tap.calls if x.startswith("notices.write")] == ["notices.write_all"] * 2


def test_a_notice_that_has_moved_on_keeps_no_other_from_its_word() -> None:
    hub, (ledger,) = told(3)
    read = hub.store.read
    cancelled: list[Notice] = []

    def then_cancelled(uuids: Collection[str]) -> dict[str, Notice]:
        found = read(uuids)
        if not cancelled:
            cancelled.append(hub.cancel(1))
        return found

    hub.store.read = then_cancelled  # type: ignore[method-assign]
    assert hub.words.tell(ledger) == 3
    assert [hub.said(n)[:1] for n in range(3)] == [[("SUCCESS", "")]] * 3
    assert hub.said(1)[1:] == [("SUCCESS", "ALREADY_DELIVERED")]


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ([("2", "confirmed")], "pressed 2: confirmed"),
        ([("1", "repeat"), ("3", "later"), ("2", "confirmed")], "pressed 2: confirmed"),
        ([("1", "repeat"), ("9", "stop")], ""),
        ([], ""),
    ],
    ids=["own", "last", "reserved", "none"],
)
def test_the_key_that_a_recipient_pressed_is_in_the_update(keys: Sequence[tuple[str, str]], said: str) -> None:
    hub = Hub()
    for n in range(2):
        hub.new(n, method=DeliveryMethod.IVR)
    hub.minute()
    run = hub.notice(1).runs[-1]
    at = int(hub.clock.now())
    pressed = [
        hub.world.word(run.job, run.index, "pressed", code=code, detail=meaning, at=at + n)
        for n, (code, meaning) in enumerate(keys)
    ]
    hub.world.track("call", *reversed(pressed), *(hub.world.word(run.job, n, "delivered", at=at + 9) for n in range(2)))
    hub.engine()
    assert [(x.id, x.status, x.message) for x in hub.store.log] == [("n0", "SUCCESS", ""), ("n1", "SUCCESS", said)]


def test_an_sms_costs_no_look_at_keys() -> None:
    hub = sent()
    hub.world.tap.calls.clear()
    last(hub, "delivered")
    assert hub.said() == [("SUCCESS", "")]
    assert "records.details" not in hub.world.tap.calls
