"""The checks that providers declare, and how they see a deployment."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cli.checks import Finding
from cli.doctor.context import Patient
from cli.doctor.secrets import own_keys
from shared.contracts import ENV_FEEDBACK_QUEUE_URL, Credential, secret_name
from shared.providers.checks import look_of, read_secret
from shared.providers.needs import NeededCheck, names, needs_of, topic_output


def declared() -> Iterator[tuple[str, NeededCheck]]:
    """Yield the checks of all providers, each with its provider."""
    for name in names():
        for check in needs_of(name).checks:
            yield name, check


def look(provider: str, check: str, patient: Patient) -> Iterable[Finding]:
    """Make one check."""
    mine = [c for c in patient.settings.credentials if c.provider == provider]
    return look_of(provider, check)(_Seen(patient), mine) if mine else ()


def subscriptions(patient: Patient, topic: str) -> list[Any]:
    """Return the subscriptions of a topic. `topic`: its ARN."""
    pages = patient.found.client("sns").get_paginator("list_subscriptions_by_topic").paginate(TopicArn=topic)
    return [x for page in pages for x in page["Subscriptions"]]


@dataclass(frozen=True, slots=True)
class _Seen:
    """A deployment as providers' checks see it. Implements `shared.providers.checks.Examined`."""

    patient: Patient

    @property
    def region(self) -> str:
        return str(self.patient.found.session.region_name)

    @property
    def is_deployed(self) -> bool:
        return bool(self.patient.environment)

    def client(self, service: str, region: str | None = None, *, attempts: int = 0) -> Any:
        return self.patient.found.client(service, region, attempts=attempts)

    def has_own_keys(self, credential: Credential) -> bool:
        return own_keys(self.patient, credential)

    def secret(self, credential: Credential) -> Mapping[str, str]:
        return read_secret(credential, self.patient.secret(secret_name(self.patient.settings.stage, credential.id)))[0]

    def senders(self, credentials: Sequence[Credential]) -> Collection[str]:
        accounts = self.patient.found.accounts(self.patient.clock)
        mine = [a.id for a in accounts.list_accounts() if any(c.open_to(a.id) for c in credentials)]
        return {s.lower() for name in mine for s in accounts.list_senders(name)}

    def topic(self, provider: str) -> str:
        return self.patient.found.output(topic_output(needs_of(provider).topic_name))

    def subscriptions(self, topic: str) -> Sequence[Mapping[str, Any]]:
        return subscriptions(self.patient, topic)

    def feedback_queue(self) -> str:
        url = self.patient.environment[ENV_FEEDBACK_QUEUE_URL]
        answer = self.patient.found.client("sqs").get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])
        return str(answer["Attributes"]["QueueArn"])
