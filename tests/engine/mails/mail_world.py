"""The engine with mails: their stores, their queue, and what ends them, over fakes or over moto."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from shared.adapters.dynamo import indices
from shared.adapters.dynamo.mails.mails import DynamoMails
from shared.contracts import MAIL_CONTENTS, Credential
from shared.domain.content.content import Content, Finished, Mailbox
from shared.domain.ids import new_id
from shared.domain.jobs.job import MAIL, SHARDS
from shared.domain.jobs.ledger import Ledger
from shared.domain.jobs.states import Cell, JobState
from shared.domain.mails.mail import StoredMail, opened
from shared.domain.mails.queue import MailSchedule, NewDestination
from shared.engine.mails.ends import MailCompletion, MailJobs
from shared.engine.mails.holds import DomainHolds, MailStream
from shared.engine.mails.queue import LedgerMailQueue
from shared.engine.mails.queueing import MailQueuer, OutgoingMail
from shared.engine.mails.reports import MailReporter
from shared.engine.outcome.fold import Folded
from shared.engine.walks.doubts import Asking
from shared.ports import Mails
from tests.fakes.clock import FakeClock
from tests.fakes.mails.figures import FakeMailFigures
from tests.fakes.mails.files import FakeMailFiles
from tests.fakes.mails.mails import FakeMails
from tests.fakes.provider import FinishedProvider
from tests.fakes.stores import FakeStores, Stores
from tests.fakes.tables import MotoStores
from tests.fakes.world import ACCOUNT, World, credential

BYTES = b"From: clinic@example.com\r\nSubject: Hello\r\n\r\nHello!\r\n.\r\n"
SENDER = "bounces@example.com"


def mails_of(stores: Stores) -> Mails:
    """Return where mails are, beside other stores."""
    if isinstance(stores, FakeStores):
        return FakeMails(stores.records, stores.ledgers, stores.tap)
    assert isinstance(stores, MotoStores)
    return DynamoMails(stores.dynamo, records=stores.tables.records, ops=stores.tables.ops, blobs=stores.blobs)


class MailWorld(World):
    """A world that delivers mails, and ends them as the stream of ledgers and the walks do."""

    def __init__(
        self,
        *credentials: Credential,
        stores: Callable[[FakeClock], Stores] = FakeStores,
        clock: FakeClock | None = None,
        **more: Any,
    ) -> None:
        more.setdefault("provider", FinishedProvider)
        super().__init__(*(credentials or (credential("one"),)), stores=stores, clock=clock, **more)
        for each in self.providers.values():
            each.has_feedback = False  # as a relay
        self.mails = mails_of(self.stores)
        self.files = FakeMailFiles(self.tap)
        self.files.items = self.messages.items
        self.figures = FakeMailFigures()
        self.deaf = False
        """The stream of ledgers only folds: what follows for mails is lost."""
        self.put_together()

    def reboot(self) -> None:
        super().reboot()
        if hasattr(self, "files"):
            self.put_together()

    def put_together(self) -> None:
        """Make the parts that serve mails anew."""
        stores: Mapping[str, Any] = {"mails": self.mails, "records": self.records, "ledgers": self.ledgers}
        self.queuer = MailQueuer(mails=self.mails, acceptor=self.acceptor, lanes=self.lanes, clock=self.clock)
        common: Mapping[str, Any] = {"clock": self.clock, "figures": self.figures}
        self.reporter = MailReporter(**stores, files=self.files, queuer=self.queuer, **common)
        self.ends = MailCompletion(**stores, files=self.files, reporter=self.reporter)
        asking = Asking(self.records, self.lanes, self.answers)
        self.looks = MailJobs(**stores, ends=self.ends, asking=asking, **common)
        self.released = MailStream(self.records, self.ends, DomainHolds(**stores))

    def mail(
        self,
        *destinations: NewDestination | str,
        mail_from: str = SENDER,
        data: bytes = BYTES,
        until: int = 0,
        account: str = ACCOUNT,
        by: str = "key_1",
    ) -> StoredMail:
        """Queue a mail and return it."""
        some = [x if isinstance(x, NewDestination) else NewDestination(x, MailSchedule(0)) for x in destinations]
        name = new_id(self.clock.ms)
        mail = opened(
            mail=name,
            account=account,
            test=False,
            mail_from=mail_from,
            addresses=[x.address for x in some],
            by=by,
            now=self.clock.ms,
            until=until,
        )
        self.files.put(f"{MAIL_CONTENTS}{name}", data)
        facts = self.files.facts(f"{MAIL_CONTENTS}{name}")
        assert facts is not None
        finished = Finished(mail_from, f"{MAIL_CONTENTS}{name}", facts.etag, facts.size)
        content = Content(Mailbox("clinic@example.com"), "Hello", finished=finished)
        route = tuple(c.id for c in self.settings.credentials)
        stored = self.queuer.queue(OutgoingMail(mail, content, some, route, new=True), None)
        assert isinstance(stored, StoredMail)
        self.jobs.append(stored.job)
        return stored

    def log(self) -> Folded | None:
        """Fold the next record of the ledgers' stream, and do what follows of it for a mail."""
        if not self.stream:
            return None
        ledger = self.stream[0]
        folded = super().log()
        if folded is not None and ledger.told and not self.deaf:
            self.after(ledger, folded)
        return folded

    def after(self, ledger: Ledger, folded: Folded) -> None:
        """Do what follows of a released ledger."""
        self.released.released(ledger.job, [ledger], logged=folded.state is JobState.LOGGED)

    def look(self) -> None:
        """Look at finished jobs of mails, as happens every minute."""
        for _, look in list(self.looks.walk()):
            look()

    def stored(self, mail: StoredMail) -> StoredMail:
        """Return a mail as it is stored."""
        found = self.mails.get(mail.id)
        assert found is not None
        return found

    def mail_jobs(self) -> Iterable[str]:
        """Yield the open jobs of mails."""
        slots = [indices.open_slot(None, shard, running=True) for shard in range(SHARDS)]
        for entry in self.records.open_jobs(slots):
            job = self.records.job(entry.job)
            if job is not None and job.kind == MAIL:
                yield job.id

    def queue(self) -> LedgerMailQueue:
        """Return the queue of mails over this world's ledgers."""
        return LedgerMailQueue(
            account=ACCOUNT,
            route=self.settings.credentials[0].id,
            records=self.records,
            ledgers=self.ledgers,
            files=self.files,
            queuer=self.queuer,
            ends=self.ends,
            open_jobs=self.mail_jobs,
            clock=self.clock,
        )

    def ends_of(self, mail: StoredMail) -> Sequence[Cell]:
        """Return the state of every destination."""
        return self.states(mail.job)
