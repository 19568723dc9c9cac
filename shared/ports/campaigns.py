"""Where campaigns, their lists and stored templates are kept, and the files behind them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from shared.frozen import dataclass
from shared.ports.common import After, Limit, Paged
from shared.ports.records import Idempotency, Mismatch, Replay, Stored

if TYPE_CHECKING:
    from shared.domain.audit import Event
    from shared.domain.campaigns.approval import ApprovalPolicy
    from shared.domain.campaigns.campaign import Campaign, StoredTemplate, Upload
    from shared.domain.content.content import Content
    from shared.domain.jobs.job import Job
    from shared.domain.jobs.ledger import Ledger
    from shared.domain.lists.uploads import BadRow, PackedChunk
    from shared.domain.pictures.picture import Picture, Shelf


@dataclass(frozen=True, slots=True)
class Listed:
    """A campaign in a list, without its message; `fits`: its unsent list has every column that the message names."""

    campaign: Campaign
    fits: bool


class Lists(Protocol):
    """Which jobs belong to a campaign."""

    def sent(self, campaign: str) -> Sequence[str]:
        """Return the jobs made from a campaign's lists, oldest first, consistent; none if it no longer exists."""


class Campaigns(Lists, Protocol):
    """Campaigns. Every write is all or nothing."""

    def create(
        self, campaign: Campaign, key: Idempotency | None, *, event: Event | None = None
    ) -> Stored | Replay | Mismatch:
        """Store a new campaign, with its idempotency record and an event, in one transaction."""

    def get(self, campaign: str) -> Campaign | None:
        """Return a campaign, consistent."""

    def save(self, old: Campaign, new: Campaign, *, event: Event | None = None) -> bool:
        """Write a campaign if it is unchanged since it was read. False: it has changed, and nothing is written."""

    def delete(self, campaign: Campaign, *, event: Event | None = None) -> bool:
        """Remove a campaign if it is as read; one that no longer exists counts as removed.

        `event`: kept only if this call removes it.
        """

    def page(self, account: str, *, test: bool, after: After, limit: Limit) -> tuple[list[Listed], str]:
        """Return some of the account's campaigns, newest first, and the place to continue from, empty at the end.

        A new campaign may be missing for a moment.

        Args:
            test: whether those of test keys are meant.
        """

    def to_send(self, campaign: Campaign) -> tuple[Upload | None, ApprovalPolicy]:
        """Return the list that a campaign has ready, and what its account asks of its lists, both consistent.

        Lists of test and team keys need no approval: for them the policy is that of an account without one.
        """

    def ask(
        self, old: Campaign, new: Campaign, key: Idempotency | None, *, event: Event
    ) -> Stored | Replay | Mismatch | None:
        """Store a campaign's request for approval, with its idempotency record and an event, in one transaction.

        Returns:
            None if the campaign has moved on.
        """

    def send(
        self,
        old: Campaign,
        new: Campaign,
        upload: Upload,
        job: Job,
        content: Content,
        key: Idempotency | None,
        *,
        event: Event | None = None,
        beside: Event | None = None,
        spent: tuple[ApprovalPolicy, ApprovalPolicy] | None = None,
    ) -> Stored | Replay | Mismatch | None:
        """Turn a list into a job, in one transaction: campaign, upload (SENT), job, the day's stats, events and key.

        Args:
            new: the campaign with its new job.
            beside: a second event.
            spent: the policy of approvals as read, and with this list's rows counted.

        Returns:
            None if the campaign, the upload or the policy has moved on.
        """


class Approvals(Protocol):
    """The limits from which on accounts' lists wait, and the campaigns that do."""

    def policy(self, account: str) -> ApprovalPolicy:
        """Return an account's policy, consistent; that of an account without one holds nothing."""

    def change(self, old: ApprovalPolicy, new: ApprovalPolicy, *, event: Event) -> bool:
        """Write a policy if it is as read."""

    def waiting(self, namespace: str) -> list[Campaign]:
        """Return campaigns that wait for approval, the oldest request first.

        A new request may be missing for a moment.
        """


class Templates(Paged["StoredTemplate"], Protocol):
    """Stored templates; every version of one stays until the template is deleted. A page has them without messages."""

    def create(
        self, template: StoredTemplate, key: Idempotency | None, *, event: Event | None = None
    ) -> Stored | Replay | Mismatch:
        """Store the first version of a new template, with its idempotency record and an event, in one transaction."""

    def put(
        self, old: StoredTemplate, new: StoredTemplate, key: Idempotency | None, *, event: Event | None = None
    ) -> Stored | Replay | Mismatch | None:
        """Store the next version of a template, and an event; None if `old` is no longer the latest one.

        Args:
            old: the latest version, as read.
        """

    def get(self, template: str, version: int | None = None) -> StoredTemplate | None:
        """Return a version of a template, by default the latest, consistent."""

    def versions(self, template: str, *, before: int, limit: Limit) -> list[StoredTemplate]:
        """Return versions of a template, the latest first, without their messages.

        Args:
            before: only versions below this one; 0 for all.
        """

    def delete(self, template: StoredTemplate, *, event: Event | None = None) -> bool:
        """Remove a template with all its versions, if it is as read; one that no longer exists counts as removed.

        `event`: kept only if this call removes it.
        """


class Uploads(Protocol):
    """Lists on their way, and what was read of them."""

    def add(self, upload: Upload) -> None:
        """Store a new upload."""

    def get(self, campaign: str, upload: str) -> Upload | None:
        """Return an upload, consistent."""

    def of(self, campaign: str) -> list[Upload]:
        """Return the campaign's uploads, oldest first."""

    def same(self, namespace: str, sha256: str) -> list[Upload]:
        """Return the newest uploads of a file, at most twenty; one that was just made may be missing for a moment.

        Args:
            sha256: the file's, as the uploads say.
        """

    def save(self, old: Upload, new: Upload) -> bool:
        """Write an upload if it is as read; False if it has moved on."""

    def begin(
        self, old: Campaign, new: Campaign, upload: Upload, queued: Upload, *, event: Event | None = None
    ) -> bool:
        """Have a file read, with campaign and upload in one transaction. False: one of them has changed.

        From here to `end` the upload is among `unread`.
        """

    def end(
        self, upload: Upload, ended: Upload, campaign: Campaign, freed: Campaign, *, event: Event | None = None
    ) -> bool:
        """Record that a file is read or cannot be used, with campaign and upload in one transaction."""

    def unread(self) -> Iterator[tuple[str, str]]:
        """Walk the uploads that are to be read, oldest first: campaign and upload."""

    def store(self, upload: Upload, chunks: Sequence[PackedChunk], ledgers: Sequence[Ledger]) -> None:
        """Store chunks and their ledgers, in this order.

        A stored chunk is written again. A stored ledger is replaced only if a lower version of the upload wrote it: an
        earlier lease. So a worker that comes late cannot change a ledger that is worked on. The ledgers of a step that
        was never counted are made anew.

        Args:
            upload: the upload as held; its version is that of the lease.
        """

    def note(self, upload: Upload, number: int, problems: Sequence[BadRow]) -> None:
        """Store the problems of one step. Problems that a later lease has stored under the number stay.

        Args:
            number: the number that the problems are stored under, from 0.
            problems: the rows that were left out, in the order of the file.
        """

    def problems(self, upload: Upload, *, after: int, limit: Limit) -> tuple[list[BadRow], int]:
        """Return problems by row, and the place of the next page, 0 at the end.

        Those of a step that is not counted yet are left out.

        Args:
            after: how many problems to pass over.
        """


@dataclass(frozen=True, slots=True)
class FileFacts:
    """A file's size in bytes, and its ETag without quotes."""

    size: int
    etag: str


class FileChanged(Exception):
    """The file is no longer the one that was asked for, or no longer exists."""


class Files(Protocol):
    """Files in the deployment's bucket."""

    def place(self, name: str, *, content_type: str, seconds: int, size: int = 0) -> tuple[str, Mapping[str, str]]:
        """Return a URL for uploading a file, and the headers that the upload must carry besides Content-Length.

        Args:
            content_type: the media type; it is one of the headers.
            seconds: how long the URL is valid.
            size: bytes that the file has to have; then one file is taken. 0: any number, and files replace one another.
        """

    def link(self, name: str, *, filename: str, seconds: int) -> str:
        """Return a URL for downloading a file.

        Args:
            filename: the name under which a browser saves it.
            seconds: how long the URL is valid.
        """

    def facts(self, name: str) -> FileFacts | None:
        """Return what is known of a file; None if there is none."""

    def read(self, name: str, *, etag: str, start: int) -> Iterator[bytes]:
        """Walk a file's bytes from an offset on, in blocks of up to 1 MB.

        Args:
            etag: the ETag of the version to read.
            start: the offset of the first byte.

        Raises:
            FileChanged: there is no file with that ETag.
            Retriable: the connection was lost; reading may continue from the same place.
        """

    def put(self, name: str, data: bytes) -> None:
        """Store a small file; repeating it is safe."""

    def get(self, name: str) -> bytes | None:
        """Return a small file, None if there is none."""

    def remove(self, name: str) -> None:
        """Remove a file; nothing happens if there is none."""


class Pictures(Protocol):
    """Which pictures accounts have. Their files are `Files`, under `Picture.path`."""

    def all(self, namespace: str) -> list[Picture]:
        """Return all pictures, newest first; a new one may be missing for a moment."""

    def get(self, namespace: str, picture: str) -> Picture | None:
        """Return a picture by its id, consistent."""

    def shelf(self, namespace: str) -> Shelf:
        """Return how many there are, consistent."""

    def add(self, picture: Picture, most: Shelf, *, event: Event) -> bool:
        """Store a picture, with an event, in one transaction. False: it is there already, or there is no room.

        Args:
            most: the most pictures, and bytes, of a namespace.
        """

    def mark(self, picture: Picture, *, event: Event) -> bool:
        """Mark a picture as deleted, with an event, before its file is removed. False: it has changed."""

    def remove(self, picture: Picture) -> bool:
        """Remove a marked picture, so that it takes no room. False: another did."""
