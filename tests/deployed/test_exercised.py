"""What tests on a cloud have done is known by the requests that its API has answered; needs no cloud."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from infra.local.emulated.requests import recorded
from tests.deployed import exercised

STAGE = "/_aws/execute-api/abc/$default"


def test_a_request_is_of_the_route_that_its_function_takes() -> None:
    found = exercised.exercised(["GET /jobs", "POST /jobs/job_1/stop", "GET /digest-policies/a//preview", "GET /other"])
    assert found == {"listJobs", "stopJob", "previewDigestPolicy"}
    assert exercised.exercised(["GET /console/acc_1/jobs", "PUT /jobs"]) == {"console: jobs"}


def test_what_no_request_asks_for_is_named_unless_a_reason_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exercised, "routes", lambda: {"a": "GET /a", "b": "GET /b", "c": "GET /c"})
    monkeypatch.setattr(exercised, "UNEXERCISED", {"b": "why", "c": "why", "d": "why"})
    monkeypatch.setattr(exercised, "exercised", lambda _: {"c"})
    assert exercised.faults([]) == [
        "a test on a cloud does: c; take it out of UNEXERCISED",
        "no test on a cloud does: a (GET /a)",
        "there is no d",
    ]


def test_all_operations_and_pages_have_names_of_their_own() -> None:
    assert len(exercised.routes()) > 200


@pytest.mark.parametrize(
    ("path", "status", "lines"),
    [
        (f"{STAGE}/jobs", 200, ["GET /jobs"]),
        (f"{STAGE}/jobs", 303, ["GET /jobs"]),
        (f"{STAGE}/jobs", 403, []),
        ("/bucket/key", 200, []),
    ],
)
def test_each_request_that_is_answered_is_recorded_once(
    tmp_path: Path, path: str, status: int, lines: list[str]
) -> None:
    sent: list[Any] = []

    async def app(_scope: Any, _receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": status})
        await send({"type": "http.response.body", "body": b""})

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        raise AssertionError("the body is not read")

    file = tmp_path / "requests.txt"
    for _ in range(2):  # also by a cloud that has been stopped and started again
        answer = recorded(app, file)
        for _ in range(2):
            asyncio.run(answer({"type": "http", "method": "GET", "raw_path": path.encode()}, receive, send))
    assert len(sent) == 8
    assert (file.read_text().splitlines() if file.exists() else []) == lines
