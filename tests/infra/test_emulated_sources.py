"""The local cloud polls its event sources side by side, as AWS does."""

import threading
from collections.abc import Iterator

import pytest
from ministack.core.concurrency import esm_wake
from ministack.services import lambda_svc

from infra.local.emulated import sources

PATIENCE = 10
SLOW, QUICK = "slow", "quick"
TABLE = "arn:aws:dynamodb:us-east-1:000000000000:table/records/stream/1"
QUEUE = "arn:aws:sqs:us-east-1:000000000000:calls"


class Emulator:
    """Stands for MiniStack: two streams, of which the function of one takes long, and a queue."""

    def __init__(self) -> None:
        self.over = threading.Event()
        self.begun = threading.Event()
        self.polled = {name: threading.Semaphore(0) for name in (QUICK, "queues")}
        self.seen: list[tuple[str, ...]] = []
        self.faults = 0

    def sources(self) -> Iterator[tuple[str, str, dict[str, str]]]:
        for name, arn in ((SLOW, TABLE), (QUICK, TABLE), ("calls", QUEUE)):
            yield "000000000000", "us-east-1", {"UUID": name, "EventSourceArn": arn}

    def queues(self) -> bool:
        self.polled["queues"].release()
        return False

    def streams(self) -> bool:
        """Poll those streams that the caller sees."""
        names = tuple(x["UUID"] for _, _, x in lambda_svc._iter_all_esms())
        self.seen.append(names)
        if names == (SLOW,):
            self.begun.set()
            self.over.wait(PATIENCE)
        elif self.faults:
            self.faults -= 1
            raise OSError
        else:
            self.polled[QUICK].release()
        return False


@pytest.fixture
def emulator(monkeypatch: pytest.MonkeyPatch) -> Iterator[Emulator]:
    made = Emulator()
    monkeypatch.setattr(lambda_svc, "_iter_all_esms", made.sources)
    monkeypatch.setattr(lambda_svc, "_poll_sqs", made.queues)
    monkeypatch.setattr(lambda_svc, "_poll_dynamodb_streams", made.streams)
    monkeypatch.setattr(lambda_svc, "_poll_loop", lambda_svc._poll_loop)
    before = set(threading.enumerate())
    sources.install(made.over)
    threading.Thread(target=lambda_svc._poll_loop).start()
    yield made
    made.over.set()
    esm_wake.set()
    for thread in set(threading.enumerate()) - before:
        thread.join(PATIENCE)
        assert not thread.is_alive()


def polled(emulator: Emulator, name: str) -> bool:
    """Tell whether something is polled once a source has changed."""
    esm_wake.set()
    return emulator.polled[name].acquire(timeout=PATIENCE)


def test_a_slow_function_of_a_stream_holds_up_no_queue_and_no_other_stream(emulator: Emulator) -> None:
    esm_wake.set()
    assert emulator.begun.wait(PATIENCE)
    for _ in range(3):
        assert polled(emulator, QUICK)
        assert polled(emulator, "queues")


def test_each_stream_is_polled_by_a_thread_of_its_own(emulator: Emulator) -> None:
    assert polled(emulator, QUICK)
    assert emulator.begun.wait(PATIENCE)
    assert set(emulator.seen) == {(SLOW,), (QUICK,)}


def test_a_stream_is_polled_again_after_a_fault(emulator: Emulator) -> None:
    emulator.faults = 2
    assert polled(emulator, QUICK)
    assert not emulator.faults
