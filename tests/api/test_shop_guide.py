"""Every call of docs/shop.md is made, in the order in which its reader makes it."""

import json

import pytest

from shared.domain.hooks.kinds import HookKind
from tests.api.conftest import Api
from tests.api.test_guide import Reader, calls
from tests.deployed import guides
from tests.deployed.answers import Answers

GUIDE = guides.page("shop")


@pytest.mark.slow
def test_an_order_s_mail_is_sent_once_and_its_events_are_asked_for(api: Api) -> None:
    reader, answers = Reader(api), Answers()
    for step in guides.steps(GUIDE):
        before = len(reader.answers)
        for command in calls(step.commands):
            reader.run(command)
        said = [json.dumps(got.json) for _, got in reader.answers[before:]]
        if step.answer:
            answers.check(step.kind, step.answer, "\n".join(said))
    (_, first), (_, again), (_, hook), (_, found), (_, log) = reader.answers
    assert first.json == again.json
    assert again.headers["idempotency-replayed"] == "true"
    assert hook.json["state"] == "proving"
    assert [x["job_id"] for x in found.json["items"]] == [first.json["job_id"]]
    (line,) = log.json["items"]
    assert line["recipient"] == "ben@example.org"
    api.world.settle()
    assert [t.address for t in api.world.oracle.taken] == ["ben@example.org"]
    content = api.world.records.content(first.json["job_id"])
    assert content is not None
    assert [x.filename for x in content.attachments] == ["invoice-4711.pdf"]


def test_the_guide_names_only_events_that_there_are_and_asks_for_those_that_it_explains() -> None:
    _, _, table = GUIDE.partition("| event | state")
    explained = {line.split("`")[1] for line in table.splitlines() if line.startswith("| `message.")}
    (asked,) = [json.loads(c.partition("-d '")[2].rpartition("'")[0]) for c in _hooks()]
    assert set(asked["events"]) == explained <= {str(kind) for kind in HookKind}


def _hooks() -> list[str]:
    return [c for block in guides.local(GUIDE) for c in calls(block) if "/hooks" in c]
