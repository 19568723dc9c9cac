"""Calls: what is sent, when it is sent again, what comes back."""

import asyncio
import json
import time
from collections.abc import Callable, Sequence
from email.utils import formatdate
from typing import Any

import httpx
import pytest
from posthaste_sdk import (
    AsyncPosthaste,
    AuthenticationError,
    ConflictError,
    ConnectionFailedError,
    ForbiddenError,
    IdempotencyMismatchError,
    InvalidRequestError,
    NotFoundError,
    Posthaste,
    RateLimitedError,
    ServerError,
)
from posthaste_sdk.errors import ApiError, api_error
from posthaste_sdk.retries import retry_after
from scripted import ACCEPTED, KEY, MAIL, QUIET, URL, Server, Step, both, create, good, problem


@both
def test_a_call_has_address_key_body_and_an_idempotency_key_of_its_own(mode: str) -> None:
    server = Server(good(ACCEPTED, 202))
    assert create(server, mode)["batch_id"] == "b1"
    assert create(server, mode) == ACCEPTED
    first, second = server.asked
    assert (first.method, str(first.url)) == ("POST", f"{URL}/batches")
    assert first.headers["Authorization"] == f"Bearer {KEY}"
    assert first.headers["User-Agent"].startswith("posthaste-python/")
    assert json.loads(first.content) == MAIL
    assert len(set(server.keys())) == 2
    assert all(server.keys())
    assert second.content == first.content


@both
@pytest.mark.parametrize(
    "fault",
    [
        problem(500),
        problem(503),
        problem(429),
        httpx.ReadError("lost"),
        httpx.ReadTimeout("late"),
        httpx.ConnectError(""),
    ],
    ids=str,
)
def test_a_repeat_has_the_same_key_and_bytes(mode: str, fault: Step) -> None:
    server = Server(fault, fault, good(ACCEPTED, 202))
    assert create(server, mode) == ACCEPTED
    assert len(server.asked) == 3
    assert len(set(server.keys())) == 1
    assert len({request.content for request in server.asked}) == 1
    assert server.slept == [0.5, 1.0]


@both
def test_a_key_of_the_callers_is_kept(mode: str) -> None:
    server = Server(problem(502), good(ACCEPTED, 202))
    create(server, mode, "invoice-17")
    assert server.keys() == ["invoice-17", "invoice-17"]


@both
def test_retry_after_is_honoured_and_too_long_a_wait_fails_at_once(mode: str) -> None:
    server = Server(problem(429, **{"Retry-After": "7"}), good(ACCEPTED, 202))
    create(server, mode)
    assert server.slept == [7.0]
    server = Server(problem(429, "rate_limited", **{"Retry-After": "121"}))
    with pytest.raises(RateLimitedError) as caught:
        create(server, mode)
    assert (caught.value.retry_after, caught.value.code, len(server.asked)) == (121.0, "rate_limited", 1)


@both
def test_it_gives_up_after_its_tries_and_says_what_is_known(mode: str) -> None:
    server = Server(problem(500, "internal_error"))
    with pytest.raises(ServerError):
        create(server, mode)
    assert (len(server.asked), server.slept) == (6, [0.5, 1.0, 2.0, 4.0, 8.0])
    server = Server(httpx.ReadError("lost"))
    with pytest.raises(ConnectionFailedError) as caught:
        create(server, mode, "invoice-17")
    assert (caught.value.sent, caught.value.key) == (True, "invoice-17")


def test_a_post_that_takes_no_key_is_repeated_only_if_it_was_not_taken() -> None:
    taken: Sequence[Step] = (problem(500), problem(503), httpx.ReadError("lost"))
    for fault in taken:
        server = Server(fault)
        with pytest.raises((ServerError, ConnectionFailedError)):
            server.client().create_hook_listener({"events": ["*"]})
        assert len(server.asked) == 1
        assert server.keys() == [None]
    for fault in (problem(429), httpx.ConnectError("refused")):
        server = Server(fault, good({"id": "hook_1"}, 201))
        server.client().create_hook_listener({"events": ["*"]})
        assert len(server.asked) == 2


@pytest.mark.parametrize(
    "call",
    [
        lambda api: api.get_job("j1"),
        lambda api: api.delete_schedule("j1"),
        lambda api: api.put_suppression("a@example.org", {}),
        lambda api: api.change_campaign("c1", {"name": "n"}),
    ],
)
def test_what_may_be_repeated_by_its_nature_is(call: Callable[[Posthaste], Any]) -> None:
    server = Server(httpx.ReadError("lost"), problem(503), good({}))
    call(server.client())
    assert len(server.asked) == 3
    assert set(server.keys()) == {None}


@both
@pytest.mark.parametrize("fault", [httpx.ReadError("lost"), problem(500), problem(503)], ids=str)
def test_a_repeated_delete_that_finds_nothing_has_succeeded(mode: str, fault: Step) -> None:
    busy = problem(429)
    assert delete(Server(fault, busy, problem(404, "not_found")), mode) == {"deleted": True}
    api = Server(fault, problem(404, "not_found")).client()
    assert api.delete_sender("shop.example.com") == {"domain": "shop.example.com", "removed": True}


@both
def test_a_delete_that_was_not_taken_before_finds_nothing(mode: str) -> None:
    for faults in ([], [problem(429)], [httpx.ConnectError("refused")]):
        with pytest.raises(NotFoundError):
            delete(Server(*faults, problem(404, "not_found")), mode)
    with pytest.raises(NotFoundError):  # not by the API
        delete(Server(problem(500), problem(404)), mode)
    with pytest.raises(NotFoundError):  # it answers a view, which a repeat finds again
        Server(problem(500), problem(404, "not_found")).client().delete_schedule("j1")


def delete(server: Server, mode: str) -> Any:
    """Delete an endpoint of hooks by either client."""
    if mode == "sync":
        return server.client().delete_hook("hook_1")

    async def call() -> Any:
        transport = httpx.MockTransport(server.answer_async)
        async with AsyncPosthaste(URL, KEY, transport=transport, sleep=server.sleep_async, retries=QUIET) as api:
            return await api.delete_hook("hook_1")

    return asyncio.run(call())


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 413, 415, 422])
def test_a_refusal_is_not_repeated(status: int) -> None:
    server = Server(problem(status))
    with pytest.raises(ApiError):
        server.client().get_job("j1")
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (400, "malformed_json", InvalidRequestError),
        (401, "unauthorized", AuthenticationError),
        (403, "missing_scope", ForbiddenError),
        (404, "not_found", NotFoundError),
        (409, "job_in_progress", ConflictError),
        (413, "too_large", InvalidRequestError),
        (422, "from_not_allowed", InvalidRequestError),
        (422, "idempotency_mismatch", IdempotencyMismatchError),
        (429, "rate_limited", RateLimitedError),
        (500, "internal_error", ServerError),
        (418, "", ApiError),
    ],
)
def test_errors_have_a_class_by_code_and_status(status: int, code: str, kind: type[ApiError]) -> None:
    fields = [{"field": "to", "message": "is empty"}]
    found = api_error(status, {"code": code, "detail": "No.", "errors": fields, "request_id": "r1"}, 3.0)
    assert type(found) is kind
    assert (found.status, found.code, found.detail, found.fields) == (status, code, "No.", fields)
    assert (found.request_id, found.retry_after) == ("r1", 3.0)
    assert "to: is empty" in str(found)


@pytest.mark.parametrize(
    "answer",
    [
        problem(422, "validation_failed", **{"X-Request-Id": "r7"}),
        httpx.Response(404, text="<html>", headers={"X-Request-Id": "r7"}),
        httpx.Response(200, text="<html>", headers={"X-Request-Id": "r7"}),
        httpx.Response(500, json={"code": "internal_error", "request_id": "r7"}),
    ],
    ids=lambda answer: f"{answer.status_code}",
)
def test_every_error_names_its_request(answer: httpx.Response) -> None:
    with pytest.raises(ApiError) as caught:
        Server(*[answer] * 6).client().get_job("j1")
    assert caught.value.request_id == "r7"


@pytest.mark.parametrize("answer", [httpx.Response(200, text="<html>"), httpx.Response(302), good([1])])
def test_what_is_no_answer_of_posthastes_is_an_error(answer: httpx.Response) -> None:
    server = Server(answer)
    with pytest.raises(ApiError, match="not Posthaste's"):
        server.client().get_job("j1")
    assert len(server.asked) == 1


def test_an_export_is_being_made_or_ready() -> None:
    made = {"state": "ready", "url": "https://bucket.example/x", "expires_at": "…", "rows": 2, "as_of": "…"}
    api = Server(good({"state": "preparing", "progress": 0.5, "as_of": "…"}, 202), good(made)).client()
    progress, export = [], api.export_batch("b1")
    while export["state"] == "preparing":
        progress.append(export["progress"])
        export = api.export_batch("b1")
    assert (progress, export["url"], export["rows"]) == ([0.5], "https://bucket.example/x", 2)


def test_an_object_is_no_array() -> None:
    with pytest.raises(ApiError, match="not Posthaste's"):
        Server(good({"items": []})).client().list_message_updates("a-z")


def test_an_id_stays_one_segment_of_the_path() -> None:
    server = Server(good({}))
    server.client().get_suppression("a/b?c@example.org")
    assert server.asked[0].url.raw_path == b"/stage/suppressions/a%2Fb%3Fc%40example.org"
    for name in ("", ".", ".."):
        with pytest.raises(ValueError, match="not an id"):
            server.client().get_job(name)


def test_text_and_bytes_go_as_they_are() -> None:
    server = Server(good({}, 202))
    server.client().put_recipients("c1", "recipient\na@example.org\n", strict=True, duplicates="drop")
    (asked,) = server.asked
    assert (asked.headers["Content-Type"], asked.content) == ("text/csv", b"recipient\na@example.org\n")
    assert dict(asked.url.params) == {"strict": "true", "duplicates": "drop"}
    server.client().put_recipients("c1", {"recipients": [{"recipient": "a@example.org"}]})
    assert server.asked[1].headers["Content-Type"] == "application/json"


def wait_for(server: Server, mode: str, timeout: float | None) -> Any:
    if mode == "sync":
        return server.client().wait("j1", timeout=timeout)

    async def call() -> Any:
        transport = httpx.MockTransport(server.answer_async)
        async with AsyncPosthaste(URL, KEY, transport=transport, sleep=server.sleep_async) as api:
            return await api.wait("j1", timeout=timeout)

    return asyncio.run(call())


@both
def test_waiting_ends_with_the_job_or_with_its_time(mode: str) -> None:
    steps = [good({"state": "SENDING"}), good({"state": "SENDING"}), good({"state": "LOGGED"})]
    server = Server(*steps)
    assert wait_for(server, mode, None) == {"state": "LOGGED"}
    assert server.slept == [2.0, 2.0]
    with pytest.raises(TimeoutError, match="still SENDING"):
        wait_for(Server(good({"state": "SENDING"})), mode, 4.0)


@both
def test_the_time_of_slow_answers_counts_as_waiting(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0

    class Slow(Server):
        def answer(self, request: httpx.Request) -> httpx.Response:
            nonlocal now
            now += 30.0
            return super().answer(request)

    monkeypatch.setattr(time, "monotonic", lambda: now)
    server = Slow(good({"state": "SENDING"}))
    with pytest.raises(TimeoutError, match="still SENDING"):
        wait_for(server, mode, 60.0)
    assert len(server.asked) == 2


@both
def test_a_list_is_uploaded_and_completed_without_the_key(mode: str) -> None:
    place = {"upload_id": "u1", "url": "https://bucket.example/x?sig=1", "method": "PUT", "headers": {"X-A": "b"}}

    def upload(server: Server) -> Any:
        if mode == "sync":
            return server.client().upload_list("c1", b"recipient\n", size=10)

        async def call() -> Any:
            transport = httpx.MockTransport(server.answer_async)
            async with AsyncPosthaste(URL, KEY, transport=transport) as api:
                return await api.upload_list("c1", b"recipient\n", size=10)

        return asyncio.run(call())

    server = Server(good(place, 201), httpx.Response(200, headers={"ETag": '"e1"'}), good({"state": "reading"}, 202))
    upload(server)
    _, put, done = server.asked
    assert (put.method, put.content, put.headers["X-A"]) == ("PUT", b"recipient\n", "b")
    assert "Authorization" not in put.headers
    assert json.loads(done.content) == {"etag": '"e1"'}
    with pytest.raises(ApiError, match="bucket refused"):
        upload(Server(good(place, 201), httpx.Response(403)))
    for fault, sent in ((httpx.ConnectError("refused"), False), (httpx.WriteError("reset"), True)):
        with pytest.raises(ConnectionFailedError, match="no answer") as lost:
            upload(Server(good(place, 201), fault))
        assert (lost.value.sent, lost.value.key) == (sent, None)


def test_address_and_key_come_from_the_environment_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POSTHASTE_URL", "https://other.example")
    monkeypatch.setenv("POSTHASTE_API_KEY", "ph_live_x")
    server = Server(good({}))
    with Posthaste(transport=httpx.MockTransport(server.answer)) as api:
        api.get_job("j1")
    assert server.asked[0].headers["Authorization"] == "Bearer ph_live_x"
    with pytest.raises(ValueError, match="without its address"):
        Posthaste(key=KEY)
    with pytest.raises(ValueError, match="no address or key"):
        Posthaste(URL)
    monkeypatch.delenv("POSTHASTE_URL")
    with pytest.raises(ValueError, match="no address or key"):
        Posthaste()


@pytest.mark.parametrize(
    "url",
    [
        *("http://api.example.com", "api.example.com", "ftp://x", "https://a:b@x", "https://x/?a", "https://x/#a"),
        *("https://x:port", "https://[x"),
    ],
)
def test_an_address_that_is_wrong_or_unencrypted_gets_no_key(url: str) -> None:
    with pytest.raises(ValueError, match="https://"):
        Posthaste(url, KEY)


def test_this_machine_needs_no_encryption_and_notifiers_log_in_by_name() -> None:
    server = Server(good({}))
    with Posthaste(
        "http://127.0.0.1:9/x/", notifier=("ward", "pw"), transport=httpx.MockTransport(server.answer)
    ) as api:
        api.get_message("m1")
    assert server.asked[0].headers["Authorization"] == "Basic d2FyZDpwdw=="
    assert str(server.asked[0].url) == "http://127.0.0.1:9/x/messages/m1"


def test_retry_after_is_seconds_or_a_date() -> None:
    assert retry_after({"Retry-After": "12"}, 0) == 12.0
    assert retry_after({"Retry-After": formatdate(1_000, usegmt=True)}, 990) == 10.0
    assert retry_after({"Retry-After": formatdate(1_000, usegmt=True)}, 2_000) == 0.0
    assert retry_after({"Retry-After": "soon"}, 0) is None
    assert retry_after({"Retry-After": f"Mon, 01 Jan {'9' * 20} 00:00:00 GMT"}, 0) is None
    assert retry_after({}, 0) is None
