"""Lists: their pages, the rest behind a link, and pages that come again."""

import asyncio
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from posthaste_sdk import AsyncPosthaste
from posthaste_sdk.errors import ApiError
from scripted import KEY, URL, Server, both, good


def test_pages_are_fetched_by_their_cursors_as_they_are_needed() -> None:
    pages = [good({"items": [{"n": 1}, {"n": 2}], "next_cursor": "c1"}), good({"items": [], "next_cursor": "c2"})]
    server = Server(*pages, good({"items": [{"n": 3}], "next_cursor": None}))
    found: Iterator[Any] = server.client().iter_batch_logs("b1", state=["failed", "unknown"], limit=2)
    assert server.asked == []
    assert next(found) == {"n": 1}
    assert len(server.asked) == 1
    assert list(found) == [{"n": 2}, {"n": 3}]
    queries = [dict(request.url.params) for request in server.asked]
    assert queries == [
        {"limit": "2", "state": "failed,unknown"},
        {"limit": "2", "state": "failed,unknown", "cursor": "c1"},
        {"limit": "2", "state": "failed,unknown", "cursor": "c2"},
    ]


def test_pages_are_fetched_in_asyncio() -> None:
    server = Server(good({"items": [{"n": 1}], "next_cursor": "c1"}), good({"items": [{"n": 2}], "next_cursor": None}))

    async def collect() -> list[Any]:
        async with AsyncPosthaste(URL, KEY, transport=httpx.MockTransport(server.answer_async)) as api:
            return [job async for job in api.iter_jobs()]

    assert asyncio.run(collect()) == [{"n": 1}, {"n": 2}]


@both
def test_the_rest_of_an_array_is_fetched_by_its_link(mode: str) -> None:
    links = ['<b-z>; rel="next"', '<a-b>; rel="prev", </stage/message_updates/c-z?x=1>; rel="next"']
    server = Server(good([{"n": 1}, {"n": 2}], Link=links[0]), good([], Link=links[1]), good([{"n": 3}]))
    assert updates(server, mode) == [{"n": 1}, {"n": 2}, {"n": 3}]
    asked = [str(request.url).removeprefix(f"{URL}/message_updates/") for request in server.asked]
    assert asked == ["a-z", "b-z", "c-z?x=1"]
    one: list[Any] = [*server.client().list_message_updates("a-z")]
    assert one == [{"n": 3}]


@both
@pytest.mark.parametrize(
    "link", ["https://elsewhere.example/stage/message_updates/b", "//elsewhere.example/b", "../jobs/b", "/b", "http:b:"]
)
def test_a_link_that_leads_elsewhere_gets_no_key(mode: str, link: str) -> None:
    server = Server(good([], Link=f'<{link}>; rel="next"'))
    with pytest.raises(ApiError, match="not Posthaste's"):
        updates(server, mode)
    assert len(server.asked) == 1


def updates(server: Server, mode: str) -> list[Any]:
    """Return the updates of a range by either client."""
    if mode == "sync":
        return list(server.client().iter_message_updates("a-z"))

    async def collect() -> list[Any]:
        async with AsyncPosthaste(URL, KEY, transport=httpx.MockTransport(server.answer_async)) as api:
            return [update async for update in api.iter_message_updates("a-z")]

    return asyncio.run(collect())


@both
@pytest.mark.parametrize("cursors", ["a", "ab", "abc"])
def test_pages_that_come_again_are_an_error(mode: str, cursors: str) -> None:
    pages = [good({"items": [{"batch_id": name}], "next_cursor": name}) for name in cursors * 2]
    server = Server(*pages)

    async def collect() -> list[Any]:
        async with AsyncPosthaste(URL, KEY, transport=httpx.MockTransport(server.answer_async)) as api:
            return [batch async for batch in api.iter_batches()]

    with pytest.raises(ApiError, match="does not end"):
        list(server.client().iter_batches()) if mode == "sync" else asyncio.run(collect())
    assert len(server.asked) == len(cursors) + 1


@both
def test_a_link_to_the_same_address_is_an_error(mode: str) -> None:
    server = Server(good([], Link='<a-z>; rel="next"'))
    with pytest.raises(ApiError, match="does not end"):
        updates(server, mode)
    assert len(server.asked) == 1
