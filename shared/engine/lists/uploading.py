"""Lists on their way in: a place for the file, then the client's report that it is there. Source: docs/uploads.md.

`ingest` reads the file. This module queues its upload, and closes the campaign for edits meanwhile, in one transaction.
The message on the queue is a hint. If it is lost, the sweeper repeats it.
"""

import csv
import io
import logging
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from functools import partial
from typing import Final

from shared.contracts import TEST_CREDENTIAL, Settings, ingest
from shared.domain.audit import SYSTEM, Act, Event, audited
from shared.domain.campaigns.campaign import MAX_JOBS, UNREAD, Campaign, Upload, UploadState
from shared.domain.content.templates import RECIPIENT
from shared.domain.ids import new_id
from shared.domain.lists.uploads import ListRules
from shared.domain.times import DAY_MS, USE_WITHIN_DAYS
from shared.frozen import dataclass
from shared.ports import Campaigns, Clock, Files, OpenPlaces, PlaceKind, Queue, Retriable, Uploads

WITHDRAWN: Final = "withdrawn"
"""The code of a list that was taken back. Its state is FAILED: an older version knows no other that is final."""
PLACE_SECONDS: Final = 3600
"""How long a place for a file is open; a transfer that has begun by then may end later."""
CONTENT_TYPE: Final = "text/csv"
DEFAULTS: Final = ListRules()
MOST_REMINDED: Final = 10
"""Lists of an account that one run of the sweeper queues again."""
_LOG: Final = logging.getLogger(__name__)


class Refusal(StrEnum):
    """Why a list is not taken; stable codes."""

    UPLOAD_IN_PROGRESS = "upload_in_progress"
    """Another list of the campaign is being read."""
    UPLOAD_MISSING = "upload_missing"
    """There is no file yet."""
    ETAG_MISMATCH = "etag_mismatch"
    """The file is not the one that the client has put."""
    EMPTY_FILE = "empty_file"
    ALREADY_SENT = "already_sent"
    """The list has become a job."""
    TOO_MANY_UPLOADS = "too_many_uploads"
    """The account has as many places for files as it may."""
    TOO_MANY_LISTS = "too_many_lists"
    """The campaign has sent as many lists as it may."""
    FILE_DELETED = "file_deleted"
    """The file of a list that is to be read again is no longer kept."""


@dataclass(frozen=True, slots=True)
class UploadTarget:
    """Where a list's file is to be put: one PUT of `url` with `headers`, until `expires_at` (Unix ms)."""

    upload: Upload
    url: str
    headers: Mapping[str, str]
    expires_at: int


class Uploading:
    """Takes lists for campaigns."""

    def __init__(
        self,
        *,
        campaigns: Campaigns,
        uploads: Uploads,
        files: Files,
        places: OpenPlaces,
        queue: Queue,
        settings: Settings,
        clock: Clock,
    ) -> None:
        """`queue`: the ingest function's."""
        self._campaigns = campaigns
        self._uploads = uploads
        self._files = files
        self._places = places
        self._queue = queue
        self._settings = settings
        self._clock = clock

    def start(
        self, campaign: Campaign, rules: ListRules = DEFAULTS, content_type: str = CONTENT_TYPE, size: int = 0
    ) -> UploadTarget | Refusal:
        """Give a place for a list's file. Nothing is closed for edits until the file is said to be there.

        An account has few places at once: one that ended, or whose file is said to be there, does not count.

        Args:
            rules: how the list is to be read.
            content_type: of the file; it is one of the place's headers. The first bytes show what the file really is.
            size: bytes of the file, if they are known: then no other size is taken.
        """
        refusal = _closed(campaign)
        if refusal is not None:
            return refusal
        upload = self._upload(campaign, rules)
        until = upload.created_at + PLACE_SECONDS * 1000
        name = f"{campaign.id}/{upload.id}"
        if not self._places.take(campaign.namespace, PlaceKind.LISTS, name, until, self._filled):
            return Refusal.TOO_MANY_UPLOADS
        self._uploads.add(upload)
        url, headers = self._files.place(upload.blob, content_type=content_type, seconds=PLACE_SECONDS, size=size)
        return UploadTarget(upload, url, headers, until)

    def _filled(self, names: Sequence[str]) -> list[str]:
        """Return those places whose file is said to be there. One that was withdrawn before still takes a file."""
        found = {name: self._uploads.get(*name.split("/")) for name in names}
        return [name for name, upload in found.items() if upload is not None and upload.etag]

    def sent_before(self, campaign: Campaign, sha256: str) -> Upload | None:
        """Return the newest list of the same file that a campaign of the same keys has sent; None if there is none.

        Args:
            sha256: the file's, hex; empty: nothing is found.
        """
        found = self._uploads.same(campaign.namespace, sha256) if sha256 else []
        return next((x for x in found if x.state is UploadState.SENT), None)

    def complete(
        self, campaign: Campaign, upload_id: str, etag: str = "", *, by: str = SYSTEM
    ) -> Upload | Refusal | None:
        """Queue a file that was put into its place, to be read. A repetition changes nothing and returns the state.

        Args:
            upload_id: what `start` named.
            etag: of the file as its client knows it, or empty: then any file that is there is read.

        Returns:
            The upload, or why it cannot be read, or None if the campaign has no such upload.
        """
        wanted = etag.strip('"')
        current: Campaign | None = campaign
        while current is not None:
            upload = self._uploads.get(current.id, upload_id)
            if upload is None:
                return None
            if upload.state is not UploadState.WAITING:
                return self._again(upload, wanted)
            refusal = _closed(current)
            if refusal is not None:
                return refusal
            facts = self._files.facts(upload.file)
            if facts is None:
                return Refusal.UPLOAD_MISSING
            if wanted and facts.etag != wanted:
                return Refusal.ETAG_MISMATCH
            if facts.size == 0:
                return Refusal.EMPTY_FILE
            now = self._now()
            queued = upload.changed(
                state=UploadState.QUEUED,
                etag=facts.etag,
                size=facts.size,
                queued_at=now,
                credential=_lane(current),  # may have been changed since the place was given
            )
            event = _event(upload, now, Act.LIST_ADDED, by)
            closed = current.changed(now, uploading=upload.id)
            if self._uploads.begin(current, closed, upload, queued, event=event):
                self._tell(queued)
                return queued
            current = self._campaigns.get(campaign.id)
        return None

    def withdraw(self, campaign: Campaign, upload_id: str, *, by: str = SYSTEM) -> Upload | Refusal | None:
        """Take back a list that was not sent: it is never sent, and no longer in the way of anything.

        One that is being read is read no further. Repeating it changes nothing; neither does withdrawing a list that
        could not be used.

        Args:
            upload_id: what `start` named.

        Returns:
            The upload, or ALREADY_SENT, or None if the campaign has no such upload.
        """
        current: Campaign | None = campaign
        while current is not None:
            upload = self._uploads.get(current.id, upload_id)
            if upload is None or upload.state is UploadState.FAILED:
                return upload
            if upload.state is UploadState.SENT:
                return Refusal.ALREADY_SENT
            now = self._now()
            ended = upload.changed(
                state=UploadState.FAILED,
                code=WITHDRAWN,
                detail="The list was withdrawn.",
                finished_at=now,
                owner="",  # an invocation that reads it loses the lease
                until=0,
            )
            freed = replace(
                current.changed(now),
                uploading="" if current.uploading == upload.id else current.uploading,
                ready="" if current.ready == upload.id else current.ready,
                columns=() if current.ready == upload.id else current.columns,
            )
            event = _event(upload, now, Act.LIST_WITHDRAWN, by)
            if self._uploads.end(upload, ended, current, freed, event=event):
                return ended
            current = self._campaigns.get(campaign.id)
        return None

    def put(
        self,
        campaign: Campaign,
        data: bytes,
        rules: ListRules = DEFAULTS,
        *,
        claim: Callable[[str], str] = lambda upload: upload,
        by: str = SYSTEM,
    ) -> Upload | Refusal | None:
        """Take a small list that came in a request.

        Args:
            data: the list as CSV, see `as_csv`, or a workbook.
            rules: how the list is to be read.
            claim: called with the new upload's id; returns the id of the upload to read, another one if an earlier
                request was the same.
        """
        refusal = _closed(campaign) if data else Refusal.EMPTY_FILE
        if refusal is not None:
            return refusal
        upload = self._upload(campaign, rules)
        self._files.put(upload.blob, data)
        self._uploads.add(upload)
        return self.complete(campaign, claim(upload.id), by=by)

    def reuse(
        self,
        campaign: Campaign,
        found: Upload,
        rules: ListRules,
        *,
        claim: Callable[[str], str] = lambda upload: upload,
        by: str = SYSTEM,
    ) -> Upload | Refusal | None:
        """Take the file of another list of the same keys, to be read anew. The file stays that list's own.

        Args:
            campaign: the one that is to have the list.
            found: the other list, of any campaign.
            rules: how the file is to be read.
            claim: as `put` takes it.
        """
        refusal = _closed(campaign) or (None if found.etag else Refusal.UPLOAD_MISSING)
        if refusal is not None:
            return refusal
        if self._files.facts(found.file) is None:
            return Refusal.FILE_DELETED
        upload = replace(self._upload(campaign, rules), shares=found.file, shared_at=found.put_at)
        self._uploads.add(upload)
        return self.complete(campaign, claim(upload.id), found.etag, by=by)

    def _again(self, upload: Upload, wanted: str) -> Upload | Refusal:
        if wanted and upload.etag != wanted:
            return Refusal.ETAG_MISMATCH
        if upload.state is UploadState.SENT:
            return Refusal.ALREADY_SENT
        if upload.state is UploadState.QUEUED:
            self._tell(upload)
        return upload

    def _tell(self, upload: Upload) -> None:
        try:
            self._queue.send([ingest(upload.campaign, upload.id)], group=upload.account)
        except Retriable:  # the list is taken: the sweeper sends the message
            _LOG.warning("ingest not asked for", extra={"upload": upload.id})

    def _upload(self, campaign: Campaign, rules: ListRules) -> Upload:
        now = self._now()
        name = new_id(now)
        days = USE_WITHIN_DAYS + self._settings.kept_days
        return Upload(
            id=name,
            campaign=campaign.id,
            account=campaign.account,
            test=campaign.test,
            channel=campaign.channel,
            credential=_lane(campaign),
            blob=f"uploads/{campaign.account}/{campaign.id}/{name}",
            state=UploadState.WAITING,
            created_at=now,
            ttl=(now + days * DAY_MS) // 1000,
            region=rules.region,
            drop_duplicates=rules.drop_duplicates,
            column=rules.column,
            strict=rules.strict,
            sha256=rules.sha256,
            sheet=rules.sheet,
            encoding=rules.encoding,
            keep_hidden=rules.keep_hidden,
            header_row=rules.header_row,
            zones=campaign.hours is not None and campaign.hours.by_recipient,
        )

    def _now(self) -> int:
        return int(self._clock.now() * 1000)


@dataclass(frozen=True, slots=True)
class Reminder:
    """The sweeper's part: lists that are to be read, and that no invocation reads."""

    uploads: Uploads
    queue: Queue
    clock: Clock

    def walk(self) -> Iterator[tuple[str, Callable[[], None]]]:
        """Yield every list that is to be read, with what queues it again if no invocation reads it.

        Of an account the oldest ones are queued: they are read one after the other anyway.
        """
        reminded: Counter[str] = Counter()
        for campaign, upload in self.uploads.unread():
            yield upload, partial(self._remind, campaign, upload, reminded)

    def _remind(self, campaign: str, upload: str, reminded: Counter[str]) -> None:
        found = self.uploads.get(campaign, upload)
        if found is None or found.state not in UNREAD or found.until > self.clock.now() * 1000:
            return
        if reminded[found.account] < MOST_REMINDED:
            reminded[found.account] += 1
            self.queue.send([ingest(campaign, upload)], group=found.account)


def as_csv(rows: Sequence[Mapping[str, str]]) -> bytes:
    """Return a list that came as objects as the CSV file that it would be; a column `recipient` comes first.

    A row without one of the columns has an empty cell there.
    """
    names = dict.fromkeys(name for row in rows for name in row)
    columns = sorted(names, key=lambda name: name != RECIPIENT)
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, restval="", lineterminator="\r\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode(errors="surrogatepass")


def _event(upload: Upload, now: int, act: Act, by: str) -> Event:
    shares = {"file_of": upload.shares.rpartition("/")[2]} if upload.shares else {}
    return audited(upload.namespace, now, upload.campaign, act, by, {"list": upload.id, **shares})


def _closed(campaign: Campaign) -> Refusal | None:
    if campaign.uploading:
        return Refusal.UPLOAD_IN_PROGRESS
    return Refusal.TOO_MANY_LISTS if len(campaign.jobs) >= MAX_JOBS else None


def _lane(campaign: Campaign) -> str:
    return TEST_CREDENTIAL if campaign.test else campaign.credential
