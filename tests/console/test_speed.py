"""What a page costs: calls of DynamoDB, how many follow one another, and time."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from functions.console.lists import KINDS
from shared.adapters.dynamo import keys
from shared.adapters.dynamo.codec import n
from shared.domain.jobs.job import Job
from shared.engine.reports.search import WAVE, MessageSearch, SearchPlace, Within
from tests.console.conftest import Console

PEOPLE = tuple(f"p{i}@example.org" for i in range(10))
CALLS = {"": 19, "/jobs": 14, "/messages": 3, "/messages?recipient=p1@example.org": 80, "/members": 6, "/senders": 6}
"""DynamoDB calls of one visit: page → the most. Ten of a list of jobs are queries of the index, made at once."""
SECONDS = 0.3
"""Of a processor, with what the emulated tables take; what else the machine does is not counted."""
INDEX_QUERIES = 10
REFRESH = 6
"""The session and its person, the account, the job, its credentials, and the ledgers of a small one."""


@contextmanager
def counted(console: Console) -> Iterator[Counter[str]]:
    """Count the calls of DynamoDB that are made meanwhile."""
    calls: Counter[str] = Counter()

    def count(model: Any, **_: Any) -> None:
        calls[model.name] += 1

    events = console.client.meta.events
    events.register("before-call.dynamodb", count)
    try:
        yield calls
    finally:
        events.unregister("before-call.dynamodb", count)


def test_pages_keep_to_a_budget_of_calls_and_of_time(console: Console) -> None:
    for number in range(12):
        console.api.logged(PEOPLE, subject=f"Old {number}")
    console.api.accepted(PEOPLE, subject="New")
    console.member()
    for page, most in CALLS.items():
        console.shown(page)
        with counted(console) as calls:
            console.shown(page)
        assert calls.total() <= most, f"{page}: {dict(calls)}"
        took = []
        for _ in range(5):
            begun = time.process_time()
            console.shown(page)
            took.append(time.process_time() - begun)
        assert min(took) < SECONDS, page


def test_the_queries_of_a_list_of_jobs_are_made_at_once(console: Console) -> None:
    console.api.accepted(PEOPLE, subject="New")
    console.member()
    together = threading.Barrier(INDEX_QUERIES, timeout=30)

    def meet(params: Any, **_: Any) -> None:
        if b"IndexName" in params["body"]:
            together.wait()

    events = console.client.meta.events
    events.register("before-call.dynamodb.Query", meet)
    try:
        for page in ("", "/jobs"):
            assert "New" in console.shown(page), "one query waits for the other nine"
    finally:
        events.unregister("before-call.dynamodb.Query", meet)


def test_figures_of_a_million_messages_cost_no_more_than_those_of_ten(console: Console) -> None:
    small, large = console.api.accepted(PEOPLE), console.api.accepted(PEOPLE)
    console.client.update_item(
        TableName=console.api.tables.records,
        Key=keys.job(large),
        UpdateExpression="SET #total = :messages, chunks = :chunks, counts.queued = :messages",
        ExpressionAttributeNames={"#total": "total"},
        ExpressionAttributeValues={":messages": n(1_000_000), ":chunks": n(2_000)},
    )
    console.member()
    cost = {}
    for job in (small, large):
        console.shown(f"/jobs/{job}?part=live")
        with counted(console) as calls:
            assert "data-live" in console.shown(f"/jobs/{job}?part=live")
        cost[job] = calls.total()
    assert "1,000,000" in console.shown(f"/jobs/{large}?part=live")
    assert cost[large] <= cost[small] <= REFRESH, cost


def test_a_search_reads_small_jobs_side_by_side_and_pages_as_if_it_did_not(console: Console) -> None:
    jobs = [console.api.logged(PEOPLE[:1], subject=f"No. {number}") for number in range(12)]
    waves: list[int] = []

    def backwards(call: Callable[[Job], Within], wave: Sequence[Job]) -> Iterable[Within]:
        waves.append(len(wave))
        return reversed([call(job) for job in reversed(wave)])

    services = console.services
    search = MessageSearch(services.listing, services.logs, backwards)
    found: list[str] = []
    place: SearchPlace | None = SearchPlace()
    while place is not None:
        hits, place = search.find(console.account, KINDS, "p0@example.org", place, limit=5)
        assert len(hits) <= 5
        found += [hit.job.id for hit in hits]
    assert found == jobs[::-1]
    assert waves[0] == WAVE
