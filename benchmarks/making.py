"""The largest window of a digest, made into its job by the real engine and stores: processor time and peak memory.

DynamoDB's answers are prepared in memory. So the serialising, signing and reading of every call count, and the network
does not.
"""

import json
import random
import time
from functools import cache
from typing import Any, Final

import functions  # noqa: F401 - the garbage collector is set as in a function
from benchmarks.rig.answers import NoBlobs, answering
from benchmarks.rig.runner import calibrated, peak_mb, script
from shared.adapters.aws import Aws
from shared.adapters.clock import SystemClock
from shared.adapters.dynamo import keys
from shared.adapters.dynamo.client import CONFIG, Dynamo
from shared.adapters.dynamo.digests.jobs import DynamoDigestJobs
from shared.adapters.dynamo.digests.keeping import DynamoWindowRetention
from shared.adapters.dynamo.digests.policies import DynamoDigestPolicies
from shared.adapters.dynamo.digests.windows import DynamoWindows
from shared.adapters.dynamo.jobs.records import DynamoRecords
from shared.contracts import Credential, Settings
from shared.domain.accounts import AccountStatus
from shared.domain.audit import SYSTEM, audited
from shared.domain.digests.events import DigestEvent, event_id, pack
from shared.domain.digests.policy import DigestPolicy
from shared.domain.digests.window import DigestWindow, EventPart, WindowState, window_id
from shared.domain.recipients.addresses import address_hash
from shared.domain.recipients.suppressions import DigestsOf, Reach
from shared.engine.digests.make import DigestMaker, DigestStores
from shared.engine.intake.accept import Acceptor

KEY: Final = "acme/production"
POST: Final = 10
"""Events of one part."""
SUPPRESSED: Final = 10_000
"""Suppressions of the account, and as many that left the policy's digests; none of the window's recipients."""
PAGE: Final = 6_000
"""Entries of these lists in a page of 1 MB."""


class Table:
    """A table in place of DynamoDB: items by their keys, without conditions.

    Attributes:
        spent: seconds of processor time that its own work took.
        calls: how many there were.
        written: bytes of the requests.
    """

    def __init__(self) -> None:
        self.spent = 0.0
        self.calls = 0
        self.written = 0
        self._items: dict[tuple[str, str], Any] = {}

    def answer(self, operation: str, request: Any) -> bytes:
        """Answer one request of the client."""
        began = time.process_time()
        self.calls += 1
        self.written += len(request.body)
        found = self._do(operation, request.body)
        body = json.dumps(found).encode()
        self.spent += time.process_time() - began
        return body

    def _do(self, operation: str, raw: bytes) -> Any:
        if operation == "BatchWriteItem" and len(self._items) > 1 and b"recipients" in raw[:2000]:
            return {}  # chunks, which nobody reads here
        body = json.loads(raw)
        if operation in ("BatchWriteItem", "TransactWriteItems"):
            self._put(*_put_by(body))
            return {}
        if operation == "GetItem":
            return self._get(body)
        if operation == "BatchGetItem":
            return self._get_all(body)
        return _page(body) if operation == "Query" else {}

    def _get(self, body: Any) -> Any:
        item = self._items.get(_place(body["Key"]))
        return {"Item": item} if item else {}

    def _get_all(self, body: Any) -> Any:
        ((table, wanted),) = body["RequestItems"].items()
        items = [self._items.get(_place(x)) for x in wanted["Keys"]]
        return {"Responses": {table: [x for x in items if x]}, "UnprocessedKeys": {}}

    def _put(self, *items: Any) -> None:
        self._items |= {_place(x): x for x in items}


class Nowhere:
    """Lanes that keep nothing."""

    def __contains__(self, _credential: object) -> bool:
        return True

    def __getitem__(self, _credential: str) -> "Nowhere":
        return self

    def send(self, bodies: Any, **_: Any) -> None:
        """Drop messages."""


class Healthy:
    """Breakers that are closed."""

    def open_to(self, route: tuple[str, ...]) -> tuple[str, ...]:
        """Return the whole route."""
        return route


class SomeStandings:
    """Senders that are allowed."""

    def read(self, account: str, key: str, sender: str) -> AccountStatus:
        """Return that all is as it was."""
        del account, key, sender
        return AccountStatus(key=True, sender=True)

    def opened(self, account: str, channel: str) -> bool:
        """Return that every channel is open."""
        del account, channel
        return True


def some_events(count: int, people: int, each: int, now: int) -> list[DigestEvent]:
    """Return events for random people.

    Args:
        count: how many.
        people: among whom.
        each: recipients of an event.
        now: Unix milliseconds.
    """
    rng = random.Random(1)
    everybody = [f"person.{n}@example{n % 97}.com" for n in range(people)]
    out = []
    for n in range(count):
        data = {"task": f"task-{n % 40}", "dag": f"dag-{n % 12}", "run": f"{n:032x}", "error": "Timeout " * 20}
        to = tuple(rng.sample(everybody, each))
        out.append(DigestEvent("task_failed", to, now + n * 97 % 300_000, data, event_id(f"e{n}", "", 0)))
    return out


@calibrated
def run(*, events: int, people: int, each: int) -> dict[str, float]:
    """Make one window in this process; returns the figures.

    Args:
        events: how many.
        people: different recipients.
        each: recipients of an event.
    """
    table = Table()
    database = Aws().client("dynamodb", CONFIG)
    answering(database, table.answer)
    dynamo, clock, now = Dynamo(database), SystemClock(), int(time.time() * 1000)
    records = DynamoRecords(dynamo, records="records", ops="ops", blobs=NoBlobs())
    windows, keeping = DynamoWindows(dynamo, records="records"), DynamoWindowRetention(dynamo, records="records")
    policies = DynamoDigestPolicies(dynamo, records="records")
    policy = DigestPolicy("acc_bench", "acme/", 1, now, now, subject="{{ count }} events of {{ batch_key }}")
    policies.save(None, policy, None, event=audited("acc_bench", now, "acme", "digest_policy.created", SYSTEM))
    posted = some_events(events, people, each, now)
    parts = [EventPart(f"{n:016d}", pack(posted[n : n + POST]), POST, 0, now // 1000) for n in range(0, events, POST)]
    windows.put_parts(parts)
    del posted
    window = DigestWindow(
        *(window_id("acc_bench", KEY, 7), "acc_bench", False, KEY, 7, WindowState.CLOSED, now, now, now),
        *(tuple(x.id for x in parts), events, 0, "acme/", 1, now),
    )
    nowhere: Any = Nowhere()
    healthy: Any = Healthy()
    settings = Settings("bench", (Credential("main", "sendgrid", "email", 150.0),), {"email": ("main",)})
    jobs = DynamoDigestJobs(dynamo, records="records", ops="ops", blobs=NoBlobs())
    maker = DigestMaker(
        stores=DigestStores(windows, keeping, policies, records, SomeStandings(), jobs),
        acceptor=Acceptor(records=records, lanes=nowhere, breaker_cache=healthy, settings=settings, clock=clock),
        lanes=nowhere,
        settings=settings,
        clock=clock,
        unsubscribe="https://mail.example.com/unsubscribe/",
    )
    table.spent, table.calls, table.written = 0.0, 0, 0
    before = peak_mb()
    began = time.process_time()
    maker.make(window)
    spent = time.process_time() - began - table.spent
    return {
        "cpu_s": spent,
        "rss_mb": peak_mb(),
        "before_mb": before,
        "calls": table.calls,
        "written": table.written,
    }


def _put_by(body: Any) -> list[Any]:
    """Return the items that a batch or a transaction puts."""
    if "TransactItems" in body:
        return [x["Put"]["Item"] for x in body["TransactItems"] if "Put" in x]
    return [x["PutRequest"]["Item"] for puts in body["RequestItems"].values() for x in puts]


@cache
def _entries(pk: str) -> list[str]:
    """Return the sort keys of a list of suppressions."""
    reach = DigestsOf("acme/") if keys.suppression("acc_bench", "", DigestsOf("acme/"))["pk"]["S"] == pk else Reach.ALL
    if keys.suppression("acc_bench", "", reach)["pk"]["S"] != pk:
        return []
    return sorted(keys.suppression("acc_bench", address_hash(f"{n}"), reach)["sk"]["S"] for n in range(SUPPRESSED))


def _page(query: Any) -> dict[str, Any]:
    """Return a page of a list; windows before this one there are none."""
    pk = query["ExpressionAttributeValues"][":pk"]["S"]
    behind = query.get("ExclusiveStartKey", {"sk": {"S": ""}})["sk"]["S"]
    left = [x for x in _entries(pk) if x > behind]
    page: dict[str, Any] = {"Items": [{"sk": {"S": x}} for x in left[:PAGE]], "Count": min(len(left), PAGE)}
    if len(left) > PAGE:
        page["LastEvaluatedKey"] = {"pk": {"S": pk}, "sk": {"S": left[PAGE - 1]}}
    return page


def _place(key: Any) -> tuple[str, str]:
    return key["pk"]["S"], key["sk"]["S"]


if __name__ == "__main__":
    script("making", __doc__, run, events=1_000, people=100_000, each=100)
