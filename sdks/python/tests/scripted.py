"""A server that answers as scripted, and its clients."""

import asyncio
from typing import Any

import httpx
import pytest
from posthaste_sdk import AsyncPosthaste, Posthaste, RetryPolicy

URL = "https://api.example.com/stage"
KEY = "ph_test_secret"
ACCEPTED = {"batch_id": "b1", "job_id": "j1", "state": "READY", "recipients": 1, "duplicates": 0, "skipped": 0}
Step = httpx.Response | Exception


class Server:
    """Answers as scripted, the last step again and again, and keeps what it was asked and how long clients slept."""

    def __init__(self, *script: Step) -> None:
        self.script = list(script)
        self.asked: list[httpx.Request] = []
        self.slept: list[float] = []

    def answer(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request)
        step = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        if isinstance(step, Exception):
            raise step
        return httpx.Response(step.status_code, headers=step.headers, content=step.content)

    async def answer_async(self, request: httpx.Request) -> httpx.Response:
        return self.answer(request)

    async def sleep_async(self, seconds: float) -> None:
        self.slept.append(seconds)

    def client(self, **more: Any) -> Posthaste:
        transport = httpx.MockTransport(self.answer)
        return Posthaste(URL, KEY, transport=transport, sleep=self.slept.append, **{"retries": QUIET, **more})

    def keys(self) -> list[str | None]:
        return [request.headers.get("Idempotency-Key") for request in self.asked]


QUIET = RetryPolicy(jitter=lambda: 1.0)
MAIL = {"from": "a@example.com", "to": ["b@example.org"], "subject": "S", "text": "T"}


def good(document: Any, status: int = 200, **headers: str) -> httpx.Response:
    return httpx.Response(status, json=document, headers=headers)


def problem(status: int, code: str = "", **headers: str) -> httpx.Response:
    return httpx.Response(status, json={"status": status, "detail": "No.", "code": code}, headers=headers)


def create(server: Server, mode: str, key: str | None = None) -> Any:
    """Create a batch by either client."""
    if mode == "sync":
        return server.client().create_batch(MAIL, idempotency_key=key)  # type: ignore[arg-type]  # a plain dict

    async def call() -> Any:
        transport = httpx.MockTransport(server.answer_async)
        async with AsyncPosthaste(URL, KEY, transport=transport, sleep=server.sleep_async, retries=QUIET) as api:
            return await api.create_batch(MAIL, idempotency_key=key)  # type: ignore[arg-type]  # a plain dict

    return asyncio.run(call())


both = pytest.mark.parametrize("mode", ["sync", "async"])
