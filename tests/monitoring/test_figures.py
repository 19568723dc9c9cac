"""What the functions tell: the figures are right, and nothing in them is an id or an address."""

import json
import re
from typing import Any, get_args

import pytest

from infra.settings import ROOT, providers
from shared.adapters import metrics as adapter
from shared.contracts import Credential, ProviderEvent
from shared.domain.channels.channel import ChannelName
from shared.domain.jobs.outcomes import Rejected, Throttled, Unknown
from shared.metrics import NAMESPACE, Metric, Service
from tests.monitoring.conftest import STAGE, Document, Functions


def figures(document: Document) -> dict[str, float]:
    return {k: v[0] for k, v in document.items() if isinstance(v, list)}


def check(document: Document) -> None:
    """Fail if a line names anything but what it may."""
    (directive,) = document["_aws"]["CloudWatchMetrics"]
    (names,) = directive["Dimensions"]
    assert directive["Namespace"] == NAMESPACE
    assert set(names) in ({"stage", "service"}, {"stage", "service", "channel", "provider"})
    assert document["stage"] == STAGE
    assert document["service"] in set(Service)
    assert document.get("channel", "any") in {*get_args(ChannelName), "any"}
    assert document.get("provider", "test") in {*providers(), "test"}
    told = {m["Name"] for m in directive["Metrics"]}
    assert told <= set(Metric)
    assert set(document) == {"_aws", *names, *told}
    for name in told:
        assert all(isinstance(v, float) for v in document[name]), name
    plain = json.dumps(document)
    assert "@" not in plain
    assert not re.search(r"[0-9a-z]{26}|acc_|acme", plain), "no id of a job, an account or a credential"


@pytest.mark.slow
@pytest.mark.promise(9)
def test_a_healthy_minute(functions: Functions, healthy: list[Document]) -> None:
    for document in healthy:
        check(document)
    told = [(d["service"], d.get("provider", ""), figures(d)) for d in healthy]
    assert told == [
        ("send", "sendgrid", {"Accepted": 500.0, "Slots": 500.0}),
        ("log", "", {"Folded": 1.0, "RecordAge": 2000.0}),
        ("track", "sendgrid", {"Words": 500.0, "FinalWords": 500.0}),
        ("log", "", {"Folded": 1.0, "RecordAge": 2000.0}),
        ("plan", "", {"Planned": 1.0, "RecordAge": 2000.0}),
        ("sweep", "", {"Swept": 1.0, "SweepIncomplete": 0.0, "StuckJobs": 0.0}),
        ("notices", "", {"NoticeRuns": 1.0}),
        ("digest", "", {"DigestRuns": 1.0}),
        ("hooks", "", {"HookRuns": 1.0}),
        ("webhooks", "sendgrid", {"Posts": 1.0}),
    ]


@pytest.mark.slow
@pytest.mark.promise(9)
def test_a_bad_minute(functions: Functions) -> None:
    world = functions.world
    said: dict[int, Any] = {0: Rejected("no", permanent=True), 1: Unknown("timeout"), 8: Throttled(60)}
    for i, outcome in said.items():
        world.providers["acme-one"].script(f"r{i}@example.com", [outcome])
    job = world.accept(9, route=("acme-one",)).id
    told = functions.send()
    assert figures(told[0]) == {"Accepted": 6.0, "Refused": 1.0, "Throttled": 1.0, "Unknown": 1.0, "Slots": 9.0}
    told += functions.track(
        "acme-one", [ProviderEvent(f"{name}-0-3-1", "accepted", int(world.clock.now())) for name in (job, "0" * 26)]
    )
    assert figures(told[1]) == {"Words": 1.0, "ForeignWords": 1.0}
    told += functions.webhook(signature=False)
    told += functions.ingest()
    assert [figures(d) for d in told[2:]] == [{"BadPosts": 1.0}, {"IngestFailed": 1.0}]
    for document in told:
        check(document)


def test_an_opening_breaker_is_reported_once(functions: Functions) -> None:
    world = functions.world
    world.providers["acme-one"].answer = Rejected("unauthorized", permanent=False, provider_down=True)
    world.accept(9, route=("acme-one",))
    assert figures(functions.send()[0])["BreakerOpened"] == 1.0
    world.accept(9, route=("acme-one",))
    assert functions.send() == [], "the breaker is open, and no call was made"


def test_an_invocation_with_nothing_to_tell_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    adapter.tell(STAGE, Service.SEND, {Metric.ACCEPTED: 0}, Credential("acme-one", "sendgrid", "email", 1))
    assert capsys.readouterr().out == ""


@pytest.mark.promise(9)
@pytest.mark.parametrize("name", ["functions", "shared"])
def test_no_other_code_writes_lines_of_the_format(name: str) -> None:
    """The one adapter takes names, numbers and a credential, so that nothing else can become a dimension."""
    found = {f.name for f in (ROOT / name).rglob("*.py") if "aws_lambda_powertools.metrics" in f.read_text("utf-8")}
    assert found == ({"metrics.py"} if name == "shared" else set())
