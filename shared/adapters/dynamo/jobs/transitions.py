"""Transitions of a job on DynamoDB: each one update, whose condition comes from the table of transitions.

Each function returns the parameters of a call, or of an action in a transaction.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from shared.adapters.dynamo import codec, indices, keys
from shared.adapters.dynamo.client import Item
from shared.adapters.dynamo.codec import n, s
from shared.domain.archive import due
from shared.domain.ids import made_at
from shared.domain.jobs.job import MAIL, Job, RetryRequest, StopReason, shard_of
from shared.domain.jobs.look_ups import LOOKS
from shared.domain.jobs.states import ACTIVE, TRANSITIONS, Change, JobState, reopened
from shared.domain.times import Millis

RETURNING: Final[Item] = {"ReturnValues": "ALL_NEW", "ReturnValuesOnConditionCheckFailure": "ALL_OLD"}
"""For an update that returns the item as it then is, whether the update was made or not."""
FIRST_LOOK_MS: Final = 60_000
"""Time after which a finished run of notices is first checked for results that are not applied."""
UNHEARD: Final = ("unheard = :unheard",)
"""Hides an item from the stream that webhooks hear from."""
PLACED: Final = ("open_pk = :open_pk", "open_sk = :open_sk")
"""Assignments that put a LOGGED job into the index `open`; `place` returns their values."""


def make(
    table: str,
    job: Job,
    change: Change,
    now: int,
    reason: str,
    *,
    strict: bool,
    archive: int | None = None,
    by: str = "",
    heard: bool = True,
    charge: str = "",
) -> Item:
    """Return the update of one transition of the table.

    Args:
        now: Unix milliseconds; for GIVE_WAY the time until which the job rests, for CLOSE when its hours open.
        strict: whether the job's version must be unchanged.
        archive: milliseconds after which a job is archived; None: no job is.
        by: the actor who resumes the job; empty for none.
        heard: whether webhooks may hear of the change.
        charge: what a job that is resumed holds of its account's limits; empty: nothing.
    """
    sources, target = TRANSITIONS[change]
    made = _Transition(
        condition=f"#state IN ({', '.join(f':f{i}' for i in range(len(sources)))})",
        values={
            ":one": n(1),
            ":to": s(target.value),
            **{f":f{i}": s(state.value) for i, state in enumerate(sorted(sources))},
        },
    )
    if strict:
        made.require("version = :version", {":version": n(job.version)})
    match change:
        case Change.PLAN:
            made.plan(job, now)
        case Change.LOG:
            made.log(job, now, archive)
            made.mark(heard=heard)
        case Change.STOP:
            made.stop(now, reason)
            made.mark(heard=heard)
        case Change.RESUME:
            made.resume(job, by, charge)
            made.wait(job.opens(max(now, job.not_before)), max(now, job.not_before))
        case Change.GIVE_WAY | Change.CLOSE:
            made.rest(now, closed=change is Change.CLOSE)
    if change in (Change.PLAN, Change.STOP, Change.RESUME, Change.REOPEN, Change.GIVE_WAY, Change.CLOSE):
        made.index(job, running=target is not JobState.READY)
    return {**_update(table, job, made.expression, made.condition, made.values), **RETURNING}


@dataclass(slots=True)
class _Transition:
    """The parts of a transition's update, as they are put together."""

    condition: str
    values: Item
    sets: list[str] = field(default_factory=lambda: ["#state = :to", "version = version + :one"])
    removes: list[str] = field(default_factory=list)

    @property
    def expression(self) -> str:
        return "SET " + ", ".join(self.sets) + (" REMOVE " + ", ".join(self.removes) if self.removes else "")

    def require(self, condition: str, values: Item | None = None) -> None:
        self.condition += " AND " + condition
        self.values |= values or {}

    def assign(self, assignments: Sequence[str], values: Item) -> None:
        self.sets += assignments
        self.values |= values

    def plan(self, job: Job, now: int) -> None:
        """Start a job that is due; a job that starts again is no longer stopped."""
        for begin in ("not_before", "rests_until"):
            self.require(f"(attribute_not_exists({begin}) OR {begin} <= :now)")
        self.assign(["planned_at = :now"], {":now": n(now)})
        self.removes += ["stopped", "freed", "rests_until", *(["not_before"] if job.closed else [])]

    def wait(self, opens: Millis, now: Millis) -> None:
        """Have a job wait for its hours, unless they are open by `now`, or when its time comes."""
        if opens > now:
            self.rest(opens, closed=True)

    def rest(self, until: Millis, *, closed: bool) -> None:
        """Have a job rest. `closed`: for its hours."""
        also = ["not_before = :rests"] if closed else []
        self.assign(["rests_until = :rests", *also], {":rests": n(until)})

    def log(self, job: Job, now: int, archive: int | None) -> None:
        """End a job, and put it into the index `open` if a later check is due."""
        self.assign(["finished_at = :now", *(["freed = :one"] if job.exclusive else [])], {":now": n(now)})
        placed = place(job, job.counts["unknown"], now, archive)
        if placed:
            self.assign(PLACED, placed)
        else:
            self.removes += ["open_pk", "open_sk"]
        if job.charge:
            self.removes.append("charge")

    def stop(self, now: int, reason: str) -> None:
        """Stop a job, with the reason; the bounce guard stops it only if it was not switched off."""
        if reason == StopReason.BOUNCE_GUARD:
            self.require("attribute_not_exists(guard_off)")
        values: Item = {":true": {"BOOL": True}, ":now": n(now), ":reason": s(reason)}
        self.assign(["stopped = :true", "stopped_at = :now", "stop_reason = :reason"], values)
        self.removes.append("rests_until")

    def mark(self, *, heard: bool) -> None:
        """Leave what a job comes to out of what webhooks hear of, or take such a mark away."""
        if heard:
            self.removes.append("unheard")
        else:
            self.assign(UNHEARD, {":unheard": {"BOOL": True}})

    def resume(self, job: Job, by: str, charge: str) -> None:
        """Let a job begin again, with the actor and what it holds of limits, if its retry is the one that was read."""
        self.require(same_retry(job, self.values))
        self.removes.append("retry")
        if charge:
            self.assign(["charge = :charge"], {":charge": s(charge)})
        if by:
            self.assign(["resumed_by = :by"], {":by": s(by)})

    def index(self, job: Job, *, running: bool) -> None:
        """Put a job into the index `open`."""
        values = {
            ":open_pk": s(codec.open_slot(job, running=running)),
            ":open_sk": s(keys.aged(job.created_at, job.id)),
        }
        self.assign(PLACED, values)


def record_retry(
    table: str, job: Job, request: RetryRequest | None, *, archive: int | None = None, by: str = ""
) -> Item:
    """Return the update that records an owner's retry, or its progress, or withdraws it.

    Args:
        request: the retry; None withdraws it.
        archive: milliseconds after which a job is archived; None: no job is.
        by: the actor who asks for the retry; empty for none.
    """
    values: Item = {":one": n(1), ":logged": s(JobState.LOGGED.value)}
    condition = "#state = :logged AND " + same_retry(job, values)
    placed: Item = {}
    if request is None and job.retry is not None:
        placed = place(job, job.counts["unknown"], job.retry.asked_at, archive)
    if placed:
        change = "SET version = version + :one, " + ", ".join(PLACED) + " REMOVE retry"
        values |= placed
    elif request is None:
        change = "SET version = version + :one REMOVE retry, open_pk, open_sk"
    else:
        change = "SET version = version + :one, retry = :retry, open_pk = :open_pk, open_sk = :open_sk"
        values |= {
            ":retry": codec.retry_map(request),
            ":open_pk": s(codec.open_slot(job, running=True)),
            ":open_sk": s(keys.aged(job.created_at, job.id)),
        }
        if by:
            change += ", resumed_by = :by"
            values[":by"] = s(by)
    return {**_update(table, job, change, condition, values), **RETURNING}


def reschedule(table: str, job: Job, moved: Job, by: str) -> Item:
    """Return the update that gives a READY job another time, if it was neither moved nor planned since (J5).

    Args:
        moved: the job with its new times.
        by: the actor, who from now on is the last one to have asked for the job.
    """
    values: Item = {":one": n(1), ":ready": s(JobState.READY.value), ":seen": n(job.not_before), ":by": s(by)}
    sets, removes = ["version = version + :one", "resumed_by = :by"], []
    for name in ("not_before", "rests_until"):
        at = getattr(moved, name)
        if at:
            sets.append(f"{name} = :{name}")
            values[f":{name}"] = n(at)
        else:
            removes.append(name)
    change = "SET " + ", ".join(sets) + (" REMOVE " + ", ".join(removes) if removes else "")
    values |= {":planned": n(job.planned_at)} if job.planned_at else {}
    planned = "planned_at = :planned" if job.planned_at else "attribute_not_exists(planned_at)"
    condition = f"#state = :ready AND not_before = :seen AND {planned}"
    return {**_update(table, job, change, condition, values), **RETURNING}


def begin(table: str, job: Job) -> Item:
    """Return the update that makes an active job SENDING."""
    values: Item = {":one": n(1)} | {f":{x.value}": s(x.value) for x in sorted(ACTIVE)}
    condition = f"#state IN ({', '.join(f':{x.value}' for x in sorted(ACTIVE))})"
    return _update(table, job, "SET #state = :SENDING, version = version + :one", condition, values)


def override_guard(table: str, job: str) -> Item:
    """Return the update that exempts a job from the bounce guard."""
    return {
        "TableName": table,
        "Key": keys.job(job),
        "UpdateExpression": "SET guard_off = :true, version = version + :one",
        "ConditionExpression": "attribute_exists(pk)",
        "ExpressionAttributeValues": {":true": {"BOOL": True}, ":one": n(1)},
    }


def enlist(table: str, job: str) -> Item:
    """Return the update that puts a small job into the index `open`, as under way, if it has no place there.

    The place follows from the id: a small job reserves nothing, and its id was made when it was accepted.
    """
    return {
        "TableName": table,
        "Key": keys.job(job),
        "UpdateExpression": "SET " + ", ".join(f"{x} = if_not_exists({x}, :{x})" for x in ("open_pk", "open_sk")),
        "ConditionExpression": "attribute_exists(pk)",
        "ExpressionAttributeValues": {
            ":open_pk": s(indices.open_slot(None, shard_of(job), running=True)),
            ":open_sk": s(keys.aged(made_at(job), job)),
        },
    }


def enlist_late(table: str, job: str) -> Item:
    """Return the update that puts a small job that has not ended into the index `open`, and moves the job's version."""
    update = enlist(table, job)
    return {
        **update,
        "UpdateExpression": update["UpdateExpression"] + ", version = version + :one",
        "ConditionExpression": "attribute_not_exists(open_pk) AND #state <> :logged",
        "ExpressionAttributeNames": {"#state": "state"},
        "ExpressionAttributeValues": {
            **update["ExpressionAttributeValues"],
            ":one": n(1),
            ":logged": s(JobState.LOGGED.value),
        },
    }


def note_pointed(table: str, job: str, at: Millis) -> Item:
    """Return the update that records when pointers to a job's unleased chunks were sent again."""
    return {
        "TableName": table,
        "Key": keys.job(job),
        "UpdateExpression": "SET pointed_at = :at, version = version + :one",
        "ConditionExpression": "attribute_exists(pk)",
        "ExpressionAttributeValues": {":at": n(at), ":one": n(1)},
    }


def keep(table: str, key: keys.Key, until: int, more: Item) -> Item:
    """Return the update that has an item deleted later.

    Args:
        until: Unix seconds.
        more: attributes to set; `version` is added to the stored one.
    """
    sets = ["#ttl = :until", *(f"#{x} = {'#version + ' if x == 'version' else ''}:{x}" for x in more)]
    return {
        "TableName": table,
        "Key": key,
        "UpdateExpression": "SET " + ", ".join(sets),
        "ConditionExpression": "attribute_exists(pk)",
        "ExpressionAttributeNames": {"#ttl": "ttl", **{f"#{x}": x for x in more}},
        "ExpressionAttributeValues": {":until": n(until), **{f":{x}": value for x, value in more.items()}},
    }


def still_logged(table: str, job: Job) -> Item:
    """Return the check that a job still is LOGGED, with the retry on its way that was read."""
    values: Item = {":logged": s(JobState.LOGGED.value)}
    return {
        "TableName": table,
        "Key": keys.job(job.id),
        "ConditionExpression": "#state = :logged AND " + same_retry(job, values),
        "ExpressionAttributeNames": {"#state": "state"},
        "ExpressionAttributeValues": values,
    }


def as_read(table: str, job: Job) -> Item:
    """Return the check that a job was not written since it was read."""
    return {
        "TableName": table,
        "Key": keys.job(job.id),
        "ConditionExpression": "version = :version",
        "ExpressionAttributeValues": {":version": n(job.version)},
    }


def reopen(table: str, job: Job) -> Item:
    """Return the update that puts a job, as read, back to work because feedback has reopened one of its messages."""
    target = job.state if job.retry else reopened(job.state)
    values: Item = {":one": n(1), ":version": n(job.version), ":to": s(target.value)}
    expression = "SET #state = :to, version = version + :one"
    if target is JobState.READY:
        expression += ", open_pk = :open_pk, open_sk = :open_sk"
        values |= {
            ":open_pk": s(codec.open_slot(job, running=False)),
            ":open_sk": s(keys.aged(job.created_at, job.id)),
        }
    return _update(table, job, expression, "version = :version", values)


def _update(table: str, job: Job, expression: str, condition: str, values: Item) -> Item:
    return {
        "TableName": table,
        "Key": keys.job(job.id),
        "UpdateExpression": expression,
        "ConditionExpression": condition,
        "ExpressionAttributeNames": {"#state": "state"},
        "ExpressionAttributeValues": values,
    }


def place(job: Job, unknown: int, since: int, archive: int | None) -> Item:
    """Return the values of `PLACED` for a LOGGED job; empty if it leaves the index.

    Args:
        unknown: the number of its messages of unknown fate. If there are any, their providers are asked first.
        since: when it is LOGGED (Unix ms).
        archive: milliseconds after which it is to be archived; None: no job is.
    """
    if job.owned:
        slot = indices.mail_slot(job.shard) if job.kind == MAIL else indices.notice_slot(job.shard)
        at = since + FIRST_LOOK_MS
    elif unknown:
        slot, at = indices.doubt_slot(job.shard), since + LOOKS[0] * 1000
    elif archive is not None and not job.test:
        slot, at = indices.archive_slot(job.shard), due(job, since, archive)
    else:
        return {}
    return {":open_pk": s(slot), ":open_sk": s(keys.aged(at, job.id))}


def same_retry(job: Job, values: Item) -> str:
    """Return the condition that the retry on its way is still that of `job`, and add its value to `values`."""
    if job.retry is None:
        return "attribute_not_exists(retry)"
    values[":before"] = codec.retry_map(job.retry)
    return "retry = :before"
