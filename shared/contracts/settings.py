"""The settings in `cdk.json`, as functions receive them."""

import base64
import json
import zlib
from dataclasses import field, fields
from enum import StrEnum
from typing import Any, Final

from shared.contracts.names import (
    ANY_CHANNEL,
    AUDIT_DAYS,
    FEEDBACK_TIMEOUT,
    MIN_JOBS_DAYS,
    NEWCOMER_MESSAGES,
    TEAM_ENDING,
    TEST_CREDENTIAL,
    TEST_RATE,
    UPLOADS_DAYS,
)
from shared.contracts.quotas import CredentialQuota, WhenFull
from shared.frozen import dataclass

MOST_TOGETHER: Final = 10
"""Messages that SQS hands over at once."""
MOST_GROUPS: Final = 8
"""Of a worker: some 80 messages in hand."""


@dataclass(frozen=True, slots=True)
class Credential:
    """One provider account as declared in `cdk.json`. `rate`: messages per second; `accounts`: `*` or account ids."""

    id: str
    provider: str
    channel: str
    rate: float
    base_url: str = ""
    accounts: tuple[str, ...] = ("*",)
    workers: int = 2
    per_call: int = 0
    """Upper bound of recipients per provider call; 0: the provider's own limit and the rate decide."""
    region: str = ""
    """Of an AWS service; empty: the deployment's."""
    configuration_set: str = ""
    """SES: what ties a message to its events."""
    retired: bool = False
    """Takes nothing new; what was accepted for it is still sent."""
    headers: tuple[str, ...] = ()
    """SMTP: names of the headers that clients may set; other providers tell headers from orders."""
    domains: tuple[str, ...] = ()
    """SES: the domains that it may send from, their subdomains included; empty: any."""
    number: str = ""
    """AWS SMS: the own number to which recipients may write, E.164."""
    shared: bool = False
    """Campaigns run side by side, each at its own rate, instead of one after the other."""
    quotas: tuple[CredentialQuota, ...] = ()
    """Units that it may send in each of these periods."""
    when_full: WhenFull = WhenFull.NEXT

    @property
    def overflows(self) -> bool:
        """Whether messages move to the next credential of their route while a quota is used up."""
        return self.when_full is WhenFull.NEXT

    @property
    def express_workers(self) -> int:
        """Additional workers, only for the express queue: as many again, since only they serve single mails."""
        return self.workers

    @property
    def group(self) -> int:
        """Pointers to small jobs that a worker serves together at the most: a fifth of a second's messages."""
        return min(MOST_TOGETHER, max(2, round(self.rate / 5)))

    @property
    def groups(self) -> int:
        """Groups that a worker serves side by side at the most: one for 50 messages a second, as each takes 0.2 s."""
        return min(MOST_GROUPS, max(1, round(self.rate / 50)))

    def open_to(self, account: str) -> bool:
        """Tell whether the account may give this credential something to send."""
        return not self.retired and ("*" in self.accounts or account.removesuffix(TEAM_ENDING) in self.accounts)


class Routing(StrEnum):
    """How the credentials of a route share the work."""

    SPREAD = "spread"
    """Chunks begin at each credential in turn."""
    ORDERED = "ordered"
    """All chunks begin at the first usable credential; the others are for failover."""


def _document(c: Credential) -> dict[str, Any]:
    """Return a credential as the settings hold it; what it has not is left out."""
    optional = {
        "region": c.region,
        "configuration_set": c.configuration_set,
        "retired": c.retired,
        "headers": list(c.headers),
        "domains": list(c.domains),
        "number": c.number,
        "shared": c.shared,
        "quotas": [q.dumps() for q in c.quotas],
        "when_full": "" if c.overflows else c.when_full.value,
    }
    return {
        "id": c.id,
        "provider": c.provider,
        "channel": c.channel,
        "rate": c.rate,
        "base_url": c.base_url,
        "accounts": list(c.accounts),
        "workers": c.workers,
        "per_call": c.per_call,
        **{name: value for name, value in optional.items() if value},
    }


def _credential(c: dict[str, Any]) -> Credential:
    """Read what `_document` wrote, with the fields that this version knows."""
    listed: dict[str, Any] = {name: tuple(c[name]) for name in ("accounts", "headers", "domains") if name in c}
    quotas = tuple(CredentialQuota.loads(q) for q in c.get("quotas", ()))
    full = WhenFull(c.get("when_full", WhenFull.NEXT))
    return Credential(**(c | listed | {"quotas": quotas, "when_full": full}))


def compressed(moment: float, since: float, speed: int) -> float:
    """Return what a clock shows that is so many times as fast from some moment on. All are Unix seconds.

    Args:
        moment: of the real clock.
        since: from when on it is faster.
        speed: how many times.
    """
    return moment + max(0.0, moment - since) * (speed - 1)


@dataclass(frozen=True, slots=True)
class Settings:
    """The deployment's settings as every function sees them."""

    stage: str
    credentials: tuple[Credential, ...]
    routes: dict[str, tuple[str, ...]]
    public_url: str = ""
    jobs_days: int = 30
    feedback_timeout: int = FEEDBACK_TIMEOUT
    """Seconds after which a message without an event from its provider is shown as unacknowledged."""
    audit_days: int = AUDIT_DAYS
    """For how long an entry of the audit log is kept."""
    audit_lock_days: int = 0
    """For how long copies of sealed audit logs are locked; 0: none are made."""
    archive_days: int = 0
    """For how long the archive of a job is kept; 0: none is made."""
    uploads_days: int = UPLOADS_DAYS
    """For how many days an uploaded file is kept."""
    max_key_days: int = 0
    """For how many days a new API key is valid at the most; 0: for ever."""
    routing: dict[str, str] = field(default_factory=dict)
    """How a channel's route is used, where that is not SPREAD."""
    small_jobs_apart: bool = False
    """Whether a new small job's ledger is in an item of its own, where older versions look for it."""
    webhooks_at_once: int = 0
    """Posts of providers that are served at once, also by an address of their own; 0: no bound, and no such address."""
    more_reserved: int = 0
    """Executions that functions reserve beside lanes and webhooks to accounts."""
    writes_most: int = 0
    """Write units a second of the table `records` at the most; 0: as many as DynamoDB's quota allows."""
    limits: dict[str, int] = field(default_factory=dict)
    """Limits of a day of accounts that have none of their own, as of `shared.domain.spending.limits`."""
    prices: dict[str, dict[str, int]] = field(default_factory=dict)
    """Prices of messages, as of `shared.domain.spending.prices`."""
    newcomer_messages: int = NEWCOMER_MESSAGES
    """Messages a day of an account that a person makes; 0: as many as other accounts may send."""
    images: tuple[int, int] = (0, 0)
    """The most pictures of an account's keys of a kind, and megabytes of them; 0: the deployment has no pictures."""
    notice_clock: tuple[int, int] = (0, 1)
    """Unix seconds from which on the time of notices is faster, and how many times; on AWS it never is."""

    @property
    def kept_days(self) -> int:
        """Days that a job is kept from acceptance, or from the time that it waits for."""
        return max(MIN_JOBS_DAYS, self.jobs_days)

    def credential(self, credential_id: str) -> Credential:
        """Return a declared (or the built-in test) credential; KeyError if there is none."""
        for c in self.credentials:
            if c.id == credential_id:
                return c
        if credential_id == TEST_CREDENTIAL:
            return Credential(TEST_CREDENTIAL, "test", ANY_CHANNEL, TEST_RATE)
        raise KeyError(credential_id)

    def dumps(self) -> str:
        """Serialise for an environment variable."""
        plain = json.dumps(
            {
                "stage": self.stage,
                "credentials": [_document(c) for c in self.credentials],
                "routes": {k: list(v) for k, v in self.routes.items()},
                **({"routing": self.routing} if self.routing else {}),
                "public_url": self.public_url,
                "jobs_days": self.jobs_days,
                "feedback_timeout": self.feedback_timeout,
                **self._retention(),
                **({"small_jobs_apart": True} if self.small_jobs_apart else {}),
                **self._bounds(),
                **({"max_key_days": self.max_key_days} if self.max_key_days else {}),
                **self._spending(),
                **self._pairs(),
            },
            separators=(",", ":"),
        )
        if len(plain) <= 1500:  # noqa: PLR2004 - plain text while it leaves ample room in Lambda's 4 KB
            return plain
        return "z:" + base64.b64encode(zlib.compress(plain.encode(), 9)).decode()

    def _bounds(self) -> dict[str, int]:
        """Return the bounds of posts and of the table that are set."""
        return {
            **({"webhooks_at_once": self.webhooks_at_once} if self.webhooks_at_once else {}),
            **({"more_reserved": self.more_reserved} if self.more_reserved else {}),
            **({"writes_most": self.writes_most} if self.writes_most else {}),
        }

    def _retention(self) -> dict[str, int]:
        """Return the days of audit logs, archives and uploads that are set."""
        return {
            **({"audit_days": self.audit_days} if self.audit_days != AUDIT_DAYS else {}),
            **({"audit_lock_days": self.audit_lock_days} if self.audit_lock_days else {}),
            **({"archive_days": self.archive_days} if self.archive_days else {}),
            **({"uploads_days": self.uploads_days} if self.uploads_days != UPLOADS_DAYS else {}),
        }

    def _pairs(self) -> dict[str, tuple[int, int]]:
        """Return the bounds of pictures and the clock of notices that are set."""
        return {
            **({"images": self.images} if self.images != (0, 0) else {}),
            **({"notice_clock": self.notice_clock} if self.notice_clock != (0, 1) else {}),
        }

    def _spending(self) -> dict[str, Any]:
        """Return the limits and prices that are set."""
        newcomers = self.newcomer_messages
        return {
            **({"limits": self.limits} if self.limits else {}),
            **({"prices": self.prices} if self.prices else {}),
            **({"newcomer_messages": newcomers} if newcomers != NEWCOMER_MESSAGES else {}),
        }

    @classmethod
    def loads(cls, text: str) -> "Settings":
        """Read what `dumps` wrote, of this version or another.

        A deploy changes a function's code and its environment one after the other. So unknown fields are ignored, and
        missing fields have their defaults.
        """
        plain = zlib.decompress(base64.b64decode(text[2:])).decode() if text.startswith("z:") else text
        raw = known_fields(cls, json.loads(plain))
        credentials = (known_fields(Credential, c) for c in raw["credentials"])
        pairs: dict[str, Any] = {name: tuple(raw[name]) for name in ("images", "notice_clock") if name in raw}
        return cls(
            **{
                **raw,
                "credentials": tuple(map(_credential, credentials)),
                "routes": {k: tuple(v) for k, v in raw["routes"].items()},
                **pairs,
            }
        )


def known_fields(kind: type[Any], raw: dict[str, Any]) -> dict[str, Any]:
    """Return the fields that a dataclass has."""
    names = {f.name for f in fields(kind)}
    return {name: value for name, value in dict(raw).items() if name in names}


# Bodies of queue messages. A pointer is a hint to work on one chunk; a word is a provider's feedback about one attempt.
