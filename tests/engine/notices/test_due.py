"""Notices that are due become runs, in one transaction with their job."""

from dataclasses import replace
from datetime import date, timedelta

import pytest

from shared.contracts import TEST_CREDENTIAL
from shared.domain.content.content import Content, Mailbox
from shared.domain.content.templates import InvalidTemplateError
from shared.domain.jobs.chunks import Recipient
from shared.domain.jobs.job import NOTICE, Policy
from shared.domain.jobs.labels import Labels
from shared.domain.jobs.states import JobState
from shared.domain.notices.notice import SHARDS, DeliveryMethod, NoticeStatus, Phase, Verb
from shared.domain.notices.times import moment
from shared.engine.intake.accept import BatchRequest
from shared.engine.notices import due
from shared.engine.notices.due import MOST
from shared.engine.notices.texts import NoticeText
from shared.engine.reports.message_log import Filter
from shared.ports import Retriable
from tests.engine.notices.hub import DAY, ZONE, Hub
from tests.fakes.faults import Crash, When
from tests.fakes.world import ACCOUNT


def jobs(hub: Hub) -> list[str]:
    return list(hub.records.jobs)  # type: ignore[attr-defined]


def test_a_notice_that_is_due_is_sent_with_its_template() -> None:
    hub = Hub()
    hub.new()
    hub.minute()
    assert hub.taken() == ["+61412000000"]
    assert [c.text for c in hub.world.providers["text"].said] == ["Hello Ada, see you soon."]
    notice = hub.notice()
    assert (notice.phase, notice.status, notice.run) == (Phase.ACTIVE, NoticeStatus.NEW, notice.runs[-1])
    job = hub.world.job(jobs(hub)[0])
    assert (job.kind, job.channel, job.policy.retry_on, job.chunks) == (NOTICE, "sms", (), 1)
    assert hub.said() == []


def test_each_message_of_a_run_has_the_names_of_its_notice() -> None:
    hub = Hub()
    for n, labels in enumerate([Labels("visit-1", ("reminders",)), Labels(), Labels("", ("a", "b"))]):
        hub.ask(Verb.NEW, f"n{n}", hub.data(n), labels)
    hub.minute()
    (name,) = jobs(hub)
    lines, _ = hub.world.logs.lines(hub.world.job(name), Filter(), start=(0, 0), limit=10)
    named = {line.recipient: (line.reference, line.tags) for line in lines}
    wanted = [("visit-1", ("reminders",)), ("", ()), ("", ("a", "b"))]
    assert named == {f"+61412{n:06d}": names for n, names in enumerate(wanted)}
    assert all("visit" not in c.text for c in hub.world.providers["text"].said), "no provider gets them"


def test_notices_of_one_minute_gather_in_one_job() -> None:
    hub = Hub()
    for n in range(5):
        hub.new(n)
    hub.minute()
    assert len(jobs(hub)) == 1
    assert sorted(hub.taken()) == [f"+61412{n:06d}" for n in range(5)]
    assert {hub.notice(n).runs[-1].index for n in range(5)} == set(range(5))


def test_more_notices_than_a_transaction_holds_are_several_runs() -> None:
    hub = Hub(rate=1000)
    for n in range(2 * MOST + 3):
        hub.new(n)
    hub.minute()
    assert len(jobs(hub)) == 3
    assert len(set(hub.taken())) == len(hub.taken()) == 2 * MOST + 3


def test_a_run_takes_no_more_text_than_its_only_chunk_holds() -> None:
    hub = Hub(rate=1000)
    hub.texts["long"] = {DeliveryMethod.SMS: NoticeText("漢" * 1500)}
    for n in range(MOST):
        hub.new(n, template="long")
    assert hub.due.begin([hub.notice(n).uuid for n in range(MOST)]) == []
    hub.engine()
    assert [hub.world.job(j).chunks for j in jobs(hub)] == [1, 1]
    for n in range(MOST):
        run = hub.notice(n).runs[-1]
        hub.world.track("text", hub.world.word(run.job, run.index, "delivered"))
    hub.engine()
    assert {hub.notice(n).status for n in range(MOST)} == {NoticeStatus.SUCCESS}


def test_a_run_of_several_chunks_is_refused() -> None:
    hub = Hub()
    hub.new()
    hub.begin()
    request = BatchRequest(
        account=ACCOUNT,
        test=False,
        channel="sms",
        route=("text",),
        content=Content(Mailbox(""), "", text="Hello"),
        recipients=tuple(Recipient(f"+6141200000{n}", f"+6141200000{n}", values={"t": "x" * 200_000}) for n in (1, 2)),
        duplicates=0,
        policy=Policy(retry_on=()),
        name="",
        by="",
        kind=NOTICE,
    )
    with pytest.raises(ValueError, match="single chunk"):
        hub.world.acceptor.prepare(request)


def test_a_shard_that_takes_too_long_is_left_to_the_next_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    hub = Hub(rate=1000)
    monkeypatch.setattr(due, "READ", 5)
    for n in range(12):
        hub.new(n)
    for expected in (5, 10, 12):
        for _, act in hub.due.walk(until=hub.clock.now() - 1):
            act()
        assert sum(hub.notice(n).phase is Phase.ACTIVE for n in range(12)) == expected


def test_each_minute_begins_with_another_shard() -> None:
    hub = Hub()
    names = []
    for _ in range(SHARDS):
        names.append([name for name, _ in hub.due.walk()])
        hub.clock.advance(60)
    assert len({x[0] for x in names}) == SHARDS
    assert {frozenset(x) for x in names} == {frozenset(names[0])}


def test_a_slow_credential_gets_short_runs() -> None:
    hub = Hub(rate=1)
    for n in range(40):
        hub.new(n)
    hub.begin()
    assert sorted(hub.world.job(j).total for j in jobs(hub)) == [10, 30]


def test_what_is_not_due_stays() -> None:
    hub = Hub()
    later = hub.ask(Verb.NEW, "n0", replace(hub.data(), delivery=date(2026, 11, 26)))
    assert later.next_at == moment(ZONE, date(2026, 11, 26), 540)
    hub.minute()
    assert jobs(hub) == []
    hub.pass_time(2 * 86_400, step=3600)
    assert hub.taken() == ["+61412000000"]


def test_a_notice_without_its_channel_uses_the_other_and_says_so() -> None:
    hub = Hub()
    hub.texts = {"reminder": {DeliveryMethod.IVR: hub.texts["reminder"][DeliveryMethod.IVR]}}
    hub.reboot()
    hub.new()
    hub.minute()
    run = hub.notice().runs[-1]
    assert run.method is DeliveryMethod.IVR
    hub.feedback(run.job, run.index, "delivered")
    assert hub.said() == [("SUCCESS", "")]
    assert hub.store.log[-1].message == "sent as a call"


@pytest.mark.parametrize("calls", [False, True])
def test_a_template_without_any_channel_ends_the_notice(*, calls: bool) -> None:
    hub = Hub(calls=calls)
    hub.texts = {} if calls else {"reminder": {DeliveryMethod.IVR: hub.texts["reminder"][DeliveryMethod.IVR]}}
    hub.reboot()
    hub.new()
    hub.minute()
    assert (hub.notice().phase, hub.said(), hub.taken()) == (Phase.ENDED, [("PERM_FAIL", "INVALID_TEMPLATE")], [])


def test_a_suppressed_number_ends_the_notice_without_a_call() -> None:
    hub = Hub()
    hub.new()
    hub.records.suppress(hub.notifier.account, "+61412000000", "bounced", hub.clock.ms)
    hub.minute()
    assert (hub.said(), hub.taken(), jobs(hub)) == ([("PERM_FAIL", "PERM_DELIVERY_FAIL")], [], [])


def test_an_expired_notice_is_not_sent() -> None:
    hub = Hub()
    hub.new()
    hub.clock.advance(8 * 86_400)
    hub.minute()
    assert (hub.said(), hub.taken()) == ([("PERM_FAIL", "MESSAGE_EXPIRED")], [])


def test_what_is_due_at_night_waits_for_the_morning() -> None:
    hub = Hub()
    hub.new()
    hub.clock.advance(12 * 3600)  # nobody ran meanwhile: it is ten in the evening
    hub.minute()
    assert (hub.taken(), hub.notice().phase) == ([], Phase.WAITING)
    assert hub.notice().next_at == moment(ZONE, date(2026, 11, 25), 540)


def test_a_run_ends_with_its_hours() -> None:
    hub = Hub()
    hub.new()
    hub.begin()
    limit = hub.records.chunk(jobs(hub)[0], 0).recipients[0].not_after  # type: ignore[union-attr]
    assert limit == moment(ZONE, DAY, 21 * 60)


def test_a_notice_that_changes_meanwhile_is_left_out_of_the_job() -> None:
    hub = Hub()
    for n in range(3):
        hub.new(n)
    begin = hub.starts.begin

    def late(*args: object) -> object:
        if not jobs(hub) and hub.notice(1).status is not NoticeStatus.CANCELED:
            hub.cancel(1)
        return begin(*args)  # type: ignore[arg-type]

    hub.starts.begin = late  # type: ignore[method-assign,assignment]
    hub.minute()
    assert sorted(hub.taken()) == ["+61412000000", "+61412000002"]
    assert hub.said(1) == [("CANCELED", "")]


def test_two_functions_at_once_begin_each_notice_once() -> None:
    hub = Hub()
    for n in range(30):
        hub.new(n)
    hub.world.slow_down(0.001, 0.02)
    hub.clock.run(hub.begin, hub.begin)
    hub.engine()
    assert sorted(hub.taken()) == [f"+61412{n:06d}" for n in range(30)]


@pytest.mark.parametrize("when", When)
@pytest.mark.parametrize("call", ["notices.due", "notices.read", "run_starts.parts", "run_starts.begin", "queue.send"])
def test_a_function_that_dies_leaves_nothing_behind(call: str, when: When) -> None:
    hub = Hub()
    for n in range(3):
        hub.new(n)
    hub.world.tap.arm_at(call, when)
    try:
        hub.begin()
    except Crash:
        hub.reboot()
    hub.pass_time(400, step=60)
    assert sorted(hub.taken()) == [f"+61412{n:06d}" for n in range(3)]
    assert all(hub.world.job(j).state is JobState.LOGGED for j in jobs(hub))


def test_pointers_that_cannot_be_sent_are_sent_by_the_sweeper() -> None:
    hub = Hub()
    hub.new()
    hub.world.tap.arm_at("queue.send", When.BEFORE, lambda: Retriable("down"))
    hub.begin()
    hub.pass_time(300, step=60)
    assert hub.taken() == ["+61412000000"]


def test_a_test_notifier_reaches_no_provider() -> None:
    hub = Hub()
    hub.notifier = replace(hub.notifier, test=True)
    hub.new()
    hub.begin()
    job = hub.world.job(jobs(hub)[0])
    assert (job.test, job.route) == (True, (TEST_CREDENTIAL,))


def test_the_provider_learns_until_when_a_message_may_be_sent() -> None:
    hub = Hub()
    seen: list[float] = []
    hub.world.providers["text"].before = lambda targets: seen.extend(t.not_after for t in targets)
    hub.new()
    hub.minute()
    assert seen == [moment(ZONE, DAY, 21 * 60) / 1000]


def test_one_notice_that_cannot_be_begun_keeps_no_other_waiting() -> None:
    hub = Hub()
    for n in range(3):
        hub.new(n)
    hub.texts["broken"] = {DeliveryMethod.SMS: NoticeText("{{ never closed")}
    hub.ask(Verb.NEW, "n3", replace(hub.data(3), template="broken"))
    with pytest.raises(InvalidTemplateError):
        hub.begin()
    hub.engine()
    assert sorted(hub.taken()) == [f"+61412{n:06d}" for n in range(3)]


def test_a_notice_that_is_due_when_it_is_taken_needs_no_walk_and_has_the_present_text() -> None:
    hub = Hub()
    first, later = hub.new(), hub.new(1, delivery=DAY + timedelta(days=1))
    hub.due.at_once([first.uuid, later.uuid])
    assert (hub.notice().phase, hub.notice(1).phase) == (Phase.ACTIVE, Phase.WAITING)
    hub.texts["reminder"] = {DeliveryMethod.SMS: NoticeText("Bye {{ first_name }}.")}
    second = hub.new(2)
    hub.due.at_once([second.uuid])
    run = hub.notice(2).run
    assert run is not None
    chunk = hub.records.chunk(run.job, 0)
    assert chunk is not None
    assert chunk.recipients[run.index].values["text"].startswith("Bye")
