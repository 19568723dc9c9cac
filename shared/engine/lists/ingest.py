"""Reads uploaded lists: a lease, blocks of the file, and a checkpoint after all that they brought.

Each step writes chunks, ledgers, problems and marks, and then the checkpoint, by compare-and-swap on the upload. An
invocation that dies leaves a checkpoint from which the next one makes the same. An invocation that lost its lease
notices that at its next checkpoint, and until then replaces nothing that counts.
Source: docs/uploads.md, docs/adr/0036.
"""

import logging
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final

from shared.contracts import Settings, ingest
from shared.domain.campaigns.campaign import UNREAD, Campaign, Upload, UploadState
from shared.domain.channels.lookup import channel_of
from shared.domain.jobs import chunks as chunking
from shared.domain.jobs import ledger as rules
from shared.domain.jobs.job import Policy
from shared.domain.lists.encodings import EncodingError
from shared.domain.lists.header import FileCode
from shared.domain.lists.ingest import Ingest, Skips
from shared.domain.lists.rows import Position
from shared.domain.lists.uploads import Options, PackedChunk, UploadStep
from shared.domain.recipients.hashes import WIDTH
from shared.domain.recipients.suppressions import reaches
from shared.domain.times import Millis, Seconds
from shared.domain.workbooks.bounds import WorkbookError
from shared.engine.lists.converting import Converter, in_other_encoding, may_be_workbook
from shared.engine.suppression.unwanted import Unwanted
from shared.engine.work import LeasedWork, LeaseLost, OneByOne, WorkResult
from shared.ports import (
    AccountTurns,
    Campaigns,
    Clock,
    FileChanged,
    Files,
    Multipart,
    Queue,
    Records,
    TurnKind,
    Uploads,
)

PIECE: Final = 32_768
"""Marks in one file, 256 KB."""
LEASE_MARGIN: Final = 30.0
"""Seconds that a lease outlives its invocation by default: clocks differ."""
LAST_SECONDS: Final = 20.0
"""Seconds before its end in which an invocation begins no other block; a quarter of its time where that is less."""
JUNK: Final = 10_000
"""Rows after which a list is read no further if none has a valid recipient: other lists wait behind it."""
MOST_JUNK: Final = 2_000_000
"""Rows without a new recipient, blank ones included, that a list may have beyond as many as it has recipients.

A sheet has 1,048,576 rows, and some programs write all of them.
"""
_LOG: Final = logging.getLogger(__name__)


class Code(StrEnum):
    """Why a list cannot be used, besides `csv_rows.FileCode`."""

    FILE_CHANGED = "file_changed"
    FILE_MISSING = "file_missing"
    NO_VALID_ROWS = "no_valid_rows"
    TOO_MUCH_JUNK = "too_much_junk"
    INVALID_REGION = "invalid_region"
    UNKNOWN_CREDENTIAL = "unknown_credential"
    CAMPAIGN_GONE = "campaign_gone"
    GIVEN_UP = "given_up"


_DETAILS: Final = {
    Code.FILE_CHANGED: "The file was replaced while it was read.",
    Code.FILE_MISSING: "The file was removed before it was read.",
    Code.NO_VALID_ROWS: "None of its rows has a valid recipient.",
    Code.TOO_MUCH_JUNK: "Too many of its rows are blank, invalid or repeated.",
    Code.INVALID_REGION: "There is no country of this code, so numbers without a country code cannot be read.",
    Code.UNKNOWN_CREDENTIAL: "The campaign's credential is no longer there.",
    Code.CAMPAIGN_GONE: "The campaign is no longer there.",
    Code.GIVEN_UP: "It could not be read, again and again; please upload it again.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Ingestion:
    """Reads uploaded lists.

    Attributes:
        queue: the ingest function's own.
        turns: of accounts; None: lists of one account are read side by side.
        lease_margin: seconds that a lease outlives its invocation.
        searched: whether an account keeps pages for searches.
    """

    records: Records
    campaigns: Campaigns
    uploads: Uploads
    files: Files
    multipart: Multipart
    queue: Queue
    settings: Settings
    clock: Clock
    turns: AccountTurns | None = None
    lease_margin: Seconds = LEASE_MARGIN
    searched: Callable[[str], bool] = lambda _: True

    def work(self, campaign: str, upload: str, *, owner: str, deadline: Seconds) -> WorkResult:
        """Read a list until its end or nearly until `deadline` (Unix seconds); then another invocation continues.

        Concurrency: one lease at a time; a second invocation returns at once. Of an account one list is read at a time.

        Args:
            owner: of this invocation, unique.
            deadline: when the invocation ends.

        Raises:
            Exception: any fault; the list is read again later, more seldom each time.
        """
        found, name = self.uploads.get(campaign, upload), _name(campaign, upload)
        if found is None:
            return WorkResult.NOTHING
        line = self._line()
        if found.state not in UNREAD:
            if line is not None:
                line.end(found.account, name)
            return WorkResult.NOTHING
        if self._leased(found):
            return WorkResult.HELD
        if line is None:
            return self._read(found, owner, deadline)
        did = line.run(found.account, name, lambda: self._read(found, owner, deadline))
        if did is WorkResult.WAITING and not found.waits:
            self.uploads.save(found, found.changed(waits=True))  # if it has changed meanwhile, it waits no longer
        return did

    def _read(self, found: Upload, owner: str, deadline: Seconds) -> WorkResult:
        return _Reading(self, found, deadline).run(owner, state=UploadState.READING, waits=False)

    def _leased(self, found: Upload) -> bool:
        return found.until > self.clock.now() * 1000

    def _line(self) -> OneByOne | None:
        """Return what has an account's lists read one after the other."""
        if self.turns is None:
            return None
        return OneByOne(self.turns, TurnKind.LISTS, self._call, self._under_way)

    def _call(self, account: str, name: str) -> None:
        self.queue.send([ingest(*name.split("/"))], group=account)

    def _under_way(self, name: str) -> bool:
        found = self.uploads.get(*name.split("/"))
        return found is not None and found.state in UNREAD and bool(found.owner) and self._leased(found)


def _name(campaign: str, upload: str) -> str:
    """Return the name of a list in its account's line."""
    return f"{campaign}/{upload}"


class _Reading(LeasedWork[Upload]):
    """One invocation's work on one list."""

    def __init__(self, parts: Ingestion, found: Upload, deadline: Seconds) -> None:
        super().__init__(found, parts.uploads.save, parts.clock, deadline=deadline, last=LAST_SECONDS)
        self._parts = parts
        self._until = round((deadline + parts.lease_margin) * 1000)
        self._marks = _Marks(parts.files, f"{found.blob}.marks/")
        self._skips = _Skips(self._unwanted)

    def _unwanted(self) -> Skips:
        held = self.held
        campaign = self._parts.campaigns.get(held.campaign)
        channel = campaign.channel if campaign is not None else ""
        heeded = reaches(channel, unsubscribable=campaign is not None and campaign.unsubscribe)
        whose = campaign.namespace if campaign is not None else held.account
        return Unwanted(self._parts.records, whose, heeded)

    def until(self) -> Millis:
        return self._until

    def rest(self, until: Millis) -> None:
        self.save(owner="", until=until)

    def give_up(self) -> WorkResult:
        return self._fail(Code.GIVEN_UP)

    def work(self) -> WorkResult:
        held = self.held
        try:
            channel_of(held.channel).reader(held.region)
        except ValueError:
            return self._fail(Code.INVALID_REGION)
        try:
            options = held.checkpoint.options if held.checkpoint else self._options()
        except KeyError:
            return self._fail(Code.UNKNOWN_CREDENTIAL)
        try:
            return self._read(options)
        except WorkbookError as error:
            return self._fail(error.code, f"The workbook {error.reason}.")
        except EncodingError as error:
            return self._fail(FileCode.INVALID_ENCODING, str(error))
        except FileChanged:
            facts = self._parts.files.facts(held.file)
            return self._fail(Code.FILE_CHANGED if facts else Code.FILE_MISSING)

    def _options(self) -> Options:
        held = self.held
        rate = self._parts.settings.credential(held.credential).rate
        size = chunking.chunk_size(chunking.MAX_RECIPIENTS, 1, rate)
        rules = (held.column, held.strict, held.zones, held.header_row)
        return Options(held.channel, held.region, held.drop_duplicates, size, *rules)

    def _read(self, options: Options) -> WorkResult:
        held, mark = self.held, self.held.checkpoint
        marks = self._marks.load(mark.marks) if mark else ()
        rows = Ingest(options, mark, marks, skips=self._skips, all_utf8=not held.encoding)
        start = mark.position.offset if mark else 0
        name, etag = held.source
        for block in self._parts.files.read(name, etag=etag, start=start):
            if self._makes_csv(block):
                return self._read(options)
            step = rows.feed(block)
            if rows.fault:
                break
            self._save(step)
            if (ended := self._before_its_end(rows)) is not None:
                return ended
        return self._finish(rows)

    def _before_its_end(self, rows: Ingest) -> WorkResult | None:
        """End a list of junk or of blank rows, or hand it over if there is no time left; None: read on."""
        seen, accepted = rows.seen
        if seen >= JUNK and not accepted:
            return self._fail(Code.NO_VALID_ROWS, f"None of its first {seen:,} rows has a valid recipient.")
        if seen - accepted > MOST_JUNK + accepted:
            detail = f"Of its first {seen:,} rows, {accepted:,} have a new recipient; the others are blank or unusable."
            return self._fail(Code.TOO_MUCH_JUNK, detail)
        if self._parts.clock.now() > self.stop and not self.held.starts:  # else the next would begin here again
            return self._hand_over()
        return None

    def _makes_csv(self, block: bytes) -> bool:
        """Have CSV in UTF-8 made of a file; False if it is that. `block`: its first one."""
        held, parts = self.held, self._parts
        converter, made = Converter(parts.files, parts.multipart, parts.clock), None
        if may_be_workbook(held, block):
            made = converter.convert(held, owner=held.owner, stop=self.stop)
        if made is None and in_other_encoding(held):
            made = converter.transcode(held, owner=held.owner, stop=self.stop)
        if made is None:
            return False
        self.checkpoint(csv=made.name, csv_etag=made.etag, csv_size=made.size, hidden=made.hidden)
        return True

    def _finish(self, rows: Ingest) -> WorkResult:
        """End a list that was read to its end, or to a fault."""
        step = rows.finish()
        if rows.fault:
            return self._fail(rows.fault.code, rows.fault.detail)
        self._save(step)
        if not step.checkpoint.counts.accepted:
            return self._fail(Code.NO_VALID_ROWS)
        return self._end(WorkResult.READY, state=UploadState.READY, columns=rows.header)

    def _save(self, step: UploadStep) -> None:
        """Store what a step brought, then the checkpoint."""
        held = self.held
        if step.checkpoint.position == (held.checkpoint.position if held.checkpoint else Position()):
            return
        if not self._parts.searched(held.account):
            step = replace(step, chunks=tuple(replace(x, keys=()) for x in step.chunks))
        uploads = self._parts.uploads
        uploads.store(held, step.chunks, [self._ledger(x) for x in step.chunks])
        if step.problems:
            uploads.note(held, held.problems, step.problems)
        self._marks.append(step.marks)
        skipped = Counter(held.skipped or {}) + self._skips.taken()
        problems = held.problems + bool(step.problems)
        self.checkpoint(checkpoint=step.checkpoint, problems=problems, skipped=dict(skipped) or None)

    def _ledger(self, x: PackedChunk) -> rules.Ledger:
        held = self.held
        return rules.create(
            job=held.id,
            chunk=x.number,
            skipped=x.skipped,
            size=x.size,
            lane=held.credential,
            route=(held.credential,),
            limit=Policy().max_attempts,
            ttl=held.ttl,
        )

    def _hand_over(self) -> WorkResult:
        self.rest(0)
        self._parts.queue.send([ingest(self.held.campaign, self.held.id)], group=self.held.account)
        return WorkResult.HANDED_OVER

    def _fail(self, code: str, detail: str = "") -> WorkResult:
        sentence = detail or _DETAILS[Code(code)]
        _LOG.warning("list cannot be used", extra={"upload": self.held.id, "code": str(code)})
        return self._end(WorkResult.FAILED, state=UploadState.FAILED, code=str(code), detail=sentence)

    def _end(self, did: WorkResult, **changes: Any) -> WorkResult:
        """Write the upload's end, and free its campaign."""
        parts, held = self._parts, self.held
        while True:
            now = int(parts.clock.now() * 1000)
            ended = held.changed(owner="", until=0, finished_at=now, **changes)
            campaign = parts.campaigns.get(held.campaign)
            if campaign is None:
                return self._forsake(now)
            if campaign.uploading != held.id:
                if parts.uploads.get(held.campaign, held.id) != held:
                    raise LeaseLost
                raise LookupError(f"campaign {held.campaign} does not wait for upload {held.id}")
            if parts.uploads.end(held, ended, campaign, _freed(campaign, ended, now)):
                return did
            if parts.uploads.get(held.campaign, held.id) != held:
                raise LeaseLost  # else only the campaign has changed

    def _forsake(self, now: Millis) -> WorkResult:
        """End an upload whose campaign was removed past its lock, as with its account: it can never be sent."""
        code, failed = Code.CAMPAIGN_GONE, UploadState.FAILED
        self.save(owner="", until=0, finished_at=now, state=failed, code=code.value, detail=_DETAILS[code])
        return WorkResult.FAILED


def _freed(campaign: Campaign, ended: Upload, now: Millis) -> Campaign:
    freed = campaign.changed(now, uploading="")
    return replace(freed, ready=ended.id, columns=ended.columns) if ended.state is UploadState.READY else freed


class _Marks:
    """A list's marks in files, whose names say which ones they hold.

    So a file that is written twice, or late by an invocation that has lost its lease, is the same both times. After
    each step the marks since the last whole piece are in a file of their own.
    """

    def __init__(self, files: Files, prefix: str) -> None:
        self._files = files
        self._prefix = prefix
        self._whole = 0
        self._rest = b""

    def load(self, count: int) -> Iterator[bytes]:
        """Yield the first `count` marks in pieces."""
        self._whole, rest = divmod(count, PIECE)
        for i in range(self._whole):
            yield self._get(i, PIECE)
        if rest:
            self._rest = self._get(self._whole, rest)
            yield self._rest

    def _get(self, index: int, count: int) -> bytes:
        name = self._name(index, count)
        data = self._files.get(name)
        if data is None:
            raise FileChanged(name)
        return data

    def append(self, marks: bytes) -> None:
        """Store marks that follow those loaded or appended so far."""
        if not marks:
            return
        data = self._rest + marks
        size = PIECE * WIDTH
        while len(data) >= size:
            self._files.put(self._name(self._whole, PIECE), data[:size])
            self._whole += 1
            data = data[size:]
        if data:
            self._files.put(self._name(self._whole, len(data) // WIDTH), data)
        self._rest = data

    def _name(self, index: int, count: int) -> str:
        return f"{self._prefix}{index:05d}-{count:05d}"


class _Skips:
    """Recipients to leave out, read when the first ones are there; counts them by code."""

    def __init__(self, make: Callable[[], Skips]) -> None:
        self._make = make
        self._skips: Skips | None = None
        self._counted: Counter[str] = Counter()

    def suspects(self, keys: Sequence[str]) -> Collection[int]:
        if self._skips is None:
            self._skips = self._make()
        return self._skips.suspects(keys)

    def codes(self, keys: Sequence[str]) -> Mapping[int, str]:
        if self._skips is None:
            self._skips = self._make()
        found = self._skips.codes(keys)
        self._counted.update(found.values())
        return found

    def taken(self) -> Counter[str]:
        """Return what was counted since this was last asked."""
        counted, self._counted = self._counted, Counter()
        return counted
