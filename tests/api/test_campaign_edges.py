"""Campaigns over the API where it is easy to get them wrong: races, limits, kinds of keys, what a client repeats."""

import base64
import json
import random
from collections.abc import Callable
from typing import Any

import pytest

from shared.domain.campaigns.campaign import Campaign
from shared.domain.jobs.states import JobState
from shared.engine.campaigns.campaigns import CampaignControl, Sent
from shared.engine.lists.list_jobs import Order
from tests.api.conftest import SENDER, Api
from tests.api.lists import as_body
from tests.api.test_campaigns import SAID, get
from tests.fakes.clock import FakeClock

LATER = ("2026-09-22T13:13:20Z", "2026-09-22T14:13:20Z")
"""Some hours from the fake clock's beginning."""


def noise(size: int) -> str:
    """Return text that compresses to three quarters of its size."""
    return base64.b64encode(random.Random(7).randbytes(size * 3 // 4)).decode()  # noqa: S311 - nothing secret


# Kinds of keys


@pytest.mark.promise(9)
def test_a_test_key_moves_nothing_that_reaches_a_provider(api: Api, clock: FakeClock) -> None:
    name, key = api.campaign(), api.test_key()
    api.listed(name)
    job = api.sent(name, scheduled_at=LATER[0])
    before = api.stored()
    for method, path in (
        ("POST", f"/jobs/{job}/stop"),
        ("POST", f"/jobs/{job}/retry"),
        ("POST", f"/jobs/{job}/resume"),
        ("DELETE", f"/schedules/{job}"),
        ("GET", f"/jobs/{job}/export"),
        ("GET", f"/jobs/{job}"),
    ):
        got = api.call(method, path, key=key)
        assert (got.status, got.code) == (404, "not_found"), (method, path)
    assert api.stored() == before
    assert [api.call("GET", path, key=key).json["items"] for path in ("/jobs", "/schedules")] == [[], []]
    tried = api.batch(key=key).json["job_id"]
    assert [x["job_id"] for x in api.call("GET", "/jobs", key=key).json["items"]] == [tried]
    assert {x["job_id"] for x in api.call("GET", "/jobs").json["items"]} == {job, tried}
    assert api.call("POST", f"/batches/{tried}/stop", key=key).status == 200


# Repeated requests


@pytest.mark.slow
def test_a_large_template_can_be_made_under_a_key(api: Api) -> None:
    body = {"name": "x", "channel": "email", **SAID, "body": noise(370_000), "text": "x" * 900_000}
    first = api.call("POST", "/templates", body, headers={"Idempotency-Key": "k"})
    assert first.status == 201
    again = api.call("POST", "/templates", body, headers={"Idempotency-Key": "k"})
    assert (again.text, again.headers["idempotency-replayed"]) == (first.text, "true")
    whole = {"name": "x", "channel": "email", "template_id": first.json["template_id"]}
    assert api.call("POST", "/campaigns", whole, headers={"Idempotency-Key": "c"}).status == 201
    url = f"/templates/{first.json['template_id']}"
    got = api.call("PUT", url, {**SAID, "body": noise(370_000)}, headers={"Idempotency-Key": "p"})
    assert (got.status, got.json["version"]) == (200, 2)
    for large in ({"body": noise(450_000)}, {"body": '"' * 1_000_000, "text": '"' * 1_000_000}):
        too_large = api.call("POST", "/templates", body | large)
        assert (too_large.status, too_large.fields) == (422, ["body"])


def test_a_send_that_is_repeated_after_the_next_list_sends_it_not(api: Api) -> None:
    name, key = api.campaign(), {"Idempotency-Key": "k"}
    first = api.listed(name)
    assert api.call("POST", f"/campaigns/{name}/send", headers=key).json["job_id"] == first
    second = api.listed(name, {"recipient": "c@example.org", "name": "Cleo"})
    again = api.call("POST", f"/campaigns/{name}/send", headers=key)
    assert (again.json["job_id"], again.headers.get("idempotency-replayed")) == (first, "true")
    assert get(api, name)["upload_id"] == second


# Races. Another caller comes in where the first has read the campaign and not written yet.


def meanwhile(api: Api, monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> list[object]:
    """Have something done between a send's read of the campaign and its transaction; returns what it gave."""
    did: list[object] = []
    whole = CampaignControl._send

    def late(self: CampaignControl, *args: Any) -> Any:
        if not did:
            did.append(None)
            did[0] = act()
            api.world.clock.advance(0.001)
        return whole(self, *args)

    monkeypatch.setattr(CampaignControl, "_send", late)
    return did


@pytest.mark.slow
@pytest.mark.promise(1)
@pytest.mark.parametrize("key", [None, "k"])
def test_of_two_sends_at_once_one_wins(api: Api, monkeypatch: pytest.MonkeyPatch, key: str | None) -> None:
    name = api.campaign()
    job = api.listed(name)
    headers = {"Idempotency-Key": key} if key else {}

    def send() -> Any:
        return api.call("POST", f"/campaigns/{name}/send", {}, headers=headers)

    did = meanwhile(api, monkeypatch, send)
    last = send()
    first: Any = did[0]
    assert first.status == 202
    if key:
        assert (last.status, last.text, last.headers["idempotency-replayed"]) == (202, first.text, "true")
    else:
        assert (last.status, last.code) == (409, "no_list")
    assert get(api, name)["jobs"] == [job]
    api.world.jobs.append(job)
    api.world.settle()
    assert len(api.world.oracle.taken) == 2
    assert api.call("GET", "/stats").json["items"][0]["queued"] == 2


@pytest.mark.slow
def test_an_edit_during_a_send_is_sent_or_refuses_it(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    name = api.campaign()
    job = api.listed(name)
    url = f"/campaigns/{name}/template"
    meanwhile(api, monkeypatch, lambda: api.call("PUT", url, SAID | {"subject": "Dear {{ city }}"}))
    got = api.call("POST", f"/campaigns/{name}/send")
    assert (got.status, got.code, got.fields) == (409, "missing_columns", ["city"])
    monkeypatch.undo()
    api.call("PUT", url, SAID)
    meanwhile(api, monkeypatch, lambda: api.call("PUT", url, SAID | {"subject": "Dear {{ name }}"}))
    assert api.sent(name) == job
    api.world.settle()
    assert {c.subject for c in api.world.providers["one"].said} == {"Dear Ann", "Dear Ben"}


@pytest.mark.slow
def test_a_job_that_was_announced_twice_is_listed_once(
    api: Api, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = api.campaign()
    job = api.listed(name)
    url = f"/campaigns/{name}/send"
    meanwhile(api, monkeypatch, lambda: api.call("POST", url, {"scheduled_at": LATER[1]}))
    assert api.call("POST", url, {"scheduled_at": LATER[0]}).code == "no_list"
    (found,) = api.call("GET", "/schedules").json["items"]
    assert (found["job_id"], found["scheduled_at"]) == (job, "2026-09-22T14:13:20.000Z")


def test_a_campaign_deleted_before_its_file_is_there_is_gone(api: Api) -> None:
    name = api.campaign()
    upload = api.call("POST", f"/campaigns/{name}/uploads", {}).json["upload_id"]
    api.lists.files.items[f"uploads/{api.account}/{name}/{upload}"] = b"recipient\na@example.org\n"
    stale = api.services.campaigns().campaigns.get(name)
    assert stale is not None
    assert api.call("DELETE", f"/campaigns/{name}").status == 200
    assert api.call("POST", f"/campaigns/{name}/uploads/{upload}/complete").code == "not_found"
    assert api.services.campaigns().uploading.complete(stale, upload) is None
    assert api.services.campaigns().campaigns.get(name) is None
    assert api.lists.queue.receive() is None


@pytest.mark.slow
def test_a_list_is_read_for_the_credential_of_the_moment_it_is_there(api: Api) -> None:
    name = api.campaign()
    upload = api.call("POST", f"/campaigns/{name}/uploads", {}).json["upload_id"]
    api.lists.files.items[f"uploads/{api.account}/{name}/{upload}"] = b"recipient,name\na@example.org,Ann\n"
    stale = api.services.campaigns().campaigns.get(name)
    assert stale is not None
    assert api.call("PATCH", f"/campaigns/{name}", {"credential_id": "two"}).status == 200
    done = api.services.campaigns().uploading.complete(stale, upload)
    assert getattr(done, "credential", None) == "two"
    api.lists.read()
    assert api.sent(name) == upload
    api.world.settle()
    assert [len(api.world.providers[x].said) for x in ("one", "two")] == [0, 1]


# What is said


@pytest.mark.slow
@pytest.mark.parametrize("subject", [" ", "\u00a0", "{{ name }}"])
def test_an_e_mail_has_a_subject(api: Api, subject: str) -> None:
    body = {"name": "x", "channel": "email", "template": SAID | {"subject": subject}}
    got = api.call("POST", "/campaigns", body)
    if "{{" not in subject:
        assert (got.status, got.fields) == (422, ["template.subject"])
        return
    name = got.json["campaign_id"]
    rows = [
        {"recipient": f"{i}@example.org", "name": x} for i, x in enumerate(("Ann", "", " ", "x" * 999, "\r\nBcc: b"))
    ]
    job = api.listed(name, *rows)
    errors = [get(api, name, "/preview", query={"row": i + 1})["error"] for i in range(5)]
    assert errors == [None, "subject_missing", "subject_missing", "subject_too_long", None]
    assert get(api, name, "/preview", query={"row": 5})["subject"].split() == ["Bcc:", "b"]
    api.sent(name)
    api.world.settle()
    lines = get(api, name, "/messages")["items"]
    assert [x["error"] for x in lines] == errors
    assert [x["state"] for x in lines] == ["sent", "failed", "failed", "failed", "sent"]
    assert len(api.world.oracle.taken) == 2
    assert api.world.job(job).state is JobState.LOGGED


@pytest.mark.parametrize("field", ["subject", "from", "reply_to"])
@pytest.mark.parametrize("inside", ["\r\nBcc: b@example.org", "\n", "\u2028", "\x00", "\x85", "\ud800"])
def test_no_header_is_injected(calm: Api, field: str, inside: str) -> None:
    before = len(calm.client.writes)
    value = f"x{inside}" if field == "subject" else f"x{inside} <{SENDER}>"
    template = json.dumps({"name": "x", "channel": "email", "template": SAID | {field: value}})
    got = calm.call("POST", "/campaigns", template)
    assert got.code in {"validation_failed", "malformed_json"}
    assert len(calm.client.writes) == before


@pytest.mark.slow
def test_a_message_that_is_too_large_to_show_is_not_shown(api: Api) -> None:
    name = api.campaign(template=SAID | {"body": "{{ a }}" * 400})
    api.listed(name, {"recipient": "a@example.org", "name": "Ann", "a": "x" * 8000})
    shown = api.call("GET", f"/campaigns/{name}/preview")
    assert (shown.status, shown.json["error"], shown.json["html"]) == (200, "too_large_to_show", "")
    assert shown.json["subject"] == "Hello Ann"


# Lists


def test_names_of_a_list_in_json_are_those_of_its_columns_in_csv(api: Api) -> None:
    name = api.campaign()
    api.listed(name, {" Recipient": "a@example.org", "NAME ": "Ann"})
    found = get(api, name)
    assert (found["columns"], found["state"]) == (["recipient", "name"], "ready")
    assert get(api, name, "/preview")["subject"] == "Hello Ann"
    twice = {"recipients": [{"recipient": "a@example.org"}, {"recipient": "b@example.org", "name": "x", "Name": "y"}]}
    got = api.call("PUT", f"/campaigns/{name}/recipients", twice)
    assert (got.status, got.fields) == (422, ["recipients.1"])


def test_a_bad_cell_of_a_list_in_json_concerns_its_row_alone(api: Api) -> None:
    name = api.campaign()
    cells = ["Ann", "x" * 100_000, "a\0b", "x" * 8193, "x" * 8192, None]
    upload = api.listed(name, *({"recipient": f"{i}@example.org", "name": x} for i, x in enumerate(cells)))
    found = api.call("GET", f"/campaigns/{name}/uploads/{upload}").json
    assert (found["state"], found["accepted"]) == ("ready", 3)
    assert [(e["row"], e["code"]) for e in found["errors"]] == [
        (2, "row_too_large"),
        (3, "nul_byte"),
        (4, "row_too_large"),
    ]
    wrong: tuple[Any, ...] = (True, ["x"], {})
    for cell in wrong:
        got = api.call("PUT", f"/campaigns/{name}/recipients", as_body([{"recipient": "a@example.org", "name": cell}]))
        assert (got.status, got.fields) == (422, ["recipients.0.name"])


# Tests


# Sending


@pytest.mark.slow
def test_a_rate_that_would_hold_up_its_credential_is_refused(api: Api) -> None:
    name = api.campaign()
    api.listed(name)
    got = api.call("POST", f"/campaigns/{name}/send", {"rate": 0.0999})
    assert (got.status, got.fields) == (422, ["rate"])
    assert api.call("POST", f"/campaigns/{name}/send", {"rate": 0.1}).status == 202


@pytest.mark.slow
def test_lists_side_by_side_end_when_their_credential_is_through_with_all(api: Api, clock: FakeClock) -> None:
    name = api.campaign()
    for n in range(2):
        api.listed(name, *({"recipient": f"r{n}.{i}@example.org", "name": "x"} for i in range(100)))
        api.sent(name)
    found = get(api, name, "/stats")
    assert [x["eta"] for x in found["jobs"]] == ["2026-09-21T14:13:21.000Z"] * 2
    assert found["eta"] == "2026-09-21T14:13:22.000Z"
    api.listed(name)
    api.sent(name, scheduled_at=LATER[0], rate=1)
    assert get(api, name, "/stats")["eta"] == "2026-09-22T13:13:22.000Z"


@pytest.mark.slow
def test_figures_of_a_campaign_add_up_at_every_step(api: Api) -> None:
    name = api.campaign()
    for n in range(2):
        api.listed(name, {"recipient": f"r{n}@example.org", "name": "x"}, {"recipient": "no"})
        api.sent(name)
    for _ in range(1000):
        found = get(api, name, "/stats")
        assert (found["total"], sum(found["counts"].values())) == (2, 2)
        assert found["total"] == sum(x["total"] for x in found["jobs"])
        if not api.world.step():
            break
    else:
        raise AssertionError("it never ends")
    assert (found["state"], found["counts"]["sent"]) == ("LOGGED", 2)


@pytest.mark.slow
@pytest.mark.promise(4)
def test_no_list_is_forgotten_by_a_resume_while_one_is_being_stopped(api: Api) -> None:
    name = api.campaign()
    jobs = []
    for n in range(2):
        jobs.append(api.listed(name, {"recipient": f"r{n}@example.org", "name": "x"}))
        api.sent(name)
    ages = [api.world.job(job).created_at for job in jobs]
    api.call("POST", f"/jobs/{jobs[0]}/stop")
    api.world.clock.advance(20)
    api.world.sweep()
    assert api.world.job(jobs[0]).state is JobState.LOGGED
    api.call("POST", f"/campaigns/{name}/stop")
    assert [api.world.job(job).state for job in jobs] == [JobState.LOGGED, JobState.STOPPED]
    before = api.stored()
    assert api.call("POST", f"/campaigns/{name}/stop").status == 200
    got = api.call("POST", f"/campaigns/{name}/resume")
    assert (got.status, got.code, got.headers["retry-after"]) == (409, "stopping", "5")
    assert api.stored() == before
    api.world.clock.advance(20)
    api.world.sweep()
    got = api.call("POST", f"/campaigns/{name}/resume")
    assert (got.json["messages"], [x["job_id"] for x in got.json["jobs"]], got.json["left_out"]) == (2, jobs, [])
    before = api.stored()
    again = api.call("POST", f"/campaigns/{name}/resume")
    assert (again.status, again.code) == (409, "job_in_progress")
    assert api.stored() == before
    assert [api.world.job(job).created_at for job in jobs] == ages


@pytest.mark.slow
def test_a_retry_says_which_jobs_it_leaves_out(api: Api) -> None:
    name = api.campaign()
    jobs = [api.listed(name) and api.sent(name)]
    api.call("POST", f"/campaigns/{name}/stop")
    api.world.clock.advance(20)
    api.world.sweep()
    jobs.append(api.listed(name) and api.sent(name))
    got = api.call("POST", f"/campaigns/{name}/resume")
    assert (got.status, [x["job_id"] for x in got.json["jobs"]]) == (200, jobs[:1])
    assert got.json["left_out"] == [{"job_id": jobs[1], "code": "job_in_progress"}]


def test_what_is_read_of_a_campaign_is_not_what_another_has_changed(api: Api) -> None:
    """A send works on what is stored, not on what its caller has read."""
    name = api.campaign()
    api.listed(name)
    services = api.services.campaigns()
    stale: Campaign | None = services.campaigns.get(name)
    assert stale is not None
    assert isinstance(services.control.send(stale, Order()), Sent)
    assert not isinstance(services.control.send(stale, Order()), Sent)


def test_the_same_text_costs_the_same_however_its_accents_are_written(api: Api) -> None:
    previews = [
        api.call("GET", f"/campaigns/{name}/preview").json
        for body in ("Caf\u00e9 \u00e0", "Cafe\u0301 a\u0300", "\ufeffCaf\u00e9\u200e \u00e0\u00ad")
        if (name := api.campaign(channel="sms", template={"body": body}))
    ]
    assert {p["text"] for p in previews} == {"Caf\u00e9 \u00e0"}
    assert [(p["sms"]["encoding"], p["sms"]["forcing"]) for p in previews] == [("gsm7", [])] * 3
