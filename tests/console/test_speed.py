"""What a page costs: calls of DynamoDB, how many follow one another, and time."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from functions.console.lists import KINDS
from shared.adapters.dynamo import keys
from shared.adapters.dynamo.codec import n
from shared.domain.people import Role
from shared.engine.reports.candidates import Candidate, Candidates, Search
from shared.engine.reports.message_log import Filter
from shared.engine.reports.search import WAVE, MessageSearch, SearchPlace, Within
from tests import budgets
from tests.api.test_notice_status import store
from tests.console.campaigns import made, sent, stored, with_list
from tests.console.console import Console
from tests.console.test_hooks import made as hooked
from tests.console.test_queues import collected, handed_over
from tests.fakes.clock import FakeClock

PEOPLE = tuple(f"p{i}@example.org" for i in range(10))
CALLS = {"": 40, "/jobs": 22, "/messages": 3, "/messages?recipient=p1@example.org": 85, "/members": 6, "/senders": 6}
"""DynamoDB calls of one visit: page → the most. Fifteen of those with jobs are queries of the index, at once. Of the
first page, seventeen more are queries of the partitions of the account's stats, at once. Three more are what its open
jobs wait for: the account's pause, the credentials, and the ledgers of each small job."""
ROWS = 6
LISTS = {
    "/campaigns": 6,
    "/campaigns/{campaign}": 7,
    "/campaigns/{campaign}?part=list": 5,
    "/campaigns/{campaign}/send": 6,
    "/campaigns/{sent}": 7,
    "/templates": 5,
    "/suppressions": 4,
    "/audit": 4,
    "/hooks": 6,
    "/digests": 5,
    "/notices": 6 + ROWS,
    "/mails": 5,
    "/mails/{mail}": 7,
    "/keys": 6,
    "/members": 6,
    "/senders": 5,
}
"""The same, of lists with several rows: none reads anything for each row. Three calls are those of every page: the
session, its person, and the account. What waits for a notifier is counted by a query of its own, side by side."""
SECONDS = 0.3
"""Of a processor, with what the emulated tables take; what else the machine does is not counted."""
INDEX_QUERIES = {"": 15, "/jobs": 15}
"""Of five kinds of jobs, each with live, team and test keys, which are apart in the index."""
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


@pytest.mark.slow
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
        assert budgets.kept(min(took), SECONDS), page


def filled(console: Console, clock: FakeClock) -> dict[str, str]:
    """Make some rows of each list, and return the ids of a campaign whose list is read, of a sent one and of a mail."""
    console.member()
    for row in range(ROWS):
        made(console, name=f"Draft {row}")
        stored(console, name=f"Template {row}")
        console.services.use_cases.suppressions.put(console.account, f"gone{row}@example.org", "manual")
        hooked(console)
        collected(console, f"acme/{row}")
        handed_over(console)
        console.api.notifier(f"clinic-{row}" if row else "clinic")
        console.services.accounts.create_key(console.account, name=f"Key {row}")
        console.services.people.invite("github", f"guest{row}", console.account, Role.VIEWER)
        assert console.post(f"/{console.account}/senders/add", domain=f"n{row}.example.net").status == 303
    for row in range(ROWS):
        store(console.api, clock, f"A/{row}")
    gone = with_list(console)
    sent(console, gone)
    mail = handed_over(console, *(f"p{row}@example.org" for row in range(ROWS)))
    return {"campaign": with_list(console), "sent": gone, "mail": mail}


@pytest.mark.slow
def test_no_list_reads_anything_for_each_row(console: Console, clock: FakeClock) -> None:
    names = filled(console, clock)
    cost: dict[str, Counter[str]] = {}
    for page in LISTS:
        where = page.format(**names)
        console.shown(where)
        with counted(console) as calls:
            console.shown(where)
        cost[page] = calls
    over = {page: dict(calls) for page, calls in cost.items() if calls.total() > LISTS[page]}
    assert not over


@pytest.mark.slow
def test_a_campaign_of_a_million_costs_no_more_than_one_of_ten(console: Console) -> None:
    console.member()
    rows = "recipient,name\r\n" + "".join(f"{person},x\r\n" for person in PEOPLE)
    small, large = with_list(console, rows), with_list(console, rows)
    service = console.services.campaigns().campaigns
    (upload,) = service.uploads.of(large)
    assert upload.checkpoint is not None
    counts = replace(upload.checkpoint.counts, rows=1_000_000, accepted=1_000_000)
    million = upload.changed(size=50_000_000, checkpoint=replace(upload.checkpoint, counts=counts, chunk=2_000))
    assert service.uploads.save(upload, million)
    cost: dict[str, list[int]] = {}
    for campaign in (small, large):
        for page in ("", "?part=list", "/send"):
            console.shown(f"/campaigns/{campaign}{page}")
            with counted(console) as calls:
                console.shown(f"/campaigns/{campaign}{page}")
            cost.setdefault(page, []).append(calls.total())
    assert "1,000,000" in console.shown(f"/campaigns/{large}")
    for page, (few, many) in cost.items():
        assert many <= few <= LISTS[f"/campaigns/{{campaign}}{page}"], page


@pytest.mark.slow
@pytest.mark.parametrize("page", INDEX_QUERIES)
def test_the_queries_of_a_list_of_jobs_are_made_at_once(console: Console, page: str) -> None:
    console.api.accepted(PEOPLE, subject="New")
    console.member()
    together = threading.Barrier(INDEX_QUERIES[page], timeout=30)

    def meet(params: Any, **_: Any) -> None:
        if b"IndexName" in params["body"]:
            together.wait()

    events = console.client.meta.events
    events.register("before-call.dynamodb.Query", meet)
    try:
        assert "New" in console.shown(page), "each query waits for all others"
    finally:
        events.unregister("before-call.dynamodb.Query", meet)


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_search_reads_small_jobs_side_by_side_and_pages_as_if_it_did_not(console: Console) -> None:
    jobs = [console.api.logged(PEOPLE[:1], subject=f"No. {number}") for number in range(12)]
    waves: list[int] = []

    def backwards(fn: Callable[[Candidate], Within], wave: Sequence[Candidate]) -> Iterable[Within]:
        waves.append(len(wave))
        return reversed([fn(candidate) for candidate in reversed(wave)])

    services = console.services
    pages = console.api.world.stores.search_pages
    searching = MessageSearch(Candidates(services.listing, pages, lambda: services.now), services.logs, backwards)
    wanted = Search((console.account,), KINDS, Filter(recipient="p0@example.org"))
    found: list[str] = []
    place: SearchPlace | None = SearchPlace()
    while place is not None:
        hits, place = searching.find(wanted, place, limit=WAVE)
        assert len(hits) <= WAVE
        found += [hit.job.id for hit in hits]
    assert found == jobs[::-1]
    assert waves == [WAVE, 2]
