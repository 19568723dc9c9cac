"""Both directions of the engine's items: entities to DynamoDB's own form and back."""

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any, Final

from shared.adapters.dynamo import indices, keys
from shared.adapters.dynamo.client import Item
from shared.adapters.dynamo.fields import Fields
from shared.domain.hours.hours import OpenHours
from shared.domain.ids import is_small, is_unlisted
from shared.domain.jobs import chunks as chunk_codec
from shared.domain.jobs import details as detail_codec
from shared.domain.jobs.chunks import Chunk
from shared.domain.jobs.details import Detail, FeedbackDetail
from shared.domain.jobs.job import DEFERRED_AFTER, Job, Policy, RetryRequest
from shared.domain.jobs.labels import Labels
from shared.domain.jobs.ledger import BY_KEYS, Ledger, LedgerStatus, pack, unpack
from shared.domain.jobs.states import COUNT_KEYS, Cell, JobState
from shared.domain.lanes.breaker import Breaker


def n(value: float) -> dict[str, str]:
    """A number."""
    return {"N": str(value)}


def s(value: str) -> dict[str, str]:
    """A string."""
    return {"S": value}


def number(item: Mapping[str, Any], name: str, default: int = 0) -> int:
    """Read an integer attribute.

    Args:
        default: returned if the item has no such attribute.
    """
    return int(item[name]["N"]) if name in item else default


def text(item: Mapping[str, Any], name: str, default: str = "") -> str:
    """Read a string attribute.

    Args:
        default: returned if the item has no such attribute.
    """
    value: str = item[name]["S"] if name in item else default
    return value


def binary(item: Mapping[str, Any], name: str) -> bytes:
    """Read a binary attribute: bytes from a client; base64 text in stream records is decoded before."""
    return bytes(item[name]["B"])


_QUIET: Final = "quiet_"


def quiet(control: Mapping[str, Any]) -> dict[str, str]:
    """Read an account's quiet hours by channel from its control."""
    return {name[len(_QUIET) :]: value["S"] for name, value in control.items() if name.startswith(_QUIET)}


def quiet_name(channel: str) -> str:
    """Return the attribute of an account's control that holds its quiet hours of a channel."""
    return _QUIET + channel


# Ledgers. Absent means the default, which keeps an item of 500 cells within one write unit.


def ledger_fields(x: Ledger) -> Item:
    """Return a ledger's attributes without its key."""
    out: Item = {
        "cells": {"B": x.cells},
        "status": s(x.status.value),
        "lane": s(x.lane),
        "limit": n(x.limit),
        "folded": {"B": pack(x.folded)},
        "by": {"B": pack(x.by)},
        "epoch": n(x.epoch),
        "version": n(x.version),
        "ttl": n(x.ttl),
    }
    if x.first_lane != x.lane:
        out["first_lane"] = s(x.first_lane)
    if x.owner:
        out |= {"owner": s(x.owner), "seq": n(x.seq), "until": n(x.until)}
    if x.tried:
        out["tried"] = {"B": bytes(x.tried)}
    if x.dirty:
        out["dirty"] = n(1)
    if x.uncounted:
        out["uncounted"] = {"B": pack(x.uncounted)}
    if x.told:
        out["told"] = {"B": x.told}
    for name in ("rounds", "retries", "throttled", "per_call", "not_before", "not_after", "released_at"):
        value = getattr(x, name)
        if value:
            out[name] = n(value)
    return out


def ledger_item(x: Ledger) -> Item:
    """Return a ledger's item. That of a small job is in the job's: see `small_item`."""
    return {**keys.ledger(x.job, x.chunk), **ledger_fields(x)}


def ledger(item: Mapping[str, Any]) -> Ledger:
    """Read a ledger from its item, or from that of a small job."""
    if _SMALL + "cells" in item:
        return _small_ledger(item)
    lane = item["lane"]["S"]
    return Ledger(
        job=item["pk"]["S"][2:],
        chunk=int(item["sk"]["S"][len(keys.LEDGER_PREFIX) :]),
        cells=binary(item, "cells"),
        lane=lane,
        first_lane=text(item, "first_lane", lane),
        limit=number(item, "limit"),
        by=unpack(binary(item, "by")),
        folded=unpack(binary(item, "folded")),
        ttl=number(item, "ttl"),
        status=LedgerStatus(item["status"]["S"]),
        owner=text(item, "owner"),
        epoch=number(item, "epoch"),
        seq=number(item, "seq"),
        until=number(item, "until"),
        tried=tuple(binary(item, "tried")) if "tried" in item else (),
        rounds=number(item, "rounds"),
        retries=number(item, "retries"),
        throttled=number(item, "throttled"),
        per_call=number(item, "per_call"),
        not_before=number(item, "not_before"),
        released_at=number(item, "released_at"),
        dirty="dirty" in item,
        uncounted=unpack(binary(item, "uncounted")) if "uncounted" in item else (),
        told=binary(item, "told") if "told" in item else b"",
        not_after=number(item, "not_after"),
        version=number(item, "version"),
    )


def of_ledger(job: str) -> str:
    """Return what begins the names of a ledger's attributes: nothing in its own item."""
    return _SMALL if is_small(job) else ""


_SMALL: Final = "l_"


def has_news(image: Mapping[str, Any]) -> bool:
    """Tell whether an image of a stream is of a ledger, or of a small job whose ledger has changed."""
    return "cells" in image or _SMALL + "dirty" in image


def small_item(job: Job, ledger: Ledger) -> Item:
    """Return the item of a new job with its ledger: what the ledger has folded are the job's figures."""
    fields = {_SMALL + k: v for k, v in ledger_fields(ledger).items() if k != "ttl"}
    waits_not = is_unlisted(job.id) and job.state is JobState.ENQUEUED
    left_out = _FIGURES | _PLACE if waits_not else _FIGURES
    return {k: v for k, v in job_item(job).items() if k not in left_out} | fields


def _small_ledger(item: Mapping[str, Any]) -> Ledger:
    fields = {k.removeprefix(_SMALL): v for k, v in item.items() if k.startswith(_SMALL)}
    return ledger(keys.ledger(item["job"]["S"], 0) | fields | {"ttl": item["ttl"]})


# Breakers


_BREAKER: Final = Fields(Breaker, apart=("credential",), always=("state", "version"))


def breaker_item(x: Breaker) -> Item:
    """Return a breaker's item."""
    return {**keys.breaker(x.credential), **_BREAKER.item(x)}


def breaker(credential: str, item: Mapping[str, Any] | None) -> Breaker:
    """Read a breaker; closed if there is no item."""
    return Breaker(credential, **_BREAKER.read(item or {}))


# Jobs


def _figures(values: Sequence[int]) -> Item:
    return {"M": {k: n(v) for k, v in zip(BY_KEYS, values, strict=True)}}


_JOB: Final = Fields(
    Job,
    apart=("counts", "by", "policy", "rate", "retry", "hours", "labels"),
    always=(
        *("id", "account", "kind", "channel", "route", "providers", "total", "chunks", "created_at", "ttl", "state"),
        "version",
    ),
    names={"id": "job"},
)
_POLICY: Final = Fields(Policy, apart=("deferred_after",), always=("max_attempts", "retry_on", "on_ambiguous"))


_FIGURES: Final = frozenset({"counts", "by"})
_PLACE: Final = frozenset({"open_pk", "open_sk"})


def job_item(x: Job) -> Item:
    """Return a new job's item, with the keys of its indices."""
    out: Item = {
        **keys.job(x.id),
        **_JOB.item(x),
        **_POLICY.item(x.policy),
        "counts": {"M": {k: n(x.counts[k]) for k in COUNT_KEYS}},
        "by": {"M": {c: _figures(x.by[c]) for c in x.route}},
        "open_pk": s(open_slot(x, running=x.state is not JobState.READY)),
        "open_sk": s(keys.aged(x.created_at, x.id)),
        "mine_pk": s(indices.jobs_pk(x.account, x.kind, test=x.test)),
        "mine_sk": s(keys.aged(x.created_at, x.id)),
    }
    if x.policy.deferred_after != DEFERRED_AFTER:
        out["deferred_after"] = n(x.policy.deferred_after)
    if x.rate is not None:
        out["rate"] = n(x.rate)
    if x.hours is not None:
        out["hours"] = s(x.hours.text())
    if labels := x.labels.text():
        out["labels"] = s(labels)
    return out


def job(item: Mapping[str, Any]) -> Job:
    """Read a job."""
    counts, by = _counted(item)
    deferred_after = number(item, "deferred_after", DEFERRED_AFTER)
    return Job(
        counts=counts,
        by=by,
        policy=Policy(deferred_after=deferred_after, **_POLICY.read(item)),
        rate=float(item["rate"]["N"]) if "rate" in item else None,
        retry=_retry(item["retry"]["M"]) if "retry" in item else None,
        hours=OpenHours.read(text(item, "hours")) if "hours" in item else None,
        labels=Labels.read(text(item, "labels")),
        **_JOB.read(item),
    )


def _counted(item: Mapping[str, Any]) -> tuple[dict[str, int], dict[str, tuple[int, ...]]]:
    """Return a job's counts, and the figures of each credential of its route."""
    route = [c["S"] for c in item["route"]["L"]]
    if _SMALL + "folded" in item:
        figures = iter(unpack(binary(item, _SMALL + "folded")))
        return dict(zip(COUNT_KEYS, figures, strict=False)), {c: tuple(islice(figures, len(BY_KEYS))) for c in route}
    by = item["by"]["M"]
    counts = {k: int(item["counts"]["M"][k]["N"]) for k in COUNT_KEYS}
    return counts, {c: tuple(int(by[c]["M"][k]["N"]) for k in BY_KEYS) for c in route}


def retry_map(x: RetryRequest) -> Item:
    """Return the attribute that holds an owner's retry."""
    fields = {"states": {"L": [n(state) for state in x.states]}, "asked_at": n(x.asked_at), "next": n(x.next)}
    return {"M": {**fields, **({"charge": s(x.charge)} if x.charge else {})}}


def _retry(fields: Mapping[str, Any]) -> RetryRequest:
    states = tuple(Cell(int(state["N"])) for state in fields["states"]["L"])
    return RetryRequest(states, number(fields, "asked_at"), number(fields, "next"), text(fields, "charge"))


def open_slot(x: Job, *, running: bool) -> str:
    """Return the partition of the index `open` that holds a job."""
    return indices.open_slot(x.route[0] if x.exclusive else None, x.shard, running=running)


# Chunks and details


def chunk_item(x: Chunk, content: bytes | None = None) -> Item:
    """Return a chunk's item. `content`: the job's packed content, if it is stored here and not in its own item."""
    item: Item = {**keys.chunk(x.job, x.number), "recipients": {"B": chunk_codec.pack(x.recipients)}, "ttl": n(x.ttl)}
    if x.zone:
        item["zone"] = s(x.zone)
    if x.rows:
        item["rows"] = {"B": x.rows}
    return item if content is None else item | {"data": {"B": content}}


def chunk(item: Mapping[str, Any]) -> Chunk:
    """Read a chunk."""
    return Chunk(
        job=item["pk"]["S"][2:],
        number=int(item["sk"]["S"][len(keys.CHUNK_PREFIX) :]),
        recipients=chunk_codec.unpack(binary(item, "recipients")),
        ttl=number(item, "ttl"),
        zone=text(item, "zone"),
        rows=binary(item, "rows") if "rows" in item else b"",
    )


def detail_item(x: Detail) -> Item:
    """Return a window detail's item."""
    return {
        **keys.window(x.job, x.chunk, x.epoch, x.seq),
        "at": n(x.at),
        "credential": s(x.credential),
        "entries": {"B": detail_codec.pack_entries(x.entries)},
        "ttl": n(x.ttl),
    }


def detail(item: Mapping[str, Any]) -> Detail:
    """Read a window detail."""
    _, job_id, number_ = item["pk"]["S"].split("#")
    _, epoch, seq = item["sk"]["S"].split("#")
    return Detail(
        job=job_id,
        chunk=int(number_),
        epoch=int(epoch),
        seq=int(seq),
        at=number(item, "at"),
        credential=item["credential"]["S"],
        entries=detail_codec.unpack_entries(binary(item, "entries")),
        ttl=number(item, "ttl"),
    )


WINDOW: Final = "window"
"""The attribute of a small job's item that holds the detail of its first lease."""


def window_map(x: Detail) -> Item:
    """Return a window detail as an attribute of a small job's item."""
    return {"M": {k: v for k, v in detail_item(x).items() if k not in ("pk", "ttl")}}


def window(item: Mapping[str, Any]) -> Detail | None:
    """Read the window detail in a small job's item; None if there is none."""
    if WINDOW not in item:
        return None
    own = item[WINDOW]["M"]
    return detail({**own, "pk": s(keys.details_pk(item["job"]["S"], 0)), "ttl": item["ttl"]})


WORDS: Final = "words"
"""The attribute of a small job's item that holds the first words of its provider that it had room for."""


def words_map(x: FeedbackDetail) -> Item:
    """Return a feedback detail as an attribute of a small job's item."""
    return {"M": {"credential": s(x.credential), "entries": {"B": detail_codec.pack_feedback(x.entries)}}}


def words(item: Mapping[str, Any]) -> FeedbackDetail | None:
    """Read the feedback detail in a small job's item; None if there is none."""
    if WORDS not in item:
        return None
    own = item[WORDS]["M"]
    return feedback({**own, "pk": s(keys.details_pk(item["job"]["S"], 0)), "ttl": item["ttl"]})


def feedback_item(x: FeedbackDetail) -> Item:
    """Return a feedback detail's item."""
    return {
        **keys.feedback(x.job, x.chunk, x.key),
        "credential": s(x.credential),
        "entries": {"B": detail_codec.pack_feedback(x.entries)},
        "ttl": n(x.ttl),
    }


def feedback(item: Mapping[str, Any]) -> FeedbackDetail:
    """Read a feedback detail."""
    _, job_id, number_ = item["pk"]["S"].split("#")
    return FeedbackDetail(
        job=job_id,
        chunk=int(number_),
        credential=item["credential"]["S"],
        entries=detail_codec.unpack_feedback(binary(item, "entries")),
        ttl=number(item, "ttl"),
    )


def listed(item: Mapping[str, Any] | None) -> frozenset[str]:
    """Return the namespaces with endpoints for webhooks that an item names; None: there is no item."""
    return frozenset(item["namespaces"]["SS"] if item and "namespaces" in item else ())


def from_stream(image: Mapping[str, Any], decode: Any) -> Item:
    """Return a stream record's image as a client would return the item: binary attributes as bytes."""
    return {k: {"B": decode(v["B"])} if "B" in v and isinstance(v["B"], str) else v for k, v in image.items()}


def swap(table: str, key: keys.Key, before: Item, after: Item) -> Item:
    """Return the update that makes the attributes `before` those of `after`, if their `version` is unchanged."""
    changes = {k: v for k, v in after.items() if before.get(k) != v}
    removals = [k for k in before if k not in after]
    return guarded(table, key, changes, removals, "version", number(before, "version"))


def guarded(
    table: str, key: keys.Key, changes: Mapping[str, Any], removals: Sequence[str], guard: str, version: int
) -> Item:
    """Return the update that sets and removes attributes of an item, if its `guard` still is `version`."""
    expression, names, values = update(changes, removals)
    return {
        "TableName": table,
        "Key": key,
        "UpdateExpression": expression,
        "ConditionExpression": "#guard = :guard",
        "ExpressionAttributeNames": {**names, "#guard": guard},
        "ExpressionAttributeValues": {**values, ":guard": n(version)},
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }


def update(changes: Mapping[str, Any], removals: Sequence[str] = ()) -> tuple[str, dict[str, str], Item]:
    """Return (expression, names, values) that set and remove top-level attributes."""
    names = {f"#{i}": name for i, name in enumerate((*changes, *removals))}
    values = {f":{i}": value for i, value in enumerate(changes.values())}
    parts = "SET " + ", ".join(f"#{i} = :{i}" for i in range(len(changes)))
    if removals:
        parts += " REMOVE " + ", ".join(f"#{len(changes) + i}" for i in range(len(removals)))
    return parts, names, values
