"""What a page costs: calls of DynamoDB, how many follow one another, and time."""

import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.console.conftest import Console

PEOPLE = tuple(f"p{i}@example.org" for i in range(10))
CALLS = {"": 18, "/jobs": 14, "/messages": 3, "/members": 4}
"""DynamoDB calls of one visit: page → the most. Ten of a list of jobs are queries of the index, made at once."""
SECONDS = 0.3


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
        print(page, dict(calls))
        assert calls.total() <= most, f"{page}: {dict(calls)}"
        took = []
        for _ in range(5):
            begun = time.perf_counter()
            console.shown(page)
            took.append(time.perf_counter() - begun)
        print(page, took)
        assert min(took) < SECONDS, page
