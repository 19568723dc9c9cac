"""Programs by HTTP."""

from datetime import datetime
from typing import Any

import pytest

from tests.api.conftest import Api


def template(api: Api, **more: Any) -> str:
    got = api.call("POST", "/templates", {"name": "x", "channel": "sms", "body": "Hello {{ first_name }}", **more})
    return str(got.json["template_id"])


def program(api: Api, name: str = "course", **step: Any) -> Any:
    steps = [{"template_id": template(api), "offset_days": 28, **step}]
    return api.call("POST", "/programs", {"name": name, "steps": steps, "metadata": {"title": "Course"}})


def test_a_program_has_versions(api: Api) -> None:
    made = program(api, preferred_time="9-12", delivery_method="SMS")
    assert (made.status, made.headers["location"], made.json["version"]) == (201, "/programs/course", 1)
    assert api.call("GET", "/programs/course").json == made.json
    steps = [{"template_id": template(api), "offset_days": 0}]
    changed = api.call("PUT", "/programs/course", {"steps": steps})
    assert (changed.json["version"], changed.json["metadata"]) == (2, {})
    assert changed.json["steps"] == [{**steps[0], "preferred_time": None, "delivery_method": None}]
    assert api.call("GET", "/programs").json == {"items": [changed.json], "next_cursor": None}
    assert api.call("DELETE", "/programs/course").json == {"deleted": True}
    assert api.call("GET", "/programs/course").code == "not_found"
    assert api.call("PUT", "/programs/course", {"steps": steps}).code == "not_found"


def test_a_name_is_for_people(api: Api) -> None:
    made = program(api, "After a hip operation")
    assert (made.status, made.json["name"]) == (201, "After a hip operation")
    assert made.headers["location"] == "/programs/After%20a%20hip%20operation"
    assert api.call("GET", "/programs/After a hip operation").json == made.json
    assert api.call("DELETE", "/programs/After a hip operation").json == {"deleted": True}
    for name in (" x", "x ", "a/b", "a\nb", ""):
        got = program(api, name)
        assert (got.status, got.fields) == (422, ["name"])


def test_a_name_is_given_once_and_a_repeat_gets_the_first_answer(api: Api) -> None:
    body = {"name": "course", "steps": [{"template_id": template(api), "offset_days": 1}]}
    key = {"Idempotency-Key": "k"}
    first = api.call("POST", "/programs", body, headers=key)
    again = api.call("POST", "/programs", body, headers=key)
    assert (again.status, again.json, again.headers["idempotency-replayed"]) == (201, first.json, "true")
    assert api.call("POST", "/programs", body).code == "program_exists"


@pytest.mark.parametrize("step", [{"template_id": "0" * 26}, {"delivery_method": "IVR"}])
def test_a_step_names_a_template_that_says_something_by_its_method(api: Api, step: dict[str, Any]) -> None:
    got = program(api, **step)
    assert (got.code, got.fields) == ("validation_failed", ["steps.0.template_id"])
    assert api.call("GET", "/programs").json["items"] == []


@pytest.mark.parametrize("step", [{"offset_days": -1}, {"preferred_time": "noon"}, {"delivery_method": "FAX"}])
def test_steps_that_are_not_valid_are_refused(api: Api, step: dict[str, Any]) -> None:
    assert program(api, **step).status == 422


def test_a_notifier_reads_its_account_s_programs_once(api: Api) -> None:
    login = api.notifier()
    made = program(api).json
    got = api.basic("GET", "/programs", login)
    (found,) = got.json["items"]
    times = {name: datetime.fromisoformat(made[name]) for name in ("created_at", "saved_at")}
    assert {**found, **{name: made[name] for name in times}} == made
    for name, at in times.items():
        assert datetime.fromisoformat(found[name]) == at
        assert found[name].endswith(("+10:00", "+11:00")), "in the notifier's zone"
    tag = {"If-None-Match": got.headers["etag"]}
    assert api.basic("GET", "/programs", login, headers=tag).status == 304
    program(api, "other")
    assert api.basic("GET", "/programs", login, headers=tag).status == 200
    assert api.basic("GET", "/programs/course", login).status == 401
    assert api.call("GET", "/programs", key=api.other()).json["items"] == []
