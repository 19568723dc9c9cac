"""A hundred cases of records and the updates that they give: tests/fixtures/notices."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from shared.domain.notices.notice import DeliveryMethod, Kept, Notice, NoticeRun, NoticeStatus, Phase, Verb
from tests.domain.notices.examples import DATA, NOW, OWNER, notice
from tests.engine.notice_world import NOTIFIER, TEMPLATE, NoticeWorld, upload

FOLDER = Path(__file__).parent.parent / "fixtures" / "notices"
CASES = [(file.stem, x) for file in sorted(FOLDER.glob("*.yaml")) for x in yaml.safe_load(file.read_text("utf-8"))]
STORED = replace(DATA, template=TEMPLATE)
GRACE = replace(STORED, first_name="Grace")


def given(raw: Mapping[str, Any]) -> Notice:
    """Return a stored notice; what a case leaves out is as a new record makes it."""
    phase, kept = Phase(raw["phase"]), raw.get("kept")
    run = NoticeRun("job", 0, 1, DeliveryMethod.SMS) if phase is Phase.ACTIVE else None
    ttl = 0 if phase is not Phase.ENDED else NOW // 1000 + (-1 if raw.get("gone") else 1000)
    return notice(
        uuid=NOTIFIER.notice_id(raw["id"]),
        id=raw["id"],
        data=STORED,
        phase=phase,
        status=NoticeStatus(raw["status"]),
        run=run,
        runs=(run,) if run else (),
        kept=Kept(Verb(kept), kept, GRACE if kept == "UPDATE" else None) if kept else None,
        tries=raw.get("tries", 0),
        ttl=ttl,
    )


def shown(found: Notice) -> dict[str, Any]:
    """Return what a case may say of a notice."""
    data = found.data
    return {
        "phase": found.phase.value,
        "status": found.status.value,
        "gen": found.gen,
        "tries": found.tries,
        "kept": found.kept.verb.value if found.kept else None,
        "first_name": data.first_name,
        "phone": data.phone,
        "method": data.method.value,
        "delivery": data.delivery.isoformat(),
        "expires": data.expires.isoformat(),
        "start": data.start,
        "end": data.end,
    }


def test_there_are_a_hundred_cases() -> None:
    names = [case["name"] for _, case in CASES]
    assert len(names) == len(set(names)) >= 100


@pytest.mark.parametrize("case", [pytest.param(x, id=f"{file}: {x['name']}") for file, x in CASES])
def test_records_give_their_updates(case: Mapping[str, Any]) -> None:
    world = NoticeWorld()
    for raw in case["given"]:
        stored = given(raw)
        world.notices.items[stored.uuid] = stored
    bare = [{"id": x["id"], "action": x["action"]} if x.get("bare") else upload(**x) for x in case["arriving"]]
    world.put(*bare)
    world.take()
    told = [{"id": x.id, "status": x.status, "action": x.action, "error": x.error} for x in world.notices.log]
    assert told == [{"action": None, "error": "", **x} for x in case["expect"]]
    assert all(x.notifier == OWNER.notifier and x.message for x in world.notices.log if x.error)
    there = {x.id: shown(x) for x in world.notices.items.values() if not x.gone(NOW)}
    assert set(there) == set(case["stored"])
    for name, fields in case["stored"].items():
        assert {k: there[name][k] for k in fields} == fields
