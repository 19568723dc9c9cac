"""The handler of a lane: pointers fail one by one, and come again after seconds, later each time."""

import json
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import pytest

from functions.dispatch import send, services
from shared.contracts import Credential, Settings, express_queue_name, lane_queue_name
from shared.domain.lanes.backoff import REDELIVERIES
from shared.domain.lanes.call_counters import Count
from shared.engine.lane.start import PointerResult
from shared.engine.outcome.resolve import Resolved
from shared.ports import MalformedSecret, Retriable
from tests.dispatch.errors import errors
from tests.fakes.clock import FakeClock


class Context:
    """Two minutes of time."""

    aws_request_id = "invocation"

    def get_remaining_time_in_millis(self) -> int:
        return 120_000


class LateClock(FakeClock):
    """A minute and more passes between two looks at it."""

    def now(self) -> float:
        self.advance(61)
        return super().now()


@dataclass
class Stage:
    """A lane whose sender does as it is told. `fails`: jobs whose pointers fail; `put_off`: receipt → seconds."""

    fails: set[str] = field(default_factory=set)
    worked: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    put_off: dict[str, float] = field(default_factory=dict)
    express: dict[str, bool] = field(default_factory=dict)
    secret: Callable[[], None] = lambda: None
    refuse: bool = False
    waiting: dict[str, list[str]] = field(default_factory=dict)
    """By queue, the jobs whose pointers wait there."""
    arriving: list[list[str]] = field(default_factory=list)
    """The jobs whose pointers arrive before each look at a queue."""
    looks: list[int | None] = field(default_factory=list)
    """For how long each look waits."""
    deleted: list[str] = field(default_factory=list)
    slow: dict[str, threading.Event] = field(default_factory=dict)
    """Jobs whose leases wait for slow answers, until something is so."""
    ends: dict[str, threading.Event] = field(default_factory=dict)
    """What is so once a job's lease has ended."""

    credential: Credential = Credential("one", "sendgrid", "email", 10)  # noqa: RUF009 - it is frozen
    groups: list[list[str]] = field(default_factory=list)
    """The jobs that were served together."""
    clock: FakeClock = field(default_factory=FakeClock)
    settings = Settings("dev", (), {})
    breaker_cache = SimpleNamespace(opened=lambda: 0)
    pacer = SimpleNamespace(skew=lambda: 0.0)

    @property
    def lane(self) -> "Stage":
        return self

    @property
    def lanes(self) -> dict[str, Any]:
        def put_off(receipt: str, seconds: float, *, express: bool) -> None:
            if self.refuse:
                raise Retriable
            self.put_off[receipt] = seconds
            self.express[receipt] = express

        def receive(most: int = 1, *, express: bool, seconds: int | None) -> list[dict[str, Any]]:
            self.looks.append(seconds)
            if self.refuse:
                raise Retriable
            jobs = self.waiting.setdefault(queue(express=express), [])
            jobs += self.arriving.pop(0) if self.arriving else []
            return [record(jobs.pop(0)) for _ in jobs[:most]]

        def delete(receipts: Sequence[str], *, express: bool) -> None:
            self.deleted += [f"{receipt} {queue(express=express)}" for receipt in receipts]

        return {"one": SimpleNamespace(put_off=put_off, receive=receive, delete=delete)}

    def sender(self, call_timeout: float) -> Any:
        self.secret()
        return SimpleNamespace(work=self.work, work_together=self.work_together, said=Count)

    def work_together(
        self, pointers: Sequence[tuple[str, int]], *, owner: str, deadline: float, spare: Callable[[], None]
    ) -> list[PointerResult | Exception]:
        self.groups.append([job for job, _ in pointers])
        out: list[PointerResult | Exception] = []
        for job, number in pointers:
            try:
                out.append(self.work(job, number, owner=owner, deadline=deadline, spare=spare))
            except RuntimeError as fault:
                out.append(fault)
        return out

    def work(self, job: str, number: int, *, owner: str, deadline: float, spare: Callable[[], None]) -> PointerResult:
        if job in self.slow:
            spare()
            assert self.slow[job].wait(10), "nobody was served beside it"
        if job in self.fails:
            raise RuntimeError(job)
        self.worked.append(job)
        if job in self.ends:
            self.ends[job].set()
        return PointerResult.SENT

    def resolution(self, call_timeout: float) -> Any:
        def resolve(job: str, number: int, *, deadline: float, after: int) -> Resolved:
            if job in self.fails:
                raise Retriable
            self.asked.append(job)
            return Resolved()

        return SimpleNamespace(resolve=resolve)


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch) -> Stage:
    made = Stage()
    monkeypatch.setattr(services, "deployment", lambda: made)
    return made


def queue(*, express: bool = False) -> str:
    return (express_queue_name if express else lane_queue_name)("dev", "one")


def record(job: str, receives: int = 1, **fields: Any) -> dict[str, Any]:
    """Return a pointer as a queue hands it over."""
    return {
        "messageId": f"message-{job}",
        "receiptHandle": f"receipt-{job}",
        "attributes": {"ApproximateReceiveCount": str(receives)},
        "body": json.dumps({"job": job, "chunk": 0, **fields}),
    }


def run(*pointers: tuple[str, int], resolve: bool = False, express: bool = False) -> list[str]:
    """Deliver a pointer for each (job, receives); returns the ids of those that are to come again."""
    source = {"eventSourceARN": f"arn:aws:sqs:us-east-1:123456789012:{queue(express=express)}"}
    asked = {"resolve": True} if resolve else {}
    records = [record(job, receives, **asked) | source for job, receives in pointers]
    return [f["itemIdentifier"] for f in send.handler({"Records": records}, Context())["batchItemFailures"]]


def test_what_is_done_does_not_come_again(stage: Stage) -> None:
    assert run(("a", 1), ("b", 1)) == []
    assert sorted(stage.worked) == ["a", "b"]
    assert stage.put_off == {}


@pytest.mark.parametrize(("receives", "seconds"), [(1, 5), (2, 15), (3, 60), (4, 180), (5, 0), (9, 0)])
def test_a_pointer_that_fails_comes_again_alone_and_later_each_time(
    stage: Stage, receives: int, seconds: float
) -> None:
    stage.fails = {"a"}
    assert run(("a", receives), ("b", 3)) == ["message-a"]
    assert stage.worked == ["b"]
    assert stage.put_off == {"receipt-a": seconds}


def test_a_worker_that_is_started_without_pointers_does_nothing_and_does_not_fail(stage: Stage) -> None:
    assert run() == []
    assert (stage.worked, stage.put_off) == ([], {})


def test_two_minutes_of_faults_fit_into_the_deliveries() -> None:
    """Five of them, before a pointer is a dead letter (infra/resources/queue.py)."""
    assert len(REDELIVERIES) == 4
    assert sum(REDELIVERIES) > 240


@pytest.mark.parametrize("resolve", [False, True])
def test_without_a_secret_each_pointer_comes_again_in_its_own_time(stage: Stage, resolve: bool) -> None:  # noqa: FBT001
    def gone() -> None:
        raise Retriable

    stage.secret = gone
    assert run(("a", 1), ("b", 4), resolve=resolve) == ["message-a", "message-b"]
    assert stage.put_off == {"receipt-a": 5, "receipt-b": 180}
    assert stage.worked == stage.asked == []


def test_what_fails_names_its_messages_for_the_operator_of_their_dead_letters(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    def gone() -> None:
        raise MalformedSecret("the secret of one is no JSON")

    stage.fails = {"a"}
    assert run(("a", 1)) == ["message-a"]
    assert set(errors(caplog)) == {"message-a"}
    caplog.clear()
    stage.secret = gone
    assert run(("a", 1), ("b", 1)) == ["message-a", "message-b"]
    assert errors(caplog) == dict.fromkeys(
        ("message-a", "message-b"), f"{MalformedSecret.__module__}.MalformedSecret: the secret of one is no JSON"
    )


def test_a_question_that_fails_comes_again(stage: Stage) -> None:
    stage.fails = {"a"}
    assert run(("a", 2), ("b", 1), resolve=True) == ["message-a"]
    assert stage.asked == ["b"]
    assert stage.put_off == {"receipt-a": 15}


def test_a_pointer_that_cannot_be_put_off_comes_again_at_the_end_of_its_visibility(stage: Stage) -> None:
    stage.fails = {"a", "b"}
    stage.refuse = True
    assert run(("a", 1), ("b", 1)) == ["message-a", "message-b"]


@pytest.mark.parametrize("express", [False, True])
def test_a_pointer_is_put_off_in_the_queue_it_came_from(stage: Stage, express: bool) -> None:  # noqa: FBT001
    stage.fails = {"a"}
    run(("a", 1), express=express)
    assert stage.express == {"receipt-a": express}


# Slow answers


@pytest.mark.parametrize("express", [False, True])
def test_another_pointer_is_served_beside_a_lease_that_waits_for_slow_answers(stage: Stage, express: bool) -> None:  # noqa: FBT001
    done = threading.Event()
    stage.slow, stage.ends = {"a": done}, {"b": done}
    stage.waiting = {queue(express=express): ["b"]}
    assert run(("a", 1), express=express) == []
    assert stage.worked == ["b", "a"]
    assert stage.deleted == [f"receipt-b {queue(express=express)}"]


# Groups


def test_pointers_to_small_jobs_are_served_together_and_those_that_wait_after_a_full_group(stage: Stage) -> None:
    stage.credential = replace(stage.credential, rate=500)
    waiting = [f"w{n:02}" for n in range(25)]
    stage.waiting = {queue(express=True): [*waiting]}
    assert run(*((f"e{n}", 1) for n in range(10)), express=True) == []
    assert sorted(map(sorted, stage.groups)) == [
        [f"e{n}" for n in range(10)],
        waiting[:10],
        waiting[10:20],
        waiting[20:],
    ]
    assert sorted(stage.deleted) == [f"receipt-{job} {queue(express=True)}" for job in waiting]


def test_a_line_of_the_log_names_few_of_many_jobs(stage: Stage, caplog: pytest.LogCaptureFixture) -> None:
    stage.credential = replace(stage.credential, rate=500)
    stage.waiting = {queue(express=True): [f"w{n:03}" for n in range(200)]}
    caplog.set_level("INFO")
    assert run(*((f"e{n}", 1) for n in range(10)), express=True) == []
    named = [list(r.did) for r in caplog.records if r.message == "sent" and hasattr(r, "did")]
    assert max(map(len, named)) <= 10
    assert len({name for names in named for name in names}) == 210


@pytest.mark.parametrize(("count", "taken"), [(1, 0), (9, 0), (10, 10)])
def test_a_lone_message_costs_no_look_at_the_queue(stage: Stage, count: int, taken: int) -> None:
    stage.credential = replace(stage.credential, rate=500)
    stage.waiting = {queue(express=True): [f"w{n:02}" for n in range(10)]}
    assert run(*((f"e{n}", 1) for n in range(count)), express=True) == []
    assert len(stage.deleted) == taken


def test_what_comes_while_a_small_job_waits_for_a_slow_answer_is_served_beside_it(stage: Stage) -> None:
    done = threading.Event()
    stage.slow, stage.ends = {"a": done}, {"c": done}
    stage.arriving = [[], [], ["b"], [], ["c"]]
    assert run(("a", 1), express=True) == []
    assert stage.groups == [["a"], ["b"], ["c"]]
    assert stage.worked == ["b", "c", "a"]
    assert set(stage.looks) == {None, send.LISTEN}, "it does not ask again and again"


@pytest.mark.parametrize("late", [False, True], ids=["the queue does not answer", "little time is left"])
def test_it_listens_no_more_if_that_makes_no_sense(stage: Stage, late: bool) -> None:  # noqa: FBT001
    stage.refuse = not late
    stage.clock = LateClock() if late else stage.clock
    turns = send._Turns(
        lambda *_: {}, lambda *_: {}, until=stage.clock.now() + (0 if late else 60), credential=stage.credential
    )
    source = {"eventSourceARN": f"arn:aws:sqs:us-east-1:123456789012:{queue(express=True)}"}
    assert turns._listen(record("a") | source, 10) == []
    assert len(stage.looks) == (0 if late else 1)


def test_the_fault_of_one_in_a_group_is_its_own(stage: Stage, caplog: pytest.LogCaptureFixture) -> None:
    stage.fails = {"b", "y"}
    stage.slow = {"a": threading.Event()}
    stage.slow["a"].set()
    stage.waiting = {queue(express=True): ["x", "y"]}
    assert run(("a", 1), ("b", 2), express=True) == ["message-b"]
    assert sorted(stage.worked) == ["a", "x"]
    assert stage.put_off == {"receipt-b": 15, "receipt-y": 5}
    assert stage.deleted == [f"receipt-x {queue(express=True)}"]
    assert set(errors(caplog)) == {"message-b", "message-y"}


def test_a_question_among_pointers_to_small_jobs_is_asked(stage: Stage) -> None:
    source = {"eventSourceARN": f"arn:aws:sqs:us-east-1:123456789012:{queue(express=True)}"}
    records = [record("a") | source, record("q", resolve=True) | source]
    assert send.handler({"Records": records}, Context()) == {"batchItemFailures": []}
    assert (stage.groups, stage.asked) == ([["a"]], ["q"])


def test_each_lease_that_waits_makes_room_for_one(stage: Stage) -> None:
    done = threading.Event()
    stage.slow, stage.ends = {"a": done, "b": done}, {"c": done}
    stage.waiting = {queue(): ["b", "c", "d"]}
    assert run(("a", 1)) == []
    assert stage.worked[0] == "c"
    assert sorted(stage.worked) == ["a", "b", "c"]
    assert stage.waiting == {queue(): ["d"]}


def test_a_pointer_that_was_received_and_fails_comes_again_and_is_none_of_the_events(stage: Stage) -> None:
    stage.slow = {"a": threading.Event()}
    stage.fails = {"b"}
    stage.waiting = {queue(): ["b"]}
    stage.slow["a"].set()
    assert run(("a", 1)) == []
    assert stage.put_off == {"receipt-b": 5}
    assert stage.deleted == []


def test_no_pointer_is_received_where_little_time_is_left_or_the_queue_does_not_answer(stage: Stage) -> None:
    over = threading.Event()
    over.set()
    stage.slow = {"a": over}
    stage.waiting = {queue(): ["b"]}
    stage.refuse = True
    assert run(("a", 1)) == []
    stage.refuse = False
    stage.clock = LateClock()
    assert run(("a", 1)) == []
    assert stage.worked == ["a", "a"]
    assert stage.waiting == {queue(): ["b"]}
