"""The function that makes digests: hints of its queue, minutes in which windows end, and what is overdue."""

from types import SimpleNamespace
from typing import Any

import pytest

from functions.digest import handler, services
from shared.contracts import DueKind, DueMinute, digest_hint, load_digest_hint
from shared.domain.digests.window import WindowState
from shared.engine.sweeper.sweep import Sweeper
from shared.engine.walks import simple
from shared.ports import Retriable
from tests.engine.digests.hub import DigestHub, event
from tests.fakes.bookmarks import FakeBookmarks
from tests.fakes.clock import FakePool

REPORT = '{"version": "1.0", "requestContext": {"condition": "RetriesExhausted"}, "requestPayload": {}}'


class Context:
    """An invocation that has all its time."""

    aws_request_id = "0a1b2c3d-invocation"

    def get_remaining_time_in_millis(self) -> int:
        return 120_000


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> DigestHub:
    made = DigestHub()
    walks = [simple("windows", 80, made.closer.walk), simple("old windows", 20, made.cleaner.walk)]
    sweeper = Sweeper(walks=walks, bookmarks=FakeBookmarks(), clock=made.clock, pool=FakePool)
    digesting = SimpleNamespace(closer=made.closer, sweeper=sweeper)
    deployment = SimpleNamespace(clock=made.clock, settings=made.world.settings, digesting=digesting)
    monkeypatch.setattr(services, "deployment", lambda: deployment)
    return made


def hints(*bodies: str) -> Any:
    records = [{"messageId": str(n), "body": body} for n, body in enumerate(bodies)]
    return handler.handler({"Records": records}, Context())


def test_each_hint_makes_its_window(hub: DigestHub) -> None:
    names = [hub.add(event("a", "ann"), key=f"acme/{n}") for n in range(2)]
    hub.clock.advance(300)
    assert hints(*map(digest_hint, names)) == {"batchItemFailures": []}
    assert {hub.window(x).state for x in names} == {WindowState.PROCESSED}


def test_a_window_that_cannot_be_made_is_left_to_the_walk(hub: DigestHub) -> None:
    name = hub.add(event("a", "ann"))
    hub.windows.stored.clear()
    hub.clock.advance(300)
    assert hints(digest_hint(name)) == {"batchItemFailures": []}


def test_a_hint_that_fails_comes_again_and_others_are_served(hub: DigestHub) -> None:
    names = [hub.add(event("a", "ann"), key=f"acme/{n}") for n in range(2)]
    hub.clock.advance(300)
    hub.tap.arm_at("windows.get", error=lambda: Retriable("store"))
    assert hints(*map(digest_hint, names)) == {"batchItemFailures": [{"itemIdentifier": "0"}]}
    assert [hub.window(x).state for x in names] == [WindowState.OPEN, WindowState.PROCESSED]


def test_what_is_no_hint_fails_and_the_report_of_a_run_does_not(hub: DigestHub) -> None:
    failed = [{"itemIdentifier": "0"}, {"itemIdentifier": "2"}]
    assert hints("{}", REPORT, '{"window": 1}') == {"batchItemFailures": failed}
    assert hub.records.jobs == {}  # type: ignore[attr-defined]


def test_what_is_overdue_is_made_and_the_function_says_whether_it_saw_all(
    hub: DigestHub, capsys: pytest.CaptureFixture[str]
) -> None:
    name = hub.add(event("a", "ann"))
    hub.clock.advance(360)
    assert hints(DueMinute(DueKind.DIGESTS).dumps()) == {"batchItemFailures": []}
    assert hub.window(name).state is WindowState.PROCESSED
    assert '"DigestRuns":[1.0]' in capsys.readouterr().out.replace(" ", "")


def test_a_minute_has_its_windows_hinted_at(hub: DigestHub) -> None:
    names = [hub.add(event("a", "ann"), key=f"acme/{n}") for n in range(12)]
    hub.queue.lose()
    end = hub.window(names[0]).closes_at // 1_000
    hub.clock.advance(300 - 90)
    assert hints(DueMinute(DueKind.DIGESTS, end // 60 * 60).dumps()) == {"batchItemFailures": []}
    assert sorted(load_digest_hint(m.body) for m in hub.queue.waiting) == sorted(names)
    assert {m.due for m in hub.queue.waiting} == {end}


def test_a_hint_names_its_window() -> None:
    assert load_digest_hint(digest_hint("0" * 32 + "-1")) == "0" * 32 + "-1"
    assert load_digest_hint(REPORT) == ""
