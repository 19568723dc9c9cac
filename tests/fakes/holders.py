"""The reservation of credentials by campaigns, in memory."""

from collections.abc import Container

from shared.domain.jobs.job import Job
from shared.domain.jobs.states import Change


class Holders:
    """Credential → the campaign that took it last, and its jobs that run. Used within a store's transaction."""

    def __init__(self) -> None:
        self.items: dict[str, tuple[str, frozenset[str]]] = {}
        self.turns: dict[str, list[str]] = {}

    def of(self, credential: str) -> str:
        """Return the campaign that holds a credential, or empty."""
        campaign, jobs = self.items.get(credential, ("", frozenset()))
        return campaign if jobs else ""

    def running(self, credential: str) -> frozenset[str]:
        """Return the jobs that hold a credential."""
        return self.items.get(credential, ("", frozenset()))[1]

    def change(self, job: Job, change: Change) -> str:
        """Do what a job's change means for its credential; returns the other campaign that stands in its way."""
        if job.exclusive and change is Change.PLAN:
            return self.take(job)
        if job.exclusive and change is Change.LOG:
            self.give_back(job)
        return ""

    def take(self, job: Job) -> str:
        """Take a job's credential for its campaign, unless another's jobs run on it; returns whose."""
        credential = job.route[0]
        if self.of(credential) not in ("", job.campaign):
            return self.of(credential)
        self.items[credential] = (job.campaign, self.running(credential) | {job.id})
        return ""

    def keep(self, credential: str, jobs: Container[str]) -> None:
        """Take from those that hold a credential whoever is not among these."""
        campaign, held = self.items.get(credential, ("", frozenset()))
        self.items[credential] = (campaign, frozenset(job for job in held if job in jobs))

    def give_back(self, job: Job) -> None:
        """Take a job from those that run on its credential."""
        credential = job.route[0]
        self.items[credential] = (self.items.get(credential, ("",))[0], self.running(credential) - {job.id})
