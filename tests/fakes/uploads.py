"""Uploaded lists in memory."""

from collections.abc import Iterator, Sequence

from shared.domain.audit import Event
from shared.domain.campaigns.campaign import UNREAD, Campaign, Upload
from shared.domain.jobs import chunks as chunking
from shared.domain.jobs.chunks import Chunk
from shared.domain.jobs.ledger import Ledger
from shared.domain.lists.uploads import BadRow, PackedChunk
from tests.fakes.faults import Atomic, Tap
from tests.fakes.journal import FakeJournal
from tests.fakes.ledgers import FakeLedgers


class FakeUploads:
    """`ports.Uploads` in memory; thread-safe, atomic with the ledgers it is given.

    Attributes:
        items: uploads by campaign and id.
        campaigns: as `FakeCampaigns` keeps them.
        packed: chunks as they were stored, by upload and number; `chunks` as senders read them.
        noted: problems of a step with the version of their writer, by upload and number.
    """

    def __init__(
        self,
        campaigns: dict[str, Campaign],
        chunks: dict[tuple[str, int], Chunk],
        ledgers: FakeLedgers,
        tap: Tap | None = None,
        journal: FakeJournal | None = None,
    ) -> None:
        self.items: dict[tuple[str, str], Upload] = {}
        self.campaigns = campaigns
        self.packed: dict[tuple[str, int], PackedChunk] = {}
        self.chunks = chunks
        self.noted: dict[tuple[str, int], tuple[int, list[BadRow]]] = {}
        self._fences: dict[tuple[str, int], int] = {}
        self._ledgers = ledgers
        self._journal = journal or FakeJournal()
        self._atomic = Atomic("uploads", ledgers.lock, tap or Tap())

    def add(self, upload: Upload) -> None:
        self._atomic("add", lambda: self.items.__setitem__((upload.campaign, upload.id), upload))

    def get(self, campaign: str, upload: str) -> Upload | None:
        return self._atomic("get", lambda: self.items.get((campaign, upload)))

    def of(self, campaign: str) -> list[Upload]:
        return self._atomic("of", lambda: [self.items[k] for k in sorted(self.items) if k[0] == campaign])

    def same(self, namespace: str, sha256: str) -> list[Upload]:
        def found() -> list[Upload]:
            there = [x for x in self.items.values() if (x.namespace, x.sha256) == (namespace, sha256)]
            return sorted(there, key=lambda x: -x.created_at)[:20]

        return self._atomic("same", found)

    def save(self, old: Upload, new: Upload) -> bool:
        return self._atomic("save", lambda: self._swap(old, new))

    def _swap(self, old: Upload, new: Upload) -> bool:
        place = old.campaign, old.id
        stored = self.items.get(place)
        if stored is None or stored.version != old.version:
            return stored == new
        self.items[place] = new
        return True

    def begin(
        self, old: Campaign, new: Campaign, upload: Upload, queued: Upload, *, event: Event | None = None
    ) -> bool:
        return self._atomic("begin", lambda: self._both(upload, queued, old, new, event))

    def end(
        self, upload: Upload, ended: Upload, campaign: Campaign, freed: Campaign, *, event: Event | None = None
    ) -> bool:
        return self._atomic("end", lambda: self._both(upload, ended, campaign, freed, event))

    def _both(self, upload: Upload, new: Upload, campaign: Campaign, changed: Campaign, event: Event | None) -> bool:
        stored = self.campaigns.get(campaign.id)
        if stored is None or stored.version != campaign.version:
            return self.items.get((upload.campaign, upload.id)) == new
        if not self._swap(upload, new):
            return False
        self.campaigns[campaign.id] = changed
        if event is not None:
            self._journal.keep(event)
        return True

    def unread(self) -> Iterator[tuple[str, str]]:
        def found() -> list[tuple[str, str]]:
            there = [x for x in self.items.values() if x.state in UNREAD]
            return [(x.campaign, x.id) for x in sorted(there, key=lambda x: (x.created_at, x.campaign, x.id))]

        yield from self._atomic("unread", found)

    def store(self, upload: Upload, chunks: Sequence[PackedChunk], ledgers: Sequence[Ledger]) -> None:
        for x in chunks:
            self._atomic("store.chunk", lambda x=x: self._chunk(upload, x))  # type: ignore[misc]
        for ledger in ledgers:
            self._atomic("store.ledger", lambda x=ledger: self._ledger(x, upload.version))  # type: ignore[misc]

    def _chunk(self, upload: Upload, x: PackedChunk) -> None:
        self.packed[upload.id, x.number] = x
        self.chunks[upload.id, x.number] = Chunk(
            upload.id, x.number, chunking.unpack(x.data), upload.ttl, x.zone, x.rows
        )

    def _ledger(self, x: Ledger, fence: int) -> None:
        place = x.job, x.chunk
        if place not in self._fences or self._fences[place] < fence:
            self._fences[place] = fence
            self._ledgers.store(x)

    def note(self, upload: Upload, number: int, problems: Sequence[BadRow]) -> None:
        def put() -> None:
            place = upload.id, number
            if place not in self.noted or self.noted[place][0] < upload.version:
                self.noted[place] = upload.version, list(problems)

        self._atomic("note", put)

    def problems(self, upload: Upload, *, after: int, limit: int) -> tuple[list[BadRow], int]:
        def found() -> list[BadRow]:
            return [p for i in range(upload.problems) for p in self.noted[upload.id, i][1]]

        there = self._atomic("problems", found)
        return there[after : after + limit], after + limit if len(there) > after + limit else 0
