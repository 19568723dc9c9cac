"""Campaigns: a message with placeholders, a list of recipients, one credential. Source: docs/campaigns.md.

A campaign is edited and given lists. Sending turns each list into one job with the id of the list. An upload is a list
before that: its file, then the chunks read from the file. Both are items with a version; every write is a
compare-and-swap.
"""

import json
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from enum import StrEnum
from typing import Any, Final

from shared.domain.campaigns.approval import Decided, PendingApproval, approval_id
from shared.domain.campaigns.variants import NONE, Variants
from shared.domain.channels.lookup import channel_of
from shared.domain.channels.sms import SMS
from shared.domain.content.content import Mailbox, Speech
from shared.domain.content.templates import RECIPIENT, UNSUBSCRIBE_URL, Template, variables
from shared.domain.hours.hours import OpenHours
from shared.domain.lists.gaps import LANDLINES, Gap
from shared.domain.lists.rows import Position
from shared.domain.lists.uploads import Checkpoint
from shared.domain.namespaces import namespace
from shared.domain.times import Millis
from shared.frozen import dataclass

MAX_JOBS: Final = 100
"""Lists that one campaign may send."""
MAX_VERSIONS: Final = 1000
"""Versions of a stored template."""
MAX_PACKED: Final = 300_000
"""Bytes of a campaign's templates, compressed: its item contains them."""


@dataclass(frozen=True, slots=True)
class Message:
    """The message of a campaign, with placeholders. SMS and voice have only `body`, as plain text.

    Attributes:
        body: HTML for e-mail.
        text: the text part of an e-mail; empty: derived from `body` when it is sent.
        sender: an e-mail's From, or the number or name that a short message comes from; None: the credential's own.
        speech: how a call reads `body`; None: the provider's default, or it is no call.
    """

    subject: str = ""
    body: str = ""
    text: str = ""
    sender: Mailbox | None = None
    reply_to: Mailbox | None = None
    speech: Speech | None = None

    def templates(self, channel: str) -> tuple[Template, ...]:
        """Return its templates, compiled, subject first.

        Raises:
            templates.InvalidTemplateError: one of them is refused; those of a stored message are not.
        """
        parts = ((getattr(self, name), kind) for name, kind in channel_of(channel).kinds.items())
        return tuple(Template.parse(text, kind) for text, kind in parts if text)

    def missing(self, channel: str, columns: Iterable[str], *, unsubscribe: bool) -> tuple[str, ...]:
        """Return the variables that no column fills, in the order of their appearance.

        Args:
            columns: the list's columns, as its header names them.
            unsubscribe: whether the campaign offers to unsubscribe, so that the link needs no column.
        """
        there = {c.strip().lower() for c in columns} | {RECIPIENT} | ({UNSUBSCRIBE_URL} if unsubscribe else set())
        return tuple(v for v in variables(self.templates(channel)) if v not in there)

    def pack(self) -> bytes:
        """Serialise: JSON, compressed."""
        document = asdict(self)
        if self.speech is None:
            del document["speech"]  # other messages are stored as before
        return zlib.compress(json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode(), 6)

    @classmethod
    def unpack(cls, data: bytes) -> "Message":
        """Read what `pack` wrote."""
        raw = json.loads(zlib.decompress(data))
        boxes = {k: Mailbox(**raw[k]) if raw[k] else None for k in ("sender", "reply_to")}
        return cls(**(raw | boxes | {"speech": Speech.read(raw.get("speech"))}))


@dataclass(frozen=True, slots=True)
class Campaign:
    """A campaign. Times are Unix milliseconds.

    Attributes:
        test: made with a test key: its jobs go through the built-in credential.
        credential: the one it sends through.
        template: id of the stored template that its message was taken from, or empty; `template_version`: the version
            taken.
        uploading: the upload whose file is being read, or empty; as long as there is one nothing is edited.
        ready: the upload that is read and not sent yet, or empty.
        columns: names of that list's columns.
        jobs: the lists that were sent, oldest first; a job's id is its upload's.
        guard_off: its owner has overridden the bounce guard, for good.
        unsubscribe: e-mail: offer one-click unsubscription, and leave out who has used it.
        asked: a request for approval of its unsent list; `decided`: the end of the last one. Any change drops both.
        hours: when its messages may be sent; None: at any time.
    """

    id: str
    account: str
    test: bool
    name: str
    channel: str
    credential: str
    message: Message
    created_at: int
    template: str = ""
    template_version: int = 0
    uploading: str = ""
    ready: str = ""
    columns: tuple[str, ...] = ()
    jobs: tuple[str, ...] = ()
    guard_off: bool = False
    unsubscribe: bool = True
    hours: OpenHours | None = None
    updated_at: int = 0
    version: int = 1
    asked: PendingApproval | None = None
    decided: Decided | None = None

    @property
    def namespace(self) -> str:
        """The namespace whose suppressions apply to its lists: of the account's live keys, or of its test keys."""
        return namespace(self.account, test=self.test)

    @property
    def missing(self) -> tuple[str, ...]:
        """Variables of its message that its unsent list has no column for; while there are any it is not sent."""
        return self.lacks(self.columns) if self.ready else ()

    @property
    def waiting(self) -> PendingApproval | None:
        """The request for approval of what it says now; None: nothing waits."""
        return self.asked if self.asked is not None and self.asked.version == self.version else None

    def shown(self, upload: "Upload", asked: PendingApproval) -> str:
        """Return the id of a request, made of all that an approver is shown. `asked`: its own id does not count."""
        return approval_id(
            {
                "campaign": [self.id, self.version, self.name, self.channel, self.credential, self.unsubscribe],
                "guard_off": self.guard_off,
                "message": asdict(self.message),
                "list": [upload.id, upload.blob, upload.etag, upload.size, upload.version, asked.rows, asked.skipped],
                "order": [asked.rate, asked.not_before],
                "asked": [asked.by, asked.person, asked.at],
            }
        )

    def lacks(self, columns: Iterable[str]) -> tuple[str, ...]:
        """Return variables of its message that a list with these columns has no value for."""
        return self.message.missing(self.channel, columns, unsubscribe=self.unsubscribe)

    @property
    def linkless(self) -> bool:
        """Tell whether it offers to unsubscribe, but its body shows no link for that."""
        body = Template.parse(self.message.body, channel_of(self.channel).kinds["body"])
        return self.unsubscribe and UNSUBSCRIBE_URL not in variables([body])

    def gaps(self, upload: "Upload") -> tuple[Gap, ...] | None:
        """Return the values of its message that rows of a list lack, and that have no default.

        Returns:
            None: the list is not ready, or an earlier version has read it, which did not count them.
        """
        counted = upload.counted
        used = set(self.lacks(())) & {v for t in self.message.templates(self.channel) for v in t.needed}
        return None if counted is None else tuple(gap for gap in counted if gap.column in used)

    def landlines(self, upload: "Upload") -> Gap | None:
        """Return the rows of a list of texts whose number takes none; as `gaps`, and None of other channels too."""
        if upload.counted is None or self.channel != SMS.name:
            return None
        return next((gap for gap in upload.counted if gap.column == LANDLINES), Gap(LANDLINES, 0, ()))

    def changed(self, now: Millis, **changes: Any) -> "Campaign":
        """Return it with changes, one version on. A request about it is dropped, and the answer to one."""
        kept: dict[str, Any] = {"asked": None, "decided": None, **changes}
        return replace(self, updated_at=now, version=self.version + 1, **kept)


@dataclass(frozen=True, slots=True)
class StoredTemplate:
    """A message kept for many campaigns, as of one of its versions. Times are Unix milliseconds.

    Attributes:
        test: made with a test key: live keys neither see nor use it.
        version: from 1; each change makes the next one, and earlier ones stay.
        saved_at: when this version was made; `created_at`: the template.
        variants: what it says by other channels, to notices.
    """

    id: str
    account: str
    name: str
    channel: str
    message: Message
    created_at: int
    saved_at: int
    version: int = 1
    test: bool = False
    variants: Variants = NONE

    @property
    def namespace(self) -> str:
        """Whose it is: the account's live keys', or its test keys'."""
        return namespace(self.account, test=self.test)

    @property
    def texts(self) -> Mapping[str, str]:
        """Channel → text for phone numbers: the campaign's own text, if it is for such a channel, and the variants."""
        own = {} if channel_of(self.channel).rich else {self.channel: self.message.body}
        return {**own, **self.variants.texts}

    @property
    def speech(self) -> Speech | None:
        """How a call says its text: the template's own if it is of that channel, else the variant's."""
        return self.message.speech or self.variants.speech


class UploadState(StrEnum):
    """The state of a list."""

    WAITING = "waiting"
    """Its file is awaited."""
    QUEUED = "queued"
    """Its file is complete and waits to be read."""
    READING = "reading"
    READY = "ready"
    SENT = "sent"
    """It has become a job."""
    FAILED = "failed"
    """Its file cannot be used; `code` says why."""


UNREAD: Final = frozenset({UploadState.QUEUED, UploadState.READING})
"""Uploads that the ingest function works on."""


@dataclass(frozen=True, slots=True)
class Upload:
    """A list between its upload and its sending. Times are Unix milliseconds.

    Attributes:
        id: also that of the job that it becomes.
        blob: name of its file in the bucket; `etag` (without quotes) and `size` (bytes) once it is there.
        shares: name of another list's file, which it reads instead of one of its own; `shared_at`: when that was given
            its place.
        csv: name of the CSV that was made of its file; empty if the file is CSV in UTF-8. `csv_etag` and `csv_size`
            likewise.
        region: country whose numbers need no country code; `drop_duplicates`, `column`, `strict`, `sha256`,
            `sheet`, `encoding`, `keep_hidden` and `header_row` as in `uploads.ListRules`.
        zones: its chunks hold recipients of one zone each.
        hidden: rows of a workbook that its user does not see.
        credential: the lane of its ledgers.
        code: of a file that cannot be used, stable; `detail` a sentence.
        columns: names of its columns once it is read.
        skipped: recipients not to be sent to, by code.
        problems: items of problems that are stored; each holds those of one step.
        checkpoint: where reading continues; None before the first.
        owner: invocation that reads it; `until` the end of its lease. Without an owner: not to be read before `until`.
        queued_at: when its file was there and it began to wait for being read.
        waits: another list of its account is read first.
        starts: leases taken since the checkpoint last moved.
        ttl: Unix seconds when the items read from its file may be removed.
    """

    id: str
    campaign: str
    account: str
    test: bool
    channel: str
    credential: str
    blob: str
    state: UploadState
    created_at: int
    ttl: int
    region: str = ""
    drop_duplicates: bool = False
    column: str = ""
    strict: bool = False
    sha256: str = ""
    sheet: str = ""
    encoding: str = ""
    keep_hidden: bool = False
    header_row: int = 0
    zones: bool = False
    hidden: int = 0
    shares: str = ""
    shared_at: int = 0
    etag: str = ""
    size: int = 0
    csv: str = ""
    csv_etag: str = ""
    csv_size: int = 0
    code: str = ""
    detail: str = ""
    columns: tuple[str, ...] = ()
    skipped: Mapping[str, int] | None = None
    problems: int = 0
    checkpoint: Checkpoint | None = None
    owner: str = ""
    until: int = 0
    queued_at: int = 0
    starts: int = 0
    finished_at: int = 0
    waits: bool = False
    version: int = 1

    @property
    def namespace(self) -> str:
        """Whose list it is: the account's live keys', or its test keys'."""
        return namespace(self.account, test=self.test)

    @property
    def counted(self) -> tuple[Gap, ...] | None:
        """What its rows lack. None: it is not ready, or an earlier version has read it, which did not count that."""
        return self.checkpoint.gaps if self.state is UploadState.READY and self.checkpoint else None

    @property
    def heading(self) -> tuple[int, str] | tuple[None, None]:
        """The row that was read as the names of columns, and the column of recipients as the file names it.

        None: it is not read, or an earlier version has read it.
        """
        at = self.checkpoint.position if self.checkpoint else Position()
        return (at.header_row, at.named) if at.header_row else (None, None)

    @property
    def progress(self) -> float:
        """Share of the file that is read, 0 to 1."""
        if self.state in (UploadState.READY, UploadState.SENT):
            return 1.0
        size = self.csv_size or self.size
        return min(1.0, self.checkpoint.position.offset / size) if self.checkpoint and size else 0.0

    @property
    def source(self) -> tuple[str, str]:
        """Name and ETag of the CSV file that is read."""
        return (self.csv, self.csv_etag) if self.csv else (self.file, self.etag)

    @property
    def file(self) -> str:
        """Name of the file as it was uploaded."""
        return self.shares or self.blob

    @property
    def put_at(self) -> Millis:
        """When its file was given a place. From then on the file's days count."""
        return self.shared_at or self.created_at

    def changed(self, **changes: Any) -> "Upload":
        """Return it with changes, one version on."""
        return replace(self, version=self.version + 1, **changes)
