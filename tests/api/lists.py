"""Campaigns and exports behind the API under test: services over moto, files and what works in the background."""

import json
from dataclasses import dataclass
from typing import Any

from shared.adapters.dynamo.accounts.api_keys import ApiKeys
from shared.adapters.dynamo.audit import DynamoJournal
from shared.adapters.dynamo.campaigns.approvals import DynamoApprovals
from shared.adapters.dynamo.campaigns.campaigns import DynamoCampaigns
from shared.adapters.dynamo.campaigns.templates import DynamoTemplates
from shared.adapters.dynamo.campaigns.uploads import DynamoUploads
from shared.adapters.dynamo.jobs.account_turns import DynamoAccountTurns
from shared.adapters.dynamo.jobs.exports import DynamoExports
from shared.adapters.dynamo.open_places import DynamoOpenPlaces
from shared.bootstrap.campaigning import CampaignServices, trials
from shared.contracts import load_export, load_ingest
from shared.domain.content.unsubscribe import PATH
from shared.engine.campaigns.approving import ApprovalControl, Kinship
from shared.engine.campaigns.campaigns import CampaignControl
from shared.engine.campaigns.preview import Previews
from shared.engine.lists.ingest import Ingestion
from shared.engine.lists.uploading import Uploading
from shared.engine.reports.export import Exporter, ExportService
from shared.ports import TurnKind
from tests.fakes.exports import FakeMultipart
from tests.fakes.files import FakeFiles
from tests.fakes.links import FakeLinks
from tests.fakes.queues import FakeQueue
from tests.fakes.tables import MotoStores
from tests.fakes.world import World

ADDRESS = "https://mail.example.com"


@dataclass
class Lists:
    """Files, and what reads lists and makes exports when told to."""

    files: FakeFiles
    queue: FakeQueue
    ingestion: Ingestion
    services: CampaignServices
    service: ExportService
    exporter: Exporter

    def read(self) -> None:
        """Read every list that is waiting, as the ingest function does."""
        while (message := self.queue.receive()) is not None:
            campaign, upload = load_ingest(message.body)
            deadline = self.ingestion.clock.now() + 600
            self.ingestion.work(campaign, upload, owner=f"ingest {message.body}", deadline=deadline)
            self.queue.delete(message)

    def export(self) -> None:
        """Make every export that was asked for, as the export function does."""
        queue = self.exporter.queue
        assert isinstance(queue, FakeQueue)
        while (message := queue.receive()) is not None:
            deadline = self.exporter.clock.now() + 600
            self.exporter.work(load_export(message.body), owner=f"export {message.body}", deadline=deadline)
            queue.delete(message)

    def occupy(self, account: str, kind: TurnKind) -> None:
        """Give an account's turn to a piece of work that begins within a minute."""
        turns = self.exporter.turns
        assert turns is not None
        assert turns.enter(account, kind, "m/first", lambda _: True) == "m/first"

    def exported(self, name: str) -> str:
        """Return the name of the file that an export was made into."""
        found = self.exporter.exports.get(name)
        assert found is not None
        return found.blob


def build_lists(world: World, stores: MotoStores) -> Lists:
    """Return the services of campaigns over a world's stores."""
    table, ops = stores.tables.records, stores.tables.ops
    campaigns = DynamoCampaigns(stores.dynamo, records=table, blobs=stores.blobs)
    uploads = DynamoUploads(stores.dynamo, records=table, ops=ops)
    files, queue, links = FakeFiles(), FakeQueue(world.clock, world.tap), FakeLinks()
    intake: dict[str, Any] = {
        "campaigns": campaigns,
        "uploads": uploads,
        "files": files,
        "queue": queue,
        "settings": world.settings,
        "clock": world.clock,
    }
    control = CampaignControl(
        campaigns=campaigns,
        records=world.records,
        control=world.control,
        planner=world.planner,
        schedules=world.schedules,
        settings=world.settings,
        clock=world.clock,
        unsubscribe=ADDRESS + PATH,
        spender=world.spender,
    )
    previews = Previews(
        records=world.records, ledgers=world.ledgers, links=links, settings=world.settings, clock=world.clock
    )
    services = CampaignServices(
        campaigns=campaigns,
        uploads=uploads,
        templates=DynamoTemplates(stores.dynamo, records=table),
        uploading=Uploading(places=DynamoOpenPlaces(stores.dynamo, records=table, clock=world.clock), **intake),
        control=control,
        approvals=ApprovalControl(
            approvals=DynamoApprovals(stores.dynamo, table),
            campaigns=control,
            kinship=Kinship(
                ApiKeys(stores.dynamo.client, table, world.clock), DynamoJournal(stores.dynamo, table), world.clock
            ),
            clock=world.clock,
        ),
        previews=previews,
        trials=trials(stores.dynamo, table, world.clock),
    )
    turns = DynamoAccountTurns(stores.dynamo, records=table, clock=world.clock)
    exports, wanted = DynamoExports(stores.dynamo, table), FakeQueue(world.clock, world.tap)
    exporter = Exporter(
        exports=exports,
        multipart=FakeMultipart(files),
        records=world.records,
        logs=world.logs,
        queue=wanted,
        clock=world.clock,
        turns=turns,
    )
    service = ExportService(exports=exports, queue=wanted, clock=world.clock)
    ingestion = Ingestion(records=world.records, multipart=FakeMultipart(files), turns=turns, **intake)
    return Lists(files, queue, ingestion, services, service, exporter)


def as_body(rows: list[dict[str, Any]]) -> str:
    """Return the body of PUT …/recipients."""
    return json.dumps({"recipients": rows})
