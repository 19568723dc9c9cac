"""Whether what waited would still be accepted: its API key exists, and its sender belongs to its account (ADR 87)."""

from typing import Final

from shared.domain.accounts import is_key_id
from shared.domain.jobs.job import Job, StopReason
from shared.domain.times import Millis
from shared.frozen import dataclass
from shared.ports import AccountStatuses

WAITED_MS: Final = 60_000
"""A job that starts sooner after its acceptance needs no check: its key and sender were checked then."""


def key_of(job: Job) -> str:
    """Return the id of the API key that last asked for a job; empty if an operator, or an old version, did."""
    return job.asked_by if is_key_id(job.asked_by) else ""


@dataclass(frozen=True, slots=True)
class AccountStatusCheck:
    """Looks at the key and the sender of what has waited since its acceptance."""

    standings: AccountStatuses

    def sender_removed(self, job: Job) -> bool:
        """Tell whether a job's account may no longer send from its address.

        Raises:
            DnsUnanswered: the sender is of a claimed domain, and DNS does not answer.
        """
        return bool(job.sender) and not self.standings.read(job.namespace, "", job.sender).sender

    def refusal(self, job: Job, now: Millis) -> StopReason | None:
        """Return why a job would not be accepted now, if it would not; at most one read.

        A key that another one has replaced counts for as long as that one does. If a job names no key, only the sender
        is checked.

        Raises:
            DnsUnanswered: the sender is of a claimed domain, and DNS does not answer.
        """
        key = key_of(job)
        if now - job.created_at < WAITED_MS or not (key or job.sender):
            return None
        standing = self.standings.read(job.namespace, key, job.sender)
        if standing.key and standing.sender:
            return None
        return StopReason.SENDER_REMOVED if standing.key else StopReason.KEY_REVOKED
