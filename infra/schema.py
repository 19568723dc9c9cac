"""The form of `cdk.json`'s `posthaste`: its fields, what each may be, and what of them must fit together."""

import re
from collections.abc import Mapping
from datetime import date
from itertools import pairwise, takewhile
from typing import Annotated, Final, Literal, Self
from urllib.parse import urlsplit
from zoneinfo import available_timezones

from pydantic import AfterValidator, Field, field_validator, model_validator

from infra.forms import DOMAIN, DomainName, KeyArn, PolicyArn, SettingFields, SigningArn, TopicArn
from infra.serving import AtOnceFields, DomainFields, EdgeFields, VpcFields
from shared import contracts
from shared.contracts.console import DOMAIN_PREFIX, GITHUB, GROUP_PREFIX, ID_PREFIX, OPENID, of_domain, of_group
from shared.domain.channels.channel import ChannelName
from shared.domain.channels.email import EMAIL as BY_EMAIL
from shared.domain.channels.lookup import channel_of
from shared.providers.needs import OWN_SETTINGS, needs_of

MAX_CREDENTIALS: Final = 100
MAX_WORKERS: Final = 1000
"""The event source's `MaximumConcurrency` ends there."""
MIN_WORKERS: Final = 2
"""The event source's `MaximumConcurrency` begins there."""
LOG_DAYS: Final = (
    1,
    3,
    5,
    7,
    14,
    30,
    60,
    90,
    120,
    150,
    180,
    365,
    400,
    545,
    731,
    1096,
    1827,
    2192,
    2557,
    2922,
    3288,
    3653,
)
"""The retentions that CloudWatch Logs knows."""
CREDENTIAL_ID: Final = re.compile(r"[a-z0-9-]{1,32}")
REGION: Final = re.compile(r"[a-z]{2,4}(?:-[a-z]+){1,2}-\d")
HEADER: Final = re.compile(r"[Xx]-[A-Za-z0-9-]{1,74}")
LOGIN: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.@+-]{0,253}")
"""By which people sign in to the console, as `shared.domain.people.is_login` has it."""
NUMBER: Final = re.compile(r"\+[1-9][0-9]{6,14}")
CONFIGURATION_SET: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
STACK: Final = re.compile(r"[a-z][a-z0-9-]{0,19}")
STAGE: Final = re.compile(r"[a-z][a-z0-9-]{0,19}")
OF_LANES: Final = re.compile(r"-lane(?:-|$)")
"""In a stage's name: its queues would have names of another stage's lanes."""
MAX_BACKUPS: Final = 35
"""Days of DynamoDB's point-in-time recovery."""
EMAIL: Final = re.compile(r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]+@(?:[A-Za-z0-9-]+\.)+[A-Za-z]{2,63}")
MAX_EMAIL: Final = 254
"""RFC 5321's limit of a path, less its brackets."""


MAX_TAGS: Final = 40
"""IAM, SQS and others take 50 tags of a resource; CloudFormation and the library add some."""
TAG: Final = re.compile(r"[A-Za-z0-9_.:/=+@ -]{0,256}")
"""The characters that every service takes: Lambda's, IAM's and SQS's sets differ."""
MAX_TAG_KEY: Final = 128


def _tag_key(value: str) -> str:
    if not 0 < len(value) <= MAX_TAG_KEY or not TAG.fullmatch(value) or value.lower().startswith(("aws:", "cdk:")):
        raise ValueError(f"{value!r} is no key of a tag: 1 to {MAX_TAG_KEY} of A-Z a-z 0-9 _.:/=+@ - and spaces")
    return value


def _tag_value(value: str) -> str:
    if not TAG.fullmatch(value):
        raise ValueError(f"{value!r} is no value of a tag: up to 256 of A-Z a-z 0-9 _.:/=+@ - and spaces")
    return value


TagKey = Annotated[str, AfterValidator(_tag_key)]
TagValue = Annotated[str, AfterValidator(_tag_value)]


MAX_WARMUP: Final = 100
"""Days of a warm-up: with the settings of other credentials they must fit into an environment."""


class WarmupFields(SettingFields):
    """A credential's `warmup`: the days on which its quota per day is smaller, as a table or by growth."""

    start: Annotated[str, Field(pattern=r"^\d{4}-\d\d-\d\d$")]
    days: list[Annotated[int, Field(ge=1)]] = Field(default_factory=list)
    first: Annotated[int, Field(ge=1)] | None = None
    factor: Annotated[float, Field(gt=1, le=10)] | None = None

    @model_validator(mode="after")
    def _form(self) -> Self:
        try:
            date.fromisoformat(self.start)
        except ValueError:
            raise ValueError(f"start {self.start!r} is no day, such as 2026-12-01") from None
        grows = self.first is not None and self.factor is not None
        if bool(self.days) == grows or (self.days and (self.first is not None or self.factor is not None)):
            raise ValueError("it has either days, or first and factor")
        return self

    def sizes(self, full: int) -> tuple[int, ...]:
        """Return the units of each day before the full quota, at most MAX_WARMUP + 1 of them if they grow."""
        if self.days:
            return tuple(takewhile(lambda units: units < full, self.days))
        found, units = list[int](), float(self.first or 0)
        while units < full and len(found) <= MAX_WARMUP:
            found.append(int(units))
            units *= self.factor or 1.0
        return tuple(found)


class QuotaFields(SettingFields):
    """One of a credential's `quotas`: so many messages, or segments of SMS, in each period."""

    messages: Annotated[int, Field(ge=1, le=10**12)]
    per: Literal["hour", "day", "month", "24h"]
    zone: str = "UTC"

    @model_validator(mode="after")
    def _zone(self) -> Self:
        if contracts.Per(self.per) is contracts.Per.SLIDING and "zone" in self.model_fields_set:
            raise ValueError("zone belongs to a calendar period; 24h slides, in any zone")
        if self.zone not in available_timezones():
            raise ValueError(f"zone {self.zone!r} is no name of the IANA database, such as Europe/Paris")
        return self


# change: a setting of `cdk.json`
class CredentialFields(SettingFields):
    """One of `credentials`, whose secret lives elsewhere."""

    id: str
    provider: str
    channel: ChannelName
    rate: Annotated[float, Field(gt=0, le=100_000)]
    base_url: str = ""
    accounts: Literal["*"] | Annotated[list[Annotated[str, Field(min_length=1)]], Field(min_length=1)] = "*"
    workers: Annotated[int, Field(ge=MIN_WORKERS, le=MAX_WORKERS)] | None = None
    per_call: Annotated[int, Field(ge=0, le=1000)] = 0
    region: str = ""
    configuration_set: str = ""
    stack: str = ""
    retired: bool = False
    headers: list[str] = Field(default_factory=list)
    domains: list[DomainName] = Field(default_factory=list)
    number: str = ""
    campaigns: Literal["exclusive", "shared"] = "exclusive"
    quotas: list[QuotaFields] = Field(default_factory=list)
    warmup: WarmupFields | None = None
    when_full: Literal["next", "wait"] = "next"

    @model_validator(mode="after")
    def _quotas(self) -> Self:
        periods = [q.per for q in self.quotas]
        if twice := [per for i, per in enumerate(periods) if per in periods[:i]]:
            raise ValueError(f"quotas: two are per {twice[0]}")
        least = channel_of(self.channel).most_slots
        if few := [q for q in self.quotas if q.messages < least]:
            raise ValueError(f"quotas: {few[0].messages} per {few[0].per} is less than one message of {least} segments")
        if self.warmup is not None:
            self._check_warmup(self.warmup, least)
        return self

    def _check_warmup(self, warmup: WarmupFields, least: int) -> None:
        full = next((q.messages for q in self.quotas if contracts.Per(q.per) is contracts.Per.DAY), None)
        if full is None:
            raise ValueError("warmup: quotas need one per day, to which it grows")
        sizes = warmup.sizes(full)
        if len(sizes) > MAX_WARMUP:
            raise ValueError(f"warmup: it lasts more than {MAX_WARMUP} days")
        if not sizes:
            raise ValueError(f"warmup: the first day is no smaller than the {full} of the quota per day")
        if sizes[0] < least:
            raise ValueError(f"warmup: {sizes[0]} on the first day is less than one message of {least} segments")
        if any(later < earlier for earlier, later in pairwise(warmup.days)):
            raise ValueError("warmup: a day is smaller than the day before")

    @field_validator("stack")
    @classmethod
    def _stack(cls, value: str) -> str:
        if value and not STACK.fullmatch(value):
            raise ValueError(f"{value!r} is not a letter followed by up to 19 of a-z, 0-9 and -")
        return value

    @field_validator("id")
    @classmethod
    def _id(cls, value: str) -> str:
        if not CREDENTIAL_ID.fullmatch(value):
            raise ValueError(f"{value!r} is not 1 to 32 of a-z, 0-9 and -")
        if value == contracts.TEST_CREDENTIAL:
            raise ValueError(f"{value!r} is reserved for the built-in credential of test keys")
        if value.endswith("-dlq"):
            raise ValueError(f"{value!r} ends with -dlq, which names dead-letter queues")
        return value

    @field_validator("rate")
    @classmethod
    def _rate(cls, value: float) -> float:
        if value < contracts.MIN_RATE:
            raise ValueError(
                f"{value:g} messages per second are too few: at least {contracts.MIN_RATE:g}, one in 50 seconds"
            )
        return value

    @model_validator(mode="after")
    def _own(self) -> Self:
        for name in OWN_SETTINGS:
            if getattr(self, name) and name not in needs_of(self.provider).settings:
                raise ValueError(f"{name} is not a setting of provider {self.provider}")
        return self

    @model_validator(mode="after")
    def _forms(self) -> Self:
        if wrong := [x for x in self.headers if not HEADER.fullmatch(x)]:
            raise ValueError(f"headers: {wrong[0]!r} is not X- and letters, digits and hyphens")
        if self.number and not NUMBER.fullmatch(self.number):
            raise ValueError(f"number {self.number!r} is not + and 7 to 15 digits")
        return self

    @model_validator(mode="after")
    def _region(self) -> Self:
        if self.region and not REGION.fullmatch(self.region):
            raise ValueError(f"region {self.region!r} is no AWS region")
        if self.configuration_set and not CONFIGURATION_SET.fullmatch(self.configuration_set):
            raise ValueError(f"configuration_set {self.configuration_set!r} is not 1 to 64 of A-Z, a-z, 0-9, _ and -")
        own = needs_of(self.provider).settings
        if self.region and "configuration_set" in own and not self.configuration_set:
            raise ValueError("region needs configuration_set: the stack makes none in another region than its own")
        return self


class Retention(SettingFields):
    """For how many days things are kept."""

    # change: how long jobs are kept
    jobs_days: Annotated[int, Field(ge=1, le=3650)] = 30
    logs_days: int = 30
    uploads_days: Annotated[int, Field(ge=2, le=365)] = contracts.UPLOADS_DAYS
    backups_days: Annotated[int, Field(ge=1, le=MAX_BACKUPS)] = MAX_BACKUPS
    audit_days: Annotated[int, Field(ge=30, le=3650)] = contracts.AUDIT_DAYS
    audit_lock_days: Annotated[int, Field(ge=0, le=3650)] = 0
    archive_days: Annotated[int, Field(ge=0, le=3650)] = 0

    @field_validator("logs_days")
    @classmethod
    def _logs_days(cls, value: int) -> int:
        if value not in LOG_DAYS:
            raise ValueError(f"{value} is not one of CloudWatch's retentions: {', '.join(map(str, LOG_DAYS))}")
        return value


Most = Annotated[int, Field(ge=0, le=10**12)]
"""The most messages of a day."""


Units = Annotated[int, Field(ge=1, le=1_000_000)]
"""Of DynamoDB's capacity, a second."""
Bounds = Annotated[list[Units], Field(min_length=2, max_length=2)]
"""The least and the most."""


class CapacityFields(SettingFields):
    """The provisioned capacity of the table `records`. `use`: percent in use at which scaling aims."""

    writes: Bounds
    reads: Bounds
    use: Annotated[int, Field(ge=20, le=90)] = 70

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        for name in ("writes", "reads"):
            least, most = getattr(self, name)
            if least > most:
                raise ValueError(f"{name}: {least} is the least, and more than {most}")
        return self


class LimitFields(SettingFields):
    """The limits of a UTC day of accounts for which operators have set no others."""

    email: Most | None = None
    sms: Most | None = None
    voice: Most | None = None
    whatsapp: Most | None = None
    messages: Most | None = None
    """Of all channels together."""
    price: Annotated[float, Field(ge=0, le=10**9)] | None = None
    """In the unit of the deployment's prices."""
    newcomer: Most = contracts.NEWCOMER_MESSAGES
    """Messages a day of an account that a person makes at the console; 0: as many as other accounts may send."""


class ImageFields(SettingFields):
    """`images`: pictures of messages, and the most of them that an account has for its keys of a kind."""

    count: Annotated[int, Field(ge=1, le=2000)] = 500
    megabytes: Annotated[int, Field(ge=1, le=2000)] = 100


Price = Annotated[float, Field(ge=0, le=10**6)]
"""For a message, or a segment of an SMS, in any one unit of money."""
Country = Annotated[str, Field(pattern=r"^([A-Z]{2}|\*)$")]
"""ISO 3166; `*`: all others."""


class PriceFields(SettingFields):
    """Prices of messages, as operators know them."""

    email: Price | None = None
    sms: dict[Country, Price] = Field(default_factory=dict)
    voice: dict[Country, Price] = Field(default_factory=dict)
    whatsapp: dict[Country, Price] = Field(default_factory=dict)


class Allowed(SettingFields):
    """People who may sign in to the console: logins, organizations with all members, domains of verified addresses."""

    users: list[Annotated[str, Field(min_length=1, max_length=254)]] = Field(default_factory=list)
    organizations: list[Annotated[str, Field(min_length=1, max_length=254)]] = Field(default_factory=list)
    domains: list[DomainName] = Field(default_factory=list)


class ConsoleFields(SettingFields):
    """`console`: who may sign in, and by which provider of identities."""

    provider: Literal["github", "openid"] = GITHUB
    client_id: Annotated[str, Field(min_length=1, max_length=200)]
    allowed: Allowed = Field(default_factory=Allowed)
    roles: dict[str, Literal["operator", "key-admin"]] = Field(default_factory=dict)
    base_url: str = ""
    inbox: str = ""
    own_accounts: bool = True
    buttons: bool = False
    issuer: Annotated[str, Field(max_length=500)] = ""
    groups_claim: Annotated[str, Field(max_length=200)] = ""
    name: Annotated[str, Field(max_length=40)] = ""

    @model_validator(mode="after")
    def _somebody(self) -> Self:
        if not (self.allowed.users or self.allowed.organizations or self.allowed.domains or self.roles):
            raise ValueError("allowed is empty, name users or organizations")
        return self

    @model_validator(mode="after")
    def _provider(self) -> Self:
        of_others: dict[str, dict[str, object]] = {
            OPENID: {
                "issuer": self.issuer,
                "groups_claim": self.groups_claim,
                "name": self.name,
                "allowed.domains": self.allowed.domains,
            },
            GITHUB: {"base_url": self.base_url},
        }
        for provider, fields in of_others.items():
            if wrong := [name for name, value in fields.items() if value and provider != self.provider]:
                raise ValueError(f"{wrong[0]} is a setting of provider {provider}, not of {self.provider}")
        return self

    @model_validator(mode="after")
    def _openid(self) -> Self:
        if self.provider != OPENID:
            return self
        if not self.issuer:
            raise ValueError("provider openid needs issuer, the address that its tokens name as iss")
        if "/.well-known/" in self.issuer:
            raise ValueError("issuer is the address before /.well-known/openid-configuration")
        named = [name for name in self.roles if name.startswith(DOMAIN_PREFIX)]
        if wrong := [name for name in named if not DOMAIN.fullmatch(name.removeprefix(DOMAIN_PREFIX))]:
            raise ValueError(f"roles: {wrong[0]!r} is not @ and a domain in lower case")
        if wrong := [name for name in self._logins if not LOGIN.fullmatch(name)]:
            raise ValueError(f"{wrong[0]!r} is no login; a group of roles is written {of_group(wrong[0])!r}")
        if wrong := [name for name in self.allowed.organizations if name.startswith((GROUP_PREFIX, DOMAIN_PREFIX))]:
            raise ValueError(
                f"allowed.organizations: {wrong[0]!r} has a prefix; groups are listed without, and domains in domains"
            )
        return self

    @property
    def _logins(self) -> list[str]:
        """The names that have to be logins; groups and domains are named in `roles` only."""
        mine = [x for x in self.roles if not x.startswith((GROUP_PREFIX, DOMAIN_PREFIX))]
        return [x for x in (*self.allowed.users, *mine) if not x.startswith(ID_PREFIX)]

    @property
    def named(self) -> dict[str, str]:
        """The roles by who has them, as the console's function compares them: groups in their own case."""
        return {_compared(name): role for name, role in self.roles.items()}

    @property
    def users(self) -> tuple[str, ...]:
        """The logins and ids that may sign in, as the console's function compares them."""
        return tuple(_compared(name) for name in self.allowed.users)

    @property
    def organizations(self) -> tuple[str, ...]:
        """The organizations that may sign in, as the console's function compares them: groups in their own case."""
        if self.provider != OPENID:
            return tuple(name.lower() for name in self.allowed.organizations)
        return (*map(of_group, self.allowed.organizations), *map(of_domain, self.allowed.domains))

    @property
    def shown(self) -> str:
        """How people know an OpenID provider: by its host, unless `name` says it better."""
        return self.name or urlsplit(self.issuer).hostname or ""


def _compared(name: str) -> str:
    """Return a name as the console's function compares it: groups and ids in their own case, others in lower case."""
    return name if name.startswith((GROUP_PREFIX, ID_PREFIX)) else name.lower()


class Posthaste(SettingFields):
    """All of `posthaste`."""

    stage: str
    credentials: list[CredentialFields]
    routes: dict[ChannelName | Literal["mail"], Annotated[list[str], Field(min_length=1)]] = Field(default_factory=dict)
    routing: dict[ChannelName, Literal["spread", "ordered"]] = Field(default_factory=dict)
    retention: Retention = Field(default_factory=Retention)
    feedback_timeout: Annotated[int, Field(ge=60, le=30 * 86_400)] = contracts.FEEDBACK_TIMEOUT
    max_key_days: Annotated[int, Field(ge=0, le=3650)] = 0
    public_url: str = ""
    domain: DomainFields | None = None
    edge: EdgeFields | None = None
    reserved: Literal["auto", "none"] = "auto"
    small_jobs_apart: bool = False
    capacity: CapacityFields | None = None
    webhooks_at_once: Annotated[int, Field(ge=0, le=500)] = 0
    at_once: AtOnceFields | None = None
    alarm_email: str = ""
    alarm_topic_arn: TopicArn = ""
    kms_key_arn: KeyArn = ""
    kms_everywhere: bool = False
    permissions_boundary_arn: PolicyArn = ""
    code_signing_config_arn: SigningArn = ""
    vpc: VpcFields | None = None
    tags: Annotated[dict[TagKey, TagValue], Field(max_length=MAX_TAGS)] = Field(default_factory=dict)
    tracing: bool = False
    operators_mfa: bool = False
    images: ImageFields | None = None
    console: ConsoleFields | None = None
    limits: LimitFields = Field(default_factory=LimitFields)
    prices: PriceFields = Field(default_factory=PriceFields)

    @field_validator("alarm_email")
    @classmethod
    def _alarm_email(cls, value: str) -> str:
        if value and (len(value) > MAX_EMAIL or not EMAIL.fullmatch(value)):
            raise ValueError(f"{value!r} is not an e-mail address")
        return value

    @field_validator("stage")
    @classmethod
    def _stage(cls, value: str) -> str:
        if not STAGE.fullmatch(value):
            raise ValueError(f"{value!r} is not a letter followed by up to 19 of a-z, 0-9 and -")
        if OF_LANES.search(value):
            raise ValueError(
                f"{value!r} has -lane, by which the queues of a stage {value.partition('-lane')[0]!r} begin"
            )
        return value

    @model_validator(mode="after")
    def _together(self) -> Self:
        channels: dict[str, str] = {}
        for c in self.credentials:
            if c.id in channels:
                raise ValueError(f"credential {c.id!r} is declared twice")
            channels[c.id] = c.channel
        if len(channels) > MAX_CREDENTIALS:
            raise ValueError(f"{len(channels)} credentials; a deployment has at most {MAX_CREDENTIALS}")
        self._check_routes(channels)
        for channel in self.routing.keys() - self.routes.keys():
            raise ValueError(f"routing names channel {channel!r}, which has no route")
        self._check_retired()
        self._check_excluded()
        self._check_needed()
        return self

    def _check_excluded(self) -> None:
        """Refuse settings of which one leaves no sense to the other."""
        if self.domain is not None and self.public_url:
            raise ValueError("public_url: domain.name is the public address; leave one of them out")
        if self.alarm_email and self.alarm_topic_arn:
            raise ValueError("alarm_email: your own topic (alarm_topic_arn) has its own subscribers; leave one out")
        if self.webhooks_at_once and self.reserved == "none":
            raise ValueError('webhooks_at_once is reserved concurrency, and reserved is "none"')
        if self.at_once is not None:
            self._check_at_once(self.at_once)

    def _check_needed(self) -> None:
        """Refuse settings about another one that is not there."""
        if self.kms_everywhere and not self.kms_key_arn:
            raise ValueError("kms_everywhere: it is about kms_key_arn, and there is none")
        if self.edge is not None and self.domain is None:
            raise ValueError("edge: it answers to the name of domain, and there is none")

    def _check_at_once(self, bounds: AtOnceFields) -> None:
        """Refuse bounds that have nothing to bound, or a second one of the same function."""
        if self.reserved == "none":
            raise ValueError('at_once is reserved concurrency, and reserved is "none"')
        if bounds.webhooks and self.webhooks_at_once:
            raise ValueError("at_once.webhooks: webhooks_at_once bounds the function already; leave one out")
        if bounds.console and self.console is None:
            raise ValueError("at_once.console: there is no console")

    def _check_routes(self, channels: Mapping[str, str]) -> None:
        """Check that each route names credentials of its channel, once each. `channels`: by id of a credential."""
        for name, route in self.routes.items():
            channel = BY_EMAIL.name if name == contracts.MAIL_ROUTE else name
            for i, credential in enumerate(route):
                if credential not in channels:
                    raise ValueError(f"route {name!r} names credential {credential!r}, which is not declared")
                if channels[credential] != channel:
                    found = channels[credential]
                    raise ValueError(f"route {name!r} names credential {credential!r} of channel {found!r}")
                if credential in route[:i]:
                    raise ValueError(f"route {name!r} names credential {credential!r} twice")
        self._check_mail_route()

    def _check_mail_route(self) -> None:
        providers = {c.id: c.provider for c in self.credentials}
        for credential in self.routes.get(contracts.MAIL_ROUTE, ()):
            if not needs_of(providers[credential]).finished_bytes:
                provider = providers[credential]
                raise ValueError(
                    f"route 'mail' names credential {credential!r}, but {provider!r} takes no finished messages"
                )

    def _check_retired(self) -> None:
        retired = {c.id for c in self.credentials if c.retired}
        for channel, route in self.routes.items():
            for name in retired & set(route):
                raise ValueError(f"route {channel!r} names credential {name!r}, which is retired")
