"""Findings of the doctor, and the deployment as the checks that a provider declares see it.

A provider that declares checks (`ProviderNeeds.checks`) has a module `checks` with `LOOKS`: check → function.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from importlib import import_module
from typing import Any, Protocol, TypeAlias

from shared.contracts import Credential
from shared.providers.needs import package_of


class Level(StrEnum):
    """How bad a finding is."""

    OK = "ok"
    WARNING = "warning"
    ERROR = "error"
    SKIPPED = "skipped"
    """The check was not made; the finding says why."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check found. `says`: what it means; `do`: what to do about it, empty if there is nothing to do."""

    check: str
    level: Level
    says: str
    do: str = ""


class Examined(Protocol):
    """A deployment, or where it is to be, as a provider's check looks at it."""

    @property
    def region(self) -> str:
        """The stack's region of AWS."""

    @property
    def is_deployed(self) -> bool:
        """Whether there is a deployment."""

    def client(self, service: str, region: str | None = None, *, attempts: int = 0) -> Any:
        """Return a client of an AWS service.

        Args:
            service: as boto3 names it.
            attempts: how often a call is made that is throttled, if it is more than the usual.
        """

    def has_own_keys(self, credential: Credential) -> bool:
        """Check whether a credential's secret has keys of an AWS account."""

    def secret(self, credential: Credential) -> Mapping[str, str]:
        """Return the fields of a credential's secret; none if it has no text, or a malformed one.

        A value is never part of a finding.
        """

    def senders(self, credentials: Sequence[Credential]) -> Collection[str]:
        """Return the addresses and domains, lower-case, that accounts may send from through some credentials."""

    def topic(self, provider: str) -> str:
        """Return the ARN of the topic that a provider publishes its events to."""

    def subscriptions(self, topic: str) -> Sequence[Mapping[str, Any]]:
        """Return the items of `sns.list_subscriptions_by_topic`. `topic`: its ARN."""

    def feedback_queue(self) -> str:
        """Return the ARN of the queue of providers' events."""


Inspection: TypeAlias = Callable[[Examined, Sequence[Credential]], Iterable[Finding]]
"""Looks at the credentials of its provider, which may be none."""


def look_of(provider: str, check: str) -> Inspection:
    """Return the function of a check.

    Args:
        check: the name, as its `needs` declare it.
    """
    looks: Mapping[str, Inspection] = import_module(f"{package_of(provider)}.checks").LOOKS
    return looks[check]


def confirmed(subscription: Mapping[str, Any]) -> bool:
    """Tell whether SNS delivers to an item of `sns.list_subscriptions_by_topic`.

    In place of its ARN an item has `PendingConfirmation` before its owner confirms it. It has `Deleted` after its end,
    as by the link at the end of each mail.
    """
    return str(subscription.get("SubscriptionArn", "")).startswith("arn:")
