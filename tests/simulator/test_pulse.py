"""A simulator that was held up says how much earlier an arrival may have been."""

import socket
import threading
import time
from urllib.parse import urlsplit

from simulator import Simulator


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
