"""What a released version has stored and queued is read by this one, and what this one adds is borne by the older.

The files in tests/fixtures/formats are what the version in their name wrote. They are never written again: with a
release a file is added. So jobs in flight outlive an upgrade, and a rollback (docs/upgrading.md).
"""

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from shared import contracts
from shared.adapters.dynamo import codec
from shared.contracts import ProviderEvent, Settings
from shared.domain.content import content
from shared.domain.jobs import chunks
from shared.domain.jobs.ledger import LedgerStatus
from shared.domain.jobs.outcomes import Kind
from shared.domain.jobs.states import JobState
from shared.domain.lanes.breaker import BreakerState

RECORDED: Final = sorted((Path(__file__).parents[1] / "fixtures" / "formats").glob("*.json"))
CODECS: Final[dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]]] = {
    "job": (codec.job, codec.job_item),
    "ledger": (codec.ledger, codec.ledger_item),
    "chunk": (codec.chunk, codec.chunk_item),
    "detail": (codec.detail, codec.detail_item),
    "feedback": (codec.feedback, codec.feedback_item),
    "breaker": (lambda item: codec.breaker(item["pk"]["S"][2:], item), codec.breaker_item),
}
LATER: Final = {"from_a_later_version": {"S": "x"}}
JOB: Final = "01m7zehj13phd05w72jw3ysvva"

pytestmark = pytest.mark.parametrize("recorded", [json.loads(file.read_text()) for file in RECORDED])


def item(recorded: Any, name: str) -> Any:
    found = recorded["items"][name]
    return codec.from_stream(found, base64.b64decode)


@pytest.mark.parametrize("name", list(CODECS))
def test_items_are_read_and_no_attribute_has_gone_or_means_something_else(recorded: Any, name: str) -> None:
    load, dump = CODECS[name]
    stored = item(recorded, name)
    read = load(stored)
    again = dump(read)
    packed = {"recipients", "entries", "data"}  # their bytes may differ, what they say may not
    assert {k: again[k] for k in stored.keys() - packed} == {k: stored[k] for k in stored.keys() - packed}
    assert load({**stored, **again}) == load({**stored, **LATER}) == read


def test_items_say_what_they_said(recorded: Any) -> None:
    job, ledger = codec.job(item(recorded, "job")), codec.ledger(item(recorded, "ledger"))
    assert (job.id, job.state, job.rate, job.counts["delivered"]) == (JOB, JobState.STOPPED, 2.5, 1)
    assert (ledger.status, ledger.cells, ledger.tried, ledger.epoch) == (LedgerStatus.BUSY, b"\x12\x23\x00", (0,), 3)
    ann, bob, _ = codec.chunk(item(recorded, "chunk")).recipients
    assert (ann.address, ann.key, ann.values["city"], bob.skip) == (
        "Ann@Example.com",
        "ann@example.com",
        "Zürich",
        "invalid_address",
    )
    mail = content.unpack(base64.b64decode(recorded["items"]["chunk"]["data"]["B"]))
    assert (mail.subject, mail.sender.address, mail.merge) == ("Hello {{ name }}", "news@example.com", True)
    entries = codec.detail(item(recorded, "detail")).entries
    assert [e.kind for e in entries] == [Kind.ACCEPTED, Kind.INVALID, Kind.UNKNOWN]
    assert [e.word for e in codec.feedback(item(recorded, "feedback")).entries] == ["delivered", "bounced"]
    assert CODECS["breaker"][0](item(recorded, "breaker")).state is BreakerState.OPEN
    listed = chunks.unpack(base64.b64decode(recorded["table"]))
    assert [(r.address, r.values) for r in listed] == [
        ("ann@example.com", {"name": "Ann"}),
        ("bob@example.com", {"name": "Bob"}),
    ]


def test_messages_are_read_with_what_a_later_version_adds(recorded: Any) -> None:
    said = {name: json.dumps({**json.loads(body), "later": 1}) for name, body in recorded["messages"].items()}
    assert (json.loads(said["pointer"])["job"], json.loads(said["question"])["resolve"]) == (JOB, True)
    assert contracts.load_ingest(said["ingest"]) == ("c" * 26, JOB)
    assert contracts.load_due(said["due"]) == contracts.load_export(said["export"]) == JOB
    word = ProviderEvent(f"{JOB}-0-0-1", "delivered", 1_790_000_001, "id-1", "250", "ok", secondary=True)
    assert contracts.load_feedback(said["feedback"]) == ("one", [word])


def test_settings_are_read_whichever_version_wrote_them(recorded: Any) -> None:
    """A function's code and its environment change one after the other."""
    raw = json.loads(recorded["settings"])
    known = read(raw)
    assert known is not None
    assert (known.stage, known.jobs_days, known.credential("ses").region) == ("prod", 90, "eu-west-1")
    later = {**raw, "later": 1, "credentials": [{**c, "later": 1} for c in raw["credentials"]]}
    assert read(later) == known
    least = {name: raw[name] for name in ("stage", "credentials", "routes")}
    assert getattr(read(least), "jobs_days", None) == 30


def read(settings: Any) -> Settings | None:
    try:
        return Settings.loads(json.dumps(settings))
    except (TypeError, KeyError):
        return None
