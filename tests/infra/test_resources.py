"""What is deployed keeps its logical ids and names, wherever the code that makes it has moved."""

import json

from tests.infra.resources import RECORDED, named
from tests.infra.template import Template


def test_no_recorded_resource_is_lost_renamed_or_of_another_type(main: Template) -> None:
    recorded = json.loads(RECORDED.read_text("utf-8"))
    found = named(main.raw)
    assert len(recorded) > 100
    assert {name: (kept, found.get(name)) for name, kept in recorded.items() if found.get(name) != kept} == {}


def test_each_resource_is_recorded(main: Template) -> None:
    assert sorted(set(named(main.raw)) - set(json.loads(RECORDED.read_text("utf-8")))) == [], (
        "run: python -m tests.infra.resources"
    )
