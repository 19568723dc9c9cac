"""Declarations of a provider apart from its adapter, for bootstrap, stack, doctor and command.

A provider's package has a module `needs` with `NEEDS`. It loads nothing but this module, so the stack and the command
read it without the adapter. Code outside `shared/providers` never compares a provider's name: it asks `needs_of`.
"""

from collections.abc import Callable, Mapping
from dataclasses import field
from enum import StrEnum
from functools import cache
from importlib import import_module
from typing import Any, Final

from shared.contracts import Credential
from shared.frozen import dataclass


class Transport(StrEnum):
    """How a provider is called."""

    HTTP = "http"
    SMTP = "smtp"
    """A server of the operator's choice: the base URL is required and names it."""
    NONE = "none"


@dataclass(frozen=True)
class Right:
    """A right of a sender in AWS.

    Attributes:
        service: as in an ARN, `ses`.
        actions: as in a policy, `ses:SendEmail`.
        resources: `kind/name` → why the name has a wildcard, empty if it has none. `*`: the actions know no resource.
        region: of the resources; the stack's if empty.
        conditions: of the statement, if there are any.
        refused: resources, as above, that the actions are refused on although a pattern includes them.
    """

    service: str
    actions: tuple[str, ...]
    resources: Mapping[str, str]
    region: str = ""
    conditions: Mapping[str, Any] | None = None
    refused: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NeededCheck:
    """A check that the doctor makes of a provider's credentials; `shared.providers.checks` has its function.

    Attributes:
        name: of its findings, if it cannot be made.
        deployed: whether there must be a deployment.
    """

    name: str
    deployed: bool = False


def _no_rights(credential: Credential) -> tuple[Right, ...]:
    del credential
    return ()


@dataclass(frozen=True, kw_only=True)
class ProviderNeeds:
    """The needs of a provider beside its secret.

    Attributes:
        transport: how it is called.
        settings: the fields of a credential that are its own, as in `cdk.json`.
        rights: what the sender of a credential may do in AWS.
        identities: it signs for domains that are made known to it, by its module `identities`.
        identity_rights: what makes domains known to it may do in AWS. It removes none.
        role_signs: the function's role signs its calls unless the secret has access keys of AWS. An empty secret is
            complete.
        topic: the AWS service that publishes its events to an SNS topic of the stack, in the stack's own region;
            `events.from_topic` reads them. Empty: its events come otherwise.
        topic_name: the end of that topic's name, as it is deployed; also the name of the module of `infra.resources`
            that makes it.
        schemes: those that its base URL may have; empty: those of the web.
        checks: that the doctor makes.
        calls_back: each message names the URL for its events, so the sender needs the API's address.
        has_feedback: it reports the fate of a message later.
        unbound: its webhooks' signatures cover no body, so each is remembered with the body that it came with.
        finished_bytes: the most bytes of a finished message that it sends as it is; 0: it takes none.
        people: the most people that one message may go to, with all copies; 0: no bound is known.
        shown: the most of them in `To`; 0: no bound but `people`.
        built_in: it has no secret, and puts what it reports into the feedback queue itself.
    """

    transport: Transport = Transport.HTTP
    settings: frozenset[str] = frozenset()
    rights: Callable[[Credential], tuple[Right, ...]] = field(default=_no_rights)
    identities: bool = False
    identity_rights: Callable[[Credential], tuple[Right, ...]] = field(default=_no_rights)
    role_signs: bool = False
    topic: str = ""
    topic_name: str = ""
    schemes: tuple[str, ...] = ()
    checks: tuple[NeededCheck, ...] = ()
    calls_back: bool = False
    has_feedback: bool = True
    unbound: bool = False
    finished_bytes: int = 0
    people: int = 0
    shown: int = 0
    built_in: bool = False


ACCOUNT: Final = "It asks about the account as such, which has no ARN, whether the service is there."
OWN_SETTINGS: Final = ("headers", "region", "configuration_set", "domains", "number")
"""Fields of a credential that only some providers have."""


def package_of(name: str) -> str:
    """Return the package of a provider by its name in the settings."""
    return f"{__package__}.{name.replace('-', '_')}"


@cache
def needs_of(name: str) -> ProviderNeeds:
    """Return what a provider declares by its name in the settings; the defaults for a name that no package has.

    Args:
        name: as in the settings.
    """
    package = package_of(name)
    path = f"{package}.needs"
    try:
        found: ProviderNeeds = import_module(path).NEEDS
    except ModuleNotFoundError as error:
        if error.name not in (package, path):
            raise  # the provider's module is there and lacks something
        return ProviderNeeds()
    return found


@cache
def names() -> tuple[str, ...]:
    """Return the names of all providers, as in the settings."""
    import pkgutil  # noqa: PLC0415 - the tracker and the command alone ask, and seldom

    packages = import_module(str(__package__)).__path__
    return tuple(module.name.replace("_", "-") for module in pkgutil.iter_modules(packages) if module.ispkg)


@cache
def with_topic() -> tuple[str, ...]:
    """Return the names of the providers whose events come by an SNS topic of the stack."""
    return tuple(name for name in names() if needs_of(name).topic)


def topic_output(topic_name: str) -> str:
    """Return the stack's output that holds a topic's ARN. `topic_name`: as `ProviderNeeds` has it."""
    return f"{topic_name.capitalize()}TopicArn"
