"""Counting on DynamoDB: the figures that a ledger adds to its job and the stats, as actions of one transaction."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from shared.adapters.dynamo import codec, keys
from shared.adapters.dynamo.client import Cancelled, Dynamo, Item
from shared.adapters.dynamo.codec import n, s
from shared.adapters.dynamo.jobs import contents
from shared.adapters.dynamo.jobs.transitions import PLACED, UNHEARD, place
from shared.domain.content.content import Content
from shared.domain.jobs import ledger as rules
from shared.domain.jobs.job import Job, stats_of
from shared.domain.jobs.ledger import BY_KEYS, Ledger
from shared.domain.jobs.prepared import PreparedJob
from shared.domain.jobs.states import COUNT_KEYS, JobState, ending


def fold_all(db: Dynamo, records: str, ops: str, ledgers: Sequence[Ledger], job: Job) -> Mapping[int, Ledger | None]:
    """Add the new figures of several ledgers to their job and the day's stats in one transaction.

    A ledger that has changed cancels the transaction, which then returns its present state. See `ports.Records`.
    """
    changes = [(x, *folded) for x in ledgers if (folded := rules.fold(x)) is not None]
    if not changes:
        return {}
    try:
        db.call("transact_write_items", TransactItems=_folds(records, ops, job, changes))
    except Cancelled as lost:
        moved = [i for i, code in enumerate(lost.codes) if code == "ConditionalCheckFailed"]
        if not moved:
            raise
        if moved[-1] >= len(changes):
            return dict.fromkeys(x.chunk for x in ledgers)  # the job has gone
        return {changes[i][0].chunk: _ledger(lost.items[i]) for i in moved}
    return {}


def _folds(records: str, ops: str, job: Job, changes: Sequence[tuple[Ledger, Ledger, Sequence[int]]]) -> list[Item]:
    """Return the actions that fold ledgers. `changes`: each ledger as read and as folded, and its new figures."""
    delta = tuple(map(sum, zip(*(d for _, _, d in changes), strict=True)))
    return [*(mark_folded(ops, old, new) for old, new, _ in changes), *_added(records, job, delta)]


def _added(records: str, job: Job, delta: Sequence[int]) -> list[Item]:
    """Return the actions that add figures to a job and the day's stats."""
    actions = [add_counts(records, job, delta, finish=None)]
    if not job.test and any(delta):
        actions.append(add_stats(records, job, delta))
    return actions


def _ledger(item: Item | None) -> Ledger | None:
    return codec.ledger(item) if item is not None else None


def mark_folded(table: str, old: Ledger, new: Ledger) -> Item:
    """Return the action that records in an unchanged ledger which figures are counted."""
    return {
        "Update": {
            "TableName": table,
            "Key": keys.ledger(old.job, old.chunk),
            "UpdateExpression": "SET folded = :folded, version = :new REMOVE dirty",
            "ConditionExpression": "version = :old",
            "ExpressionAttributeValues": {
                ":folded": {"B": rules.pack(new.folded)},
                ":new": n(new.version),
                ":old": n(old.version),
            },
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        }
    }


def _additions(job: Job, delta: Sequence[int]) -> tuple[list[str], dict[str, str], Item]:
    """Return the expressions that add figures to a job, and the names and values in them."""
    values: Item = {":one": n(1)}
    names: dict[str, str] = {}
    sets = ["version = version + :one"]
    for i, (k, d) in enumerate(zip(COUNT_KEYS, delta, strict=False)):
        if d:
            names |= {"#counts": "counts", f"#c{i}": k}
            values[f":c{i}"] = n(d)
            sets.append(f"#counts.#c{i} = #counts.#c{i} + :c{i}")
    for r, credential in enumerate(job.route):
        for j, k in enumerate(BY_KEYS):
            d = delta[len(COUNT_KEYS) + r * len(BY_KEYS) + j]
            if d:
                names |= {"#by": "by", f"#r{r}": credential, f"#k{j}": k}
                values[f":b{r}_{j}"] = n(d)
                sets.append(f"#by.#r{r}.#k{j} = #by.#r{r}.#k{j} + :b{r}_{j}")
    return sets, names, values


def add_counts(
    table: str, job: Job, delta: Sequence[int], *, finish: int | None, archive: int | None = None, heard: bool = True
) -> Item:
    """Return the action that adds figures to a job and may end it.

    Args:
        finish: Unix milliseconds at which the job ends; None leaves it open.
        archive: milliseconds after which an ended job is archived; None: no job is.
        heard: whether webhooks may hear of its end.
    """
    sets, names, values = _additions(job, delta)
    condition, removes = "attribute_exists(pk)", ["freed"] if job.exclusive else []
    if finish is not None:
        sources, target = ending(exclusive=job.exclusive)
        names["#state"] = "state"
        values |= {f":f{i}": s(x.value) for i, x in enumerate(sorted(sources))}
        values |= {":to": s(target.value), ":version": n(job.version)}
        sets.append("#state = :to")
        if target is JobState.LOGGED:
            sets.append("finished_at = :now")
            values[":now"] = n(finish)
            placed = place(job, job.counts["unknown"] + delta[COUNT_KEYS.index("unknown")], finish, archive)
            if placed:
                sets += PLACED
                values |= placed
            else:
                removes = ["open_pk", "open_sk"]
            if heard:
                removes.append("unheard")
            else:
                sets += UNHEARD
                values[":unheard"] = {"BOOL": True}
        condition = f"version = :version AND #state IN ({', '.join(f':f{i}' for i in range(len(sources)))})"
    update: Item = {
        "TableName": table,
        "Key": keys.job(job.id),
        "UpdateExpression": "SET " + ", ".join(sets) + (" REMOVE " + ", ".join(removes) if removes else ""),
        "ConditionExpression": condition,
        "ExpressionAttributeValues": values,
    }
    if names:
        update["ExpressionAttributeNames"] = names
    return {"Update": update}


class Accepting:
    """A store whose transactions accept jobs, over the two tables and the bucket."""

    def __init__(self, dynamo: Dynamo, *, records: str, ops: str, blobs: contents.Blobs) -> None:
        self._db = dynamo
        self._records = records
        self._ops = ops
        self._blobs = blobs

    def _accept(self, made: PreparedJob, content: Content) -> list[Item]:
        """Store a new job's chunks, ledgers and content; return the actions that accept it, its put first."""
        parts = [(self._records, x) for x in contents.items(made.job, made.chunks, content, self._blobs)]
        self._db.batch_put([*parts, *((self._ops, codec.ledger_item(x)) for x in made.ledgers)])
        return [put_job(self._records, made.job), *first_stats(self._records, made.job)]


def put_job(table: str, job: Job) -> Item:
    """Return the action that stores a new job."""
    item = codec.job_item(job)
    return {"Put": {"TableName": table, "Item": item, "ConditionExpression": "attribute_not_exists(pk)"}}


def first_stats(table: str, job: Job) -> list[Item]:
    """Return the action that counts a new job's messages in the stats of its day; jobs of test keys have none."""
    delta = [*(job.counts[k] for k in COUNT_KEYS), *[0] * (len(BY_KEYS) * len(job.route))]
    return [] if job.test else [add_stats(table, job, delta)]


def add_stats(table: str, job: Job, delta: Sequence[int]) -> Item:
    """Return the action that adds figures to the stats of the day on which a job was accepted.

    Args:
        job: the job, with the time of its acceptance.
    """
    day = datetime.fromtimestamp(job.created_at / 1000, UTC).date().isoformat()
    amounts = dict(stats_of(delta))
    for r, provider in enumerate(job.providers):
        for j, k in enumerate(BY_KEYS):
            d = delta[len(COUNT_KEYS) + r * len(BY_KEYS) + j]
            if d:
                amounts[f"p.{provider}.{k}"] = amounts.get(f"p.{provider}.{k}", 0) + d
    amounts = amounts or {"queued": 0}
    return {
        "Update": {
            "TableName": table,
            "Key": keys.stats(job.account, day, job.channel, job.shard),
            "UpdateExpression": "ADD " + ", ".join(f"#{i} :{i}" for i in range(len(amounts))),
            "ExpressionAttributeNames": {f"#{i}": name for i, name in enumerate(amounts)},
            "ExpressionAttributeValues": {f":{i}": n(v) for i, v in enumerate(amounts.values())},
        }
    }
