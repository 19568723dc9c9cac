"""The feedback queue's handler: our own messages, and those of SNS about SES's events."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from functions.dispatch import services, track
from shared.contracts import Credential, Settings, Word, dump_feedback
from shared.engine.track import Tracked
from tests.providers.test_ses_events import REF, bounce, delivery, event, post

SETTINGS = Settings(
    "dev",
    (Credential("ses-main", "ses", "email", 14), Credential("main", "sendgrid", "email", 10)),
    {"email": ("main", "ses-main")},
)
OURS = Word(REF, "delivered", 1_790_000_000)


@dataclass
class Tracker:
    """Keeps what it is given."""

    tracked: list[tuple[str, list[Word]]] = field(default_factory=list)

    def track(self, credential: str, words: Sequence[Word]) -> Tracked:
        self.tracked.append((credential, list(words)))
        return Tracked(len(words), 0, ())


@dataclass
class Deployed:
    settings: Settings = SETTINGS
    tracker: Tracker = field(default_factory=Tracker)


@pytest.fixture
def deployed(monkeypatch: pytest.MonkeyPatch) -> Deployed:
    made = Deployed()
    monkeypatch.setattr(services, "deployment", lambda: made)
    return made


def run(*bodies: str) -> list[str]:
    """Return the numbers of the messages that are to be delivered again."""
    records = [{"messageId": str(n), "body": body} for n, body in enumerate(bodies)]
    answer = track.handler({"Records": records}, None)
    return [f["itemIdentifier"] for f in answer["batchItemFailures"]]


def sns(said: Any = None, **changes: Any) -> str:
    return post(said, Signature="", **changes).decode()


@pytest.mark.promise(7)
def test_events_of_ses_are_tracked_with_their_credential(deployed: Deployed) -> None:
    said = bounce("Permanent", "General", status="5.1.1")
    for _ in range(2):
        assert run(sns(delivery()), dump_feedback("main", [OURS]), sns(said)) == []
    first, second = deployed.tracker.tracked[:2]
    assert (first[0], [w.word for w in first[1]]) == ("ses-main", ["delivered", "bounced"])
    assert second == ("main", [OURS])
    assert deployed.tracker.tracked[2:] == [first, second]


@pytest.mark.parametrize(
    "said",
    [
        delivery() | {"mail": {}},
        event("Delivery", {"posthaste_ref": REF}),
        event("Delivery", {"posthaste_ref": REF, "posthaste_credential": "nobody"}),
        event("Delivery", {"posthaste_ref": REF, "posthaste_credential": "main"}),
        event("Open"),
    ],
)
def test_what_is_not_ours_is_dropped(deployed: Deployed, said: dict[str, Any]) -> None:
    assert run(sns(said)) == []
    assert not [words for _, words in deployed.tracker.tracked if words]


@pytest.mark.promise(6)
@pytest.mark.parametrize(
    "body", ["", "[]", "{}", "7", json.dumps({"TopicArn": "x"}), sns(Message="hello"), sns(Type="Other")]
)
def test_poison_goes_to_the_dead_letters_and_takes_nothing_along(deployed: Deployed, body: str) -> None:
    assert run(body, sns(delivery())) == ["0"]
    assert [credential for credential, _ in deployed.tracker.tracked] == ["ses-main"]
