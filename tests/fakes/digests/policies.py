"""Digest policies in memory."""

import threading

from shared.domain.audit import Event
from shared.domain.digests.policy import DigestPolicy
from shared.ports import Idempotency, Mismatch, Replay, Stored
from tests.fakes.faults import Atomic, Tap
from tests.fakes.journal import FakeJournal


class FakeDigestPolicies:
    """`ports.DigestPolicies` in memory, but for idempotency keys, which it does not keep.

    Attributes:
        versions: every version, by namespace, prefix and version.
        latest: the latest, by namespace and prefix.
    """

    def __init__(self, journal: FakeJournal | None = None, tap: Tap | None = None) -> None:
        self.versions: dict[tuple[str, str, int], DigestPolicy] = {}
        self.latest: dict[tuple[str, str], DigestPolicy] = {}
        self._journal = journal
        self._atomic = Atomic("digest_policies", threading.RLock(), tap or Tap())

    def put(self, policy: DigestPolicy) -> DigestPolicy:
        """Store a policy as it is."""
        self.versions[policy.namespace, policy.prefix, policy.version] = policy
        self.latest[policy.namespace, policy.prefix] = policy
        return policy

    def save(
        self, old: DigestPolicy | None, new: DigestPolicy, key: Idempotency | None, *, event: Event
    ) -> Stored | Replay | Mismatch | None:
        def step() -> Stored | None:
            there = self.latest.get((new.namespace, new.prefix))
            if there == new:
                return Stored()
            if there != old:
                return None
            self.put(new)
            if self._journal is not None:
                self._journal.keep(event)
            return Stored()

        return self._atomic("save", step)

    def get(self, namespace: str, prefix: str) -> DigestPolicy | None:
        return self._atomic("get", lambda: self.latest.get((namespace, prefix)))

    def at(self, namespace: str, prefix: str, version: int) -> DigestPolicy | None:
        return self._atomic("at", lambda: self.versions.get((namespace, prefix, version)))

    def find(self, namespace: str, key: str) -> DigestPolicy | None:
        return self._atomic("find", lambda: max(self._of(namespace, key), key=lambda x: len(x.prefix), default=None))

    def _of(self, namespace: str, key: str | None = None) -> list[DigestPolicy]:
        there = [x for x in self.latest.values() if x.namespace == namespace and not x.deleted]
        return [x for x in there if key is None or key.startswith(x.prefix)]

    def page(self, namespace: str, *, after: str, limit: int) -> tuple[list[DigestPolicy], str]:
        def found() -> tuple[list[DigestPolicy], str]:
            there = sorted((x for x in self._of(namespace) if x.prefix > after), key=lambda x: x.prefix)
            return there[:limit], there[limit - 1].prefix if len(there) > limit else ""

        return self._atomic("page", found)
