"""The main path through the deployed system: post a batch, watch it go out, hear of it by webhooks, read the logs."""

import json
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from infra.local import accounts, deploy
from infra.local.cloud import Cloud
from simulator.client import ControlClient
from tests.deployed.api import Api

pytestmark = pytest.mark.deployed
JOBS = 20
"""Of so many jobs one begins with the provider that a test breaks: every other does."""


@pytest.fixture(scope="module")
def stranger(stacks: list[deploy.Stack], cloud: Cloud, cloud_port: int) -> Api:
    """Another account of the same deployment."""
    deployment = accounts.describe(stacks, cloud_port)
    made = accounts.posthaste(deployment, cloud_port, "account", "create", "stranger", "--sender", "example.com")
    key = accounts.posthaste(deployment, cloud_port, "key", "create", made["account_id"])["key"]
    return Api(cloud.api, key)


def batch(*to: str, **more: Any) -> dict[str, Any]:
    return {"from": "News <news@example.com>", "to": list(to), "subject": "Hello", "body": "<p>Hello</p>", **more}


def accepted(control: ControlClient, job: str) -> Counter[str]:
    """Return how often each recipient of a job was accepted, by the simulator's own log."""
    return Counter(row["recipient"] for row in control.log() if row["ref"].startswith(f"{job}-"))


def newest(api: Api) -> list[str]:
    """Return the ids of the latest batches."""
    return [item["batch_id"] for item in api.get("/batches?limit=3")["items"]]


def in_a_day() -> str:
    return (datetime.now(UTC) + timedelta(days=1)).isoformat(timespec="seconds")


@pytest.mark.promise(13)
def test_a_team_key_reaches_only_guests(
    api: Api, cloud: Cloud, stacks: list[deploy.Stack], cloud_port: int, control: ControlClient, tag: str
) -> None:
    guest, other = f"ann+{tag}@example.com", f"eve+{tag}@example.com"
    found = accounts.describe(stacks, cloud_port)
    owner = accounts.posthaste(found, cloud_port, "account", "create", f"t{tag}", "--sender", "example.com")
    live, team = (
        Api(cloud.api, accounts.posthaste(found, cloud_port, "key", "create", owner["account_id"], *kind)["key"])
        for kind in ((), ("--team",))
    )
    assert team.call("PUT", f"/guests/{other}").body["code"] in ("missing_scope", "live_key_needed")
    assert live.call("PUT", f"/guests/{guest}").status == 200
    answer = team.call("POST", "/batches", batch(guest, other))
    assert (answer.status, answer.body["skipped"]) == (202, 1)
    job = answer.body["job_id"]
    assert team.finished(job)["key_kind"] == "team"
    assert accepted(control, job) == {guest: 1}
    assert live.call("GET", f"/jobs/{job}").status == 404


@pytest.mark.promise(1)
@pytest.mark.promise(3)
def test_a_batch_goes_out_once_and_its_feedback_comes_back(api: Api, control: ControlClient, tag: str) -> None:
    good, bad = f"ann+{tag}@example.com", f"bounce+{tag}@example.com"
    answer = api.call("POST", "/batches", batch(good, good.upper(), bad, "not an address"))
    assert answer.status == 202, answer.body
    assert {k: answer.body[k] for k in ("recipients", "duplicates", "skipped")} == {
        "recipients": 3,
        "duplicates": 1,
        "skipped": 1,
    }
    job = answer.body["job_id"]
    counts = api.finished(job)["counts"]
    assert {state: n for state, n in counts.items() if n} == {"delivered": 1, "failed": 1, "skipped": 1}
    assert accepted(control, job) == {good: 1, bad: 1}

    lines = api.get(f"/batches/{answer.body['batch_id']}/logs")["items"]
    assert [line["state"] for line in lines] == ["delivered", "failed", "skipped"]
    assert [line["status"] for line in lines] == ["success", "failed", "failed"]
    assert all(set(line["providers"]) == {"sendgrid", "mailgun"} for line in lines)
    assert [sum(line["providers"].values()) for line in lines] == [1, 1, 0]
    assert [len(line["attempts"]) for line in lines] == [1, 1, 0]
    assert lines[0]["attempts"][0]["provider_message_id"]
    assert lines[2]["error"] == "invalid_address"
    assert api.get(f"/batches/{answer.body['batch_id']}/logs?status=success")["items"] == [lines[0]]


@pytest.fixture
def mailgun(mend: Callable[[str, str], None]) -> Iterator[str]:
    """A credential that a test may break."""
    yield "mailgun-main"
    mend("mailgun", "mailgun-main")


@pytest.mark.promise(1)
@pytest.mark.parametrize("mode", ["503", "401"])
def test_what_one_provider_refuses_goes_through_the_other(
    api: Api, control: ControlClient, tag: str, mode: str, mailgun: str
) -> None:
    """A job's id says with which provider it begins: jobs are sent until one begins with the broken one."""
    control.faults("mailgun", mailgun, mode=mode, recipients=f"*{tag}*")
    moved: list[dict[str, Any]] = []
    for n in range(JOBS):
        to = [f"p{n}.{i}+{tag}@example.com" for i in range(6)]
        answer = api.call("POST", "/batches", batch(*to))
        job = answer.body["job_id"]
        assert api.finished(job)["counts"]["delivered"] == len(to)
        assert accepted(control, job) == dict.fromkeys(to, 1)
        lines = api.get(f"/batches/{answer.body['batch_id']}/logs")["items"]
        assert all(line["providers"]["sendgrid"] for line in lines)
        if moved := [line for line in lines if line["providers"]["mailgun"]]:
            break
    assert moved
    for line in moved:
        assert [(a["credential_id"], a["outcome"]) for a in line["attempts"]] == [
            ("mailgun-main", "not_sent"),
            ("sendgrid-main", "accepted"),
        ]


@pytest.mark.promise(1)
def test_what_a_receiver_refuses_from_one_provider_goes_through_the_other(
    api: Api, control: ControlClient, tag: str
) -> None:
    to = f"blocked+{tag}@example.com"
    answer = api.call("POST", "/batches", batch(to))
    job = answer.body["job_id"]
    assert api.finished(job)["counts"]["failed"] == 1  # from the second, too, and none is left
    last = api.get(f"/batches/{answer.body['batch_id']}/logs")["items"][0]
    assert all(last["providers"].values())
    assert (last["state"], last["error"], len(last["attempts"])) == ("failed", "providers_exhausted", 2)
    assert accepted(control, job) == {to: 2}


@pytest.mark.promise(7)
def test_a_repeated_request_is_answered_again_and_sends_nothing(api: Api, control: ControlClient, tag: str) -> None:
    body, key = batch(f"ann+{tag}@example.com"), uuid.uuid4().hex
    first = api.call("POST", "/batches", body, idempotency_key=key)
    again = api.call("POST", "/batches", body, idempotency_key=key)
    assert (first.status, again.status) == (202, 202)
    assert again.body == first.body
    assert "idempotency-replayed" not in first.headers
    assert again.headers["idempotency-replayed"] == "true"
    other = api.call("POST", "/batches", {**body, "subject": "Another"}, idempotency_key=key)
    assert (other.status, other.body["code"]) == (422, "idempotency_mismatch")
    api.finished(first.body["job_id"])
    assert sum(tag in row["recipient"] for row in control.log()) == 1


@pytest.mark.promise(7)
def test_of_the_same_request_several_times_at_once_one_wins(api: Api, control: ControlClient, tag: str) -> None:
    body, key = batch(f"ann+{tag}@example.com"), uuid.uuid4().hex
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: api.call("POST", "/batches", body, idempotency_key=key), range(4)))
    assert {answer.status for answer in answers} == {202}, answers
    assert len({answer.body["job_id"] for answer in answers}) == 1
    api.finished(answers[0].body["job_id"])
    assert sum(tag in row["recipient"] for row in control.log()) == 1


@pytest.mark.promise(10)
@pytest.mark.parametrize(
    ("send", "status", "code"),
    [
        (lambda api: api.call("POST", "/batches", raw=b"{not json"), 400, None),
        (lambda api: api.call("POST", "/batches", raw=b"[]"), 422, None),
        (lambda api: api.call("POST", "/batches", batch("a@example.com", surprise=1)), 422, None),
        (lambda api: api.call("POST", "/batches", batch("a@example.com", subject=1)), 422, None),
        (lambda api: api.call("POST", "/batches", batch("nobody")), 422, "no_valid_recipient"),
        (
            lambda api: api.call("POST", "/batches", {**batch("a@example.com"), "from": "a@example.net"}),
            422,
            "from_not_allowed",
        ),
        (lambda api: api.call("POST", "/batches", batch("a@example.com", body="x" * 5_500_000)), 413, None),
        (lambda api: api.call("GET", "/batches?limit=0"), 422, None),
        (lambda api: api.call("GET", "/batches?cursor=nonsense"), 400, None),
    ],
    ids=[
        "not json",
        "not an object",
        "unknown field",
        "wrong type",
        "no recipient",
        "sender",
        "size",
        "limit",
        "cursor",
    ],
)
def test_bad_input_is_a_clear_problem_and_stores_nothing(
    api: Api, send: Callable[[Api], Any], status: int, code: str | None
) -> None:
    before = newest(api)
    answer = send(api)
    assert 400 <= answer.status < 500, answer
    assert answer.headers["content-type"].startswith("application/problem+json")
    assert answer.body["status"] == answer.status
    assert answer.body["code"]
    assert answer.status == status, answer.body
    assert code is None or answer.body["code"] == code
    assert newest(api) == before


@pytest.mark.promise(9)
@pytest.mark.parametrize("key", ["", "ph_live_madeup", "nonsense"])
def test_without_a_valid_key_there_is_nothing(api: Api, key: str) -> None:
    for method, path in (("GET", "/batches"), ("POST", "/batches"), ("GET", "/jobs/unknown"), ("GET", "/stats")):
        answer = Api(api.url, key).call(method, path, batch("a@example.com") if method == "POST" else None)
        assert answer.status == 401, (method, path, answer)
        assert "www-authenticate" in answer.headers


@pytest.mark.promise(9)
def test_another_account_sees_and_touches_nothing(api: Api, stranger: Api, tag: str) -> None:
    made = api.call("POST", "/batches", batch(f"ann+{tag}@example.com", scheduled_at=in_a_day()))
    assert made.status == 202, made.body
    job = made.body["job_id"]
    before = api.get(f"/jobs/{job}")
    for method, path in (
        ("GET", f"/batches/{job}"),
        ("GET", f"/batches/{job}/logs"),
        ("GET", f"/batches/{job}/logs/0.0"),
        ("GET", f"/jobs/{job}"),
        ("POST", f"/batches/{job}/stop"),
        ("POST", f"/jobs/{job}/stop"),
        ("POST", f"/jobs/{job}/retry"),
        ("POST", f"/jobs/{job}/resume"),
    ):
        answer = stranger.call(method, path)
        assert answer.status == 404, (method, path, answer)
        assert tag not in str(answer.body)
    assert stranger.get("/batches")["items"] == []
    assert stranger.get("/jobs")["items"] == []
    assert api.get(f"/jobs/{job}")["state"] == before["state"] == "READY"


@pytest.mark.promise(4)
def test_a_stopped_batch_sends_nothing(api: Api, control: ControlClient, tag: str) -> None:
    made = api.call("POST", "/batches", batch(f"ann+{tag}@example.com", scheduled_at=in_a_day()))
    job = made.body["job_id"]
    stopped = api.call("POST", f"/batches/{job}/stop")
    assert stopped.status == 200, stopped.body
    assert api.call("POST", f"/batches/{job}/stop").status == 200
    found = api.get(f"/jobs/{job}")
    assert found["state"] in ("STOPPED", "LOGGED")
    assert (found["stop_reason"], found["counts"]["queued"]) == ("user", 1)
    assert accepted(control, job) == {}


def test_a_test_key_never_reaches_a_provider(cloud: Cloud, control: ControlClient) -> None:
    tester = Api(cloud.api, cloud.env["POSTHASTE_TEST_KEY"])
    answer = tester.call("POST", "/batches", batch("delivered@test.posthaste", "bounce@test.posthaste"))
    assert answer.status == 202, answer.body
    found = tester.finished(answer.body["job_id"])
    assert found["test"]
    assert (found["counts"]["delivered"], found["counts"]["failed"]) == (1, 1)
    assert accepted(control, answer.body["job_id"]) == {}


@pytest.mark.promise(9)
@pytest.mark.parametrize("path", ["/webhooks/sendgrid/sendgrid-main", "/webhooks/sendgrid/nobody", "/webhooks/x/y"])
def test_an_unsigned_webhook_is_refused(api: Api, path: str) -> None:
    answer = Api(api.url, "").call("POST", path, [{"event": "delivered", "email": "ann@example.com", "timestamp": 1}])
    assert answer.status in (401, 404), answer
    assert answer.status == 401 or not path.endswith("sendgrid-main")


def test_a_body_that_is_not_utf_8_is_refused_at_the_real_door(api: Api) -> None:
    """What the gateway replaces has another length than it had; an honest U+FFFD has the length that it says."""
    mail = {"from": "news@example.com", "to": ["delivered@example.com"], "subject": "Gr\xf6\xdfe", "text": "Hello"}
    latin = api.call("POST", "/batches", raw=json.dumps(mail, ensure_ascii=False).encode("latin-1"))
    assert (latin.status, latin.body["code"]) == (400, "invalid_utf8")
    honest = json.dumps({**mail, "subject": "What is \ufffd?"}, ensure_ascii=False).encode()
    assert api.call("POST", "/batches", raw=honest).status == 202
