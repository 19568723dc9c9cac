from typing import Any

import pytest

from shared.domain.jobs.outcomes import Rejected, Unknown
from tests.api.conftest import Api
from tests.fakes.clock import FakeClock


def test_every_recipient_has_a_line_from_the_first_moment_on(api: Api) -> None:
    job = api.accepted([f"r{i}@example.org" for i in range(5)])
    got = api.call("GET", f"/batches/{job}/logs").json
    assert [x["recipient"] for x in got["items"]] == [f"r{i}@example.org" for i in range(5)]
    assert {x["state"] for x in got["items"]} == {"queued"}
    assert [x["message"] for x in got["items"]] == ["0.0", "0.1", "0.2", "1.0", "1.1"]
    assert got["items"][0] == {
        "message": "0.0",
        "recipient": "r0@example.org",
        "state": "queued",
        "status": "queued",
        "providers": {"sendgrid": False, "mailgun": False},
        "attempts": [],
        "updated_at": got["items"][0]["updated_at"],
        "sent_at": None,
        "delivered_at": None,
        "error": None,
        "error_meaning": None,
        "suppression": None,
        "error_detail": None,
        "may_duplicate": False,
        "unacknowledged": False,
        "row": None,
        "reference": None,
        "tags": [],
        "metadata": {},
    }
    assert got["next_cursor"] is None


def test_a_line_lists_its_attempts_and_what_was_said_of_them(api: Api) -> None:
    job = api.logged()
    taken = api.world.oracle.taken[0]
    api.world.track(taken.provider, api.world.word(job, 0, "delivered", id="p-1"))
    got = api.call("GET", f"/batches/{job}/logs/0.0")
    assert got.status == 200
    line = got.json
    assert (line["state"], line["status"], line["error"]) == ("delivered", "success", None)
    assert line["providers"] == {"sendgrid": taken.provider == "one", "mailgun": taken.provider == "two"}
    (attempt,) = line["attempts"]
    assert (attempt["n"], attempt["credential_id"], attempt["outcome"]) == (1, taken.provider, "accepted")
    assert attempt["at"].endswith("Z")
    assert attempt["provider_message_id"]
    assert [w["word"] for w in attempt["feedback"]] == ["delivered"]


@pytest.mark.slow
def test_a_log_line_shows_a_possible_duplicate(api: Api) -> None:
    for name in ("one", "two"):
        api.world.providers[name].script("a@example.org", [Unknown("timeout")])
    job = api.logged(on_ambiguous="fail_over")
    line = api.call("GET", f"/batches/{job}/logs/0.0").json
    assert line["may_duplicate"] is True
    assert line["attempts"][0]["outcome"] == "unknown"
    assert line["attempts"][0]["code"] == "timeout"


@pytest.mark.slow
def test_what_a_provider_does_not_acknowledge_is_shown_and_counted(api: Api, clock: FakeClock) -> None:
    job = api.logged(["a@example.org", "b@example.org", "c@example.org"])
    taken = api.world.oracle.taken[0]
    api.world.track(taken.provider, api.world.word(job, taken.ref.index, "delivered", chunk=taken.ref.chunk))
    for advance, late in ((0, 0), (72 * 3600 + 60, 2)):
        clock.advance(advance)
        items = api.call("GET", f"/batches/{job}/logs").json["items"]
        assert sum(x["unacknowledged"] for x in items) == late
        assert not any(x["unacknowledged"] for x in items if x["state"] == "delivered")
        for base in ("batches", "jobs"):
            found = api.call("GET", f"/{base}/{job}").json
            assert found["unacknowledged"] == late
            assert (sum(found["counts"].values()), found["counts"]["sent"]) == (3, 2)
    assert api.call("GET", "/jobs").json["items"][0]["unacknowledged"] is None


@pytest.mark.slow
def test_pages_and_filters(api: Api) -> None:
    for name in ("one", "two"):
        api.world.providers[name].script("r3@example.org", [Rejected("550", permanent=True)])
    job = api.logged([*(f"r{i}@example.org" for i in range(6)), "nonsense"])

    def found(**query: Any) -> list[str]:
        out: list[str] = []
        for _ in range(20):
            got = api.call("GET", f"/batches/{job}/logs", query=query)
            assert got.status == 200, got.text
            out += [x["recipient"].partition("@")[0] for x in got.json["items"]]
            if got.json["next_cursor"] is None:
                return out
            query["cursor"] = got.json["next_cursor"]
        raise AssertionError("the list never ends")

    everyone = [*(f"r{i}" for i in range(6)), "nonsense"]
    assert found() == everyone
    assert found(limit=2) == everyone
    assert found(limit=1) == everyone
    assert found(state="failed") == ["r3"]
    assert found(state="failed,skipped", limit=1) == ["r3", "nonsense"]
    assert found(status="failed") == ["r3", "nonsense"]
    assert found(status="queued", state="sent") == ["r0", "r1", "r2", "r4", "r5"]
    assert found(recipient="R4@EXAMPLE.org") == ["r4"]
    assert found(recipient="Somebody <r4@example.org>") == ["r4"]
    assert found(recipient="nonsense") == ["nonsense"]
    assert found(recipient="else@example.org") == []
    assert found(attempt="failed") == ["r3"]
    assert found(attempt="accepted", limit=2) == ["r0", "r1", "r2", "r4", "r5"]
    assert sorted(found(credential="one") + found(credential="two")) == [f"r{i}" for i in range(6)]
    assert found(credential="three") == []
    repeated = api.call("GET", f"/batches/{job}/logs", query="state=failed&state=skipped").json["items"]
    assert [x["recipient"] for x in repeated] == ["r3@example.org", "nonsense"]


@pytest.mark.parametrize(
    "query",
    [
        {"state": "lost"},
        {"state": ""},
        {"status": "sent"},
        {"recipient": ""},
        {"attempt": "lost"},
        {"credential": ""},
        {"to": "x"},
    ],
)
def test_a_filter_that_means_nothing_is_refused(api: Api, query: dict[str, str]) -> None:
    got = api.call("GET", f"/batches/{api.accepted()}/logs", query=query)
    assert (got.status, got.code) == (422, "validation_failed")


@pytest.mark.parametrize("name", ["0.1", "1.0", "x", "0", "0.0.0", "00000.999", "-1.0"])
def test_a_message_that_is_not_there_is_not_found(api: Api, name: str) -> None:
    got = api.call("GET", f"/batches/{api.accepted()}/logs/{name}")
    assert (got.status, got.code) == (404, "not_found")


def test_a_cursor_of_another_batch_finds_nothing(api: Api) -> None:
    long, short = api.accepted([f"r{i}@example.org" for i in range(6)]), api.accepted()
    cursor = api.call("GET", f"/batches/{long}/logs", query={"limit": 4}).json["next_cursor"]
    got = api.call("GET", f"/batches/{short}/logs", query={"cursor": cursor})
    assert (got.status, got.json) == (200, {"items": [], "next_cursor": None})
