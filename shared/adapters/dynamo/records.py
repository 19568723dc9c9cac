"""Jobs, chunks, contents and details on DynamoDB, and the transactions that tie ledgers and jobs together."""

import hashlib
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final, Protocol

from shared.adapters.dynamo import codec, keys, marks
from shared.adapters.dynamo.client import Cancelled, ConditionFailed, Dynamo, Item
from shared.adapters.dynamo.codec import n, s
from shared.contracts import INDEX_OPEN
from shared.domain import content as content_codec
from shared.domain import ledger as rules
from shared.domain.breaker import Breaker
from shared.domain.chunks import Chunk
from shared.domain.content import Content
from shared.domain.details import Detail, FeedbackDetail
from shared.domain.doubt import LOOKS
from shared.domain.jobs import SHARDS, Job, RetryRequest, add_figures, stats_of
from shared.domain.ledger import BY_KEYS, Ledger
from shared.domain.states import COUNT_KEYS, TRANSITIONS, Change, JobState, ending, reopened
from shared.ports import Changed, Control, Idempotency, Loaded, Mismatch, OpenJob, Recent, Replay, Stored

CHUNK_CONTENT: Final = 3_000
"""Bytes of packed content that stand in the chunk of a job that has only one: a single mail is one write less. More
would make the chunk dear to read for those who want its recipients alone."""
INLINE_CONTENT: Final = 350_000
"""Bytes of packed content that still fit DynamoDB's 400 KB item; larger contents go to the bucket."""


SUPPRESSION_PAGES: Final = 2
"""Pages of the log of suppressions, 1 MB or some 4,000 entries each, that are read in one go."""
DOUBT_SETS: Final = ("open_pk = :open_pk", "open_sk = :open_sk")


class Blobs(Protocol):
    """Large contents by name."""

    def put(self, name: str, data: bytes) -> None:
        """Store bytes."""
        ...

    def get(self, name: str) -> bytes | None:
        """Return bytes, None if there are none."""
        ...


class DynamoRecords:
    """`ports.Records` over the two tables and the bucket."""

    def __init__(self, dynamo: Dynamo, *, records: str, ops: str, blobs: Blobs) -> None:
        self._db = dynamo
        self._records = records
        self._ops = ops
        self._blobs = blobs
        self._noted = ("", 0)
        """Account and moment (Unix ms) of the latest suppression that this process has noted."""

    # Acceptance

    def accept(
        self, job: Job, chunks: Sequence[Chunk], ledgers: Sequence[Ledger], content: Content, key: Idempotency | None
    ) -> Stored | Replay | Mismatch:
        """Store chunks, ledgers and content, then job, stats and idempotency record in one transaction."""
        if key is not None:
            made = self._made_before(self._db.get(self._records, _idempotency_key(key)), key, job.created_at)
            if made is not None:
                return made
        puts = [(self._ops, codec.ledger_item(x)) for x in ledgers]
        self._db.batch_put([*((self._records, x) for x in self._chunks_and_content(job, chunks, content)), *puts])
        actions: list[Item] = [
            {
                "Put": {
                    "TableName": self._records,
                    "Item": codec.job_item(job),
                    "ConditionExpression": "attribute_not_exists(pk)",
                }
            }
        ]
        if not job.test:
            first = [job.counts[k] for k in COUNT_KEYS]
            actions.append(self._add_stats(job, [*first, *[0] * (len(BY_KEYS) * len(job.route))]))
        if key is not None:
            actions.append(
                {
                    "Put": {
                        "TableName": self._records,
                        "Item": {
                            **_idempotency_key(key),
                            "job": s(job.id),
                            "fingerprint": s(key.fingerprint),
                            "answer": s(key.answer),
                            "expires": n(key.expires),
                            "ttl": n(key.expires // 1000 + 1),
                        },
                        "ConditionExpression": "attribute_not_exists(pk) OR expires < :now",
                        "ExpressionAttributeValues": {":now": n(job.created_at)},
                        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
                    }
                }
            )
        try:
            self._db.call("transact_write_items", TransactItems=actions)
        except Cancelled as lost:
            if key is not None and lost.codes[-1] == "ConditionalCheckFailed":
                item = lost.items[-1] or self._db.get(self._records, _idempotency_key(key))
                if item is not None and item["job"]["S"] == job.id:
                    return Stored()  # our own write, whose answer was lost
                made = self._made_before(item, key, job.created_at)
                if made is not None:
                    return made
            elif lost.codes[0] == "ConditionalCheckFailed":
                return Stored()  # a job's id is random: only we can have written it
            raise
        return Stored()

    def _made_before(self, item: Item | None, key: Idempotency, now: int) -> Replay | Mismatch | None:
        if item is None or codec.number(item, "expires") < now:
            return None
        if item["fingerprint"]["S"] != key.fingerprint:
            return Mismatch()
        return Replay(item["answer"]["S"])

    def _chunks_and_content(self, job: Job, chunks: Sequence[Chunk], content: Content) -> list[Item]:
        packed = content_codec.pack(content)
        if len(chunks) == 1 and len(packed) <= CHUNK_CONTENT:
            return [codec.chunk_item(chunks[0], packed)]
        return [*map(codec.chunk_item, chunks), self._content_item(job, packed)]

    def _content_item(self, job: Job, packed: bytes) -> Item:
        item: Item = {**keys.content(job.id), "ttl": n(job.ttl)}
        if len(packed) <= INLINE_CONTENT:
            return {**item, "data": {"B": packed}}
        name = f"contents/{job.id}"
        self._blobs.put(name, packed)
        return {**item, "blob": s(name)}

    # Reading

    def job(self, job: str) -> Job | None:
        """Return a job, consistent."""
        item = self._db.get(self._records, keys.job(job))
        return codec.job(item) if item else None

    def control(self, job: str, account: str, *, lane: str = "") -> Control:
        """Return the job and whether its account or everything is paused, in one consistent read."""
        wanted = [
            keys.job(job),
            keys.account_control(account),
            keys.system_control(),
            keys.latest_suppression(account),
        ]
        found: Job | None = None
        paused = False
        suppressed_at = 0
        items, breaker = self._with_breaker(wanted, lane)
        for item in items:
            if item["sk"]["S"] == keys.JOB:
                found = codec.job(item)
            elif item["sk"]["S"] == keys.SUPPRESSED:
                suppressed_at = codec.number(item, "at")
            else:
                paused = paused or "paused" in item
        return Control(found, paused, breaker, suppressed_at)

    def _with_breaker(self, wanted: Sequence[keys.Key], lane: str) -> tuple[list[Item], Breaker | None]:
        """Read items, and the lane's breaker in the same call, a moment old at half the price."""
        if not lane:
            return self._db.batch_get(self._records, wanted), None
        items = self._db.batch_get_from(
            {
                self._records: {"Keys": list(wanted), "ConsistentRead": True},
                self._ops: {"Keys": [keys.breaker(lane)], "ConsistentRead": False},
            }
        )
        breaker = next((x for x in items if x["sk"]["S"] == keys.BREAKER), None)
        return [x for x in items if x is not breaker], codec.breaker(lane, breaker)

    def chunk(self, job: str, number: int) -> Chunk | None:
        """Return a chunk; None when it has gone."""
        item = self._db.get(self._records, keys.chunk(job, number))
        return codec.chunk(item) if item else None

    def content(self, job: str) -> Content | None:
        """Return a job's content."""
        for key in (keys.content(job), keys.chunk(job, 0)):
            item = self._db.get(self._records, key)
            if item is not None:
                return self._unpack(item)
        return None

    def load(self, job: str, number: int, *, content: bool, lane: str = "") -> Loaded | None:
        """Return what a lease needs, in one consistent read; None when job or chunk have gone."""
        wanted = [keys.job(job), keys.chunk(job, number)] + ([keys.content(job)] if content else [])
        read, breaker = self._with_breaker(wanted, lane)
        items = {item["sk"]["S"]: item for item in read}
        found, chunk = items.pop(keys.JOB, None), items.pop(wanted[1]["sk"]["S"], None)
        if found is None or chunk is None:
            return None
        stored = self._unpack(next(iter(items.values()), chunk)) if content else None
        return Loaded(codec.job(found), codec.chunk(chunk), stored, breaker)

    def _unpack(self, item: Item) -> Content | None:
        """Return the content that stands in an item, or in the blob it names; None if there is none (any more)."""
        packed = bytes(item["data"]["B"]) if "data" in item else None
        if "blob" in item:
            packed = self._blobs.get(item["blob"]["S"])
        return content_codec.unpack(packed) if packed is not None else None

    def open_jobs(self, slots: Iterable[str]) -> Iterable[OpenJob]:
        """Walk the index of open jobs, oldest first within each slot; eventually consistent, so a hint."""
        for slot in slots:
            for item in self._db.query(
                self._records,
                IndexName=INDEX_OPEN,
                KeyConditionExpression="open_pk = :pk",
                ExpressionAttributeValues={":pk": s(slot)},
            ):
                created_at, _, job_id = item["open_sk"]["S"].partition("#")
                yield OpenJob(
                    job=job_id,
                    running="#RUN" in item["open_pk"]["S"],
                    not_before=codec.number(item, "not_before"),
                    created_at=int(created_at),
                    campaign=codec.text(item, "campaign"),
                )

    def doubts(self, now: int) -> Iterable[str]:
        """Walk the LOGGED jobs with messages of unknown fate about which a provider is to be asked by now."""
        for shard in range(SHARDS):
            for item in self._db.query(
                self._records,
                IndexName=INDEX_OPEN,
                KeyConditionExpression="open_pk = :pk AND open_sk < :end",
                ExpressionAttributeValues={":pk": s(keys.doubt_slot(shard)), ":end": s(f"{now + 1:015d}")},
            ):
                yield item["open_sk"]["S"].partition("#")[2]

    def look_again(self, job: str, at: int | None) -> None:
        """Ask about a LOGGED job's doubts again at `at`, or no more."""
        change = "SET version = version + :one" + (", open_sk = :at" if at is not None else " REMOVE open_pk, open_sk")
        values: Item = {":one": n(1), ":logged": s(JobState.LOGGED.value)}
        if at is not None:
            values[":at"] = s(keys.aged(at, job))
        try:
            self._db.call(
                "update_item",
                TableName=self._records,
                Key=keys.job(job),
                UpdateExpression=change,
                ConditionExpression="#state = :logged AND attribute_exists(open_pk) AND attribute_not_exists(retry)",
                ExpressionAttributeNames={"#state": "state"},
                ExpressionAttributeValues=values,
            )
        except ConditionFailed:
            return  # its owner or feedback has reopened it

    # Details

    def put_detail(self, detail: Detail, *, if_absent: bool = False) -> None:
        """Store a window detail."""
        if if_absent:
            self._put_new(codec.detail_item(detail))  # the claimant's own word stands
        else:
            self._db.call("put_item", TableName=self._records, Item=codec.detail_item(detail))

    def detail(self, job: str, chunk: int, epoch: int, seq: int) -> Detail | None:
        """Return a window detail, consistent."""
        item = self._db.get(self._records, keys.window(job, chunk, epoch, seq))
        return codec.detail(item) if item else None

    def put_feedback(self, detail: FeedbackDetail) -> None:
        """Store the words of one batch of events about one chunk; a repeat changes nothing."""
        self._put_new(codec.feedback_item(detail))

    def details(self, job: str, chunk: int) -> tuple[list[Detail], list[FeedbackDetail]]:
        """Return all details of a chunk: windows by epoch and seq, then feedback."""
        windows: list[Detail] = []
        words: list[FeedbackDetail] = []
        for item in self._db.partition(self._records, keys.details_pk(job, chunk)):
            if item["sk"]["S"].startswith(keys.WINDOW_PREFIX):
                windows.append(codec.detail(item))
            else:
                words.append(codec.feedback(item))
        return windows, words

    def _put_new(self, item: Item) -> bool:
        """Store an item if there is none of its key; False if there is."""
        condition = "attribute_not_exists(pk)"
        try:
            self._db.call("put_item", TableName=self._records, Item=item, ConditionExpression=condition)
        except ConditionFailed:
            return False
        return True

    # Transitions

    def change(self, job: Job, change: Change, now: int, *, reason: str = "", strict: bool = False) -> Changed:
        """Make one transition of the table, if the job's state allows it."""
        sources, target = TRANSITIONS[change]
        values: Item = {":one": n(1), ":to": s(target.value)}
        names = {"#state": "state"}
        sets = ["#state = :to", "version = version + :one"]
        removes: list[str] = []
        condition = f"#state IN ({', '.join(f':f{i}' for i in range(len(sources)))})"
        values |= {f":f{i}": s(state.value) for i, state in enumerate(sorted(sources))}
        if strict:
            condition += " AND version = :version"
            values[":version"] = n(job.version)
        if change is Change.PLAN:
            condition += " AND (attribute_not_exists(not_before) OR not_before <= :now)"
            values[":now"] = n(now)
            sets.append("planned_at = :now")
            removes.append("stopped")
        elif change is Change.LOG:
            sets.append("finished_at = :now")
            values[":now"] = n(now)
            if job.counts["unknown"]:
                sets += DOUBT_SETS
                values |= _doubt_values(job, now)
            else:
                removes += ["open_pk", "open_sk"]
        elif change is Change.STOP:
            sets += ["stopped = :true", "stopped_at = :now", "stop_reason = :reason"]
            values |= {":true": {"BOOL": True}, ":now": n(now), ":reason": s(reason)}
        elif change is Change.RESUME:
            condition += " AND " + _same_retry(job, values)
            removes.append("retry")
        if change in (Change.PLAN, Change.STOP, Change.RESUME, Change.REOPEN):
            sets += ["open_pk = :open_pk", "open_sk = :open_sk"]
            values[":open_pk"] = s(codec.open_slot(job, running=target is not JobState.READY))
            values[":open_sk"] = s(keys.aged(job.created_at, job.id))
        expression = "SET " + ", ".join(sets) + (" REMOVE " + ", ".join(removes) if removes else "")
        try:
            answer = self._db.call(
                "update_item",
                TableName=self._records,
                Key=keys.job(job.id),
                UpdateExpression=expression,
                ConditionExpression=condition,
                ExpressionAttributeNames=names,
                ExpressionAttributeValues=values,
                ReturnValues="ALL_NEW",
                ReturnValuesOnConditionCheckFailure="ALL_OLD",
            )
        except ConditionFailed as lost:
            return Changed(won=False, job=codec.job(lost.item) if lost.item else None)
        return Changed(won=True, job=codec.job(answer["Attributes"]))

    def set_retry(self, job: Job, request: RetryRequest | None) -> Changed:
        """Record an owner's retry, or how far it is, or withdraw it."""
        values: Item = {":one": n(1), ":logged": s(JobState.LOGGED.value)}
        condition = "#state = :logged AND " + _same_retry(job, values)
        if request is None and job.retry is not None and job.counts["unknown"]:
            change = "SET version = version + :one, " + ", ".join(DOUBT_SETS) + " REMOVE retry"
            values |= _doubt_values(job, job.retry.asked_at)
        elif request is None:
            change = "SET version = version + :one REMOVE retry, open_pk, open_sk"
        else:
            change = "SET version = version + :one, retry = :retry, open_pk = :open_pk, open_sk = :open_sk"
            values |= {
                ":retry": codec.retry_map(request),
                ":open_pk": s(codec.open_slot(job, running=True)),
                ":open_sk": s(keys.aged(job.created_at, job.id)),
            }
        try:
            answer = self._db.call(
                "update_item",
                TableName=self._records,
                Key=keys.job(job.id),
                UpdateExpression=change,
                ConditionExpression=condition,
                ExpressionAttributeNames={"#state": "state"},
                ExpressionAttributeValues=values,
                ReturnValues="ALL_NEW",
                ReturnValuesOnConditionCheckFailure="ALL_OLD",
            )
        except ConditionFailed as lost:
            stored = codec.job(lost.item) if lost.item else None
            mine = stored is not None and stored.state is JobState.LOGGED and stored.retry == request
            return Changed(won=mine, job=stored)  # ours, if only its answer was lost
        return Changed(won=True, job=codec.job(answer["Attributes"]))

    def fold(self, ledger: Ledger, job: Job, *, finish: int | None = None) -> tuple[Ledger, Job | None] | None:
        """Add a ledger's new figures to its job and the day's stats (J2), once; None if one of them moved on."""
        folded = rules.fold(ledger)
        if folded is None:
            return None
        new, delta = folded
        actions = [self._mark_folded(ledger, new), self._add_counts(job, delta, finish=finish)]
        if not job.test and any(delta):
            actions.append(self._add_stats(job, delta))
        try:
            self._db.call("transact_write_items", TransactItems=actions)
        except Cancelled as lost:
            if "ConditionalCheckFailed" in lost.codes:
                return None
            raise
        if finish is None:
            return new, None
        counts, by = add_figures(job.counts, job.by, job.route, delta)
        _, state = ending(exclusive=job.exclusive)
        at = finish if state is JobState.LOGGED else job.finished_at
        return new, replace(job, counts=counts, by=by, state=state, finished_at=at, version=job.version + 1)

    def requeue(self, old: Ledger, new: Ledger, job: Job) -> bool:
        """Write a ledger whose cells its owner sends again, if its job is LOGGED, in one transaction."""
        values: Item = {":logged": s(JobState.LOGGED.value)}
        logged: Item = {
            "TableName": self._records,
            "Key": keys.job(old.job),
            "ConditionExpression": "#state = :logged AND " + _same_retry(job, values),
            "ExpressionAttributeNames": {"#state": "state"},
            "ExpressionAttributeValues": values,
        }
        actions = [{"Update": codec.ledger_update(self._ops, old, new)}, {"ConditionCheck": logged}]
        try:
            self._db.call("transact_write_items", TransactItems=actions)
        except Cancelled as lost:
            if "ConditionalCheckFailed" in lost.codes:
                return False
            raise
        return True

    def reopen(self, old: Ledger, new: Ledger, job: Job) -> bool:
        """Write a ledger in which a finished message waits again, and its job with it, in one transaction."""
        target = job.state if job.retry else reopened(job.state)
        values: Item = {":one": n(1), ":version": n(job.version), ":to": s(target.value)}
        expression = "SET #state = :to, version = version + :one"
        if target is JobState.READY:
            expression += ", open_pk = :open_pk, open_sk = :open_sk"
            values |= {
                ":open_pk": s(codec.open_slot(job, running=False)),
                ":open_sk": s(keys.aged(job.created_at, job.id)),
            }
        update: Item = {
            "TableName": self._records,
            "Key": keys.job(job.id),
            "UpdateExpression": expression,
            "ConditionExpression": "version = :version",
            "ExpressionAttributeNames": {"#state": "state"},
            "ExpressionAttributeValues": values,
        }
        actions = [{"Update": codec.ledger_update(self._ops, old, new)}, {"Update": update}]
        try:
            self._db.call("transact_write_items", TransactItems=actions)
        except Cancelled as lost:
            if "ConditionalCheckFailed" in lost.codes:
                return False
            raise
        return True

    def _mark_folded(self, old: Ledger, new: Ledger) -> Item:
        return {
            "Update": {
                "TableName": self._ops,
                "Key": keys.ledger(old.job, old.chunk),
                "UpdateExpression": "SET folded = :folded, version = :new REMOVE dirty",
                "ConditionExpression": "version = :old",
                "ExpressionAttributeValues": {
                    ":folded": {"B": rules.pack(new.folded)},
                    ":new": n(new.version),
                    ":old": n(old.version),
                },
            }
        }

    def _add_counts(self, job: Job, delta: Sequence[int], *, finish: int | None) -> Item:
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
        condition, removes = "attribute_exists(pk)", ""
        if finish is not None:
            sources, target = ending(exclusive=job.exclusive)
            names["#state"] = "state"
            values |= {f":f{i}": s(x.value) for i, x in enumerate(sorted(sources))}
            values |= {":to": s(target.value), ":version": n(job.version)}
            sets.append("#state = :to")
            if target is JobState.LOGGED:
                sets.append("finished_at = :now")
                values[":now"] = n(finish)
                if job.counts["unknown"] + delta[COUNT_KEYS.index("unknown")]:
                    sets += DOUBT_SETS
                    values |= _doubt_values(job, finish)
                else:
                    removes = " REMOVE open_pk, open_sk"
            condition = f"version = :version AND #state IN ({', '.join(f':f{i}' for i in range(len(sources)))})"
        update: Item = {
            "TableName": self._records,
            "Key": keys.job(job.id),
            "UpdateExpression": "SET " + ", ".join(sets) + removes,
            "ConditionExpression": condition,
            "ExpressionAttributeValues": values,
        }
        if names:
            update["ExpressionAttributeNames"] = names
        return {"Update": update}

    def _add_stats(self, job: Job, delta: Sequence[int]) -> Item:
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
                "TableName": self._records,
                "Key": keys.stats(job.account, day, job.channel, job.shard),
                "UpdateExpression": "ADD " + ", ".join(f"#{i} :{i}" for i in range(len(amounts))),
                "ExpressionAttributeNames": {f"#{i}": name for i, name in enumerate(amounts)},
                "ExpressionAttributeValues": {f":{i}": n(v) for i, v in enumerate(amounts.values())},
            }
        }

    # Suppressions

    def suppress(self, account: str, key: str, reason: str, now: int) -> None:
        """Add an address to the account's suppressions; an existing entry stays."""
        if self._noted != (account, now):  # those of one batch of words have one moment
            marks.suppressing(self._db, self._records, account, now)
            self._noted = (account, now)
        digest = hashlib.sha256(key.encode()).hexdigest()
        entry: dict[str, Any] = {"address": s(key), "reason": s(reason), "at": n(now)}
        first: Item = {"TableName": self._records, "Item": {**keys.suppression(account, digest), **entry}}
        first["ConditionExpression"] = "attribute_not_exists(pk)"
        second = {"TableName": self._records, "Item": {**keys.suppression_log(account, now, digest), **entry}}
        try:
            self._db.call("transact_write_items", TransactItems=[{"Put": first}, {"Put": second}])
        except Cancelled as lost:
            if "ConditionalCheckFailed" not in lost.codes:
                raise  # else the first reason stands

    def suppressed(self, account: str, addresses: Collection[str]) -> set[str]:
        """Return those of the addresses, given as normalised keys, that are suppressed."""
        by_digest = {hashlib.sha256(k.encode()).hexdigest(): k for k in addresses}
        wanted = [keys.suppression(account, digest) for digest in by_digest]
        return {by_digest[x["sk"]["S"]] for x in self._db.batch_get(self._records, wanted)}

    def suppressed_since(self, account: str, since: int) -> Recent:
        """Return what the log of suppressions says from a moment on, up to some thousand entries."""
        query: Item = {
            "KeyConditionExpression": "pk = :pk AND sk >= :since",
            "ExpressionAttributeValues": {
                ":pk": keys.suppression_log(account, 0, "")["pk"],
                ":since": s(f"{since:015d}"),
            },
            "ProjectionExpression": "sk",
            "ConsistentRead": True,
        }
        entries: list[tuple[str, str]] = []
        for _ in range(SUPPRESSION_PAGES):
            page = self._db.call("query", TableName=self._records, **query)
            entries += [(at, digest) for at, _, digest in (x["sk"]["S"].partition("#") for x in page["Items"])]
            if "LastEvaluatedKey" not in page:
                return Recent([digest for _, digest in entries], None)
            query["ExclusiveStartKey"] = page["LastEvaluatedKey"]
        return Recent([digest for _, digest in entries], int(entries[-1][0]))


def _doubt_values(job: Job, now: int) -> Item:
    at = now + LOOKS[0] * 1000
    return {":open_pk": s(keys.doubt_slot(job.shard)), ":open_sk": s(keys.aged(at, job.id))}


def _same_retry(job: Job, values: Item) -> str:
    """Return the condition that the retry on its way is still that of `job`, and add what it compares with."""
    if job.retry is None:
        return "attribute_not_exists(retry)"
    values[":before"] = codec.retry_map(job.retry)
    return "retry = :before"


def _idempotency_key(key: Idempotency) -> keys.Key:
    return keys.idempotency(key.account, hashlib.sha256(key.key.encode()).hexdigest())
