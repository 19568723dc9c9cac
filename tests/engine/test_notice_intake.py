"""Records are taken in order, each once, whatever dies or comes late; one that raises holds up no other."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from shared.contracts import DueKind
from shared.contracts import inbox as hint
from shared.domain.notices.codes import Rejection
from shared.domain.notices.inbox import InboxState
from shared.domain.notices.notice import Notice, NoticeChange, NoticeStatus, Phase
from shared.engine.notices import take
from shared.engine.notices.take import WaitingInboxes
from shared.ports import InboxStep, Retriable
from tests.domain.notices.examples import DATA
from tests.engine.notice_world import NOTIFIER, TEMPLATE, NoticeWorld, payloads, upload
from tests.fakes.faults import Crash, When


@pytest.fixture
def world() -> NoticeWorld:
    return NoticeWorld()


def test_a_payload_is_stored_and_pointed_to(world: NoticeWorld) -> None:
    world.put(upload(id="a"), upload(id="b"))
    assert [x.body for x in world.queue.waiting] == [hint(NOTIFIER.name)]
    assert world.take() == 2
    assert world.found("a").data.template == TEMPLATE
    assert world.found("a").data.phone == DATA.phone
    assert world.inboxes.state(NOTIFIER.name).empty
    assert world.take() == 0


def test_notices_that_are_due_later_are_announced_and_others_begin(world: NoticeWorld) -> None:
    world.put(upload(id="a"), upload(id="b", delivery_date="2026-11-25"))
    world.take()
    later = world.found("b").due
    assert later is not None
    assert later > world.clock.ms
    assert world.minutes.announced == [(DueKind.NOTICES, later)]
    assert world.begun == [[NOTIFIER.notice_id("a")]]


def test_a_lost_hint_does_not_fail_the_upload(world: NoticeWorld) -> None:
    world.tap.arm_at("queue.send", error=lambda: Retriable("no queue"))
    world.put(upload(id="a"))
    assert list(world.inboxes.waiting(world.clock.ms, 0)) == [NOTIFIER.name]


def test_an_inbox_whose_hint_was_lost_is_pointed_to_after_a_minute(world: NoticeWorld) -> None:
    world.put(upload(id="a"))
    world.queue.lose()
    walk = WaitingInboxes(world.inboxes, world.queue, world.clock).walk
    assert list(walk()) == []
    world.clock.advance(60)
    for _, point in walk():
        point()
    assert [x.body for x in world.queue.waiting] == [hint(NOTIFIER.name)]
    world.take()
    assert list(walk()) == []


def test_the_same_id_twice_in_a_payload_is_taken_in_order(world: NoticeWorld) -> None:
    update = upload(id="a", action="UPDATE", first_name="Grace")
    world.put(
        upload(id="a"), upload(id="b"), update, upload(id="c", first_name="Mary"), upload(id="a", action="CANCEL")
    )
    assert world.take() == 5
    assert (world.found("a").status, world.found("a").data.first_name) == (NoticeStatus.CANCELED, "Grace")
    assert world.found("c").data.first_name == "Mary"


def test_a_repeated_payload_changes_nothing(world: NoticeWorld) -> None:
    records = [upload(id=str(i)) for i in range(250)]
    world.put(*records)
    world.take()
    before = world.outcome()
    steps = world.tap.calls.count("inboxes.advance")
    world.put(*records)
    assert world.take() == 250
    assert world.outcome() == before
    assert world.tap.calls.count("inboxes.advance") - steps == 3


def test_a_template_that_is_no_text_is_not_known(world: NoticeWorld) -> None:
    names = (TEMPLATE.replace("01", "02"), "0" * 26, "x" * 5000, "")
    world.put(*(upload(id=str(i), template_id=x) for i, x in enumerate(names)))
    world.take()
    assert {error for _, _, error in world.rejections()} == {"INVALID_TEMPLATE"}
    assert len(world.rejections()) == 4


def test_a_mail_s_template_with_a_text_for_calls_is_known(world: NoticeWorld) -> None:
    world.put(upload(id="a", template_id=TEMPLATE.replace("01", "03")))
    world.take()
    assert world.rejections() == []


def test_many_rejections_fit_their_transactions(world: NoticeWorld) -> None:
    world.put(*(upload(id=str(i)) for i in range(300)))
    world.put(*(upload(id=str(i), action="x") for i in range(300)))
    assert world.take() == 600
    assert len(world.rejections()) == 300
    assert len({(x.notice, x.stamp) for x in world.notices.log}) == 300


def test_an_empty_payload_is_passed_over(world: NoticeWorld) -> None:
    world.put()
    world.put(upload(id="a"))
    assert world.take() == 1


def test_what_is_left_at_the_deadline_is_pointed_to_again(world: NoticeWorld) -> None:
    world.put(*(upload(id=str(i)) for i in range(300)))
    world.queue.lose()
    world.tap.delay = lambda: world.clock.advance(1)
    assert 0 < world.take(5) < 300
    assert [x.body for x in world.queue.waiting] == [hint(NOTIFIER.name)]
    world.tap.delay = lambda: None
    world.take()
    assert len(world.notices.items) == 300


def test_what_is_due_is_begun_once_the_inbox_is_empty(world: NoticeWorld) -> None:
    world.put(upload(id="now"), upload(id="later", delivery_date="2026-11-26"), upload(id="bad", phone_number="1"))
    world.put(upload(id="off"), upload(id="off", action="CANCEL"))
    assert world.take() == 5
    assert world.begun == [[world.found("now").uuid, world.found("off").uuid]], "its state is read when it begins"
    world.put(upload(id="now"))
    world.take()
    assert len(world.begun) == 1, "a repeated record changes nothing"


def test_many_that_are_due_are_begun_by_the_thousand(world: NoticeWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(take, "AT_ONCE", 4)
    world.put(*(upload(id=str(i)) for i in range(10)))
    world.take()
    assert [len(x) for x in world.begun] == [4, 4, 2]


def test_what_cannot_be_begun_at_once_is_left_to_the_walk(world: NoticeWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(take, "AT_ONCE", 4)
    world.put(*(upload(id=str(i)) for i in range(10)))
    world.tap.arm(0, When.BEFORE, lambda: Retriable("later"), where=lambda name: name == "begin")
    assert world.take() == 10
    assert world.begun == []
    world.put(*(upload(id=f"b{i}") for i in range(10)))
    world.tap.delay = lambda: world.clock.advance(200 * len(world.begun))
    world.take(100)
    assert [len(x) for x in world.begun] == [4, 4], "then the time of the function is over"


def test_a_rejection_of_a_record_without_an_action_is_a_rejection(world: NoticeWorld) -> None:
    world.put({"id": "a", "first_name": "Ada"}, upload(id="b", action=None), upload(id="c"), {"id": "c"})
    world.take()
    assert world.rejections() == [(x, "", "INVALID_ACTION") for x in "abc"]
    assert [x.status for x in world.notices.log] == ["PERM_FAIL", "PERM_FAIL", "NEW"]


class Faulty(Exception):
    pass


def test_a_record_that_raises_is_rejected_and_holds_up_no_other(world: NoticeWorld) -> None:
    world.put(upload(id="a"), upload(id="b", template_id="0" * 26), upload(id="c"))

    def get(template: str, version: int | None = None, ask: Callable[..., Any] = world.templates.get) -> Any:
        if template == "0" * 26:
            raise Faulty
        return ask(template, version)

    world.templates.get = get  # type: ignore[method-assign]
    with suppress(Faulty):  # what is left of the inbox says whether it held up others
        world.take()
    assert world.rejections() == [("b", "MESSAGE_NEW", Rejection.INTERNAL_ERROR.value)]
    assert sorted(x.id for x in world.notices.items.values()) == ["a", "c"]


def test_a_record_that_cannot_be_stored_is_rejected_and_holds_up_no_other(world: NoticeWorld) -> None:
    world.put(*(upload(id=x) for x in "abc"))
    store = world.inboxes.advance

    def advance(old: InboxState, new: InboxState, changes: list[tuple[Notice | None, NoticeChange]]) -> InboxStep:
        if any(x.notice is not None and x.notice.id == "b" for _, x in changes):
            raise Faulty
        return store(old, new, changes)

    world.inboxes.advance = advance  # type: ignore[method-assign,assignment]
    world.take()
    assert world.rejections() == [("b", "MESSAGE_NEW", "INTERNAL_ERROR")]
    assert sorted(x.id for x in world.notices.items.values()) == ["a", "c"]
    assert world.inboxes.state(NOTIFIER.name).empty


def test_a_store_that_fails_rejects_nothing(world: NoticeWorld) -> None:
    world.put(upload(id="a"))
    for broken in (Retriable("later"), None):
        world.templates.broken = broken
        if broken is not None:
            with pytest.raises(Retriable):
                world.take()
    assert world.take() == 1
    assert world.rejections() == []


def test_an_action_that_is_overtaken_by_a_word_is_judged_anew(world: NoticeWorld) -> None:
    world.put(upload(id="a"))
    world.take()
    world.put(upload(id="a", action="CANCEL"))
    old = world.found("a")
    store = world.inboxes.advance

    def advance(*args: Any) -> InboxStep:
        world.inboxes.advance = store  # type: ignore[method-assign]
        sent = NoticeChange(_delivered(old))
        assert world.notices.write(old, sent)
        return store(*args)

    world.inboxes.advance = advance  # type: ignore[method-assign,assignment]
    world.take()
    assert world.found("a").status is NoticeStatus.SUCCESS
    assert world.rejections() == [("a", "CANCEL", "ALREADY_DELIVERED")]


def _delivered(n: Notice) -> Notice:
    return replace(n, phase=Phase.ENDED, status=NoticeStatus.SUCCESS, version=n.version + 1)


def whole() -> NoticeWorld:
    """Return a world in which nothing went wrong."""
    world = NoticeWorld()
    for records in payloads():
        world.put(*records)
    world.take()
    return world


@pytest.mark.slow
@pytest.mark.parametrize("when", When)
def test_whoever_dies_at_any_call_no_record_is_taken_twice_or_out_of_order(when: When) -> None:
    expected = whole()
    n = fired = 0
    while True:
        world = NoticeWorld()
        for records in payloads():
            world.put(*records)
        world.tap.arm(n, when)
        try:
            world.take()
        except Crash:
            world.take()
        assert world.outcome() == expected.outcome(), f"call {n} {when}"
        if not world.tap.fired:
            break
        fired, n = fired + 1, n + 1
    assert fired > 20


@pytest.mark.parametrize("delay", [0.001, 0.0061, 0.013])
def test_takers_side_by_side_take_every_record_once_and_in_order(delay: float) -> None:
    expected = whole()
    world = NoticeWorld()
    for records in payloads():
        world.put(*records)
    pauses = iter(range(1, 100_000))
    world.tap.delay = lambda: world.clock.sleep(delay * (1 + next(pauses) % 7))
    world.clock.run(world.take, world.take, world.take)
    world.tap.delay = lambda: None
    world.take()
    assert world.outcome() == expected.outcome()


@pytest.mark.slow
def test_a_frozen_taker_that_wakes_late_changes_nothing() -> None:
    expected = whole()
    for frozen in range(1, 30):
        world = NoticeWorld()
        for records in payloads():
            world.put(*records)
        calls = iter(range(10_000))
        world.tap.delay = lambda c=calls, n=frozen, w=world: w.clock.sleep(3600 if next(c) == n else 0.01)  # type: ignore[misc]
        world.clock.run(world.take, lambda w=world: (w.clock.sleep(60), w.take())[1])  # type: ignore[misc]
        world.tap.delay = lambda: None
        world.take()
        assert world.outcome() == expected.outcome(), frozen
