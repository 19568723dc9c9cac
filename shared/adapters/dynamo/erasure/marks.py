"""Erasure of what searches find a person by."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import Final

from shared.adapters.dynamo import codec, keys
from shared.adapters.dynamo.client import Dynamo, Item
from shared.domain.erasure import BLANK
from shared.domain.jobs.chunks import Recipient
from shared.domain.searching.marks import SPAN_MS, Sought, mark, marks_left, pack, unpack, without

MARKS: Final = "marks"


def unmarked(
    db: Dynamo, table: str, chunk: Item, recipients: Sequence[Recipient], names: Collection[str]
) -> Iterator[tuple[Item, Item]]:
    """Yield what holds marks of a person in a chunk, each with the attribute to write.

    Args:
        recipients: those of the chunk, blanked where they are the person.
        names: all by which the person is compared.
    """
    name, number = chunk["pk"]["S"][2:], int(chunk["sk"]["S"][len(keys.CHUNK_PREFIX) :])
    left = ["" if r == BLANK else r.key for r in recipients]
    for item in db.batch_get(table, [keys.marks(name, number)]):
        yield item, {MARKS: {"B": marks_left(codec.binary(item, MARKS), left)}}
    job = db.get(table, keys.job(name))
    if job is not None:
        found = codec.job(job)
        gone = [mark(found.namespace, Sought.RECIPIENT, x) for x in names]
        if found.marks:
            yield job, {MARKS: {"B": without(found.marks, gone)}}
        for page in _pages(db, table, found.namespace, found.created_at):
            yield from _unmarked(page, name, gone)


def _unmarked(page: Item, job: str, gone: Collection[bytes]) -> Iterator[tuple[Item, Item]]:
    """Yield a page that has a job, with the attribute to write: the job without some marks."""
    each = [*unpack(codec.binary(page, MARKS))]
    if any(x.job == job for x in each):
        changed = (replace(x, marks=without(x.marks, gone)) if x.job == job else x for x in each)
        yield page, {MARKS: {"B": pack(changed)}}


def _pages(db: Dynamo, table: str, namespace: str, at: int) -> Iterator[Item]:
    """Yield the pages that may have a job. `at`: when it was accepted, Unix milliseconds."""
    return iter(
        db.query(
            table,
            KeyConditionExpression="pk = :pk AND sk BETWEEN :first AND :last",
            ExpressionAttributeValues={
                ":pk": codec.s(keys.search_pk(namespace)),
                ":first": codec.s(f"{at:015d}"),
                ":last": codec.s(f"{at + SPAN_MS:015d}~"),
            },
            ConsistentRead=True,
        )
    )
