"""Whatever SQS does not take, whatever fails again, whoever interrupts: a redrive loses nothing and comes to an end."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from shared.adapters.queues.dead_letters import HOLD_SECONDS, RUN
from shared.adapters.queues.redrive import BACK_AGAIN, Redrive, Redriver
from shared.domain.queues.dead_letters import QueuePlace

PLACE = QueuePlace("lane-one", "work", "dead")

pytestmark = pytest.mark.promise(8)


class Sqs:
    """Two queues in memory. `refused`: bodies it does not take; `forget`: what is held may be received again."""

    def __init__(self, *bodies: str) -> None:
        self.queues: dict[str, dict[str, Any]] = {"dead": {}, "work": {}}
        self.held: set[str] = set()
        self.refused: set[str] = set()
        self.said: list[str] = []
        self.after_send: Callable[[], None] = lambda: None
        self._ids = 0
        for body in bodies:
            self.put("dead", body)

    def put(self, queue: str, body: str, attributes: Any = None) -> None:
        self._ids += 1
        name = f"m{self._ids:03d}"
        self.queues[queue][name] = {"MessageId": name, "Body": body, "ReceiptHandle": name}
        self.queues[queue][name]["MessageAttributes"] = attributes or {}

    def receive_message(self, **asked: Any) -> Any:
        assert asked["VisibilityTimeout"] == HOLD_SECONDS
        some = [x for name, x in self.queues[asked["QueueUrl"]].items() if name not in self.held]
        some = some[: asked["MaxNumberOfMessages"]]
        self.held |= {x["MessageId"] for x in some}
        return {"Messages": some}

    def send_message_batch(self, **asked: Any) -> Any:
        failed = []
        for entry in asked["Entries"]:
            if entry["MessageBody"] in self.refused:
                failed.append({"Id": entry["Id"], "Code": "InternalError", "SenderFault": False})
            else:
                self.said.append(f"send {entry['MessageBody']}")
                self.put(asked["QueueUrl"], entry["MessageBody"], entry["MessageAttributes"])
        self.after_send()
        return {"Failed": failed}

    def delete_message_batch(self, **asked: Any) -> Any:
        for entry in asked["Entries"]:
            gone = self.queues[asked["QueueUrl"]].pop(entry["ReceiptHandle"])
            self.held.discard(entry["ReceiptHandle"])
            self.said.append(f"delete {gone['Body']}")
        return {}

    def change_message_visibility_batch(self, **asked: Any) -> Any:
        assert len(asked["Entries"]) <= 10
        self.held -= {entry["ReceiptHandle"] for entry in asked["Entries"]}
        return {}

    def bodies(self, queue: str) -> list[str]:
        return [x["Body"] for x in self.queues[queue].values()]


def redrive(sqs: Sqs, *, discard: bool = False) -> Redrive:
    deliver = Redriver(sqs, "work", "run")
    return Redrive(sqs, PLACE, deliver, lambda body: body.startswith("good"), run="run", discard=discard)


def never() -> bool:
    return False


def test_each_is_sent_before_it_is_deleted_and_what_is_not_taken_stays() -> None:
    sqs = Sqs("good 1", "good 2", "bad 3")
    sqs.refused = {"good 2"}
    work = redrive(sqs)
    work.go(100, never)
    assert sqs.said == ["send good 1", "delete good 1"]
    assert (sqs.bodies("dead"), sqs.bodies("work"), sqs.held) == (["good 2", "bad 3"], ["good 1"], set())
    assert sorted(why for _, why in work.tally.left) == [
        "SQS did not take it: InternalError",
        "not a message of this queue",
    ]
    assert work.tally.moved == 1
    attributes = next(iter(sqs.queues["work"].values()))["MessageAttributes"]
    assert attributes[RUN]["StringValue"] == "run"


def test_what_fails_again_at_once_is_moved_once() -> None:
    sqs = Sqs("good 1", "good 2")

    def poison() -> None:
        sqs.queues["dead"] |= sqs.queues["work"]
        sqs.queues["work"] = {}

    sqs.after_send = poison
    work = redrive(sqs)
    work.go(100, never)
    assert (work.tally.moved, [why for _, why in work.tally.left]) == (2, [BACK_AGAIN, BACK_AGAIN])
    assert len(sqs.said) == 4


def test_there_may_be_more_behind_what_comes_again() -> None:
    sqs = Sqs(*(f"bad {n}" for n in range(10)), *(f"good {n}" for n in range(15)))
    work = redrive(sqs)
    looks = 0

    def expire() -> bool:
        nonlocal looks
        looks += 1
        if looks == 1:
            sqs.held.clear()  # the time in hand of what was left is over
        return False

    work.go(100, expire)
    assert (work.tally.moved, len(work.tally.left)) == (15, 10)
    assert len(sqs.bodies("work")) == 15


def test_an_interruption_gives_back_what_is_in_hand() -> None:
    sqs = Sqs(*(f"good {n}" for n in range(12)))

    def interrupt() -> None:
        raise KeyboardInterrupt

    sqs.after_send = interrupt
    work = redrive(sqs)
    with pytest.raises(KeyboardInterrupt):
        work.go(100, never)
    assert (len(sqs.bodies("dead")), sqs.held, work.tally.moved) == (12, set(), 0)


@pytest.mark.parametrize(("limit", "moved"), [(3, 3), (11, 11)])
def test_no_more_is_moved_than_was_asked_for(limit: int, moved: int) -> None:
    sqs = Sqs(*(f"good {n}" for n in range(25)))
    work = redrive(sqs)
    work.go(limit, never)
    assert (work.tally.moved, len(sqs.bodies("dead"))) == (moved, 25 - moved)


def test_only_unreadable_messages_are_discarded() -> None:
    sqs = Sqs("good 1", json.dumps({"bad": 2}), "good 3")
    sqs.refused = {"good 3"}
    work = redrive(sqs, discard=True)
    work.go(100, never)
    assert (work.tally.moved, work.tally.discarded, len(work.tally.left)) == (1, 1, 1)
    assert sqs.bodies("dead") == ["good 3"]


def test_a_run_whose_time_is_over_says_so_and_leaves_nothing_hidden() -> None:
    sqs = Sqs(*(f"good {n}" for n in range(25)))
    work = redrive(sqs)
    work.go(100, lambda: True)
    assert (work.tally.moved, work.tally.more, sqs.held) == (10, True, set())
    rest = redrive(sqs)
    rest.go(100, never)
    assert (rest.tally.moved, rest.tally.more) == (15, False)
