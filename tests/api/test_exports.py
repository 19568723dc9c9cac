"""Exports over the API: 202 until the file is there, then a link to it."""

from typing import Any

import pytest

from shared.domain.exports import AGAIN_MS
from shared.engine.work import MAX_STARTS
from shared.ports import TurnKind
from tests.api.conftest import Api
from tests.fakes.clock import FakeClock


def begun(api: Api, path: str, **more: Any) -> Any:
    """Ask for an export that is not there yet."""
    got = api.call("GET", f"{path}/export", **more)
    assert (got.status, got.json["state"], got.headers["retry-after"]) == (202, "preparing", "3"), got.text
    return got.json


@pytest.mark.slow
@pytest.mark.parametrize("base", ["batches", "jobs"])
def test_a_job_s_export_is_made_and_then_fetched_by_a_link(api: Api, base: str) -> None:
    job = api.logged(["a@example.org", "b@example.org"])
    assert begun(api, f"/{base}/{job}")["progress"] == 0
    api.lists.export()
    got = api.call("GET", f"/{base}/{job}/export")
    assert (got.status, got.json["state"], got.json["rows"]) == (200, "ready", 2)
    kind = {"batches": "batch", "jobs": "job"}[base]
    assert f"get={kind}-{job}-" in got.json["url"]
    assert got.json["expires_at"] > got.json["as_of"]


def test_an_export_that_waits_for_another_says_so(api: Api) -> None:
    job = api.logged()
    assert begun(api, f"/jobs/{job}")["waiting_for"] is None
    api.lists.occupy(api.account, TurnKind.EXPORTS)
    api.lists.export()
    assert begun(api, f"/jobs/{job}")["waiting_for"] == "another_export"
    api.world.clock.advance(130)
    assert begun(api, f"/jobs/{job}")["waiting_for"] == "another_export", "it is asked for again"
    api.lists.export()
    assert api.call("GET", f"/jobs/{job}/export").status == 200


def test_a_list_that_waits_for_another_says_so(api: Api) -> None:
    name = api.campaign()
    api.lists.occupy(api.account, TurnKind.LISTS)
    upload = api.listed(name)
    path = f"/campaigns/{name}/uploads/{upload}"
    shown = api.call("GET", path).json
    assert (shown["state"], shown["waiting_for"]) == ("queued", "another_list")
    api.world.clock.advance(61)
    assert api.call("POST", f"{path}/complete", {}).status == 202
    api.lists.read()
    shown = api.call("GET", path).json
    assert (shown["state"], shown["waiting_for"]) == ("ready", None)


@pytest.mark.slow
def test_a_campaign_s_export_has_all_its_lists(api: Api, clock: FakeClock) -> None:
    name = api.campaign()
    got = api.call("GET", f"/campaigns/{name}/export")
    assert (got.status, got.code) == (409, "nothing_sent")
    for who in ("ann", "ben"):
        api.listed(name, {"recipient": f"{who}@example.org", "name": who})
        api.sent(name)
    begun(api, f"/campaigns/{name}")
    api.lists.export()
    got = api.call("GET", f"/campaigns/{name}/export")
    assert (got.json["rows"], f"get=campaign-{name}-" in got.json["url"]) == (2, True)
    rows = api.lists.files.items[api.lists.exported(name)].decode("utf-8-sig").splitlines()
    assert [row.split(",")[2] for row in rows] == ["recipient", "ann@example.org", "ben@example.org"]
    assert rows[0].endswith("list.name,sent_at,delivered_at,error_detail,error_meaning,reference,tags,metadata,row")
    clock.advance(70 * 86_400)
    got = api.call("GET", f"/campaigns/{name}/export")
    assert (got.status, got.code) == (409, "expired")


@pytest.mark.slow
def test_an_export_that_was_given_up_says_so(api: Api, clock: FakeClock) -> None:
    job = api.logged(["a@example.org"])
    begun(api, f"/batches/{job}")
    found = api.lists.exporter.exports.get(job)
    assert found is not None
    assert api.lists.exporter.exports.save(found, found.changed(starts=MAX_STARTS))
    api.lists.export()
    got = api.call("GET", f"/batches/{job}/export")
    assert (got.status, got.code) == (409, "export_given_up")
    assert got.json["detail"].endswith("Ask for the export again in an hour.")
    clock.advance(AGAIN_MS / 1000 + 1)
    begun(api, f"/batches/{job}")
    api.lists.export()
    assert api.call("GET", f"/batches/{job}/export").json["state"] == "ready"
