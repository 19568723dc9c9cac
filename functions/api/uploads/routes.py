"""Lists of campaigns: a place for a file, word that it is there, what was found in it; or a small list at once."""

import json
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final, TypeAlias

from functions.api.call import Call, now_of
from functions.api.campaigns.requests import (
    ListOptions,
    NewUpload,
    ReadingOptions,
    Recipients,
    StoredList,
    UploadDone,
    Value,
)
from functions.api.campaigns.rules import by_name, owned, refused, region_of
from functions.api.uploads.views import PlaceView, TakenList, UploadView, earlier_list, upload_view
from shared.domain.accounts import Scope
from shared.domain.campaigns.campaign import Campaign, Upload, UploadState
from shared.domain.channels.lookup import channel_of
from shared.domain.ids import is_id
from shared.domain.lists.encodings import UTF8
from shared.domain.lists.uploads import ListRules
from shared.domain.recipients.reader import number_reader
from shared.engine.lists.kept import newest, rules_of, why_deleted
from shared.engine.lists.uploading import Refusal, as_csv
from shared.ports import Mismatch, Replay
from shared.web import cursors
from shared.web.http import Answer
from shared.web.idempotency import earlier, record_of, repeated
from shared.web.inputs import Paging
from shared.web.problems import Problem, invalid, missing
from shared.web.routing import Nothing, Route, media_type, section
from shared.web.views import moment

CSV: Final = "text/csv"
WORKBOOKS: Final = (
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "application/vnd.oasis.opendocument.spreadsheet",
)
"""Media types of .xlsx and .ods."""
FILE: Final = "application/octet-stream"
"""The media type of a CSV file or a workbook as it is: API Gateway hands over its bytes, and does not decode them."""

Claim: TypeAlias = Callable[[str], str]
"""Claims an idempotency key for an upload's id; returns the id of the upload to read."""


def start(call: Call[Nothing, NewUpload]) -> Answer:
    """Give a place for a file."""
    campaign = owned(call)
    before = earlier(call, 201)
    if before is not None:
        return before
    rules = replace(_rules(call, campaign, call.body), sha256=call.body.sha256 or "")
    uploading = call.services.campaigns().uploading
    place = uploading.start(campaign, rules, call.body.content_type, call.body.size or 0)
    if isinstance(place, Refusal):
        raise refused(place)
    answer = PlaceView(
        upload_id=place.upload.id,
        url=place.url,
        method="PUT",
        headers=dict(place.headers),
        expires_at=moment(place.expires_at),
        sent_before=earlier_list(uploading.sent_before(campaign, rules.sha256)),
    ).model_dump_json()
    again = _kept(call, answer, place.upload.id)
    if again is not None:
        return repeated(again, 201)  # the place that was just given stays unused
    return Answer(201, answer, {"Location": f"/campaigns/{campaign.id}/uploads/{place.upload.id}"})


def complete(call: Call[Nothing, UploadDone]) -> Answer:
    """Have the file read."""
    campaign = owned(call)
    name = call.path["upload_id"]
    uploading, etag = call.services.campaigns().uploading, call.body.etag or ""
    found = uploading.complete(campaign, name, etag, by=call.key.id) if is_id(name) else None
    if found is None:
        raise missing("upload", name)
    if isinstance(found, Refusal):
        raise refused(found)
    return upload_view(found, campaign, now_of(call), call.services.settings.prices).answer(202)


def read(call: Call[Paging, Nothing]) -> Answer:
    """Return the state of a list, with a page of its problems."""
    campaign = owned(call)
    name = call.path["upload_id"]
    uploads = call.services.campaigns().uploads
    found = uploads.get(campaign.id, name) if is_id(name) else None
    if found is None:
        raise missing("upload", name)
    errors, after = uploads.problems(found, after=cursors.number(call.query.cursor), limit=call.query.limit)
    cursor = cursors.write(str(after)) if after else None
    return upload_view(found, campaign, now_of(call), call.services.settings.prices, errors, cursor).answer()


def withdraw(call: Call[Nothing, Nothing]) -> Answer:
    """Take back a list that was not sent."""
    campaign = owned(call)
    name = call.path["upload_id"]
    found = call.services.campaigns().uploading.withdraw(campaign, name, by=call.key.id) if is_id(name) else None
    if found is None:
        raise missing("upload", name)
    if isinstance(found, Refusal):
        raise refused(found)
    return upload_view(found, campaign, now_of(call), call.services.settings.prices).answer()


def put(call: Call[ListOptions, Recipients]) -> Answer:
    """Take a small list: JSON, or CSV as it is."""
    campaign = owned(call)
    before = _taken_before(call, campaign)
    if before is not None:
        return before
    rules = _rules(call, campaign, call.query)
    kind = media_type(call.request)
    file = kind in (CSV, FILE, *WORKBOOKS)
    if kind != FILE and rules.encoding not in ("", UTF8):
        raise invalid("encoding", f"Send the file's bytes as {FILE}. Any other body is UTF-8.")
    data = call.request.body if file else as_csv([_row(i, row) for i, row in enumerate(call.body.recipients)])
    uploading = call.services.campaigns().uploading
    return _once(call, campaign, lambda claim: uploading.put(campaign, data, rules, claim=claim, by=call.key.id))


def again(call: Call[Nothing, StoredList]) -> Answer:
    """Read a list again whose file is still kept."""
    campaign = owned(call)
    before = _taken_before(call, campaign)
    if before is not None:
        return before
    found = _stored(call, owned(call, call.body.list_of or ""))
    rules = _changed(call, campaign, found)
    uploading = call.services.campaigns().uploading

    def take(claim: Claim) -> Upload | Refusal | None:
        taken = uploading.reuse(campaign, found, rules, claim=claim, by=call.key.id)
        if taken is Refusal.FILE_DELETED:
            raise Problem(taken.value, why_deleted(found, now_of(call), call.services.settings.uploads_days))
        return taken

    return _once(call, campaign, take)


def _stored(call: Call[Nothing, StoredList], of: Campaign) -> Upload:
    """Return the list of a campaign that a request means."""
    uploads, name = call.services.campaigns().uploads, call.body.upload_id
    if name is None:
        found = newest(uploads.of(of.id))
        if found is None:
            raise Problem("no_list", "The campaign has no list whose file was read.")
        return found
    found = uploads.get(of.id, name) if is_id(name) else None
    if found is None:
        raise missing("upload", name)
    return found


def _changed(call: Call[Nothing, StoredList], campaign: Campaign, found: Upload) -> ListRules:
    """Return how a list is read again: as before, with what the request says."""
    asked, before = call.body, rules_of(found, campaign.channel)
    return replace(
        before,
        region=_region(call, campaign, asked.region or before.region or None),
        drop_duplicates=before.drop_duplicates if asked.duplicates is None else asked.duplicates == "drop",
        column=asked.recipient_column or before.column,
        header_row=asked.header_row or before.header_row,
        strict=before.strict if asked.strict is None else asked.strict,
        keep_hidden=before.keep_hidden if asked.hidden_rows is None else asked.hidden_rows == "keep",
        sheet=asked.sheet or before.sheet,
        encoding=asked.encoding or before.encoding,
    )


def _taken_before(call: Call[Any, Any], campaign: Campaign) -> Answer | None:
    """Return the answer to a request that came before, None to a new one.

    The one who asked first may have stopped before the list began to be read.
    """
    before = earlier(call, 202)
    if before is not None:
        again_of: str = json.loads(before.body)["upload_id"]
        found = call.services.campaigns().uploading.complete(campaign, again_of, by=call.key.id)
        _told(found, campaign.id, but=Refusal.ALREADY_SENT)
    return before


def _once(call: Call[Any, Any], campaign: Campaign, take: Callable[[Claim], Upload | Refusal | None]) -> Answer:
    """Have a list read, once for an idempotency key. `take`: called with what claims the key for an upload's id."""
    again: list[Replay] = []

    def claim(upload: str) -> str:
        found = _kept(call, _taken(campaign, upload), upload)
        if found is None:
            return upload
        if isinstance(found, Mismatch):
            raise Problem("idempotency_mismatch")
        again.append(found)
        name: str = json.loads(found.answer)["upload_id"]
        return name

    upload = _told(take(claim), campaign.id)
    return repeated(again[0], 202) if again else Answer(202, _taken(campaign, upload))


def _told(found: Any, campaign: str, *, but: Refusal | None = None) -> str:
    """Return the id of an upload that is taken, or raise why it is not; `campaign`: the id of its campaign."""
    if found is None:
        raise missing("campaign", campaign)
    if isinstance(found, Refusal):
        if found is but:
            return ""
        raise refused(found)
    name: str = found.id
    return name


def _taken(campaign: Campaign, upload: str) -> str:
    return TakenList(campaign_id=campaign.id, upload_id=upload, state=UploadState.QUEUED).model_dump_json()


def _kept(call: Call[Any, Any], answer: str, upload: str) -> Replay | Mismatch | None:
    record = record_of(call, answer)
    found = call.services.answers.keep(record, upload) if record else None
    return found if isinstance(found, Replay | Mismatch) else None


def _row(index: int, row: dict[str, Value]) -> dict[str, str]:
    return by_name(f"recipients.{index}", {name: _cell(value) for name, value in row.items()})


def _cell(value: Value) -> str:
    if value is None:
        return ""
    if isinstance(value, float) and not math.isfinite(value):
        raise invalid("recipients", "A number must be finite.")
    return value if isinstance(value, str) else json.dumps(value)


def _rules(call: Call[Any, Any], campaign: Campaign, asked: ReadingOptions) -> ListRules:
    """Return how a list is to be read."""
    return ListRules(
        region=_region(call, campaign, asked.region),
        drop_duplicates=asked.duplicates == "drop",
        column=asked.recipient_column or "",
        header_row=asked.header_row or 0,
        strict=asked.strict,
        keep_hidden=asked.hidden_rows == "keep",
        sheet=asked.sheet or "",
        encoding=asked.encoding or "",
    )


def _region(call: Call[Any, Any], campaign: Campaign, wanted: str | None) -> str:
    """Return the country of numbers without a country code: the call's, or the account's."""
    if wanted is None:
        return region_of(call, campaign)
    try:
        number_reader(wanted)
    except ValueError:
        raise invalid("region", "Use a country code of ISO 3166, such as DE.") from None
    return wanted if channel_of(campaign.channel).numbers else ""


_CLOSED: Final = ("not_found", "upload_in_progress", "too_many_lists")

ROUTES: Final = section(
    "Campaigns",
    Route(
        method="POST",
        path="/campaigns/{id}/uploads",
        name="createUpload",
        summary="A place for a list's file",
        description="Put the file there, then complete the upload: CSV of up to 5 GB, or a workbook (.xlsx, .ods) of "
        "up to 150 MB. A workbook is made into CSV before it is read.",
        scope=Scope.SEND,
        handler=start,
        answers={201: PlaceView},
        problems=(*_CLOSED, "too_many_uploads"),
        idempotent=True,
    ),
    Route(
        method="POST",
        path="/campaigns/{id}/uploads/{upload_id}/complete",
        name="completeUpload",
        summary="Have the file read",
        description="Repeating it changes nothing. Until it is read the campaign cannot be changed.",
        scope=Scope.SEND,
        handler=complete,
        answers={202: UploadView},
        problems=(*_CLOSED, "upload_missing", "etag_mismatch", "empty_file", "already_sent"),
    ),
    Route(
        method="GET",
        path="/campaigns/{id}/uploads/{upload_id}",
        name="getUpload",
        summary="A list's state, and the problems of its rows",
        scope=Scope.READ,
        handler=read,
        answers={200: UploadView},
        problems=("not_found", "bad_cursor"),
    ),
    Route(
        method="DELETE",
        path="/campaigns/{id}/uploads/{upload_id}",
        name="deleteUpload",
        summary="Withdraw a list that was not sent",
        description="It is never sent: its state is `failed`, its code `withdrawn`. A list that is being read is read "
        "no further. A campaign that has sent nothing can then be deleted. Its rows can no longer be read; they are "
        "deleted when their 30 days are over. Repeating it changes nothing.",
        scope=Scope.SEND,
        handler=withdraw,
        answers={200: UploadView},
        problems=("not_found", "already_sent"),
    ),
    Route(
        method="PUT",
        path="/campaigns/{id}/recipients",
        name="putRecipients",
        summary="A small list at once",
        description="As JSON, as CSV with `Content-Type: text/csv`, or as a workbook (.xlsx, .ods) with its media "
        "type; up to 5 MB. It is read like an uploaded one. A CSV file that is not UTF-8 has the type "
        "`application/octet-stream`, and its `encoding` is named.",
        scope=Scope.SEND,
        handler=put,
        answers={202: TakenList},
        problems=(*_CLOSED, "empty_file", "already_sent"),
        idempotent=True,
        media=(CSV, FILE, *WORKBOOKS),
        bytes_media=(FILE, *WORKBOOKS),
    ),
    Route(
        method="POST",
        path="/campaigns/{id}/recipients",
        name="useList",
        summary="A list that is kept, read again",
        description="Reads the file of a list of the same account anew, so that suppressions and unsubscribes of now "
        "count. Use it for another campaign's list (`list_of`), or to read the campaign's own with other options.",
        scope=Scope.SEND,
        handler=again,
        answers={202: TakenList},
        problems=(*_CLOSED, "no_list", "file_deleted", "upload_missing", "etag_mismatch", "already_sent"),
        idempotent=True,
    ),
)
