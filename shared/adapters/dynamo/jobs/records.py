"""Jobs, chunks, contents and details on DynamoDB, and the transactions that tie ledgers and jobs together."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from shared.adapters.dynamo import audit, codec, idempotent_writes, keys
from shared.adapters.dynamo.client import Cancelled, ConditionFailed, Dynamo, Item
from shared.adapters.dynamo.codec import n
from shared.adapters.dynamo.credentials.switches import Unpaused
from shared.adapters.dynamo.jobs import contents, folding, ledger_writes, reservation, transitions
from shared.adapters.dynamo.jobs.open_index import OpenIndex
from shared.adapters.dynamo.jobs.sizes import WRITE_UNIT, item_size
from shared.adapters.dynamo.recipients import watermarks
from shared.adapters.dynamo.recipients.suppressing import SuppressionWrites
from shared.adapters.dynamo.searching import search_pages
from shared.domain.audit import Event
from shared.domain.content.content import Content
from shared.domain.hooks.endpoint import DEPLOYMENT
from shared.domain.ids import is_small
from shared.domain.jobs import ledger as rules
from shared.domain.jobs.chunks import Chunk
from shared.domain.jobs.details import Detail, FeedbackDetail
from shared.domain.jobs.job import Job, RetryRequest, StopReason
from shared.domain.jobs.ledger import Ledger
from shared.domain.jobs.prepared import PreparedJob
from shared.domain.jobs.states import Change, JobState
from shared.domain.lanes.breaker import Breaker
from shared.domain.namespaces import namespace
from shared.domain.searching.marks import place_of
from shared.domain.times import Millis
from shared.ports import (
    Changed,
    Clock,
    Control,
    Idempotency,
    JobEnd,
    JobsRead,
    Listeners,
    Loaded,
    Mismatch,
    Replay,
    Stored,
)

_NEW: Final = "attribute_not_exists(pk)"
_Name = tuple[str, str]


class DynamoRecords(OpenIndex, folding.Accepting, SuppressionWrites):
    """`ports.Records` over the two tables and the bucket.

    Args:
        archive: milliseconds as of `transitions.place`.
        listeners: which namespaces have webhooks; None: all may have some.
        clock: as of `Unpaused`.
    """

    def __init__(
        self,
        dynamo: Dynamo,
        *,
        records: str,
        ops: str,
        blobs: contents.Blobs,
        archive: int | None = None,
        listeners: Listeners | None = None,
        clock: Clock | None = None,
    ) -> None:
        super().__init__(dynamo, records=records, archive=archive)
        self._ops = ops
        self._tables = ledger_writes.JobTables(records, ops)
        self._blobs = blobs
        self._listeners = listeners
        self._unpaused = Unpaused(clock)

    # Acceptance

    def accept(
        self,
        job: Job,
        chunks: Sequence[Chunk],
        ledgers: Sequence[Ledger],
        content: Content,
        key: Idempotency | None,
        *,
        event: Event | None = None,
    ) -> Stored | Replay | Mismatch:
        made = idempotent_writes.earlier(self._db, self._records, key, job.created_at)
        if made is not None:
            return made
        accepted = self._accept(PreparedJob(job, chunks, ledgers), content)
        actions = [*accepted, *audit.puts(self._db, self._records, event)]
        return idempotent_writes.create(self._db, self._records, actions, key, owner=job.id, now=job.created_at)

    # Reading

    def job(self, job: str) -> Job | None:
        item = self._db.get(self._records, keys.job(job))
        return codec.job(item) if item else None

    def read_jobs(self, names: Collection[str]) -> dict[str, Job]:
        items = self._db.batch_get(self._records, [keys.job(name) for name in dict.fromkeys(names)])
        return {found.id: found for found in map(codec.job, items)}

    def read_with_ledgers(self, names: Collection[str]) -> JobsRead:
        items = self._db.batch_get(self._records, [keys.job(name) for name in dict.fromkeys(names)])
        small = {item["job"]["S"]: item for item in items if is_small(item["job"]["S"])}
        return JobsRead(
            {found.id: found for found in map(codec.job, items)},
            {name: codec.ledger(item) for name, item in small.items()},
            {name: WRITE_UNIT - item_size(item) for name, item in small.items() if codec.WORDS not in item},
        )

    def control(self, job: str, account: str, *, test: bool = False, lane: str = "") -> Control:
        [found] = self._controls([(job, account, test)], lane, {})
        return found

    def controls(self, jobs: Sequence[Job], *, lane: str = "", as_read: Collection[str] = ()) -> list[Control]:
        known = {job.id: job for job in jobs if job.id in as_read}
        return self._controls([(job.id, job.account, job.test) for job in jobs], lane, known)

    def _controls(self, wanted: Sequence[tuple[str, str, bool]], lane: str, known: Mapping[str, Job]) -> list[Control]:
        """Read what is wanted. `wanted`: job, account, and whether it is a test key's; `known`: jobs not to be read."""
        now = self._unpaused.now()
        everything = () if self._unpaused.holds(now) else (keys.system_control(),)
        of = [_switches(job, account, test=test) for job, account, test in wanted]
        reads = [key for x in of for key in (*x.account, *(() if x.job in known else (keys.job(x.job),)))]
        items, breaker = self._with_breaker([*reads, *everything], lane)
        if everything:
            self._unpaused.learn(now, paused=_is_held(items, everything))
        return [self._control(x, items, everything, breaker, known.get(x.job)) for x in of]

    def _control(
        self,
        of: "_Switches",
        items: Mapping[_Name, Item],
        everything: Sequence[keys.Key],
        breaker: Breaker | None,
        known: Job | None,
    ) -> Control:
        switch, latest, listeners = (items.get(_name(key)) for key in of.account)
        found = items.get(_name(keys.job(of.job)))
        return Control(
            codec.job(found) if found is not None else known,
            _is_held(items, (of.account[0], *everything)),
            breaker,
            watermarks.latest(latest) if latest is not None else {},
            codec.quiet(switch or {}),
            heard=of.name in codec.listed(listeners),
        )

    def _with_breaker(self, wanted: Iterable[keys.Key], lane: str) -> tuple[dict[_Name, Item], Breaker | None]:
        """Read items by key, and in the same call the lane's breaker, a moment old, which costs half as much."""
        distinct = list({_name(k): k for k in wanted}.values())
        if not lane:
            return {_name(x): x for x in self._db.batch_get(self._records, distinct)}, None
        items = self._db.batch_get_from(
            {
                self._records: {"Keys": distinct, "ConsistentRead": True},
                self._ops: {"Keys": [keys.breaker(lane)], "ConsistentRead": False},
            }
        )
        found = {_name(x): x for x in items}
        return found, codec.breaker(lane, found.pop(_name(keys.breaker(lane)), None))

    def chunk(self, job: str, number: int) -> Chunk | None:
        item = self._db.get(self._records, keys.chunk(job, number))
        return codec.chunk(item) if item else None

    def some_chunks(self, job: str, numbers: Collection[int]) -> dict[int, Chunk]:
        items = self._db.batch_get(self._records, [keys.chunk(job, n) for n in dict.fromkeys(numbers)])
        return {chunk.number: chunk for chunk in map(codec.chunk, items)}

    def content(self, job: str) -> Content | None:
        for key in (keys.content(job), keys.chunk(job, 0)):
            item = self._db.get(self._records, key)
            if item is not None:
                return contents.unpack(item, self._blobs)
        return None

    def load(self, job: str, number: int, *, content: bool, lane: str = "") -> Loaded | None:
        [found] = self._load([(job, number)], lane, content=content)
        return found

    def load_each(self, places: Sequence[tuple[str, int]], *, lane: str = "") -> list[Loaded | None]:
        return self._load(places, lane, content=True)

    def _load(self, places: Sequence[tuple[str, int]], lane: str, *, content: bool) -> list[Loaded | None]:
        of = [(keys.job(job), keys.chunk(job, n), keys.content(job)) for job, n in places]
        # The chunk of a small job has the content of most: only of the others it is read, and after it.
        at_once = [k[:3] if content and not is_small(job) else k[:2] for k, (job, _) in zip(of, places, strict=True)]
        items, breaker = self._with_breaker([k for some in at_once for k in some], lane)
        if content:
            items |= self._contents_apart(of, items)
        return [self._loaded([items.get(_name(k)) for k in wanted], breaker, content=content) for wanted in of]

    def _contents_apart(self, of: Sequence[Sequence[keys.Key]], items: Mapping[_Name, Item]) -> dict[_Name, Item]:
        """Read the contents that neither the chunk has nor `items` have. `of`: keys of job, chunk and content."""
        missing = [
            content
            for _, chunk, content in of
            if _name(content) not in items and "data" not in items.get(_name(chunk), {"data": {}})
        ]
        distinct = list({_name(k): k for k in missing}.values())
        return {_name(x): x for x in self._db.batch_get(self._records, distinct)} if distinct else {}

    def _loaded(self, items: Sequence[Item | None], breaker: Breaker | None, *, content: bool) -> Loaded | None:
        """Return what items hold: a job, a chunk and what an item of its own has of the content, if it is wanted."""
        job, chunk, apart = items
        if job is None or chunk is None:
            return None
        stored = contents.unpack(apart or chunk, self._blobs) if content else None
        found = codec.job(job)
        return Loaded(found, codec.chunk(chunk), stored, breaker, codec.ledger(job) if is_small(found.id) else None)

    def load_some(self, places: Collection[tuple[str, int]]) -> Mapping[tuple[str, int], tuple[Job, Chunk]]:
        wanted = list(dict.fromkeys(places))
        found = zip(wanted, self._load(wanted, "", content=False), strict=True)
        return {place: (x.job, x.chunk) for place, x in found if x is not None}

    def keep_chunk(self, job: str, number: int, until: int) -> None:
        for table, key in ((self._records, keys.chunk(job, number)), self._tables.ledger(job, number)):
            self._keep(table, key, until)

    def keep_job(self, job: Job, until: int) -> None:
        item = self._db.get(self._records, keys.content(job.id))
        if item is not None:
            moved = contents.kept(job.id, item, self._blobs)
            self._keep(self._records, keys.content(job.id), until, moved)
        if job.marks:  # others share its page
            search_pages.put(self._db, self._records, [replace(job, ttl=until)])
        elif not job.unsearched:
            self._keep(self._records, keys.search_page(job.namespace, place_of(job)), until)
        self._keep(self._records, keys.job(job.id), until, {"version": n(1)})

    def _keep(self, table: str, key: keys.Key, until: int, more: Item | None = None) -> None:
        """Have an item deleted later. `more`: attributes to set, as of `transitions.keep`."""
        self._db.attempt("update_item", **transitions.keep(table, key, until, more or {}))  # unless it has gone

    def note_pointed(self, job: str, at: int) -> None:
        self._db.attempt("update_item", **transitions.note_pointed(self._records, job, at))  # unless it has gone

    def reserved(self, credential: str) -> tuple[str, list[str]]:
        item = self._db.get(self._ops, keys.holder(credential)) or {}
        return (codec.text(item, "holder"), sorted(item["jobs"]["SS"])) if "jobs" in item else ("", [])

    def turns(self, credential: str) -> Sequence[str]:
        item = self._db.get(self._ops, keys.holder(credential)) or {}
        return [x["S"] for x in item["turns"]["L"]] if "turns" in item else []

    def set_turns(self, credential: str, accounts: Sequence[str]) -> None:
        self._db.call("update_item", **reservation.turns(self._ops, credential, accounts))

    def give_back(self, job: Job) -> bool:
        there = {"ConditionCheck": transitions.as_read(self._records, job)}
        return self._db.together([there, {"Update": reservation.without(self._ops, job.route[0], [job.id])}])

    def clear(self, credential: str) -> None:
        _, jobs = self.reserved(credential)
        there = {x["job"]["S"] for x in self._db.batch_get(self._records, [keys.job(job) for job in jobs])}
        if there < set(jobs):
            self._db.call("update_item", **reservation.without(self._ops, credential, sorted(set(jobs) - there)))

    # Details

    def put_detail(self, detail: Detail) -> None:
        self._db.call("put_item", TableName=self._records, Item=codec.detail_item(detail))

    def complete_detail(self, known: Detail | None, detail: Detail) -> bool:
        item = codec.detail_item(detail)
        if known is None:
            return self._put_if(item, _NEW)
        return self._put_if(item, "#at = :at", {"#at": "at"}, {":at": codec.n(known.at)})

    def detail(self, job: str, chunk: int, epoch: int, seq: int) -> Detail | None:
        item = self._db.get(self._records, keys.window(job, chunk, epoch, seq))
        if item:
            return codec.detail(item)
        inside, _ = self._inside(job)
        return inside if inside is not None and (inside.epoch, inside.seq) == (epoch, seq) else None

    def _inside(self, job: str) -> tuple[Detail | None, FeedbackDetail | None]:
        """Return the window detail and the feedback detail that a small job's own item holds."""
        item = self._db.get(self._records, keys.job(job)) if is_small(job) else None
        return (codec.window(item), codec.words(item)) if item else (None, None)

    def put_feedback(self, detail: FeedbackDetail) -> None:
        self._put_if(codec.feedback_item(detail), _NEW)

    def details(self, job: str, chunk: int) -> tuple[list[Detail], list[FeedbackDetail]]:
        window, said = self._inside(job)
        windows = [window] if window is not None else []
        words = {said.key: said} if said is not None else {}
        for item in self._db.partition(self._records, keys.details_pk(job, chunk)):
            if item["sk"]["S"].startswith(keys.WINDOW_PREFIX):
                windows.append(codec.detail(item))
            else:
                words.setdefault(item["sk"]["S"].removeprefix(keys.FEEDBACK_PREFIX), codec.feedback(item))
        return sorted(windows, key=lambda x: (x.epoch, x.seq)), list(words.values())

    def _put_if(
        self, item: Item, condition: str, names: Mapping[str, str] | None = None, values: Item | None = None
    ) -> bool:
        """Store an item under a condition; False if it does not hold. Its names and values come together."""
        where = {"ExpressionAttributeNames": names, "ExpressionAttributeValues": values} if names else {}
        return self._db.attempt("put_item", TableName=self._records, Item=item, ConditionExpression=condition, **where)

    # Transitions

    def change(
        self,
        job: Job,
        change: Change,
        now: int,
        *,
        reason: str = "",
        strict: bool = False,
        event: Event | None = None,
        charge: str = "",
    ) -> Changed:
        by = event.actor if event is not None else ""
        heard = self._is_heard(job, change, reason)
        update = transitions.make(
            self._records,
            job,
            change,
            now,
            reason,
            strict=strict,
            archive=self._archive,
            by=by,
            heard=heard,
            charge=charge,
        )
        beside = [
            *reservation.actions(self._ops, job, change),
            *reservation.given_back(self._records, job, change, now),
            *audit.puts(self._db, self._records, event),
        ]
        return self._change_with(job, update, beside) if beside else self._changed(update)

    def _is_heard(self, job: Job, change: Change, reason: str = "") -> bool:
        """Tell whether webhooks may hear of a job's change. Operators' ones hear of the bounce guard's stops."""
        if self._listeners is None or change not in (Change.LOG, Change.STOP):
            return True
        return self._listeners.has(job.namespace) or (
            reason == StopReason.BOUNCE_GUARD and self._listeners.has(DEPLOYMENT)
        )

    def _changed(self, update: Item) -> Changed:
        """Make a transition that needs no other write."""
        try:
            answer = self._db.call("update_item", **update)
        except ConditionFailed as lost:
            return Changed(won=False, job=codec.job(lost.item) if lost.item else None)
        return Changed(won=True, job=codec.job(answer["Attributes"]))

    def _change_with(self, job: Job, update: Item, beside: Sequence[Item]) -> Changed:
        """Make a transition in one transaction with other writes."""
        returned = {k: v for k, v in update.items() if k != "ReturnValues"}  # no transaction returns what it wrote
        try:
            self._db.call("transact_write_items", TransactItems=[{"Update": returned}, *beside])
        except Cancelled as lost:
            if "ConditionalCheckFailed" not in lost.codes:
                raise
            if lost.codes[0] == "ConditionalCheckFailed":
                return Changed(won=False, job=codec.job(lost.items[0]) if lost.items[0] else None)
            held_by = next((codec.text(x, "holder") for x in lost.items if x is not None), "")
            return Changed(won=False, job=job, held_by=held_by)
        return Changed(won=True, job=self.job(job.id))

    def override_guard(self, job: str, event: Event | None = None) -> None:
        update = transitions.override_guard(self._records, job)
        if event is None:
            self._db.attempt("update_item", **update)  # unless it has gone
        else:
            self._db.together([{"Update": update}, *audit.puts(self._db, self._records, event)])

    def reschedule(self, job: Job, moved: Job, *, event: Event) -> Changed:
        update = transitions.reschedule(self._records, job, moved, event.actor)
        return self._change_with(job, update, audit.puts(self._db, self._records, event))

    def set_retry(self, job: Job, request: RetryRequest | None, *, event: Event | None = None) -> Changed:
        by = event.actor if event is not None else ""
        update = transitions.record_retry(self._records, job, request, archive=self._archive, by=by)
        noted = audit.puts(self._db, self._records, event)
        changed = self._change_with(job, update, noted) if noted else self._changed(update)
        stored = changed.job
        mine = stored is not None and stored.state is JobState.LOGGED and stored.retry == request
        return Changed(won=changed.won or mine, job=stored)  # ours, if only its answer was lost

    def fold(self, ledger: Ledger, job: Job, *, finish: int | None = None) -> tuple[Ledger, Job | None] | None:
        folded = rules.fold(ledger)
        if folded is None:
            return None
        new, delta = folded
        search_pages.put_first(self._db, self._records, [(ledger, job)])
        heard = finish is None or self._is_heard(job, Change.LOG)
        actions = [
            *ledger_writes.together(
                ledger_writes.replaced(self._tables, ledger, new),
                folding.add_counts(self._records, job, delta, finish=finish, archive=self._archive, heard=heard),
            ),
            *folding.more_stats(self._records, job, rules.for_stats(ledger, delta)),
        ]
        if not self._db.together(actions):
            return None
        if finish is None:
            return new, None
        return new, folding.ended(job, delta, finish)

    def fold_jobs(
        self, ledgers: Sequence[tuple[Ledger, Job]], finish: Millis
    ) -> Mapping[str, tuple[Ledger, Job | None]]:
        search_pages.put_first(self._db, self._records, ledgers)
        return folding.fold_jobs(
            self._db,
            self._tables,
            ledgers,
            finish=finish,
            archive=self._archive,
            heard=lambda job: self._is_heard(job, Change.LOG),
        )

    def begin(self, read: Ledger, claimed: Ledger, job: Job) -> tuple[Job, Ledger] | None:
        start = transitions.begin(self._records, job)
        [action] = ledger_writes.together(ledger_writes.replaced(self._tables, read, claimed), {"Update": start})
        try:
            answer = self._db.call("update_item", **action["Update"], ReturnValues="UPDATED_NEW")
        except ConditionFailed as lost:
            return self._begun(claimed, lost.item)
        return replace(job, state=JobState.SENDING, version=codec.number(answer["Attributes"], "version")), claimed

    def _begun(self, claimed: Ledger, item: Item | None) -> tuple[Job, Ledger] | None:
        """Return a small job and its ledger, if they show our own write, whose answer was lost."""
        stored = codec.ledger(item) if item else None
        if item is None or stored is None or not stored.held_by(claimed.owner, claimed.epoch):
            return None
        return (codec.job(item), stored) if stored.seq == claimed.seq else None

    def end_jobs(self, ends: Sequence[JobEnd], finish: Millis) -> set[str]:
        first = [x if x.held.epoch == 1 else replace(x, detail=None) for x in ends]
        for apart, x in zip(first, ends, strict=True):
            if x.detail is not None and apart.detail is None:  # of an earlier lease there may be one in the item
                self.put_detail(x.detail)
        search_pages.put_first(self._db, self._records, [(x.held, x.job) for x in ends])
        inside = list(map(self._with_room, first))
        return folding.end_jobs(self._db, self._tables, inside, finish=finish, archive=self._archive)

    def _with_room(self, x: JobEnd) -> JobEnd:
        """Return an end whose words the job's item has room for; else they are stored now, by themselves."""
        if x.words is None or folding.has_room(x):
            return x
        self.put_feedback(x.words)
        return replace(x, words=None)

    def fold_all(self, ledgers: Sequence[Ledger], job: Job) -> Mapping[int, Ledger | None]:
        search_pages.put_first(self._db, self._records, [(x, job) for x in ledgers])
        return folding.fold_all(self._db, self._tables, ledgers, job)

    def requeue(self, old: Ledger, new: Ledger, job: Job) -> bool:
        return self._write_with(old, new, {"ConditionCheck": transitions.still_logged(self._records, job)})

    def reopen(self, old: Ledger, new: Ledger, job: Job) -> bool:
        return self._write_with(old, new, {"Update": transitions.reopen(self._records, job)})

    def _write_with(self, old: Ledger, new: Ledger, job: Item) -> bool:
        """Write a ledger with an action on its job; False if one of the two has moved on."""
        return self._db.together(ledger_writes.together(ledger_writes.replaced(self._tables, old, new), job))


def _name(item: Item) -> _Name:
    """Return the key of an item, or a key itself, as a name in a table of items."""
    return item["pk"]["S"], item["sk"]["S"]


class _Switches(NamedTuple):
    """Places that say whether a job may continue: `account` has the keys of its control, suppressions and listeners."""

    job: str
    name: str
    account: tuple[keys.Key, keys.Key, keys.Key]


def _switches(job: str, account: str, *, test: bool) -> _Switches:
    name = namespace(account, test=test)
    about = (keys.account_control(account), keys.latest_suppression(name), keys.listeners(name))
    return _Switches(job, name, about)


def _is_held(items: Mapping[_Name, Item], held: Iterable[keys.Key]) -> bool:
    """Tell whether one of the items of some keys says that an account or everything is paused."""
    return any("paused" in x or "suspended" in x for k in held if (x := items.get(_name(k))) is not None)
