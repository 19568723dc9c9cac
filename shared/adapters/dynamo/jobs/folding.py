"""Counting on DynamoDB: the figures that a ledger adds to its job and the stats, as actions of one transaction."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from shared.adapters.dynamo import codec, keys
from shared.adapters.dynamo.client import FAILED, Cancelled, Dynamo, Item
from shared.adapters.dynamo.codec import n, s
from shared.adapters.dynamo.jobs import contents, ledger_writes
from shared.adapters.dynamo.jobs.ledger_writes import JobTables, replaced, together
from shared.adapters.dynamo.jobs.sizes import item_size
from shared.adapters.dynamo.jobs.transitions import PLACED, UNHEARD, place
from shared.adapters.dynamo.searching import search_pages
from shared.domain.campaigns.bounce_guard import singles_of
from shared.domain.content.content import Content
from shared.domain.ids import is_small
from shared.domain.jobs import ledger as rules
from shared.domain.jobs.details import Detail, FeedbackDetail
from shared.domain.jobs.job import Job, add_figures, stats_of
from shared.domain.jobs.ledger import BY_KEYS, Ledger, LedgerStatus
from shared.domain.jobs.prepared import PreparedJob
from shared.domain.jobs.states import COUNT_KEYS, JobState, ending
from shared.domain.times import Millis
from shared.frozen import dataclass
from shared.ports import JobEnd

GROWTH = 24
"""Bytes by which the numbers of a small job's item may grow by later writes."""


def fold_all(db: Dynamo, tables: JobTables, ledgers: Sequence[Ledger], job: Job) -> Mapping[int, Ledger | None]:
    """Add the new figures of several ledgers to their job and the day's stats in one transaction.

    A ledger that has changed cancels the transaction, which then returns its present state. See `ports.Records`.
    """
    changes = [(x, *folded) for x in ledgers if (folded := rules.fold(x)) is not None]
    if not changes:
        return {}
    try:
        db.call("transact_write_items", TransactItems=_folds(tables, job, changes))
    except Cancelled as lost:
        return _as_stored(lost, [old.chunk for old, _, _ in changes]) or dict.fromkeys(x.chunk for x in ledgers)
    return {}


def _as_stored(lost: Cancelled, chunks: Sequence[int]) -> Mapping[int, Ledger | None]:
    """Return the ledgers that have changed, as they are now; none if there is no job any more.

    Args:
        lost: the cancelled transaction, whose first actions are about the ledgers.
        chunks: the numbers of these, in the order of the actions.

    Raises:
        Cancelled: for another reason.
    """
    moved = [i for i, code in enumerate(lost.codes) if code == FAILED]
    if not moved:
        raise lost
    return {} if moved[-1] >= len(chunks) else {chunks[i]: ledger_writes.stored(lost.items[i]) for i in moved}


def _folds(tables: JobTables, job: Job, changes: Sequence[tuple[Ledger, Ledger, Sequence[int]]]) -> list[Item]:
    """Return the actions that fold ledgers. `changes`: each ledger as read and as folded, and its new figures."""
    delta = _sums(d for _, _, d in changes)
    stats = _sums(rules.for_stats(old, d) for old, _, d in changes)
    marks = [replaced(tables, old, new) for old, new, _ in changes]
    counts = add_counts(tables.records, job, delta, finish=None)
    written = together(marks[0], counts) if len(marks) == 1 else [*({"Update": x} for x in marks), counts]
    return [*written, *more_stats(tables.records, job, stats)]


def fold_jobs(
    db: Dynamo,
    tables: JobTables,
    ledgers: Sequence[tuple[Ledger, Job]],
    *,
    finish: Millis,
    archive: int | None,
    heard: Callable[[Job], bool],
) -> dict[str, tuple[Ledger, Job | None]]:
    """Fold the only ledgers of several jobs in one transaction, which is repeated without those that have moved on.

    See `ports.Records`. Their figures are added to one shard of the stats: shards only spread the writes.

    Args:
        finish: when jobs end whose ledgers are DONE, Unix milliseconds.
        archive: milliseconds as of `transitions.place`.
        heard: whether webhooks may hear of a job's end.
    """
    left = [
        _Fold(ledger, job, *folded, heard(job)) for ledger, job in ledgers if (folded := rules.fold(ledger)) is not None
    ]
    return _write(db, tables, left, finish=finish, archive=archive)


def has_room(x: JobEnd) -> bool:
    """Tell whether the words of an end fit its job's item without more write units."""
    return x.words is not None and item_size({codec.WORDS: codec.words_map(x.words)}) + GROWTH <= x.room


def end_jobs(db: Dynamo, tables: JobTables, ends: Sequence[JobEnd], *, finish: Millis, archive: int | None) -> set[str]:
    """Release, fold and end small jobs in one transaction; see `ports.Records`, and `fold_jobs` for the arguments."""
    return set(_write(db, tables, [_Fold.of_end(x) for x in ends], finish=finish, archive=archive))


def _write(
    db: Dynamo, tables: JobTables, left: list["_Fold"], *, finish: Millis, archive: int | None
) -> dict[str, tuple[Ledger, Job | None]]:
    """Write folds in one transaction, which is repeated without those that have moved on; return the others by job."""
    while left:
        actions = [(x, action) for x in left for action in x.actions(tables, finish=finish, archive=archive)]
        moved = _moved(db, [*(action for _, action in actions), *_joint_stats(tables.records, left)])
        if not moved:
            return {x.job.id: x.done(finish) for x in left}
        gone = [actions[i][0] for i in moved]
        left = [x for x in left if x not in gone]
    return {}


@dataclass(frozen=True, slots=True)
class _Fold:
    """The fold of a job's only ledger.

    Attributes:
        old: the ledger as read.
        job: as read.
        new: the ledger as folded.
        delta: what is added to the job.
        heard: as of `fold_jobs`.
        detail: what is stored with it of a window; None for nothing.
        words: what is stored with it of a provider's events; None for nothing.
    """

    old: Ledger
    job: Job
    new: Ledger
    delta: Sequence[int]
    heard: bool
    detail: Detail | None = None
    words: FeedbackDetail | None = None

    @classmethod
    def of_end(cls, x: JobEnd) -> "_Fold":
        """Return the fold that a release makes with it: one write, so one version more."""
        new, delta = rules.fold(x.released) or (x.released, (0,) * len(x.released.folded))
        return cls(
            x.held, x.job, replace(new, version=x.held.version + 1), delta, heard=False, detail=x.detail, words=x.words
        )

    @property
    def ends(self) -> bool:
        """Tell whether it ends its job."""
        return self.new.status is LedgerStatus.DONE and self.job.state is not JobState.LOGGED

    def actions(self, tables: JobTables, *, finish: Millis, archive: int | None) -> list[Item]:
        """Return the actions that write the ledger and the job; `finish` and `archive` as of `fold_jobs`."""
        ends = finish if self.ends else None
        counts = add_counts(tables.records, self.job, self.delta, finish=ends, archive=archive, heard=self.heard)
        more = {codec.WINDOW: codec.window_map(self.detail)} if self.detail is not None else {}
        if self.words is not None:
            more[codec.WORDS] = codec.words_map(self.words)
        return together(replaced(tables, self.old, self.new, more), counts)

    def done(self, finish: Millis) -> tuple[Ledger, Job | None]:
        """Return the ledger as folded, and the job if that ended it. `finish`: Unix milliseconds."""
        return self.new, ended(self.job, self.delta, finish) if self.ends else None


def _moved(db: Dynamo, actions: Sequence[Item]) -> set[int]:
    """Write in one transaction; return the places of those actions whose conditions do not hold: if any, none is made.

    Raises:
        Cancelled: for another reason.
    """
    try:
        db.call("transact_write_items", TransactItems=actions)
    except Cancelled as lost:
        if FAILED not in lost.codes:
            raise
        return {i for i, code in enumerate(lost.codes) if code == FAILED}
    return set()


def _joint_stats(table: str, folds: Sequence[_Fold]) -> list[Item]:
    """Return the action that adds figures of jobs of one account, day and channel to the stats, if there are any."""
    amounts: Counter[str] = Counter()
    for x in folds:
        amounts.update({} if x.job.test else _amounts(x.job, rules.for_stats(x.old, x.delta)))
    return [_add_amounts(table, folds[0].job, amounts)] if any(amounts.values()) else []


def ended(job: Job, delta: Sequence[int], finish: Millis) -> Job:
    """Return a job as the fold of its only ledger ends it. `finish`: Unix milliseconds."""
    counts, by = add_figures(job.counts, job.by, job.route, delta)
    _, state = ending(exclusive=job.exclusive)
    at = finish if state is JobState.LOGGED else job.finished_at
    return replace(job, counts=counts, by=by, state=state, finished_at=at, version=job.version + 1)


def _sums(figures: Iterable[Sequence[int]]) -> tuple[int, ...]:
    return tuple(map(sum, zip(*figures, strict=True)))


def more_stats(table: str, job: Job, delta: Sequence[int]) -> list[Item]:
    """Return the action that adds a fold's figures to the stats; none if there are none, or for a test job."""
    return [add_stats(table, job, delta)] if not job.test and any(delta) else []


def _additions(job: Job, delta: Sequence[int]) -> tuple[list[str], dict[str, str], Item]:
    """Return the expressions that add figures to a job, and the names and values in them.

    A small job's figures are what its ledger has folded.
    """
    values: Item = {":one": n(1)}
    names: dict[str, str] = {}
    sets = ["version = version + :one"]
    if is_small(job.id):
        return sets, names, values
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
        self._tables = JobTables(records, ops)
        self._blobs = blobs

    def _accept(self, made: PreparedJob, content: Content) -> list[Item]:
        """Store a new job's chunks, ledgers and content; return the actions that accept it, its put first.

        If a ledger is uncounted, its first fold counts the job's messages in the stats, and no action does.
        """
        small = is_small(made.job.id)
        parts = [(self._records, x) for x in contents.items(made.job, made.chunks, content, self._blobs)]
        parts += [(self._records, x) for x in search_pages.items(made)]
        apart = () if small else made.ledgers
        self._db.batch_put([*parts, *((self._tables.ops, codec.ledger_item(x)) for x in apart)])
        counted = not any(x.uncounted for x in made.ledgers)
        item = codec.small_item(made.job, made.ledgers[0]) if small else codec.job_item(made.job)
        return [put_job(self._records, item), *(first_stats(self._records, made.job) if counted else ())]


def put_job(table: str, item: Item) -> Item:
    """Return the action that stores a new job."""
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
    return _add_amounts(table, job, _amounts(job, delta) or {"queued": 0})


def _amounts(job: Job, delta: Sequence[int]) -> dict[str, int]:
    """Return what figures of a job add to the stats, by the names there."""
    amounts = stats_of(delta) | singles_of(job, delta)
    for r, provider in enumerate(job.providers):
        for j, k in enumerate(BY_KEYS):
            d = delta[len(COUNT_KEYS) + r * len(BY_KEYS) + j]
            if d:
                amounts[f"p.{provider}.{k}"] = amounts.get(f"p.{provider}.{k}", 0) + d
    return amounts


def _add_amounts(table: str, job: Job, amounts: Mapping[str, int]) -> Item:
    return {
        "Update": {
            "TableName": table,
            "Key": keys.stats(job.account, job.day, job.channel, job.shard),
            "UpdateExpression": "ADD " + ", ".join(f"#{i} :{i}" for i in range(len(amounts))),
            "ExpressionAttributeNames": {f"#{i}": name for i, name in enumerate(amounts)},
            "ExpressionAttributeValues": {f":{i}": n(v) for i, v in enumerate(amounts.values())},
        }
    }
