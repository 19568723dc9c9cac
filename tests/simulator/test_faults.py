"""Each failure mode as a real client sees it, and the log as an exact oracle of what was accepted."""

import http.client
import socket
import threading
from collections import Counter
from hashlib import sha256
from typing import Any
from urllib.parse import urlsplit

import pytest

from simulator import ControlError, Simulator
from tests.simulator.conftest import CREDENTIAL, PROVIDER, Send, mail, post


def fault(sim: Simulator, **faults: Any) -> None:
    sim.control.faults(PROVIDER, CREDENTIAL, **faults)


@pytest.mark.parametrize(
    ("mode", "status", "text"),
    [("503", 503, "Service Unavailable"), ("429", 429, "too many requests"), ("401", 401, "authorization grant")],
)
def test_a_refusal_has_the_vendors_body_and_accepts_nothing(
    sim: Simulator, send: Send, mode: str, status: int, text: str
) -> None:
    fault(sim, mode=mode, retry_after_s=7)

    answer = send(mail("a@example.com"))

    assert answer.status == status
    assert text in answer.json()["errors"][0]["message"]
    assert answer.headers.get("retry-after") == ("7" if mode == "429" else None)
    assert sim.control.log() == []
    [call] = sim.control.calls()
    assert (call["status"], call["fault"], call["answered"], call["accepted"]) == (status, mode, True, 0)


@pytest.mark.parametrize(("status", "accept"), [(500, 0), (502, 1), (504, 1)])
def test_a_gateways_error_has_no_vendors_body_and_may_have_been_accepted(
    sim: Simulator, send: Send, status: int, accept: int
) -> None:
    fault(sim, mode="500", status=status, accept=bool(accept))

    answer = send(mail("a@example.com"))

    assert answer.status == status
    assert b"errors" not in answer.body
    assert answer.headers["content-type"] == "text/html"
    assert len(sim.control.log()) == accept


def test_a_refused_connection_is_refused_before_a_byte_is_sent_and_comes_back(sim: Simulator) -> None:
    base_url = sim.listen(PROVIDER, CREDENTIAL)
    address = urlsplit(base_url)
    assert post(base_url, mail("a@example.com")).status == 202
    kept = http.client.HTTPConnection(address.netloc, timeout=5)
    kept.request("GET", "/")
    kept.getresponse().read()

    fault(sim, mode="refuse")

    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((address.hostname, address.port), timeout=5).close()
    with pytest.raises(ConnectionRefusedError):
        post(base_url, mail("b@example.com"))
    assert kept.sock is not None
    with pytest.raises(ConnectionResetError):
        kept.sock.recv(1)
    kept.close()
    assert sim.control.stats()["calls"] == 1
    assert sim.control.faults(PROVIDER, CREDENTIAL)["rules"] == []
    assert post(base_url, mail("b@example.com")).status == 202


def until_answered(base_url: str) -> None:
    """Post until the port listens: each refused attempt is a round trip, so no waiting is needed to come to the end."""
    for _ in range(100_000):
        try:
            assert post(base_url, mail("a@example.com")).status == 202
        except ConnectionRefusedError:
            continue
        return
    pytest.fail("nobody listens again")


def test_a_refusal_ends_by_itself(sim: Simulator) -> None:
    base_url = sim.listen(PROVIDER, CREDENTIAL)
    for seconds in (0.05, 0.5, 5):  # on a machine that stands still for so long nobody sees a refusal
        fault(sim, mode="refuse", seconds=seconds)
        try:
            post(base_url, mail("a@example.com"))
        except ConnectionRefusedError:
            break
    else:
        pytest.fail("it was never refused")

    before = sim.control.stats()["accepted"]  # the control port goes on meanwhile
    until_answered(base_url)
    assert sim.control.stats()["accepted"] == before + 1


def test_no_call_through_a_port_that_listens_again_is_refused_whatever_the_clock_says() -> None:
    with Simulator(now=lambda: 1_000.0) as stopped:
        base_url = stopped.listen(PROVIDER, CREDENTIAL)
        fault(stopped, mode="refuse", seconds=0.01)
        until_answered(base_url)
        assert stopped.control.stats()["accepted"] == 1


def test_refusing_needs_a_separate_port_and_no_conditions(sim: Simulator) -> None:
    with pytest.raises(ControlError, match="port of its own"):
        sim.control.faults(PROVIDER, "shared-port", mode="refuse")
    with pytest.raises(ControlError, match="refuse cannot depend on the call"):
        fault(sim, mode="refuse", count=1)


def test_a_reset_comes_after_the_request_was_read_and_accepts_nothing(sim: Simulator, send: Send) -> None:
    fault(sim, mode="reset", count=1)

    with pytest.raises(ConnectionResetError) as raised:
        send(mail("a@example.com"))

    assert not isinstance(raised.value, http.client.RemoteDisconnected)
    assert sim.control.log() == []
    [call] = sim.control.calls()
    assert (call["status"], call["fault"], call["answered"]) == (0, "reset", False)
    assert send(mail("a@example.com")).status == 202


@pytest.mark.slow
def test_the_log_is_exact_when_calls_are_accepted_and_dropped(sim: Simulator, send: Send) -> None:
    fault(sim, mode="accept_and_drop", probability=0.5)
    answered, dropped = set(), set()
    lock = threading.Lock()

    def work(worker: int) -> None:
        for i in range(40):
            recipient = f"W{worker}-{i}@example.com"
            try:
                status = send(mail(recipient)).status
            except http.client.RemoteDisconnected:
                with lock:
                    dropped.add(recipient)
            else:
                assert status == 202
                with lock:
                    answered.add(recipient)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(5)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()

    log = sim.control.log(PROVIDER, CREDENTIAL)
    assert Counter(line["recipient"] for line in log) == Counter(answered | dropped)
    assert len(answered) + len(dropped) == 200
    assert 60 <= len(dropped) <= 140
    assert {line["recipient"] for line in log if line["answered"]} == answered
    assert {line["recipient"] for line in log if not line["answered"]} == dropped
    assert all(line["accepted"] for line in log)
    assert all(line["recipient_hash"] == sha256(line["recipient"].lower().encode()).hexdigest() for line in log)
    assert [line["seq"] for line in log] == sorted(line["seq"] for line in log)
    assert [line["at"] for line in log] == sorted(line["at"] for line in log)


def test_a_slow_answer_was_accepted_at_arrival(sim: Simulator, send: Send) -> None:
    fault(sim, mode="slow", after_s=30)

    with pytest.raises(TimeoutError):
        send(mail("a@example.com"), timeout=0.1)

    [line] = sim.control.log()
    assert (line["recipient"], line["answered"], line["fault"]) == ("a@example.com", False, "slow")


def test_latency_delays_every_answer(sim: Simulator, send: Send) -> None:
    fault(sim, latency_ms=30_000)
    with pytest.raises(TimeoutError):
        send(mail("a@example.com"), timeout=0.1)
    fault(sim, latency_ms=1)
    assert send(mail("b@example.com")).status == 202


def test_only_the_first_calls_are_hit(sim: Simulator, send: Send) -> None:
    fault(sim, mode="503", count=2)

    assert [send(mail("a@example.com")).status for _ in range(4)] == [503, 503, 202, 202]


def test_only_calls_with_matching_recipients_are_hit(sim: Simulator, send: Send) -> None:
    fault(sim, rules=[{"mode": "429", "recipients": "*@slow.example"}, {"mode": "503", "recipients": "x*"}])

    assert send(mail("a@example.com", "B@Slow.example")).status == 429
    assert send(mail("xaver@example.com")).status == 503
    assert send(mail("a@example.com")).status == 202
    assert sim.control.json("GET", f"/_control/{PROVIDER}/{CREDENTIAL}/faults")["hits"] == [1, 1]


@pytest.mark.slow
def test_a_rule_ends_after_its_time() -> None:
    time = 1_000.0
    statuses = []
    with Simulator(now=lambda: time) as timed:
        fault(timed, mode="503", seconds=2)
        for passed in (0, 1.9, 0.2):
            time += passed
            statuses.append(post(timed.base_url(PROVIDER, CREDENTIAL), mail("a@example.com")).status)

    assert statuses == [503, 503, 202]


@pytest.mark.slow
def test_chances_are_replayed_by_the_seed() -> None:
    def play(seed: str) -> list[int]:
        with Simulator(seed=seed) as sim:
            fault(sim, mode="503", probability=0.5)
            return [post(sim.base_url(PROVIDER, CREDENTIAL), mail("a@example.com")).status for _ in range(40)]

    first = play("one")
    assert set(first) == {202, 503}
    assert play("one") == first
    assert play("two") != first


def test_credentials_have_faults_and_logs_of_their_own(sim: Simulator, send: Send) -> None:
    fault(sim, mode="503")

    assert send(mail("a@example.com")).status == 503
    assert post(sim.base_url(PROVIDER, "other"), mail("a@example.com")).status == 202
    assert post(f"{sim.url}/{PROVIDER}", mail("a@example.com")).status == 202
    assert [line["credential"] for line in sim.control.log()] == ["other", "default"]
    assert sim.control.log(PROVIDER, CREDENTIAL) == []


@pytest.mark.parametrize("faults", [{"mode": "explode"}, {"mode": "503", "probability": 2}, {"latency": 1}])
def test_nonsense_is_refused(sim: Simulator, faults: dict[str, Any]) -> None:
    with pytest.raises(ControlError, match="400"):
        fault(sim, **faults)
