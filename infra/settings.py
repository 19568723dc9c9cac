"""`cdk.json`'s `posthaste` → a validated deployment; anything wrong is one clear line, before the synth begins."""

import ast
import ipaddress
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from enum import StrEnum
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from aws_cdk import RemovalPolicy
from pydantic import ValidationError

from infra.schema import (
    MAX_BACKUPS,
    MIN_WORKERS,
    CapacityFields,
    ConsoleFields,
    CredentialFields,
    LimitFields,
    Posthaste,
    PriceFields,
    QuotaFields,
)
from infra.serving import AtOnceFields, EdgeFields, VpcFields
from shared import contracts
from shared.contracts.console import ConsoleSettings
from shared.contracts.faults import fault
from shared.providers.needs import Transport, needs_of

ROOT: Final = Path(__file__).resolve().parents[1]
"""The checkout."""
MAX_RESERVED: Final = 900
"""Of a Lambda account's default 1,000 concurrent executions, 100 must stay unreserved."""
MAX_SETTINGS: Final = 2600
"""Bytes. Lambda's 4 KB of environment hold 1.4 KB of names and addresses besides, where these are long."""
MESSAGES_PER_WORKER: Final = 1000
"""Messages per second that a worker is sure to send. It sends three times as many in a benchmark."""
MAX_SPEED: Final = 100_000
"""Of the local cloud's time of notices."""
FIREWALL: Final = "firewall"
"""The part of a deployment that is in us-east-1."""
LOOPBACK: Final = ("127.0.0.1", "localhost")
LOCAL_LACKS: Final = {
    "kms_key_arn": " has no KMS",
    "domain": " has no certificates",
    "edge": " has no CloudFront",
    "vpc": "'s functions are processes of this machine",
    "code_signing_config_arn": " checks no signatures of code",
    "capacity": "'s tables have none",
    "webhooks_at_once": "'s functions have no addresses",
    "at_once": "'s machine is the bound",
}
"""A setting that the local cloud refuses → why."""


class SettingsError(Exception):
    """The settings are wrong; the message is one line for the person who wrote them."""


class DeployTarget(StrEnum):
    """The place of a stack."""

    AWS = "aws"
    LOCAL = "local"


@dataclass(frozen=True, slots=True)
class ApiDomain:
    """A domain of the API's own.

    Attributes:
        certificate_arn: of its certificate in ACM, in the stack's region.
        close_default_endpoint: whether API Gateway's own name leads nowhere.
    """

    name: str
    certificate_arn: str
    close_default_endpoint: bool


@dataclass(frozen=True, slots=True)
class TableCapacity:
    """The provisioned capacity of the table `records`, in units a second.

    Attributes:
        writes: the least and the most.
        reads: likewise.
        use: percent in use at which scaling aims.
    """

    writes: tuple[int, int]
    reads: tuple[int, int]
    use: int


@dataclass(frozen=True, slots=True)
class DeploymentSettings:
    """Everything that decides what is synthesised.

    Attributes:
        target: AWS or the local cloud.
        settings: what the functions get to see.
        reserved: whether lanes reserve their workers' concurrency.
        logs_days: retention of every log group.
        alarm_email: address that gets alarms; empty: there is no subscription.
        alarm_topic_arn: the operators' own topic of alarms; empty: the stack makes one.
        stacks: credential → the nested stack with its lane; the lanes of others are in the stack itself.
        kms_key_arn: the customer's key of tables, bucket, queues and credentials' secrets; empty: AWS' own keys.
        kms_everywhere: whether it is also that of logs, topics and functions' environments.
        permissions_boundary_arn: the policy that bounds every role; empty: none does.
        code_signing_config_arn: by which Lambda checks the functions' code; empty: it does not.
        vpc: of the functions; None: they are in Lambda's own network.
        tags: of every resource that can have tags.
        tracing: whether X-Ray traces the functions.
        operators_mfa: whether operators' policies grant only sessions that began with a second factor.
        uploads_days: after which uploaded files are deleted.
        backups_days: for which the tables can be restored to any second.
        protect: whether a production stack is protected from being deleted.
        bytecode: whether the functions' code is compiled.
        console: who may sign in to the console; None: there is no console.
        domain: the API's own name; None: it has that of API Gateway.
        capacity: of the table `records`; None: on demand.
        edge: what is before the API; None: nothing.
        at_once: the most executions of what is behind the API; None: as many as the account has.
    """

    target: DeployTarget
    settings: contracts.Settings
    reserved: bool
    logs_days: int
    alarm_email: str = ""
    alarm_topic_arn: str = ""
    stacks: Mapping[str, str] = field(default_factory=dict)
    kms_key_arn: str = ""
    kms_everywhere: bool = False
    permissions_boundary_arn: str = ""
    code_signing_config_arn: str = ""
    vpc: VpcFields | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    tracing: bool = False
    operators_mfa: bool = False
    uploads_days: int = 7
    backups_days: int = MAX_BACKUPS
    protect: bool = True
    bytecode: bool = True
    console: ConsoleSettings | None = None
    domain: ApiDomain | None = None
    capacity: TableCapacity | None = None
    at_once: AtOnceFields | None = None
    edge: EdgeFields | None = None

    @property
    def stage(self) -> str:
        """The stage's name."""
        return self.settings.stage

    @property
    def local(self) -> bool:
        """True on the local cloud, which lacks TLS, KMS and more."""
        return self.target is DeployTarget.LOCAL

    @property
    def removal(self) -> RemovalPolicy:
        """Whether tables and bucket are deleted with the stack: kept in production.

        They have no names of ours. A rollback leaves them, since it could not delete a protected table anyway.
        """
        return RemovalPolicy.RETAIN if self.production else RemovalPolicy.DESTROY

    @property
    def named_removal(self) -> RemovalPolicy:
        """Whether queues and secrets, which have names of ours, are deleted with it: kept in production.

        A rollback deletes those that it has created: else the next deploy would find their names taken.
        """
        return RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE if self.production else RemovalPolicy.DESTROY

    def lane_removal(self, credential: str) -> RemovalPolicy:
        """Return whether a lane's queues and secret are deleted with their stack: kept in production.

        AWS does not say whether a rollback of the stack counts as one of the creation for nested stacks. So as long as
        the stack is not protected, in its first deploy, those of nested stacks are deleted with it.
        """
        return RemovalPolicy.DESTROY if credential in self.stacks and not self.protect else self.named_removal

    @property
    def production(self) -> bool:
        """True for stages that start with `prod`: their data is kept when the stack is deleted."""
        return self.stage.startswith("prod")

    @property
    def credentials(self) -> tuple[contracts.Credential, ...]:
        """The declared credentials and the built-in test one: each has a lane."""
        return (*self.settings.credentials, self.settings.credential(contracts.TEST_CREDENTIAL))

    @property
    def concurrency(self) -> int:
        """Concurrent executions that all functions reserve together."""
        lanes = sum(c.workers + c.express_workers for c in self.credentials)
        return lanes + self.settings.more_reserved + contracts.HOOKS_RESERVED

    @property
    def webhooks_reserved(self) -> int | None:
        """Executions that the function for posts of providers reserves; None: it has no bound."""
        return self.settings.webhooks_at_once or (self.at_once.webhooks if self.at_once else None)


def workers(rate: float) -> int:
    """Return how many workers a rate in messages per second needs."""
    return max(MIN_WORKERS, math.ceil(rate / MESSAGES_PER_WORKER))


def providers() -> list[str]:
    """Return the providers a credential may name: the packages in `shared/providers` whose `send` defines `PROVIDER`.

    They are read, not imported: infra knows of the functions' code only the contracts. `test` is built in.
    """
    found = []
    for file in (ROOT / "shared" / "providers").glob("[a-z]*/send.py"):
        body = ast.parse(file.read_text(encoding="utf-8")).body
        targets = [t for s in body for t in (s.targets if isinstance(s, ast.Assign) else [getattr(s, "target", None)])]
        if any(isinstance(t, ast.Name) and t.id == "PROVIDER" for t in targets):
            found.append(file.parent.name.replace("_", "-"))
    return sorted(set(found) - {contracts.TEST_CREDENTIAL})


def read(
    raw: Any,
    *,
    target: str = "aws",
    simulator_url: str = "",
    notice_clock: str = "",
    protect: str = "on",
    bytecode: str = "on",
    part: str = "",
    known: Sequence[str] | None = None,
) -> DeploymentSettings:
    """Check the settings.

    Args:
        raw: the context `posthaste`: an object, or one as JSON text (as the command line passes it).
        target: `aws` or `local`.
        simulator_url: local only: the provider simulator's address, which replaces every credential's base URL.
        notice_clock: local only: `SINCExSPEED`; from these Unix seconds on the time of notices is faster.
        protect: `off` for the first deploy of a production stage. A protected stack that failed cannot be deleted, and
            so not be deployed again.
        bytecode: `off` to deploy from a machine that can neither find nor fetch Lambda's Python.
        part: `firewall` for only the stack of the edge's firewall, whose web ACL the settings cannot name yet.
        known: the names of providers; None: those there are.

    Raises:
        SettingsError: with one line that says what is wrong and where.
    """
    place = _place(target, simulator_url)
    parsed = _parse(raw)
    settings = _settings(parsed, place, simulator_url, providers() if known is None else known)
    settings = replace(settings, notice_clock=_notice_clock(notice_clock, place))
    reserved = parsed.reserved == "auto"
    # The local cloud's CloudFormation cannot update nested stacks.
    stacks = {c.id: c.stack for c in parsed.credentials if c.stack and place is not DeployTarget.LOCAL}
    if place is DeployTarget.LOCAL:
        _check_local(parsed)
    _check_part(parsed, part)
    deployment = DeploymentSettings(
        place,
        settings,
        reserved,
        parsed.retention.logs_days,
        parsed.alarm_email,
        parsed.alarm_topic_arn,
        stacks,
        kms_key_arn=parsed.kms_key_arn,
        kms_everywhere=parsed.kms_everywhere,
        permissions_boundary_arn=parsed.permissions_boundary_arn,
        code_signing_config_arn=parsed.code_signing_config_arn,
        vpc=parsed.vpc,
        tags=parsed.tags,
        tracing=parsed.tracing and place is DeployTarget.AWS,
        operators_mfa=parsed.operators_mfa,
        uploads_days=parsed.retention.uploads_days,
        backups_days=parsed.retention.backups_days,
        protect=_switch("protect", protect),
        bytecode=_switch("bytecode", bytecode),
        console=_console(parsed.console, place),
        domain=ApiDomain(**parsed.domain.model_dump()) if parsed.domain else None,
        capacity=_capacity(parsed.capacity),
        at_once=parsed.at_once,
        edge=parsed.edge,
    )
    _check_limits(deployment)
    return deployment


def _capacity(parsed: CapacityFields | None) -> TableCapacity | None:
    """Return the capacity of the table `records`; None: on demand."""
    if parsed is None:
        return None
    (write, writes), (read, reads) = parsed.writes, parsed.reads
    return TableCapacity((write, writes), (read, reads), parsed.use)


def _check_part(parsed: Posthaste, part: str) -> None:
    """Refuse an edge without a firewall, and a part that there is not."""
    if part not in ("", FIREWALL):
        raise SettingsError(f"context part: {part!r} is not {FIREWALL}")
    if part and parsed.edge is None:
        raise SettingsError(f"context part: the settings have no edge, so no {FIREWALL}")
    if not part and parsed.edge is not None and not parsed.edge.web_acl_arn:
        raise SettingsError(
            f"edge.web_acl_arn: deploy the firewall first (npx cdk deploy -c part={FIREWALL}) and write its output "
            "WebAclArn here, or the ARN of a web ACL of yours"
        )


def _check_local(parsed: Posthaste) -> None:
    """Refuse what the local cloud lacks."""
    for name, reason in LOCAL_LACKS.items():
        if getattr(parsed, name):
            raise SettingsError(f"{name}: the local cloud{reason}")


def _console(parsed: ConsoleFields | None, place: DeployTarget) -> ConsoleSettings | None:
    """Return who may sign in to the console; logins, and organizations other than groups, know no case."""
    if parsed is None:
        return None
    if parsed.inbox and place is not DeployTarget.LOCAL:
        raise SettingsError("console.inbox: only the local target has a simulator")
    return ConsoleSettings(
        parsed.provider,
        parsed.client_id,
        users=parsed.users,
        organizations=parsed.organizations,
        roles=parsed.named,
        base_url=_url("console.base_url", parsed.base_url, place),
        inbox=_url("console.inbox", parsed.inbox, place),
        own_accounts=parsed.own_accounts,
        buttons=parsed.buttons,
        issuer=parsed.issuer if _url("console.issuer", parsed.issuer, place) else "",
        groups_claim=parsed.groups_claim or "groups",
        name=parsed.shown,
    )


def _place(target: str, simulator_url: str) -> DeployTarget:
    """Return the place of a deployment."""
    if target not in tuple(DeployTarget):
        raise SettingsError(f"context target: {target!r} is neither aws nor local")
    place = DeployTarget(target)
    if simulator_url and place is not DeployTarget.LOCAL:
        raise SettingsError("context simulator_url: only the local target has a simulator")
    return place


def _notice_clock(text: str, place: DeployTarget) -> tuple[int, int]:
    """Return since when the time of notices is faster, and how many times."""
    if not text:
        return (0, 1)
    if place is not DeployTarget.LOCAL:
        raise SettingsError("context notice_clock: only the local target has a clock of its own")
    since, _, speed = text.partition("x")
    if not (since.isascii() and since.isdigit() and speed.isascii() and speed.isdigit() and 0 < int(speed) < MAX_SPEED):
        raise SettingsError(f"context notice_clock: {text!r} is not SINCExSPEED, like 1790000000x3600")
    return int(since), int(speed)


def _settings(parsed: Posthaste, place: DeployTarget, simulator_url: str, known: Sequence[str]) -> contracts.Settings:
    """Return what functions read of the settings."""
    return contracts.Settings(
        stage=parsed.stage,
        credentials=tuple(
            _credential(parsed.stage, f"credentials[{i}]", c, place, simulator_url, known)
            for i, c in enumerate(parsed.credentials)
        ),
        routes={channel: tuple(route) for channel, route in parsed.routes.items()},
        routing={channel: how for channel, how in parsed.routing.items() if how == "ordered"},
        public_url=f"https://{parsed.domain.name}" if parsed.domain else _url("public_url", parsed.public_url, place),
        jobs_days=parsed.retention.jobs_days,
        feedback_timeout=parsed.feedback_timeout,
        audit_days=parsed.retention.audit_days,
        audit_lock_days=parsed.retention.audit_lock_days,
        archive_days=parsed.retention.archive_days,
        uploads_days=parsed.retention.uploads_days,
        small_jobs_apart=parsed.small_jobs_apart,
        webhooks_at_once=parsed.webhooks_at_once,
        more_reserved=parsed.webhooks_at_once + (parsed.at_once.total if parsed.at_once else 0),
        writes_most=parsed.capacity.writes[1] if parsed.capacity else 0,
        max_key_days=parsed.max_key_days,
        limits=_limits(parsed.limits),
        prices=_prices(parsed.prices),
        newcomer_messages=parsed.limits.newcomer,
        images=(parsed.images.count, parsed.images.megabytes) if parsed.images else (0, 0),
    )


def _limits(declared: LimitFields) -> dict[str, int]:
    """Return the default limits of accounts, a price in millionths."""
    found = declared.model_dump(exclude_none=True, exclude={"newcomer"})
    return {name: round(most * contracts.MICRO) if name == "price" else most for name, most in found.items()}


def _prices(declared: PriceFields) -> dict[str, dict[str, int]]:
    """Return the prices of messages in millionths, by channel and country."""
    tables = declared.model_dump(exclude_none=True).items()
    return {
        channel: {country: round(price * contracts.MICRO) for country, price in table.items()}
        for channel, table in ((name, said if isinstance(said, dict) else {"*": said}) for name, said in tables)
        if table
    }


def _credential(
    stage: str, where: str, c: CredentialFields, place: DeployTarget, simulator_url: str, known: Sequence[str]
) -> contracts.Credential:
    """Return one declared credential. `where`: its place in the settings, for messages."""
    if c.provider not in known:
        raise SettingsError(f"{where}.provider: {c.provider!r} is unknown; there are {', '.join(known) or 'none'}")
    needs = needs_of(c.provider)
    relay = needs.transport is Transport.SMTP
    simulated = simulator_url and not relay
    base = f"{simulator_url.rstrip('/')}/{c.provider}/{c.id}" if simulated else c.base_url
    return contracts.Credential(
        id=c.id,
        provider=c.provider,
        channel=c.channel,
        rate=c.rate,
        base_url=_address(f"{where}.base_url", base, place, needs.schemes),
        accounts=("*",) if c.accounts == "*" else tuple(c.accounts),
        workers=c.workers or workers(c.rate),
        per_call=c.per_call,
        region=c.region,
        configuration_set=_configuration_set(stage, c),
        retired=c.retired,
        headers=tuple(c.headers),
        domains=tuple(c.domains),
        number=c.number,
        shared=c.campaigns == "shared",
        quotas=tuple(_quota(c, q) for q in c.quotas),
        when_full=contracts.WhenFull(c.when_full),
    )


def _quota(c: CredentialFields, q: QuotaFields) -> contracts.CredentialQuota:
    """Return one of a credential's quotas; the one per day has its warm-up."""
    per, warmup = contracts.Per(q.per), None
    if c.warmup is not None and per is contracts.Per.DAY:
        warmup = contracts.Warmup(date.fromisoformat(c.warmup.start), c.warmup.sizes(q.messages))
    return contracts.CredentialQuota(q.messages, per, q.zone, warmup)


def _check_limits(deployment: DeploymentSettings) -> None:
    """Raise `SettingsError` for lanes that need too many executions, or settings that no environment can hold."""
    if deployment.reserved and deployment.concurrency > MAX_RESERVED:
        raise SettingsError(
            f"credentials: the functions reserve {deployment.concurrency} concurrent executions in sum, "
            f"more than {MAX_RESERVED}; "
            'lower workers or set reserved to "none"'
        )
    size = len(deployment.settings.dumps())
    if size > MAX_SETTINGS:
        raise SettingsError(
            f"credentials: compressed they are {size} bytes, and a function's environment has room for {MAX_SETTINGS}; "
            "open more of them to all accounts, or split them among several stages"
        )


def _switch(name: str, value: str) -> bool:
    if value not in ("on", "off"):
        raise SettingsError(f"context {name}: {value!r} is neither on nor off")
    return value == "on"


def _configuration_set(stage: str, credential: CredentialFields) -> str:
    """Return a credential's configuration set: the one it names, or the one that the stack makes for it."""
    if "configuration_set" not in needs_of(credential.provider).settings:
        return ""
    return credential.configuration_set or contracts.configuration_set_name(stage, credential.id)


def _parse(raw: Any) -> Posthaste:
    if raw is None:
        raise SettingsError("cdk.json: context.posthaste is missing")
    if isinstance(raw, str):
        try:
            raw = json.loads(raw)
        except ValueError as error:
            raise SettingsError(f"context posthaste: not JSON: {error}") from error
    try:
        return Posthaste.model_validate(raw)
    except ValidationError as error:
        first, *more = error.errors(include_url=False)
        rest = f" (and {len(more)} more)" if more else ""
        raise SettingsError(f"{_where(first['loc'])}{_what(first)}{rest}") from error


def _where(location: Sequence[int | str]) -> str:
    path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in location)
    return f"{path.lstrip('.')}: " if path else ""


def _what(error: Any) -> str:
    if error["type"] == "extra_forbidden":
        return "unknown field"
    return fault(error) or str(error["msg"]).removeprefix("Value error, ")


def _url(where: str, value: str, target: DeployTarget) -> str:
    if not value:
        return ""
    parts = urlsplit(value)
    plain_is_fine = target is DeployTarget.LOCAL and parts.hostname in LOOPBACK
    if not parts.hostname or not (parts.scheme == "https" or (parts.scheme == "http" and plain_is_fine)):
        raise SettingsError(f"{where}: {value!r} is not an https address")
    if parts.query or parts.fragment or parts.username:
        raise SettingsError(f"{where}: {value!r} has more than scheme, host, port and path")
    return value.rstrip("/")


def _address(where: str, value: str, target: DeployTarget, schemes: Sequence[str]) -> str:
    """Check a provider's address. `schemes`: of its own, if it is not one of the web."""
    return _relay_url(where, value, target, schemes) if schemes else _url(where, value, target)


def _relay_url(where: str, value: str, target: DeployTarget, schemes: Sequence[str]) -> str:
    """Check an SMTP relay's address; one on another machine is spoken to in plain only if that is a private address."""
    parts = urlsplit(value)
    try:
        known = parts.scheme in schemes and bool(parts.hostname) and parts.port != 0
    except ValueError:  # the port
        known = False
    if not known:
        raise SettingsError(f"{where}: a relay is smtp://host:587, smtps://host:465 or smtp+plain://host:25")
    if parts.path.strip("/") or parts.query or parts.fragment or parts.username is not None:
        raise SettingsError(f"{where}: {parts.scheme}://… has more than scheme, host and port; the secret has the rest")
    _check_relay(where, parts.scheme, parts.hostname or "", target)
    return value.rstrip("/")


def _check_relay(where: str, scheme: str, host: str, target: DeployTarget) -> None:
    """Raise `SettingsError` for a relay that the local cloud, or a connection in plain text, must not use."""
    if target is DeployTarget.LOCAL and not _is_near(host, loopback=True):
        raise SettingsError(f"{where}: the local cloud relays only to this machine, not to {host!r}")
    if scheme == "smtp+plain" and not _is_near(host):
        raise SettingsError(f"{where}: smtp+plain is for loopback and private addresses, and {host!r} is neither")


def _is_near(host: str, *, loopback: bool = False) -> bool:
    """Tell whether a host is this machine, or (unless `loopback`) an address of a private network."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host == "localhost"
    return address.is_loopback or (address.is_private and not address.is_unspecified and not loopback)
