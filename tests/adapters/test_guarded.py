"""Where the guarded client connects to, against hostile names and addresses, on real connections."""

import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from shared.adapters.http.guarded import LIFE_SECONDS, MAX_IDLE, GuardedClient
from shared.adapters.http.transport import IDLE_SECONDS
from tests import certificates
from tests.adapters.guarding import BODY, HEAD, NAME, OK, Net, endless, post, unreachable
from tests.adapters.servers import Conversation, answering, refusing, serving
from tests.fakes.shifted import ShiftedClock

PUBLIC = "93.184.215.14"


@pytest.fixture(scope="module")
def named(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return certificates.self_signed(tmp_path_factory.mktemp("named"), NAME)


@pytest.fixture
def guarded(named: Path, clock: ShiftedClock) -> Iterator[Callable[[Net], GuardedClient]]:
    made = []

    def make(net: Net) -> GuardedClient:
        trusted = certificates.trusting(named)
        made.append(GuardedClient(clock, resolve=net.resolve, connect=net.connect, context=trusted))
        return made[-1]

    yield make
    for client in made:
        client.close()


# Where it connects to


def test_it_connects_to_the_checked_address_and_verifies_the_name(
    guarded: Callable[[Net], GuardedClient], named: Path
) -> None:
    with serving(answering(OK), context=certificates.serving(named)) as server:
        net = Net(server.port, [PUBLIC])
        answer = post(guarded(net))
    assert (answer.status, answer.text, answer.retry_after) == (200, "ok", 0)
    assert net.asked == [(NAME, 443)]
    assert net.dialled == [(PUBLIC, 443)]
    head, _, body = server.requests[0].partition(b"\r\n\r\n")
    assert head.split(b"\r\n") == [
        b"POST /in?x=1 HTTP/1.1",
        b"Host: " + NAME.encode(),
        b"Accept-Encoding: identity",
        f"Content-Length: {len(BODY)}".encode(),
        b"webhook-id: evt_1",
    ]
    assert body == BODY


def test_a_name_that_turns_private_after_the_check_gains_nothing(
    guarded: Callable[[Net], GuardedClient], named: Path
) -> None:
    with serving(answering(OK), context=certificates.serving(named)) as server:
        net = Net(server.port, [PUBLIC], ["169.254.169.254"])
        client = guarded(net)
        assert post(client).status == 200
        client.close()
        assert unreachable(client) == "address_refused"
    assert net.dialled == [(PUBLIC, 443)]
    assert len(net.asked) == 2


@pytest.mark.parametrize("answers", [["10.0.0.1"], [PUBLIC, "127.0.0.1"], ["::ffff:10.0.0.1"], ["fd00:ec2::254"], []])
def test_a_name_with_one_private_address_is_not_called(
    guarded: Callable[[Net], GuardedClient], answers: list[str]
) -> None:
    net = Net(1, answers)
    assert unreachable(guarded(net)) == "address_refused"
    assert net.dialled == []


@pytest.mark.parametrize("url", ["http://hooks.example.com/", "https://127.0.0.1/", "https://a@hooks.example.com/"])
def test_a_stored_url_is_checked_again(guarded: Callable[[Net], GuardedClient], url: str) -> None:
    net = Net(1, [PUBLIC])
    assert unreachable(guarded(net), url) == "url_refused"
    assert net.asked == []


def test_a_dead_address_leaves_time_for_the_next(guarded: Callable[[Net], GuardedClient], named: Path) -> None:
    with serving(answering(OK), context=certificates.serving(named)) as server:
        net = Net(server.port, ["2606:4700::1111", PUBLIC])
        net.dead = {"2606:4700::1111"}
        assert post(guarded(net)).status == 200
    assert [address for address, _ in net.dialled] == ["2606:4700::1111", PUBLIC]


def test_only_a_few_addresses_are_tried(guarded: Callable[[Net], GuardedClient]) -> None:
    net = Net(1, [f"8.8.8.{n}" for n in range(100)])
    net.dead = set(net.answers[0])
    assert unreachable(guarded(net)) == "connection_refused"
    assert len(net.dialled) == 4


def test_a_certificate_of_another_name_is_refused(guarded: Callable[[Net], GuardedClient], certificate: Path) -> None:
    with serving(answering(OK), context=certificates.serving(certificate)) as server:
        assert unreachable(guarded(Net(server.port, [PUBLIC]))) == "tls"
    assert server.requests == []


def test_plain_http_on_the_tls_port_is_refused(guarded: Callable[[Net], GuardedClient]) -> None:
    with serving(lambda c: c.say(OK)) as server:
        assert unreachable(guarded(Net(server.port, [PUBLIC]))) == "tls"


def test_the_local_exception_is_for_http_to_loopback_only(named: Path, clock: ShiftedClock) -> None:
    net = Net(1, ["127.0.0.1"])
    client = GuardedClient(
        clock, local=True, resolve=net.resolve, connect=net.connect, context=certificates.trusting(named)
    )
    assert unreachable(client) == "address_refused"
    net.answers = [["10.0.0.1"]]
    assert unreachable(client, "http://localhost:1/") == "address_refused"


def test_the_system_resolves_names_and_failures_have_codes(local: GuardedClient) -> None:
    with serving(answering(OK)) as server:
        assert post(local, f"http://localhost:{server.port}/").status == 200
    with refusing() as port:
        assert unreachable(local, f"http://127.0.0.1:{port}/") == "connection_refused"


def test_a_resolver_that_fails_or_hangs_is_a_dns_failure(clock: ShiftedClock) -> None:
    over = threading.Event()

    def hang(host: str, port: int) -> Sequence[str]:
        over.wait()
        raise socket.gaierror(f"{host}:{port}")

    client = GuardedClient(clock, resolve=hang)
    assert unreachable(client, seconds=0.05) == "dns"
    over.set()
    assert unreachable(client) == "dns"


def silent(c: Conversation) -> None:
    c.server.over.wait()


def test_a_tls_handshake_that_hangs_is_left_in_time(
    guarded: Callable[[Net], GuardedClient],
) -> None:
    with serving(silent) as server:
        assert unreachable(guarded(Net(server.port, [PUBLIC])), seconds=0.3) == "connect_timeout"
        server.over.set()


# Connections that are used again


def test_a_connection_is_used_again_for_some_seconds(local: GuardedClient, clock: ShiftedClock) -> None:
    with serving(answering(OK)) as server:
        for _ in range(3):
            post(local, server.url)
        assert server.connections == 1
        clock.ahead += IDLE_SECONDS + 0.1
        post(local, server.url)
        assert server.connections == 2
        for _ in range(int(LIFE_SECONDS / 2) + 1):
            clock.ahead += 2
            post(local, server.url)
        assert server.connections == 3


def test_a_connection_that_was_closed_meanwhile_is_replaced(local: GuardedClient) -> None:
    def twice(c: Conversation) -> None:
        c.hear()
        c.say(OK)
        c.hear()  # and closes without an answer

    with serving(twice) as server:
        assert [post(local, server.url).status for _ in range(3)] == [200] * 3
        assert server.connections == 3


@pytest.mark.parametrize(
    "answer", [OK + OK, OK + b"x", HEAD + b"Connection: close\r\nContent-Length: 0\r\n\r\n", HEAD + b"\r\n"]
)
def test_a_connection_that_cannot_be_trusted_is_not_used_again(local: GuardedClient, answer: bytes) -> None:
    with serving(endless(answer)) as server:
        assert [post(local, server.url).status for _ in range(2)] == [200] * 2
        assert server.connections == 2


@pytest.mark.slow
def test_few_connections_are_kept(local: GuardedClient) -> None:
    barrier = threading.Barrier(MAX_IDLE + 8)

    def script(c: Conversation) -> None:
        if c.hear():
            barrier.wait()
            c.say(OK)
            c.hear()

    with serving(script) as server:
        threads = [threading.Thread(target=post, args=(local, server.url)) for _ in range(MAX_IDLE + 8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(local._idle._held) == MAX_IDLE
