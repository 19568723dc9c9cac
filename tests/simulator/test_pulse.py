"""A simulator that was held up says how much earlier an arrival may have been."""

import socket
import threading
import time
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import pytest

from simulator import Simulator
from simulator.servers import pulse


def test_a_call_that_waited_for_a_busy_simulator_has_the_slack_to_show_for_it() -> None:
    held, release = threading.Event(), threading.Event()

    def hold() -> None:
        held.set()
        assert release.wait(30)

    with Simulator() as sim:
        loop, where = sim._loop, urlsplit(sim.url)
        assert loop is not None
        loop.call_soon_threadsafe(hold)
        assert held.wait(30)
        before = time.monotonic()
        with socket.create_connection((where.hostname, where.port), timeout=30) as caller:
            caller.sendall(b"GET /sendgrid/main/v3/nothing HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n")
            waited = time.monotonic() - before
            release.set()
            assert caller.recv(1)
        (call,) = sim.control.calls()
    assert call["slack"] >= waited


def test_it_ticks_seldom_while_no_call_arrives(monkeypatch: pytest.MonkeyPatch) -> None:
    now, delays = 100.0, []
    monkeypatch.setattr(pulse, "time", SimpleNamespace(monotonic=lambda: now))
    loop: Any = SimpleNamespace(call_later=lambda delay, *_: delays.append(delay))
    ticks = pulse.Pulse()
    ticks._tick(loop)
    ticks.slack()
    ticks._tick(loop)
    now += pulse.AWAKE
    ticks._tick(loop)
    assert delays == [pulse.REST, pulse.TICK, pulse.REST]
    assert pulse.REST < pulse.HELD
