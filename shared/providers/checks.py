"""Findings of the doctor: about each credential's secret, and by the checks that a provider declares.

The provider's own code judges a secret, in a call that cannot leave this machine. A provider that declares checks
(`ProviderNeeds.checks`) has a module `checks` with `LOOKS`: check → function.
"""

import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from difflib import get_close_matches
from enum import StrEnum
from importlib import import_module
from typing import Any, Final, NoReturn, Protocol, TypeAlias

from shared.contracts import WEBHOOK_PATH, Credential
from shared.domain.channels.lookup import channel_of
from shared.domain.content.content import Content, Mailbox
from shared.domain.jobs.chunks import Recipient
from shared.domain.jobs.outcomes import Rejected
from shared.frozen import dataclass
from shared.ports import BadSignature, Clock, NotSent, Retriable, Target
from shared.providers import registry
from shared.providers.needs import needs_of, package_of
from shared.providers.registry import AwsAccount, Needs
from shared.sigv4 import AwsKeys

_NAME: Final = re.compile(r"[a-z][a-z_]{0,30}")
KEYLESS: Final = frozenset({"no_key", "no_topic"})
"""Reasons that a reader of webhooks gives if it refuses every post."""
PAIR: Final = ("access_key_id", "secret_access_key")
"""With both of them a secret signs instead of the sender's role, where a role may sign."""


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


class _Nowhere:
    """A transport whose every request surely did not leave."""

    def request(self, *_: Any, **__: Any) -> NoReturn:
        raise NotSent("nowhere")

    submit = request


def read_secret(credential: Credential, text: str) -> tuple[Mapping[str, str], list[Finding]]:
    """Return a secret's fields and what is wrong with its form; a value is never part of a finding."""
    name = f"secret {credential.id}"
    do = f"posthaste credential set {credential.id} (fields: {', '.join(known(credential))})"
    if not text.strip():
        return {}, [] if needs_of(credential.provider).role_signs else [
            Finding(name, Level.ERROR, "the secret is empty: nothing is sent", do)
        ]
    try:
        fields = json.loads(text)
    except ValueError:
        fields = None
    if not isinstance(fields, dict) or not all(isinstance(value, str) for value in fields.values()):
        return {}, [Finding(name, Level.ERROR, "the secret is not a JSON object of strings: nothing is sent", do)]
    return fields, []


def _half_a_pair(credential: Credential, fields: Mapping[str, str]) -> bool:
    """Tell whether a secret has only one of two fields that make sense together."""
    return needs_of(credential.provider).role_signs and sum(_has(fields, x) for x in PAIR) == 1


def judge_secret(credential: Credential, text: str, url: str, clock: Clock) -> list[Finding]:
    """Judge a credential's secret: its form, whether its sender could call, whether its webhooks would be believed.

    Args:
        text: the secret's value; empty if it has none.
        url: the API's public address, empty if it is not known.
    """
    name = f"secret {credential.id}"
    fields, found = read_secret(credential, text)
    if found:
        return found
    do = f"posthaste credential set {credential.id} (fields: {', '.join(known(credential))})"
    found += [Finding(name, Level.WARNING, says, do) for says in strange(credential, fields)]
    if _half_a_pair(credential, fields):
        says = f"of {' and '.join(PAIR)} it has one: its sender's role signs, and mail leaves this account"
        found.append(Finding(name, Level.ERROR, says, do))
    if lacking := _lacking(credential, fields, url or "https://unknown.invalid", clock):
        says = f"its sender would refuse every message ({lacking})"
        found.append(Finding(name, Level.ERROR, says, do))
    if deaf := _deaf(credential, fields, clock):
        says = f"webhooks of its provider are refused ({deaf}): bounces and complaints stay unknown"
        path = WEBHOOK_PATH.format(provider=credential.provider, credential_id=credential.id)
        found.append(Finding(name, Level.ERROR, says, f"{do}; the provider posts to {url}{path}"))
    return found or [Finding(name, Level.OK, "complete" if fields else "empty, as its sender's role signs")]


def known(credential: Credential) -> list[str]:
    """Return the names of the fields that a credential's secret may have."""
    return [f.name for f in registry.secret_fields(credential.provider)]


def strange(credential: Credential, fields: Iterable[str]) -> list[str]:
    """Return a sentence about each field that the provider does not have, with the name that was probably meant.

    A name is shown only if it looks like one: a secret may have been typed in its place.
    """
    names = known(credential)
    out = []
    for field in sorted(set(fields) - set(names)):
        near = get_close_matches(field, names, n=1)
        shown = f"`{field}`" if _NAME.fullmatch(field) else "with a name that is not one"
        out.append(f"it has an unknown field {shown}" + (f": did you mean `{near[0]}`?" if near else ""))
    return out


def own_keys(text: str) -> bool:
    """Tell whether a secret has access keys of AWS, which may be those of another account."""
    try:
        fields = json.loads(text or "{}")
        return all(_has(fields, x) for x in PAIR)
    except (ValueError, AttributeError):
        return False


def _has(fields: Mapping[str, Any], name: str) -> bool:
    return bool(str(fields.get(name, "")).strip())


def _lacking(credential: Credential, fields: Mapping[str, str], url: str, clock: Clock) -> str:
    """Return the code by which the sender would refuse everything, or an empty string."""
    nowhere: Any = _Nowhere()
    needs = Needs(
        http=nowhere,
        clock=clock,
        secret=fields,
        base_url=credential.base_url,
        smtp=nowhere,
        credential=credential,
        aws=AwsAccount(credential.region or "us-east-1", lambda: AwsKeys("unused", "unused")),
        public_url=url,
    )
    channel = channel_of(credential.channel)
    content = Content(sender=Mailbox("news@example.com"), subject="x" if channel.needs_subject else "", text="x")
    target = Target(f"{'0' * 26}-0-0-1", Recipient(channel.example, channel.example))
    (outcome,) = registry.provider(credential.provider)(needs).send(content, [target], deadline=clock.now() + 1)
    return outcome.code if isinstance(outcome, Rejected) and outcome.provider_down else ""


def _deaf(credential: Credential, fields: Mapping[str, str], clock: Clock) -> str:
    """Return why posts of the provider would not be believed, or an empty string; events by a topic need no secret."""
    if needs_of(credential.provider).topic and not credential.region:
        return ""
    try:
        registry.webhooks(credential.provider).verify({}, b"{}", fields, clock.now())
    except KeyError:
        return ""  # it has none
    except BadSignature as error:
        return str(error) if str(error) in KEYLESS else ""
    except Retriable:
        return ""
    return ""
