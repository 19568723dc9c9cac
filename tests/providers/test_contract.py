import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

from shared.adapters.http.transport import HttpClient
from shared.contracts import Credential, load_feedback
from shared.domain.jobs.outcomes import Unknown
from shared.ports import Provider, Resolver
from shared.providers import registry
from shared.providers._not_taken import NOT_TAKEN
from shared.providers.needs import names
from shared.providers.registry import Needs
from simulator.run import Simulator
from tests.fakes.shifted import ShiftedClock
from tests.providers.contract import (
    ANSWERS,
    CASES,
    CHANNELS,
    ELSEWHERE,
    LOST,
    RESOLVERS,
    SILENT,
    SIMULATED,
    SPOKEN,
    Bench,
    Case,
    check_case,
    check_many,
    check_ping,
    check_refused_together,
    check_resolve,
    check_resolve_in_vain,
)

REFUSES_BY_503 = {vendor for vendor, status in NOT_TAKEN if status == 503}
NAMES = itertools.count()
FAULTS: dict[str, dict[str, Any]] = {
    "unavailable": {"mode": "503"},
    "throttled": {"mode": "429", "retry_after_s": 7},
    "gateway_error": {"mode": "500", "status": 502},
    "gateway_error_accepted": {"mode": "500", "status": 504, "accept": True},
    "not_acceptable": {"mode": "406"},
    "broken": {"mode": "500", "own": True},
    "broken_accepted": {"mode": "500", "accept": True, "own": True},
    "timed_out_accepted": {"mode": "500", "status": 504, "accept": True, "own": True},
    "unavailable_or_not": {"mode": "503"},
    "reset": {"mode": "reset"},
    "accepted_and_dropped": {"mode": "accept_and_drop"},
    "slow": {"mode": "slow", "after_s": 2},
    "unauthorized": {"mode": "401"},
    "refused_connection": {"mode": "refuse"},
}


class SimulatorBench:
    """A provider against the simulator; every bench has a credential of its own."""

    def __init__(self, simulator: Simulator, clock: ShiftedClock, http: HttpClient, name: str) -> None:
        self.simulator = simulator
        self.clock = clock
        self.name = name
        self.channel = CHANNELS.get(name, "email")
        self.credential = f"contract{next(NAMES)}"
        simulator.control.webhooks(name, self.credential, mix={"silent": 1})
        keys = simulator.control.keys(name)
        needs = Needs(
            http=http,
            clock=clock,
            secret={"api_key": keys.pop("keys")[0], **keys},
            base_url=simulator.listen(name, self.credential),
            credential=Credential(self.credential, name, self.channel, 10),
            public_url="https://api.example",
        )
        self.provider: Provider = registry.provider(name)(needs)

    def accepted(self) -> list[str]:
        return [line["ref"] for line in self.simulator.control.log(self.name, self.credential)]

    def ids(self) -> list[str]:
        return [line["message_id"] for line in self.simulator.control.log(self.name, self.credential)]

    @contextmanager
    def bring(self, case: str) -> Iterator[None]:
        self.simulator.control.faults(self.name, self.credential, **FAULTS.get(case, {}))
        yield
        self.simulator.control.faults(self.name, self.credential)


class MemoryQueue:
    """A feedback queue that keeps what it gets."""

    def __init__(self) -> None:
        self.bodies: list[str] = []

    def send(self, bodies: Sequence[str], *, delay: float = 0, group: str = "") -> None:
        self.bodies += bodies

    def is_empty(self) -> bool:
        return not self.bodies


class TestBench:
    """The test provider; what it accepts is what it says words about."""

    __test__ = False
    channel = "email"
    classes = frozenset({"accepted", "no_time"})

    def __init__(self) -> None:
        self.queue = MemoryQueue()
        self.clock = ShiftedClock()
        needs = Needs(http=HttpClient(self.clock), clock=self.clock, secret={}, feedback=self.queue)
        self.provider: Provider = registry.provider("test")(needs)

    def accepted(self) -> list[str]:
        words = [w for body in self.queue.bodies for w in load_feedback(body)[1]]
        return [w.ref for w in words if w.word == "accepted"]

    def ids(self) -> list[str]:
        return [f"test-{ref}" for ref in self.accepted()]

    @contextmanager
    def bring(self, case: str) -> Iterator[None]:
        yield


def test_what_is_held_to_the_contract_elsewhere_is_a_provider() -> None:
    assert set(ELSEWHERE) <= set(names())


@pytest.fixture(params=[*SIMULATED, "test"])
def bench(request: pytest.FixtureRequest, simulator: Simulator, clock: ShiftedClock, http: HttpClient) -> Bench:
    return TestBench() if request.param == "test" else SimulatorBench(simulator, clock, http, request.param)


UNSURE = Case("unavailable_or_not", lambda o: isinstance(o, Unknown))
"""A 503 of a provider that does not document it as a refusal."""


def cases_of(name: str) -> tuple[Case, ...]:
    if name == "test":
        return tuple(c for c in CASES if c.name in TestBench.classes)
    mine = (*CASES, *SPOKEN)
    return mine if name in REFUSES_BY_503 else (*(c for c in mine if c.name != "unavailable"), UNSURE)


@pytest.mark.promise(1)
@pytest.mark.parametrize(
    ("bench", "case"),
    [pytest.param(name, case, id=f"{name}-{case.name}") for name in (*SIMULATED, "test") for case in cases_of(name)],
    indirect=["bench"],
)
def test_every_class_of_outcome(bench: Bench, case: Case) -> None:
    check_case(bench, case)


def test_a_full_call(bench: Bench) -> None:
    check_many(bench)


@pytest.mark.parametrize("bench", SIMULATED, indirect=True)
@pytest.mark.parametrize("case", ["unavailable", "throttled", "unauthorized", "refused_connection", "reset"])
def test_one_fate_for_all_of_a_call(bench: Bench, case: str) -> None:
    check_refused_together(bench, case)


def test_the_provider_names_itself(bench: Bench) -> None:
    assert bench.provider.per_call >= 1
    assert bench.provider.has_feedback
    assert registry.provider(bench.provider.name) is not None


def test_providers_that_can_resolve_unknown_outcomes(bench: Bench) -> None:
    assert isinstance(bench.provider, Resolver) is (bench.provider.name in RESOLVERS)


@pytest.mark.promise(1)
@pytest.mark.parametrize("bench", RESOLVERS, indirect=True)
@pytest.mark.parametrize("case", LOST)
def test_the_fate_of_an_attempt_is_found_out(bench: Bench, case: str) -> None:
    check_resolve(bench, case, "")


@pytest.mark.promise(1)
@pytest.mark.parametrize("bench", RESOLVERS, indirect=True)
@pytest.mark.parametrize("case", ["accepted_and_dropped", "reset"])
@pytest.mark.parametrize(
    "outage",
    [
        *("unavailable", "throttled", "unauthorized", "refused_connection"),
        *("gateway_error", "gateway_error_accepted", "reset", "accepted_and_dropped", "slow"),
    ],
)
def test_a_failed_lookup_proves_nothing(bench: Bench, case: str, outage: str) -> None:
    check_resolve(bench, case, outage)


@pytest.mark.promise(1)
@pytest.mark.parametrize("bench", RESOLVERS, indirect=True)
def test_what_is_too_long_ago_is_not_asked_about(bench: Bench) -> None:
    check_resolve_in_vain(bench)


@pytest.mark.promise(1)
@pytest.mark.parametrize("case", [*ANSWERS, *SILENT])
@pytest.mark.parametrize("name", SIMULATED)
def test_only_a_question_without_an_answer_says_that_the_provider_is_not_there(
    name: str, case: str, simulator: Simulator, clock: ShiftedClock, http: HttpClient
) -> None:
    check_ping(SimulatorBench(simulator, clock, http, name), case)
