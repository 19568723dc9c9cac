"""An id that comes back with other content: refused where it is seen, and in a digest where it is not."""

from typing import Any

import pytest

from shared.domain.digests.events import content_of, event_id, pack, unpack
from shared.domain.digests.window import WindowState
from shared.engine.digests import earlier
from shared.engine.digests.add import DigestAdder, OtherContent, PostedEvent
from shared.engine.digests.repeats import SeenEvents, name_of, pack_names, unpack_names
from tests.domain.digests.examples import KEY, event
from tests.engine.digests.adding import AddingWorld
from tests.engine.digests.hub import DigestHub


def one(name: str = "run", *to: str, urgent: bool = False, **changes: Any) -> PostedEvent:
    people = tuple(f"{x}@example.com" for x in to or ("ann",))
    known = {"id": event_id(name, "", 0), "recipients": people, "dated": True, "data": {"name": name}}
    made = event(0, **{**known, **changes})
    return PostedEvent(KEY, made, urgent=urgent, named=True)


def refused(adder: DigestAdder, *posted: PostedEvent, account: str = "acc_000000000001") -> tuple[int, ...]:
    found = adder.add(account, posted, test=False)
    return found.places if isinstance(found, OtherContent) else ()


def test_another_function_sees_what_was_added_since_and_reads_little() -> None:
    w = AddingWorld()
    first, second = w.adder, w.process()
    assert not refused(first, one("a"))
    assert not refused(second, one("b"))
    assert refused(first, one("b", "ben")) == (0,)
    w.calls()
    assert not refused(first, one("c"))
    assert w.calls() == ["windows.last", "windows.put_parts", "windows.join"], "one read more, and no write"
    assert refused(second, one("x"), one("c", "ben"), one("a", "ben")) == (1, 2)


def test_events_without_an_id_of_their_own_are_not_read_about() -> None:
    w = AddingWorld()
    w.add(event(1))
    w.add(event(1))
    w.calls()
    w.add(event(1))
    assert w.calls() == ["windows.put_parts", "windows.join"]


@pytest.mark.parametrize("state", [WindowState.CLOSED, WindowState.PROCESSED, WindowState.CANCELLED])
def test_ids_of_earlier_windows_are_known_for_an_hour(state: WindowState) -> None:
    hub = DigestHub(window=60, near=0, extend=0, max_age=60)
    adders = [hub.process(hub.clock).adder for _ in range(3)]
    assert not refused(adders[0], one(), account=hub.account)
    last = hub.windows.last(hub.account, KEY)
    assert last is not None
    if state is WindowState.CANCELLED:
        hub.windows.cancel(last.id, hub.clock.ms)
    hub.clock.advance(61)
    if state is WindowState.PROCESSED:
        hub.serve()
    assert not refused(adders[1], one("b"), account=hub.account)
    assert hub.windows.items[last.id].state is state
    for adder in adders:
        assert refused(adder, one("run", "ben"), one("b"), account=hub.account) == (0,)
    hub.clock.advance(3_602)
    assert not any(refused(x, one("run", "ben"), account=hub.account) for x in adders)


def test_a_function_that_was_idle_reads_what_a_window_got_before_it_closed() -> None:
    hub = DigestHub(window=60, near=0, extend=0, max_age=60)
    first, second = (hub.process(hub.clock).adder for _ in range(2))
    assert not refused(first, one("a"), account=hub.account)
    assert not refused(second, one("b"), account=hub.account)
    hub.clock.advance(61)
    assert not refused(second, one("c"), account=hub.account)
    assert refused(first, one("b", "ben"), account=hub.account) == (0,)


def test_what_a_function_remembers_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(earlier, "REMEMBERED", 3)
    w = AddingWorld()
    for n in range(10):
        assert not refused(w.adder, one(f"n{n}"))
    assert refused(w.adder, *(one(f"n{n}", "ben") for n in range(10))) == tuple(range(10))


@pytest.mark.promise(1)
def test_two_contents_that_came_at_once_are_both_in_the_digest_and_a_repeat_is_not() -> None:
    hub = DigestHub()
    posted = (one("run", "ann"), one("run", "ben"), one("run", "ann"))
    hub.add(*(x.event for x in posted))
    hub.close()
    hub.add(posted[1].event, one("run", "cid").event)
    hub.close()
    hub.send()
    assert hub.mails() == {"ann": [("run",)], "ben": [("run",)], "cid": [("run",)]}
    assert not refused(hub.process(hub.clock).adder, one("run", "ben"), account=hub.account), "it is a repeat of one"


def test_two_urgent_contents_that_came_at_once_are_both_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    w = AddingWorld()
    assert not refused(w.adder, one(urgent=True))
    assert refused(w.adder, one("run", "ben", urgent=True)) == (0,)
    monkeypatch.setattr(w.windows, "urgent_contents", lambda *_: {})  # as if the other were not stored yet
    assert not refused(w.adder, one("run", "ben", urgent=True))
    assert [x.recipients for window in w.all() for x in w.events(window)] == [
        ("ann@example.com",),
        ("ben@example.com",),
    ]


def test_a_content_is_what_the_client_wrote() -> None:
    base = one().event
    assert len(content_of(base)) == 8
    assert content_of(unpack(pack([base]))[0]) == content_of(base)
    others = [
        one(type="x"),
        one(at=5),
        one("run", "ben"),
        one(data={}),
        one(data={"name": "run", "a": "b"}),
        one(dated=False),
    ]
    assert len({content_of(x.event) for x in others} | {content_of(base)}) == 7
    assert content_of(one(at=5, dated=False).event) == content_of(one(at=6, dated=False).event)
    assert content_of(one("run", "a", "b", "a").event) == content_of(one("run", "b", "a").event)


def test_what_an_earlier_version_stored_is_compared_by_the_id() -> None:
    old = one(dated=None).event
    assert content_of(old) == b""
    name = name_of(old)
    assert name is not None
    seen = SeenEvents()
    seen.add(unpack_names(bytes(range(16)) + b"x" * 16))
    assert seen.repeats((bytes(range(8)), b"content1"))
    assert not seen.clashes((bytes(range(8)), b"content1"))
    names = [name, (b"12345678", b"content1"), (b"87654321", b"\0content")]
    assert unpack_names(pack_names(names)) == names
