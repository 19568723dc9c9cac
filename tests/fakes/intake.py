"""A deployment's intake of lists in memory: uploads, files, the queue and who reads it."""

from itertools import count
from typing import Any

from shared.contracts import Credential, Settings, load_ingest
from shared.domain.campaigns.campaign import Campaign, Message, Upload
from shared.domain.ids import new_id
from shared.domain.jobs.ledger import Ledger
from shared.domain.lists.uploads import ListRules, PackedChunk
from shared.engine.lists.ingest import Ingestion
from shared.engine.lists.uploading import Reminder, Uploading
from shared.engine.work import WorkResult
from tests.fakes.account_turns import FakeAccountTurns
from tests.fakes.campaigns import FakeCampaigns
from tests.fakes.clock import FakeClock
from tests.fakes.exports import FakeMultipart
from tests.fakes.faults import Tap
from tests.fakes.files import FakeFiles
from tests.fakes.places import FakeOpenPlaces
from tests.fakes.queues import FakeQueue
from tests.fakes.stores import FakeStores
from tests.fakes.uploads import FakeUploads

ACCOUNT = "acc_000000000001"
INVOCATION = 900.0
"""Seconds that an invocation has."""


class Intake:
    """Everything in it is public: tests look at and touch what they like.

    Args:
        stores: of a world that it belongs to, with that world's clock; None: its own.
    """

    def __init__(self, rate: float = 100.0, stores: FakeStores | None = None, clock: FakeClock | None = None) -> None:
        self.clock = clock or FakeClock()
        self.stores = stores or FakeStores(self.clock, Tap())
        self.tap = self.stores.tap
        self.uploads = FakeUploads(
            {}, self.stores.records.chunks, self.stores.ledgers, self.tap, self.stores.records.journal
        )
        self.campaigns = FakeCampaigns(self.uploads, self.stores.records, self.stores.ledgers, self.tap)
        self.files = FakeFiles(self.tap)
        self.queue = FakeQueue(self.clock, self.tap)
        self.settings = Settings("test", (Credential("one", "one", "email", rate),), {"email": ("one",)})
        self.turns = FakeAccountTurns(self.clock, self.tap)
        self._owners = count(1)

    @property
    def uploading(self) -> Uploading:
        return Uploading(
            campaigns=self.campaigns,
            uploads=self.uploads,
            files=self.files,
            places=FakeOpenPlaces(self.clock),
            queue=self.queue,
            settings=self.settings,
            clock=self.clock,
        )

    @property
    def ingestion(self) -> Ingestion:
        return Ingestion(
            records=self.stores.records,
            campaigns=self.campaigns,
            uploads=self.uploads,
            files=self.files,
            multipart=FakeMultipart(self.files, self.tap),
            queue=self.queue,
            settings=self.settings,
            clock=self.clock,
            turns=self.turns,
        )

    def campaign(self, **changes: Any) -> Campaign:
        """Store a campaign and return it."""
        name = new_id(self.clock.ms)
        fields: dict[str, Any] = {"test": False, "channel": "email", "credential": "one", **changes}
        made = Campaign(name, ACCOUNT, name="Spring", message=Message("Hi"), created_at=self.clock.ms, **fields)
        self.uploads.campaigns[name] = made
        return made

    def take(self, data: bytes, *, campaign: Campaign | None = None, **options: Any) -> Upload:
        """Have a list taken, and return its upload, which waits to be read."""
        made = self.uploading.put(campaign or self.campaign(), data, ListRules(**options))
        assert isinstance(made, Upload)
        return made

    def work(self, upload: Upload, seconds: float = INVOCATION) -> WorkResult:
        """Have a list read in an invocation of its own."""
        owner = f"owner{next(self._owners)}"
        deadline = self.clock.now() + seconds
        return self.ingestion.work(upload.campaign, upload.id, owner=owner, deadline=deadline)

    def serve(self) -> list[WorkResult]:
        """Serve all messages that are due, as the queue's function does."""
        did = []
        while message := self.queue.receive():
            campaign, name = load_ingest(message.body)
            upload = self.uploads.items[campaign, name]
            did.append(self.work(upload))
            self.queue.delete(message)
        return did

    def sweep(self) -> None:
        """Do the sweeper's part."""
        for _, look in Reminder(self.uploads, self.queue, self.clock).walk():
            look()

    def now(self, upload: Upload) -> Upload:
        """Return an upload as it is stored now."""
        return self.uploads.items[upload.campaign, upload.id]

    def chunks(self, upload: Upload) -> list[PackedChunk]:
        """Return the chunks that are stored of a list."""
        return [x for (name, _), x in sorted(self.uploads.packed.items()) if name == upload.id]

    def ledgers(self, upload: Upload) -> list[Ledger]:
        """Return the ledgers that are stored of a list."""
        return [x for (name, _), x in sorted(self.stores.ledgers.items.items()) if name == upload.id]
