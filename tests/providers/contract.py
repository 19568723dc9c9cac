"""What every provider must do, whatever its wire format: one suite, run against each (see `test_contract.py`).

A `Bench` prepares a provider and its far side for each class of outcome.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Protocol

from shared.contracts import dump_feedback, load_feedback
from shared.domain.content.content import Content, Mailbox
from shared.domain.ids import Ref
from shared.domain.jobs.chunks import Recipient
from shared.domain.jobs.feedback import ProviderEventKind
from shared.domain.jobs.outcomes import Absent, Accepted, NotStarted, NotTogether, Outcome, Rejected, Throttled, Unknown
from shared.engine.lane.lease import ProviderCall
from shared.ports import BadEvents, Pingable, Provider, Resolver, Target, WebhookReader
from shared.providers import registry
from shared.providers.needs import names
from tests.fakes.shifted import ShiftedClock

JOB = "0123456789abcdefghjkmnpqrs"
CHANNELS = {"twilio": "sms", "aws-sms": "sms"}
"""Simulated provider → its channel, of those that do not send e-mail."""
ELSEWHERE = {
    "smtp": "its far side is a mail server: test_smtp_contract.py",
    "test": "it has no far side: TestBench",
}
"""Providers that are not held to the contract by the simulator → why."""
SIMULATED = tuple(name for name in names() if name not in ELSEWHERE)
"""Providers whose far side is the simulator: every one but those."""
MAILING = tuple(name for name in SIMULATED if name not in CHANNELS)
"""Those of them that send e-mail."""
RESOLVERS = tuple(name for name in SIMULATED if registry.resolves(name))
"""Those of them that declare that they can look up the fate of a message."""
CONTENT = Content(Mailbox("news@sender.example", "News"), "Hello", html="<p>Hello</p>", text="Hello")
FAR, NEAR = 10.0, 0.3
"""Seconds; deadlines are far unless they are what is tested."""


def target(index: int, address: str = "", attempt: int = 1, channel: str = "email") -> Target:
    """Make one recipient of the contract's job."""
    address = address or (f"+1555010{index:04}" if channel == "sms" else f"reader{index}@example.com")
    return Target(str(Ref(JOB, 0, index, attempt)), Recipient(address, address.lower()))


def send_apart(provider: Provider, targets: Sequence[Target], *, deadline: float) -> dict[str, Outcome]:
    """Send to all in one call, and divide what is refused as a whole, as the engine does; the outcomes by ref."""
    final: dict[str, Outcome] = {}
    calls = [ProviderCall(range(len(targets)), CONTENT, len(targets))]
    while calls:
        call = calls.pop()
        outcomes = provider.send(CONTENT, [targets[i] for i in call.indices], deadline=deadline)
        said = dict(zip(call.indices, outcomes, strict=True))
        calls += call.smaller([i for i, outcome in said.items() if isinstance(outcome, NotTogether)])
        final |= {targets[i].ref: o for i, o in said.items() if not isinstance(o, NotTogether)}
    return final


class Bench(Protocol):
    """A provider with a far side that can be told to fail. `calls`: recipients that the far side accepted, by ref."""

    provider: Provider
    channel: str
    clock: ShiftedClock
    """By which deadlines are judged."""

    def accepted(self) -> list[str]:
        """Return the refs of all recipients that the far side has accepted, in order."""

    def ids(self) -> list[str]:
        """Return the far side's ids of the same recipients."""

    def bring(self, case: str) -> AbstractContextManager[None]:
        """Make the far side behave as the case says."""


@dataclass(frozen=True)
class Case:
    """An outcome class: how it is recognised, and how often the far side may have accepted the message."""

    name: str
    matches: Callable[[Outcome], bool]
    arrivals: frozenset[int] = field(default_factory=lambda: frozenset({0}))


def _rejected(*, permanent: bool, provider_down: bool) -> Callable[[Outcome], bool]:
    return lambda o: isinstance(o, Rejected) and (o.permanent, o.provider_down) == (permanent, provider_down)


CASES = (
    Case("accepted", lambda o: isinstance(o, Accepted) and bool(o.id), frozenset({1})),
    Case("bad_recipient", _rejected(permanent=True, provider_down=False)),
    Case("unauthorized", _rejected(permanent=False, provider_down=True)),
    Case("refused_connection", _rejected(permanent=False, provider_down=False)),
    Case("unavailable", _rejected(permanent=False, provider_down=False)),
    Case("throttled", lambda o: isinstance(o, Throttled) and o.retry_after > 0),
    Case("gateway_error", lambda o: isinstance(o, Unknown)),
    Case("gateway_error_accepted", lambda o: isinstance(o, Unknown), frozenset({1})),
    Case("reset", lambda o: isinstance(o, Unknown)),
    Case("accepted_and_dropped", lambda o: isinstance(o, Unknown), frozenset({1})),
    Case("slow", lambda o: isinstance(o, Unknown), frozenset({1})),
    Case("no_time", lambda o: isinstance(o, NotStarted)),
)
SPOKEN = (
    Case("not_acceptable", _rejected(permanent=False, provider_down=False)),
    Case("broken", lambda o: isinstance(o, Unknown)),
    Case("broken_accepted", lambda o: isinstance(o, Unknown), frozenset({1})),
    Case("timed_out_accepted", lambda o: isinstance(o, Unknown), frozenset({1})),
)
"""Cases of providers that are called by HTTP: a 500, 502 or 504 in their own words leaves the fate open."""


@contextmanager
def until(bench: Bench, case: str) -> Iterator[float]:
    """Give the deadline of one call; a near one comes while that is answered, however slow the machine is till then."""
    with bench.clock.stopped() if case == "slow" else nullcontext():
        yield bench.clock.now() + {"no_time": 0.0, "slow": NEAR}.get(case, FAR)


def check_case(bench: Bench, case: Case) -> None:
    """One call, one outcome per target in order, and at most one arrival of each."""
    address = "not-an-address" if case.name == "bad_recipient" else ""
    one = target(0, address, channel=bench.channel)
    with bench.bring(case.name), until(bench, case.name) as deadline:
        outcomes = bench.provider.send(CONTENT, [one], deadline=deadline)
    assert len(outcomes) == 1
    assert case.matches(outcomes[0]), outcomes[0]
    while case.name == "slow" and not bench.accepted():
        continue  # the far side may be at it still
    assert bench.accepted().count(one.ref) in case.arrivals


def check_many(bench: Bench) -> None:
    """As many as fit into a call are accepted by one call, each once."""
    count = min(bench.provider.per_call, 60)
    targets = [target(n, channel=bench.channel) for n in range(count)]
    outcomes = bench.provider.send(CONTENT, targets, deadline=bench.clock.now() + FAR)
    assert [type(o) for o in outcomes] == [Accepted] * count
    assert bench.accepted() == [t.ref for t in targets]


def check_refused_together(bench: Bench, case: str) -> None:
    """What befalls a call befalls all its targets."""
    targets = [target(n, channel=bench.channel) for n in range(min(bench.provider.per_call, 3))]
    with bench.bring(case):
        outcomes = bench.provider.send(CONTENT, targets, deadline=bench.clock.now() + FAR)
    assert len(outcomes) == len(targets)
    assert len(set(outcomes)) == 1
    assert bench.accepted() == []


# Whether it is there


ANSWERS = ("accepted", "unauthorized", "throttled", "not_acceptable", "no_time")
"""Cases in which a question tells nothing against a provider: it answers, or was not asked."""
SILENT = ("refused_connection", "unavailable", "gateway_error", "broken", "reset", "accepted_and_dropped", "slow")


def check_ping(bench: Bench, case: str) -> None:
    """A question sends nothing. It says that the provider is not there only if it gets no answer."""
    with bench.bring(case), until(bench, case) as deadline:
        provider = bench.provider
        assert isinstance(provider, Pingable)
        found = provider.ping(deadline=deadline)
    assert bool(found) == (case in SILENT), found
    assert bench.accepted() == []


# What became of an attempt of unknown fate


HOUR = 3600.0
"""Seconds: an attempt so long ago is settled, and can still be told."""
PRESENCE_ONLY = ("sendgrid", "postmark")
"""Those whose lists prove that they took a message, and never that they did not."""
LOST = (
    *("accepted_and_dropped", "gateway_error_accepted", "slow", "reset", "gateway_error"),
    *("broken", "broken_accepted", "timed_out_accepted"),
)
"""Cases that leave a fate unknown."""


def check_resolve(bench: Bench, case: str, outage: str) -> None:
    """The truth is told, whatever befell the first question; and nothing is ever taken twice.

    A provider that answers by key has taken the message once afterwards, if not before; one that looks it up says that
    it is absent, and has not taken it; some lists prove no absence.
    """
    provider = bench.provider
    assert isinstance(provider, Resolver)
    one = target(0)
    with bench.bring(case), until(bench, case) as deadline:
        (outcome,) = provider.send(CONTENT, [one], deadline=deadline)
    assert isinstance(outcome, Unknown)
    while case == "slow" and not bench.accepted():
        continue
    at, taken = bench.clock.now() - HOUR, bench.accepted()
    if outage:
        with bench.bring(outage), until(bench, outage) as deadline:
            found = provider.resolve(CONTENT, one, at=at, deadline=deadline)
        assert isinstance(found, Unknown)
        assert found.reason
    assert provider.resolve(CONTENT, one, at=at, deadline=bench.clock.now()) == Unknown("no_time")
    found = Unknown("in_progress")
    while found == Unknown("in_progress"):
        found = provider.resolve(CONTENT, one, at=at, deadline=bench.clock.now() + FAR)
    if taken:
        assert bench.accepted() == taken == [one.ref]
    missing = Unknown("not_found") if provider.name in PRESENCE_ONLY else Absent()
    assert found == (Accepted(bench.ids()[0]) if bench.accepted() else missing)
    assert bench.accepted().count(one.ref) <= 1
    assert provider.resolve(CONTENT, one, at=at, deadline=bench.clock.now() + FAR) == found
    assert bench.accepted().count(one.ref) <= 1


def check_resolve_in_vain(bench: Bench) -> None:
    """An attempt that is too long ago is not asked about: a key that has gone would send the message again."""
    provider = bench.provider
    assert isinstance(provider, Resolver)
    with bench.bring("accepted_and_dropped"):
        provider.send(CONTENT, [target(0)], deadline=bench.clock.now() + FAR)
    at = bench.clock.now() - provider.resolves_within - 1
    assert isinstance(provider.resolve(CONTENT, target(0), at=at, deadline=bench.clock.now() + FAR), Unknown)
    assert isinstance(provider.resolve(CONTENT, target(1), at=at, deadline=bench.clock.now() + FAR), Unknown)
    assert bench.accepted() == [target(0).ref]


def check_reading(reader: WebhookReader, body: bytes, headers: Mapping[str, str] | None = None) -> None:
    """Whatever may be posted is read or refused, and what is read fits through the feedback queue."""
    try:
        words = reader.words(headers or {}, body).words
    except BadEvents:
        return
    for word in words:
        assert word.word in set(ProviderEventKind)
        assert len(word.detail) <= 200
        assert (word.detail + word.code + word.id).isprintable()
    assert load_feedback(dump_feedback("main", words)) == ("main", words)
