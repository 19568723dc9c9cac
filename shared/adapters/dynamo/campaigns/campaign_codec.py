"""Both directions of the items of campaigns and their uploads, and their compare-and-swaps."""

import json
import zlib
from collections.abc import Mapping, Sequence
from typing import Any, Final

from shared.adapters.dynamo import indices, keys
from shared.adapters.dynamo.client import Item
from shared.adapters.dynamo.codec import binary, n, s, swap, text
from shared.adapters.dynamo.fields import Fields
from shared.domain.campaigns.approval import Decided, PendingApproval
from shared.domain.campaigns.campaign import UNREAD, Campaign, Message, Upload
from shared.domain.hours.hours import OpenHours
from shared.domain.lists.uploads import BadRow, Checkpoint
from shared.ports import Listed

ASKED: Final = "asked"
DECIDED: Final = "decided"
"""Phases of a campaign that webhooks hear of; any other write takes them away."""
_TEST: Final = {False: "campaigns", True: "testcampaigns"}
"""Kind in the index `mine`; `campaign` are the campaigns' jobs."""


def campaign_item(x: Campaign) -> Item:
    """Return a campaign's item, with the keys of its index."""
    return {**keys.campaign(x.id), **_campaign_fields(x)}


_CAMPAIGN: Final = Fields(
    Campaign,
    apart=("id", "message", "asked", "decided", "hours"),
    always=("name", "channel", "credential", "unsubscribe", "updated_at"),
)


def _campaign_fields(x: Campaign) -> Item:
    out: Item = {
        **_CAMPAIGN.item(x),
        "message": {"B": x.message.pack()},
        "mine_pk": s(mine_pk(x.account, test=x.test)),
        "mine_sk": s(keys.aged(x.created_at, x.id)),
    }
    if x.hours is not None:
        out["hours"] = s(x.hours.text())
    if x.missing:
        out["unfit"] = {"BOOL": True}
    if x.asked is not None:
        out["asked"], out["phase"] = s(x.asked.pack()), s(ASKED)
        out["open_pk"] = s(indices.approvals_slot(x.namespace))
        out["open_sk"] = s(keys.aged(x.asked.at, x.id))
    if x.decided is not None:
        out["decided"], out["phase"] = s(x.decided.pack()), s(DECIDED)
    return out


def campaign(item: Mapping[str, Any]) -> Campaign:
    """Read a campaign; an item that was read without its message has an empty one."""
    message = Message.unpack(binary(item, "message")) if "message" in item else Message()
    hours = OpenHours.read(text(item, "hours")) if "hours" in item else None
    return Campaign(
        id=item["pk"]["S"][2:],
        message=message,
        asked=PendingApproval.unpack(text(item, "asked")) if "asked" in item else None,
        decided=Decided.unpack(text(item, "decided")) if "decided" in item else None,
        hours=hours,
        **_CAMPAIGN.read(item),
    )


def listed(item: Mapping[str, Any]) -> Listed:
    """Read a campaign for a list."""
    return Listed(campaign({k: v for k, v in item.items() if k != "message"}), fits="unfit" not in item)


def campaign_update(table: str, old: Campaign, new: Campaign) -> Item:
    """Return the update of a campaign, on the condition that its version is unchanged."""
    return swap(table, keys.campaign(old.id), _campaign_fields(old), _campaign_fields(new))


def mine_pk(account: str, *, test: bool) -> str:
    """Return the partition of the index `mine` with an account's campaigns, those of test keys apart."""
    return indices.mine_pk(account, _TEST[test])


def upload_item(x: Upload) -> Item:
    """Return an upload's item."""
    mine = {"mine_pk": s(lists_pk(x.namespace)), "mine_sk": s(f"{x.sha256}#{x.created_at:015d}")} if x.sha256 else {}
    return {**keys.upload(x.campaign, x.id), **_upload_fields(x), **mine}


def lists_pk(namespace: str) -> str:
    """Return the partition of the index `mine` with the lists of a namespace, by their files' hashes."""
    return indices.mine_pk(namespace, "lists")


_UPLOAD: Final = Fields(
    Upload,
    apart=("id", "campaign", "skipped", "checkpoint"),
    always=("channel", "credential", "blob"),
    names={"state": "phase"},
)
"""An upload's state is `phase`, since `state` is what the planner's stream looks for."""


def _upload_fields(x: Upload) -> Item:
    out = _UPLOAD.item(x)
    if x.skipped:
        out["skipped"] = {"M": {code: n(count) for code, count in sorted(x.skipped.items())}}
    if x.checkpoint is not None:
        out["checkpoint"] = s(json.dumps(x.checkpoint.document(), ensure_ascii=False, separators=(",", ":")))
    if x.state in UNREAD:
        out["open_pk"] = s(indices.INGEST_SLOT)
        out["open_sk"] = s(f"{keys.aged(x.created_at, x.campaign)}#{x.id}")
    return out


def upload(item: Mapping[str, Any]) -> Upload:
    """Read an upload."""
    return Upload(
        id=item["sk"]["S"][len(keys.UPLOAD_PREFIX) :],
        campaign=item["pk"]["S"][2:],
        skipped={code: int(count["N"]) for code, count in item["skipped"]["M"].items()} if "skipped" in item else None,
        checkpoint=Checkpoint.of(json.loads(text(item, "checkpoint"))) if "checkpoint" in item else None,
        **_UPLOAD.read(item),
    )


def upload_update(table: str, old: Upload, new: Upload) -> Item:
    """Return the update of an upload, on the condition that its version is unchanged."""
    return swap(table, keys.upload(old.campaign, old.id), _upload_fields(old), _upload_fields(new))


def problems_item(x: Upload, index: int, problems: Sequence[BadRow]) -> Item:
    """Return the item of one step's problems.

    Args:
        x: the upload as its writer holds it; the item has its version.
        index: the number that the problems are stored under, from 0.
        problems: the rows that were left out, in the order of the file.
    """
    rows = [(p.row, p.code, p.detail) for p in problems]
    key = keys.problems(x.campaign, x.id, index)
    more = shown_item([(p.sheet_row, p.value) for p in problems])
    return {**key, "rows": {"B": _packed(rows)}, **more, "version": n(x.version), "ttl": n(x.ttl)}


def problems(item: Mapping[str, Any]) -> list[BadRow]:
    """Read one step's problems. Those of an earlier version show only number, code and sentence."""
    rows = json.loads(zlib.decompress(binary(item, "rows")))
    more = shown(item) if "shown" in item else [(0, "")] * len(rows)
    return [BadRow(row, code, detail, *end) for (row, code, detail), end in zip(rows, more, strict=True)]


def shown(item: Mapping[str, Any]) -> list[tuple[int, str]]:
    """Read each problem's row in a spreadsheet, and its value; they are apart, so that values can be erased."""
    return [(row, value) for row, value in json.loads(zlib.decompress(binary(item, "shown")))]


def shown_item(rows: Sequence[tuple[int, str]]) -> Item:
    """Return the attribute that `shown` reads."""
    return {"shown": {"B": _packed(rows)}}


def _packed(rows: Sequence[tuple[int | str, ...]]) -> bytes:
    return zlib.compress(json.dumps(rows, ensure_ascii=False, separators=(",", ":")).encode(), 6)
