"""The providers. The package `shared.providers.<name>` serves a provider, and is loaded when it is first asked for.

Its module `send` exposes:

- `PROVIDER`, a factory;
- `WEBHOOKS`, a factory or None;
- `SECRET`, the fields of its credentials' secrets;
- `RESOLVES`, if it can look up the fate of a message.
"""

import re
from collections.abc import Callable, Mapping
from importlib import import_module
from types import ModuleType
from typing import Any, Final

from shared.contracts import Credential, ProviderEvent
from shared.frozen import dataclass
from shared.ports import BadEvents, Clock, DomainIdentities, Http, Provider, Queue, Smtp, WebhookReader
from shared.sigv4 import AwsKeys

_NAME: Final = re.compile(r"[a-z][a-z0-9]*(?:[-_][a-z0-9]+)*")


@dataclass(frozen=True, slots=True)
class AwsAccount:
    """The account the function runs in. `keys`: of the function's role, always current; None if there are none."""

    region: str
    keys: Callable[[], AwsKeys | None]


@dataclass(frozen=True, slots=True)
class Needs:
    """Parts that a provider may be built from.

    Attributes:
        http: the transport.
        clock: time.
        secret: the credential's secret, {} until the operator fills it in.
        base_url: from the settings; empty: the provider's own.
        feedback: the feedback queue; only for the built-in test provider.
        smtp: the transport of the SMTP relay.
        credential: as declared in the settings.
        aws: the function's own account, for providers that are AWS services.
        public_url: the API's address, below which webhooks come in; empty if it is not known.
    """

    http: Http
    clock: Clock
    secret: Mapping[str, str]
    base_url: str = ""
    feedback: Queue | None = None
    smtp: Smtp | None = None
    credential: Credential | None = None
    aws: AwsAccount | None = None
    public_url: str = ""


@dataclass(frozen=True, slots=True)
class SecretField:
    """A field of a credential's secret.

    Attributes:
        name: its key in the secret's JSON object.
        about: what it is, for the person who types it.
        required: whether the sender or the webhooks need it.
        feedback: whether it serves to verify webhooks.
    """

    name: str
    about: str
    required: bool = True
    feedback: bool = False


ProviderFactory = Callable[[Needs], Provider]
WebhooksFactory = Callable[[], WebhookReader]
TopicReader = Callable[[str], tuple[str, list[ProviderEvent]]]
Later = Callable[[str, str], Any]
"""Returns a client of an AWS service in a region, made when it is first used."""
IdentitiesFactory = Callable[[Later, str], DomainIdentities]


def _module(name: str) -> ModuleType:
    if _NAME.fullmatch(name) is None:
        raise KeyError(name)
    package = f"{__package__}.{name.replace('-', '_')}"
    path = f"{package}.send"
    try:
        return import_module(path)
    except ModuleNotFoundError as error:
        if error.name not in (package, path):
            raise  # the provider's module is there and lacks something
        raise KeyError(name) from None


def _find(name: str, attribute: str) -> object:
    found: object = getattr(_module(name), attribute, None)
    if found is None:
        raise KeyError(name)
    return found


def provider(name: str) -> ProviderFactory:
    """Return the factory of a provider by the name in the settings; KeyError if there is none."""
    factory: ProviderFactory = _find(name, "PROVIDER")  # type: ignore[assignment]
    return factory


def webhooks(name: str) -> WebhookReader:
    """Return a new reader of a provider's webhooks; KeyError if there is none."""
    factory: WebhooksFactory = _find(name, "WEBHOOKS")  # type: ignore[assignment]
    return factory()


def secret_fields(name: str) -> tuple[SecretField, ...]:
    """Return the fields of a provider's secrets by the name in the settings; KeyError if there is no such provider."""
    fields: tuple[SecretField, ...] = _find(name, "SECRET")  # type: ignore[assignment]
    return fields


def verifying(name: str, secret: Mapping[str, str]) -> dict[str, str]:
    """Return those fields of a secret by which a provider's webhooks are verified; KeyError if there is none."""
    return {f.name: secret[f.name] for f in secret_fields(name) if f.feedback and f.name in secret}


def from_topic(body: str) -> tuple[str, list[ProviderEvent]]:
    """Read a message that SNS put into the feedback queue, by the first provider with a topic that knows its event.

    Returns:
        The credential and its words; an empty credential if the event is none of ours.

    Raises:
        BadEvents: no provider knows it.
    """
    from shared.providers.needs import with_topic  # noqa: PLC0415 - the tracker alone asks, and seldom

    unknown = BadEvents("no_event")
    for name in with_topic():
        reader: TopicReader = import_module(f"{__package__}.{name.replace('-', '_')}.events").from_topic
        try:
            return reader(body)
        except BadEvents as error:
            unknown = error
    raise unknown


def identities(name: str) -> IdentitiesFactory:
    """Return what makes the domains of a provider, from clients and a region.

    Args:
        name: of a provider that declares `identities`.
    """
    factory: IdentitiesFactory = import_module(f"{__package__}.{name.replace('-', '_')}.identities").IDENTITIES
    return factory


def resolves(name: str) -> bool:
    """Check whether a provider can look up the fate of a message; KeyError if there is none."""
    return bool(getattr(_module(name), "RESOLVES", False))
