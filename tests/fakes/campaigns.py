"""Campaigns and stored templates in memory."""

from collections.abc import Sequence
from dataclasses import replace

from shared.domain.audit import Event
from shared.domain.campaigns.approval import ApprovalPolicy
from shared.domain.campaigns.campaign import Campaign, Message, StoredTemplate, Upload, UploadState
from shared.domain.content.content import Content
from shared.domain.jobs.job import Job
from shared.domain.namespaces import is_team
from shared.ports import Idempotency, Listed, Mismatch, Replay, Stored
from tests.fakes.faults import Atomic, Tap
from tests.fakes.ledgers import FakeLedgers
from tests.fakes.records import FakeRecords
from tests.fakes.uploads import FakeUploads


class FakeCampaigns:
    """`ports.Campaigns` and `ports.Approvals` in memory; thread-safe, atomic with the uploads and records it is given.

    Attributes:
        items: campaigns by id; the uploads' own.
        policies: of approvals, by account.
    """

    def __init__(
        self, uploads: FakeUploads, records: FakeRecords, ledgers: FakeLedgers, tap: Tap | None = None
    ) -> None:
        self.items = uploads.campaigns
        self.policies: dict[str, ApprovalPolicy] = {}
        self._uploads = uploads
        self._records = records
        self._atomic = Atomic("campaigns", ledgers.lock, tap or Tap())

    def create(
        self, campaign: Campaign, key: Idempotency | None, *, event: Event | None = None
    ) -> Stored | Replay | Mismatch:
        def make() -> Stored | Replay | Mismatch:
            made = self._records.made_before(key, campaign.id, campaign.created_at)
            if made is None:
                self.items[campaign.id] = campaign
                self._records.keep(key, campaign.id)
                self._note(event)
            return made or Stored()

        return self._atomic("create", make)

    def get(self, campaign: str) -> Campaign | None:
        return self._atomic("get", lambda: self.items.get(campaign))

    def sent(self, campaign: str) -> Sequence[str]:
        found = self._atomic("sent", lambda: self.items.get(campaign))
        return found.jobs if found is not None else ()

    def save(self, old: Campaign, new: Campaign, *, event: Event | None = None) -> bool:
        def put() -> bool:
            stored = self.items.get(old.id)
            if stored is None or stored.version != old.version:
                return stored == new
            self.items[old.id] = new
            self._note(event)
            return True

        return self._atomic("save", put)

    def delete(self, campaign: Campaign, *, event: Event | None = None) -> bool:
        def remove() -> bool:
            stored = self.items.get(campaign.id)
            if stored is not None and stored.version != campaign.version:
                return False
            if self.items.pop(campaign.id, None) is not None:
                self._note(event)
            return True

        return self._atomic("delete", remove)

    def _note(self, event: Event | None) -> None:
        if event is not None:
            self._records.journal.keep(event)

    def page(self, account: str, *, test: bool, after: str, limit: int) -> tuple[list[Listed], str]:
        def found() -> tuple[list[Listed], str]:
            mine = {
                _place(x.created_at, x.id): x for x in self.items.values() if (x.account, x.test) == (account, test)
            }
            places, end = _page(list(mine), after, limit)
            return [Listed(replace(mine[p], message=Message()), fits=not mine[p].missing) for p in places], end

        return self._atomic("page", found)

    def to_send(self, campaign: Campaign) -> tuple[Upload | None, ApprovalPolicy]:
        def found() -> tuple[Upload | None, ApprovalPolicy]:
            free = campaign.test or is_team(campaign.account)
            none = ApprovalPolicy(campaign.account)
            policy = none if free else self.policies.get(campaign.account, none)
            return self._uploads.items.get((campaign.id, campaign.ready)), policy

        return self._atomic("to_send", found)

    def ask(
        self, old: Campaign, new: Campaign, key: Idempotency | None, *, event: Event
    ) -> Stored | Replay | Mismatch | None:
        def put() -> Stored | Replay | Mismatch | None:
            made = self._records.made_before(key, f"ask {id(key)}", new.updated_at)
            if made is not None:
                return made
            stored = self.items.get(old.id)
            if stored is None or stored.version != old.version:
                return Stored() if key is None and stored == new else None
            self.items[old.id] = new
            self._records.keep(key, f"ask {id(key)}")
            self._note(event)
            return Stored()

        return self._atomic("ask", put)

    def policy(self, account: str) -> ApprovalPolicy:
        return self._atomic("policy", lambda: self.policies.get(account, ApprovalPolicy(account)))

    def change(self, old: ApprovalPolicy, new: ApprovalPolicy, *, event: Event) -> bool:
        def put() -> bool:
            if not self._as_read(old):
                return self.policies.get(new.account) == new
            self.policies[new.account] = new
            self._note(event)
            return True

        return self._atomic("change", put)

    def _as_read(self, policy: ApprovalPolicy) -> bool:
        return self.policies.get(policy.account, ApprovalPolicy(policy.account)).version == policy.version

    def waiting(self, namespace: str) -> list[Campaign]:
        def found() -> list[Campaign]:
            asked = [(x.waiting.at, x.id) for x in self.items.values() if x.namespace == namespace and x.waiting]
            return [self.items[name] for _, name in sorted(asked)]

        return self._atomic("waiting", found)

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
        def store() -> None:
            self._records.contents[job.id] = content

        def commit() -> Stored | Replay | Mismatch | None:
            made = self._records.made_before(key, f"send {id(key)}", job.created_at)
            if made is not None:
                return made
            there, campaign = self._uploads.items.get((old.id, upload.id)), self.items.get(old.id)
            if campaign is None or campaign.version != old.version or there is None or there.version != upload.version:
                known = self._records.jobs.get(job.id)
                mine = key is None and known is not None and known.created_at == job.created_at
                return Stored() if mine and known is not None and known.rate == job.rate else None
            if spent is not None and not self._as_read(spent[0]):
                return None
            if spent is not None:
                self.policies[spent[1].account] = spent[1]
            self.items[old.id] = new
            self._uploads.items[old.id, upload.id] = upload.changed(state=UploadState.SENT)
            self._records.add_job(job)
            self._records.keep(key, f"send {id(key)}")
            self._note(event)
            self._note(beside)
            return Stored()

        made = self._atomic("replay", lambda: self._records.made_before(key, "", job.created_at))
        if made is not None:
            return made
        self._atomic("content", store)
        return self._atomic("send", commit)


class FakeTemplates:
    """`ports.Templates` in memory. `items`: versions by id, oldest first."""

    def __init__(self, records: FakeRecords, ledgers: FakeLedgers, tap: Tap | None = None) -> None:
        self.items: dict[str, list[StoredTemplate]] = {}
        self._records = records
        self._atomic = Atomic("templates", ledgers.lock, tap or Tap())

    def create(
        self, template: StoredTemplate, key: Idempotency | None, *, event: Event | None = None
    ) -> Stored | Replay | Mismatch:
        made = self._atomic("create", lambda: self._add(0, template, key, event))
        return made or Stored()

    def put(
        self, old: StoredTemplate, new: StoredTemplate, key: Idempotency | None, *, event: Event | None = None
    ) -> Stored | Replay | Mismatch | None:
        return self._atomic("put", lambda: self._add(old.version, new, key, event))

    def _add(
        self, latest: int, template: StoredTemplate, key: Idempotency | None, event: Event | None
    ) -> Stored | Replay | Mismatch | None:
        made = self._records.made_before(key, f"template {id(key)}", template.saved_at)
        if made is not None:
            return made
        versions = self.items.get(template.id, [])
        if len(versions) != latest:
            return Stored() if versions and versions[-1] == template else None
        self.items[template.id] = [*versions, template]
        self._records.keep(key, f"template {id(key)}")
        self._note(event)
        return Stored()

    def _note(self, event: Event | None) -> None:
        if event is not None:
            self._records.journal.keep(event)

    def get(self, template: str, version: int | None = None) -> StoredTemplate | None:
        def found() -> StoredTemplate | None:
            versions = self.items.get(template, [])
            wanted = len(versions) if version is None else version
            return next((x for x in versions if x.version == wanted), None)

        return self._atomic("get", found)

    def page(self, namespace: str, *, after: str, limit: int) -> tuple[list[StoredTemplate], str]:
        def found() -> tuple[list[StoredTemplate], str]:
            heads = [versions[-1] for versions in self.items.values()]
            mine = {_place(x.created_at, x.id): x for x in heads if x.namespace == namespace}
            places, end = _page(list(mine), after, limit)
            return [replace(mine[p], message=Message()) for p in places], end

        return self._atomic("page", found)

    def versions(self, template: str, *, before: int, limit: int) -> list[StoredTemplate]:
        def found() -> list[StoredTemplate]:
            there = [x for x in reversed(self.items.get(template, [])) if not before or x.version < before]
            return [replace(x, message=Message()) for x in there[:limit]]

        return self._atomic("versions", found)

    def delete(self, template: StoredTemplate, *, event: Event | None = None) -> bool:
        def remove() -> bool:
            stored = self.items.get(template.id)
            if stored is not None and stored[-1].version != template.version:
                return False
            if self.items.pop(template.id, None) is not None:
                self._note(event)
            return True

        return self._atomic("delete", remove)


def _place(created_at: int, name: str) -> str:
    return f"{created_at:015d}#{name}"


def _page(places: list[str], after: str, limit: int) -> tuple[list[str], str]:
    there = [p for p in sorted(places, reverse=True) if not after or p < after]
    return there[:limit], there[limit - 1] if len(there) > limit else ""
