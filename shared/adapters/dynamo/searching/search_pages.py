"""Pages that searches for messages read, on DynamoDB: see `ports.SearchPages`. Source: docs/adr/0260.

A page is stored before the fold that takes its jobs out of what is not counted yet. So a crash in between leaves a page
whose jobs come again in another one, and never a counted job without a page. A search shows such a job once.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Final

from shared.adapters.dynamo import keys
from shared.adapters.dynamo.client import Dynamo, Item
from shared.adapters.dynamo.codec import binary, n, number, s
from shared.domain.jobs.job import Job
from shared.domain.jobs.ledger import Ledger
from shared.domain.jobs.prepared import PreparedJob
from shared.domain.namespaces import owner
from shared.domain.searching.marks import SearchPage, is_inside, marks_of, marks_to, pack, page_of, pages_of, unpack
from shared.domain.times import Millis, Seconds

if TYPE_CHECKING:
    from shared.domain.spending.limits import Rules

_MARKS: Final = "marks"


def items(made: PreparedJob) -> list[Item]:
    """Return the items by which a new job is found; none if its first fold, or nothing, puts it into a page."""
    job = made.job
    if job.unsearched or any(x.uncounted for x in made.ledgers):
        return []
    each = [marks_to(job.namespace, (r.key for r in chunk.recipients)) for chunk in made.chunks]
    if is_inside(job):
        return [_item(page_of(job, marks_of(job.namespace, job.labels) + b"".join(each)))]
    chunks = (chunk_item(job.id, chunk.number, own, chunk.ttl) for chunk, own in zip(made.chunks, each, strict=True))
    return [*chunks, *list_items(job)]


def list_items(job: Job) -> list[Item]:
    """Return the items by which a job is found whose chunks have their marks apart."""
    return [] if job.unsearched else [_item(page_of(job, marks_of(job.namespace, job.labels), apart=True))]


def chunk_item(job: str, number_: int, marks: bytes, ttl: Seconds) -> Item:
    """Return the item with the marks of a chunk's recipients."""
    return {**keys.marks(job, number_), _MARKS: {"B": marks}, "ttl": n(ttl)}


def _item(page: SearchPage) -> Item:
    return {**keys.search_page(page.namespace, page.place), _MARKS: {"B": pack(page.jobs)}, "ttl": n(page.ttl)}


def put_first(db: Dynamo, table: str, folded: Iterable[tuple[Ledger, Job]]) -> None:
    """Store pages of those jobs whose first folds these are. `folded`: before they are written."""
    put(db, table, (job for ledger, job in folded if ledger.uncounted))


def put(db: Dynamo, table: str, jobs: Iterable[Job]) -> None:
    """Store pages of jobs that have their marks themselves."""
    for page in pages_of(jobs):
        db.call("put_item", TableName=table, Item=_item(page))


class DynamoSearchPages:
    """`ports.SearchPages`.

    Args:
        table: the name of `records`.
        rules: what operators have set for an account.
    """

    def __init__(self, dynamo: Dynamo, table: str, rules: "Callable[[str], Rules]") -> None:
        self._db = dynamo
        self._table = table
        self._rules = rules
        self._begun: Millis | None = None

    def read(self, namespace: str, *, newest: str, oldest: str) -> tuple[list[SearchPage], bool]:
        found = self._db.call(
            "query",
            TableName=self._table,
            KeyConditionExpression="pk = :pk AND sk BETWEEN :oldest AND :newest",
            ExpressionAttributeValues={
                ":pk": s(keys.search_pk(namespace)),
                ":oldest": s(oldest),
                ":newest": s(newest),
            },
            ScanIndexForward=False,
        )
        return [_page(namespace, x) for x in found["Items"]], "LastEvaluatedKey" in found

    def chunks(self, job: str) -> dict[int, bytes]:
        return dict(self._chunks(job))

    def _chunks(self, job: str) -> Iterator[tuple[int, bytes]]:
        for x in self._db.partition(self._table, keys.job_pk(job), keys.MARKS_PREFIX, ConsistentRead=False):
            yield int(x["sk"]["S"].removeprefix(keys.MARKS_PREFIX)), binary(x, _MARKS)

    def begun(self, account: str) -> Millis | None:
        rules = self._rules(owner(account))
        if rules.unsearched:
            return None
        if self._begun is None:
            item = self._db.get(self._table, keys.finding())
            self._begun = number(item, "at") if item is not None else None
        return None if self._begun is None else max(self._begun, rules.searched_from)

    def begin(self, at: Millis) -> None:
        self._db.attempt(
            "put_item",
            TableName=self._table,
            Item={**keys.finding(), "at": n(at)},
            ConditionExpression="attribute_not_exists(pk)",
        )


def _page(namespace: str, item: Item) -> SearchPage:
    return SearchPage(namespace, item["sk"]["S"], tuple(unpack(binary(item, _MARKS))), number(item, "ttl"))
