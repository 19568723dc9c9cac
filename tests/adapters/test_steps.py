"""Steps side by side in one thread: while one waits for its answer, the others go on."""

import threading
from collections.abc import Callable, Iterator

import pytest

from shared.adapters.http.steps import SteppingHttp, SteppingWire, sleep
from shared.adapters.http.transport import HttpClient
from shared.engine.pool import SideBySide
from shared.ports import AnswerLost, NoTime, NotSent, Response
from tests.adapters.servers import OK, Conversation, Server, answering, serving
from tests.adapters.test_http_wire import connect, idle
from tests.fakes.shifted import ShiftedClock


@pytest.fixture
def client(clock: ShiftedClock) -> Iterator[HttpClient]:
    made = HttpClient(clock)
    yield made
    made.close()


def asking(client: HttpClient, server: Server, body: bytes = b"{}", seconds: float = 10) -> Callable[[], Response]:
    """Return a step that makes a request."""
    http = SteppingHttp(client)
    deadline = client.now() + seconds
    return lambda: http.request("POST", server.url, headers={}, body=body, deadline=deadline)


@pytest.mark.parametrize("open_before", [0, 3], ids=["opened by threads", "open before"])
def test_requests_of_steps_are_under_way_at_once(client: HttpClient, open_before: int) -> None:
    held = threading.Barrier(3, timeout=20)

    def talk(c: Conversation) -> None:
        c.hear()
        held.wait()  # nobody is answered before all have asked
        c.say(OK)
        answering()(c)

    with serving(talk) as server:
        connect(client, server, open_before)
        with SteppingWire(client) as wire:
            begun = [wire.submit(asking(client, server)) for _ in range(3)]
            assert [call.result().status for call in begun] == [202] * 3
        assert server.connections == idle(client) == 3


def test_a_step_makes_its_requests_one_after_the_other_in_its_own_thread(client: HttpClient) -> None:
    threads = set()

    with serving() as server, SteppingWire(client) as wire:

        def step(n: int) -> int:
            ask = asking(client, server, b"%d" % n)
            for _ in range(3):
                assert ask().status == 202
                threads.add(threading.get_ident())
            return n

        assert [call.result() for call in [wire.submit(step, n) for n in range(4)]] == [0, 1, 2, 3]
    assert threads == {threading.get_ident()}
    assert len(server.requests) == 12
    assert server.connections == 4


def test_the_fault_of_a_step_is_raised_where_it_is_waited_for(client: HttpClient) -> None:
    def fault() -> None:
        raise LookupError("of a step")

    with serving() as server, SteppingWire(client) as wire:
        bad, good = wire.submit(fault), wire.submit(asking(client, server))
        with pytest.raises(LookupError, match="of a step"):
            bad.result()
        assert good.result().status == 202


@pytest.mark.parametrize("open_before", [0, 1])
def test_a_request_fails_as_the_client_has_it_fail(client: HttpClient, open_before: int) -> None:
    def cut(c: Conversation) -> None:
        c.hear()
        c.reset()

    with serving(cut) as server:
        connect(client, server, open_before)
        with SteppingWire(client) as wire:
            with pytest.raises(AnswerLost):
                wire.submit(asking(client, server)).result()
            with pytest.raises(NoTime):
                wire.submit(asking(client, server, seconds=-1)).result()
    with SteppingWire(client) as wire, pytest.raises(NotSent):
        wire.submit(asking(client, server)).result()


def test_others_go_on_while_a_step_sleeps(client: HttpClient) -> None:
    done: list[str] = []

    with serving() as server, SteppingWire(client) as wire:

        def slow() -> None:
            sleep(client.clock, 0.05)
            done.append("slept")

        def quick() -> None:
            asking(client, server)()
            done.append("asked")

        waits, asks = wire.submit(slow), wire.submit(quick)
        assert not waits.done()
        asks.result()
        waits.result()
        assert waits.done()
    assert done == ["asked", "slept"]


def test_leaving_waits_for_every_step(client: HttpClient) -> None:
    done: list[int] = []

    def step(ask: Callable[[], Response], n: int) -> None:
        sleep(client.clock, 0.01)
        ask()
        sleep(client.clock, 0.01)
        done.append(n)

    with serving() as server, SteppingWire(client) as wire:
        for n in range(3):
            wire.submit(step, asking(client, server), n)
    assert sorted(done) == [0, 1, 2]


def test_steps_go_on_while_the_thread_rests(client: HttpClient) -> None:
    with serving() as server, SteppingWire(client) as wire:
        connect(client, server)
        call = wire.submit(asking(client, server))
        while not call.done():
            wire.rest(client.now() + 0.005)
        assert call.result().status == 202


def test_outside_of_steps_all_is_as_of_the_client(client: HttpClient, clock: ShiftedClock) -> None:
    with serving(answering()) as server:
        assert asking(client, server)().status == 202
    begun = clock.now()
    sleep(clock, 0.01)
    assert clock.now() - begun >= 0.01


def test_a_wire_can_run_what_a_pool_runs(client: HttpClient) -> None:
    with SteppingWire(client) as wire:
        assert isinstance(wire, SideBySide)
