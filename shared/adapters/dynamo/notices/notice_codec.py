"""Both directions of a notice's item. Default values are left out, which keeps the item within a kilobyte."""

import json
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any, Final

from shared.adapters.dynamo import keys as every
from shared.adapters.dynamo.client import Item
from shared.adapters.dynamo.codec import n, number, s, text
from shared.adapters.dynamo.fields import Fields
from shared.adapters.dynamo.notices import keys
from shared.domain.jobs.labels import Labels
from shared.domain.notices.notice import (
    DeliveryMethod,
    Kept,
    Notice,
    NoticeData,
    NoticeRun,
    Verb,
)

_FIELDS: Final = Fields(Notice, apart=("uuid", "data", "gen", "run", "runs", "kept", "labels"), always=("expires_at",))


def notice_item(x: Notice) -> Item:
    """Return a notice's item."""
    out: Item = {
        **keys.notice(x.uuid),
        "mine_pk": s(keys.number_pk(x.account, x.data.phone)),
        "mine_sk": s(every.aged(x.created_at, x.uuid)),
        "data": s(_dumps(_data(x.data))),
        **_FIELDS.item(x),
    }
    if x.gen != 1:
        out["gen"] = n(x.gen)
    if labels := x.labels.text():
        out["labels"] = s(labels)
    return {**out, **_runs(x), **_due(x)}


def _runs(x: Notice) -> Item:
    """Return the attributes of a notice's runs, and of the verb that waits for one of them."""
    out: Item = {}
    if x.runs:
        out["runs"] = s(_dumps([_run(r) for r in x.runs]))
    if x.run is not None:
        out["run"] = s(_dumps(_run(x.run)))
    if x.kept is not None:
        data = None if x.kept.data is None else _data(x.kept.data)
        out["kept"] = s(_dumps([x.kept.verb.value, x.kept.sent, data]))
    return out


def _due(x: Notice) -> Item:
    """Return the attributes that place a notice in the index of what is due; none if nothing is.

    The index shows `campaign`, so that attribute has the notifier's name. Readers of the index then need not read a
    notice to find its notifier.
    """
    if x.due is None:
        return {}
    place = {"open_pk": s(keys.due_slot(keys.shard_of(x.notifier))), "open_sk": s(every.aged(x.due, x.uuid))}
    return {**place, "campaign": s(x.notifier)}


def notice(item: Mapping[str, Any]) -> Notice:
    """Read a notice's item."""
    verb, sent, data = json.loads(item["kept"]["S"]) if "kept" in item else ("", "", None)
    return Notice(
        uuid=item["pk"]["S"].partition("#")[2],
        data=_read_data(json.loads(item["data"]["S"])),
        gen=number(item, "gen", 1),
        run=_read_run(json.loads(item["run"]["S"])) if "run" in item else None,
        runs=tuple(_read_run(r) for r in json.loads(text(item, "runs", "[]"))),
        labels=Labels.read(text(item, "labels")),
        kept=Kept(Verb(verb), sent, None if data is None else _read_data(data)) if verb else None,
        **_FIELDS.read(item),
    )


def _dumps(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _data(x: NoticeData) -> list[Any]:
    dates = x.delivery.isoformat(), x.expires.isoformat()
    return [x.first_name, x.phone, x.template, x.method.value, *dates, x.start, x.end]


def _read_data(raw: Sequence[Any]) -> NoticeData:
    name, phone, template, method, delivery, expires, start, end = raw
    dates = date.fromisoformat(delivery), date.fromisoformat(expires)
    return NoticeData(name, phone, template, DeliveryMethod(method), *dates, start, end)


def _run(x: NoticeRun) -> list[Any]:
    return [x.job, x.index, x.gen, x.method.value]


def _read_run(raw: Sequence[Any]) -> NoticeRun:
    job, index, gen, method = raw
    return NoticeRun(job, index, gen, DeliveryMethod(method))
