"""The contract of all providers, held by the SMTP relay against a real server."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from shared.adapters.http.transport import HttpClient
from shared.adapters.smtp.transport import SmtpClient
from shared.ports import Pingable, Provider, Resolver
from shared.providers import registry
from shared.providers.registry import Needs
from tests.adapters.servers import refusing
from tests.fakes.shifted import ShiftedClock
from tests.providers.contract import CASES, FAR, Case, check_case, check_many, check_ping, check_refused_together
from tests.providers.relay import NEVER, PASSWORD, USER, Faults, RelayServer

FAULTS = {
    "unavailable": Faults(rcpt="451 4.3.0 Temporary lookup failure"),
    "throttled": Faults(end="450 4.7.0 Too many messages, slow down; try again in 7 seconds"),
    "gateway_error": Faults(end="HTTP/1.1 502 Bad Gateway"),
    "gateway_error_accepted": Faults(end="HTTP/1.1 504 Gateway Timeout", accept=True),
    "reset": Faults(drop="end"),
    "accepted_and_dropped": Faults(drop="end", accept=True),
    "slow": Faults(slow=NEVER),
}


class RelayBench:
    """The SMTP relay on loopback, with AUTH."""

    channel = "email"

    def __init__(self, relay: RelayServer, clock: ShiftedClock, transport: SmtpClient) -> None:
        self.relay = relay
        self.clock = clock
        self.transport = transport
        self.provider = self.made(relay.port, PASSWORD)

    def made(self, port: int, password: str) -> Provider:
        secret = {"username": USER, "password": password}
        needs = Needs(HttpClient(self.clock), self.clock, secret, f"smtp+plain://127.0.0.1:{port}", smtp=self.transport)
        return registry.provider("smtp")(needs)

    def accepted(self) -> list[str]:
        return [d.ref for d in self.relay.deliveries]

    def ids(self) -> list[str]:
        return [f"4F{n}" for n, _ in enumerate(self.relay.deliveries, 1)]

    @contextmanager
    def bring(self, case: str) -> Iterator[None]:
        self.relay.faults = FAULTS.get(case, Faults())
        usual = self.provider
        with refusing() as closed:
            if case == "unauthorized":
                self.provider = self.made(self.relay.port, "wrong")
            elif case == "refused_connection":
                self.provider = self.made(closed, PASSWORD)
            yield
        self.relay.faults = Faults()
        self.provider = usual


@pytest.fixture
def bench(clock: ShiftedClock) -> Iterator[RelayBench]:
    with RelayServer(auth=True) as relay:
        transport = SmtpClient(clock)
        yield RelayBench(relay, clock, transport)
        transport.close()


@pytest.mark.promise(1)
@pytest.mark.parametrize("case", [pytest.param(c, id=c.name) for c in CASES])
@pytest.mark.parametrize("warm", [False, True])
def test_every_class_of_outcome(bench: RelayBench, case: Case, *, warm: bool) -> None:
    if warm:
        check_many(bench)
        bench.relay.deliveries.clear()
    check_case(bench, case)


@pytest.mark.parametrize("case", ["unavailable", "throttled", "unauthorized", "refused_connection"])
def test_a_refused_call_is_not_delivered(bench: RelayBench, case: str) -> None:
    check_refused_together(bench, case)


def test_what_it_says_of_itself(bench: RelayBench) -> None:
    assert bench.provider.per_call == 1
    assert not bench.provider.has_feedback
    assert not isinstance(bench.provider, Resolver)


@pytest.mark.parametrize("case", ["accepted", "unauthorized", "no_time", "refused_connection"])
@pytest.mark.parametrize("warm", [False, True])
def test_a_question_makes_a_new_connection_and_no_transaction(bench: RelayBench, case: str, *, warm: bool) -> None:
    if warm:
        check_many(bench)
        bench.relay.deliveries.clear()
    check_ping(bench, case)


@pytest.mark.parametrize(("greeting", "says"), [("421 4.3.2 Closing", "smtp_421"), ("554 5.7.1 Go away", "")])
def test_a_server_that_closes_is_not_there_and_one_that_refuses_us_is(
    bench: RelayBench, greeting: str, says: str
) -> None:
    provider = bench.provider
    bench.relay.faults = Faults(greeting=greeting)
    assert isinstance(provider, Pingable)
    assert provider.ping(deadline=bench.clock.now() + FAR) == says


def test_the_connection_of_a_question_carries_the_next_message(bench: RelayBench) -> None:
    provider = bench.provider
    assert isinstance(provider, Pingable)
    assert provider.ping(deadline=bench.clock.now() + FAR) == ""
    check_many(bench)
