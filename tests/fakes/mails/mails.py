"""Mails in memory."""

from shared.domain.content.content import Content
from shared.domain.jobs.prepared import PreparedJob
from shared.domain.mails.mail import StoredMail
from shared.ports import Idempotency, Mismatch, Replay, Stored
from tests.fakes.faults import Atomic, Tap
from tests.fakes.ledgers import FakeLedgers
from tests.fakes.records import FakeRecords


class FakeMails:
    """`ports.Mails`, atomic with the stores it is given. `items`: by id."""

    def __init__(self, records: FakeRecords, ledgers: FakeLedgers, tap: Tap | None = None) -> None:
        self.items: dict[str, StoredMail] = {}
        self._records = records
        self._ledgers = ledgers
        self._atomic = Atomic("mails", ledgers.lock, tap or Tap())

    def open(self, mail: StoredMail, key: Idempotency | None) -> Stored | Replay | Mismatch:
        def put() -> Stored | Replay | Mismatch:
            made = self._records.made_before(key, mail.id, mail.created_at) if key else None
            if made is not None:
                return made
            self.items[mail.id] = mail
            self._records.keep(key, mail.id)
            return Stored()

        return self._atomic("open", put)

    def get(self, mail: str) -> StoredMail | None:
        return self._atomic("get", lambda: self.items.get(mail))

    def commit(
        self, old: StoredMail | None, new: StoredMail, made: PreparedJob, content: Content, key: Idempotency | None
    ) -> Stored | Replay | Mismatch | None:
        job = made.job

        def parts() -> None:
            self._records.chunks |= {(c.job, c.number): c for c in made.chunks}
            self._records.contents[job.id] = content
            for x in made.ledgers:
                self._ledgers.store(x)

        def commit() -> Stored | Replay | Mismatch | None:
            before = self._records.made_before(key, job.id, job.created_at) if key else None
            if before is not None:
                return before
            if job.id in self._records.jobs:
                return Stored()
            if self._moved(old, new):
                return None
            self.items[new.id] = new
            self._records.add_job(job)
            self._records.keep(key, job.id)
            return Stored()

        self._atomic("parts", parts)
        return self._atomic("commit", commit)

    def change(self, old: StoredMail, new: StoredMail) -> bool:
        def put() -> bool:
            if self._moved(old, new):
                return self.items.get(new.id) == new
            self.items[new.id] = new
            return True

        return self._atomic("change", put)

    def _moved(self, old: StoredMail | None, new: StoredMail) -> bool:
        stored = self.items.get(new.id)
        return stored is not None if old is None else stored is None or stored.version != old.version

    def page(self, namespace: str, *, after: str, limit: int) -> tuple[list[StoredMail], str]:
        def found() -> tuple[list[StoredMail], str]:
            mine = {f"{x.created_at:015d}#{x.id}": x for x in self.items.values() if x.namespace == namespace}
            places = sorted((p for p in mine if not after or p < after), reverse=True)
            return [mine[p] for p in places[:limit]], places[limit - 1] if len(places) > limit else ""

        return self._atomic("page", found)
