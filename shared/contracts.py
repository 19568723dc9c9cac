"""What crosses process borders: names of environment variables, of queues and secrets, and the bodies of messages.

This is all that infra may import from `shared`; it imports nothing itself but the standard library.

Settings travel as one JSON document (`Settings.dumps`), compressed when long: Lambda allows 4 KB of environment,
which a deployment with a hundred credentials would exceed in plain text.
"""

import base64
import json
import zlib
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any, Final

ENV_SETTINGS: Final = "POSTHASTE_SETTINGS"
ENV_RECORDS_TABLE: Final = "POSTHASTE_RECORDS_TABLE"
ENV_OPS_TABLE: Final = "POSTHASTE_OPS_TABLE"
ENV_IDENTITIES_TABLE: Final = "POSTHASTE_IDENTITIES_TABLE"
ENV_AUDIT_TABLE: Final = "POSTHASTE_AUDIT_TABLE"
ENV_BUCKET: Final = "POSTHASTE_BUCKET"
ENV_FEEDBACK_QUEUE_URL: Final = "POSTHASTE_FEEDBACK_QUEUE_URL"
ENV_INGEST_QUEUE_URL: Final = "POSTHASTE_INGEST_QUEUE_URL"
ENV_DUE_QUEUE_URL: Final = "POSTHASTE_DUE_QUEUE_URL"
ENV_DUE_QUEUE_ARN: Final = "POSTHASTE_DUE_QUEUE_ARN"
ENV_SCHEDULER_ROLE_ARN: Final = "POSTHASTE_SCHEDULER_ROLE_ARN"
"""The role in which EventBridge Scheduler sends to the queue of jobs whose time has come."""
ENV_EXPORT_QUEUE_URL: Final = "POSTHASTE_EXPORT_QUEUE_URL"
ENV_LOG_REPORTS_URL: Final = "POSTHASTE_LOG_REPORTS_URL"
"""The queue with what Lambda reports of stream records that the log function was not given, or that it failed."""
ENV_LANE_URL_PREFIX: Final = "POSTHASTE_LANE_URL_PREFIX"
"""A lane's queue URL is this prefix followed by the credential's id."""
EXPRESS_SUFFIX: Final = "_express"
"""What is added to a lane's queue URL, or name, to make that of its express queue."""
ENV_LANE: Final = "POSTHASTE_LANE"
"""The credential a sender function serves."""
ENV_API_URL: Final = "POSTHASTE_API_URL"
"""The API's own address: for links in messages, and for a sender whose provider is told with each where to post."""
ENV_LEASE_MARGIN: Final = "POSTHASTE_LEASE_MARGIN"
"""Seconds between a sender's deadline and the end of its lease."""

INDEX_OPEN: Final = "open"
INDEX_OPEN_PROJECTION: Final = ("not_before", "campaign", "job")
INDEX_MINE: Final = "mine"
"""Index `open`: keys `open_pk`, `open_sk`; index `mine`: keys `mine_pk`, `mine_sk`, keys only."""

CONTENTS: Final = "contents/"
"""Where the bucket has contents that are too large for an item."""
CONTENT_WAITS: Final = (1, 8, 31, 92, 366)
"""Days. A large content stands in the folder of the first of these within which its job's time comes, and goes as long
after that as jobs are kept: a bucket's rules know of a file nothing but its age and its folder."""

TEST_CREDENTIAL: Final = "test"
"""The built-in credential of test keys: every deployment has its lane, no setting names it."""
TEST_RATE: Final = 500

MIN_RATE: Final = 0.02
"""Messages per second, the least that a credential sends: one in 50 s. A sender lives for two minutes and has to wait
for its slot, and a message that counts as several, or a rate that is raised again, waits for as many of these."""

AUDIT_DAYS: Final = 400
"""For how long an entry of the audit log is kept, unless cdk.json says so."""
MIN_JOBS_DAYS: Final = 30
"""Days that a job is kept at least, whatever the settings say: it may wait, be retried and hear of its messages."""
FEEDBACK_TIMEOUT: Final = 72 * 3600
"""Seconds that a provider has by default to say what became of a message: they try to deliver for three days."""

HANDLERS: Final = {
    "api": "functions.api.handler.handler",
    "webhooks": "functions.webhooks.receive.handler",
    "plan": "functions.dispatch.plan.handler",
    "send": "functions.dispatch.send.handler",
    "log": "functions.dispatch.log.handler",
    "track": "functions.dispatch.track.handler",
    "sweep": "functions.dispatch.sweep.handler",
    "due": "functions.dispatch.due.handler",
    "ingest": "functions.dispatch.ingest.handler",
    "export": "functions.dispatch.export.handler",
}
"""Function → handler string.

plan: `records` stream; log: `ops` stream; track: feedback queue; sweep: every minute; due: jobs whose time has come;
ingest: uploaded lists; export: exports.
"""

RESUMED: Final = ("credential.resumed", "account.resumed", "account.unsuspended", "deployment.resumed")
"""Kinds of audit entries whose stream records wake what a pause has kept."""
HELD_BACK: Final = ("account.paused", "account.suspended")
"""Kinds of audit entries whose stream records have campaigns give way that hold a credential."""
PLAN_STREAM_FILTERS: Final = (
    {"dynamodb": {"NewImage": {"state": {"S": ["READY"]}}}},
    {"dynamodb": {"NewImage": {"freed": {"N": ["1"]}}}},
    {"dynamodb": {"NewImage": {"kind": {"S": [*RESUMED, *HELD_BACK]}}}},
)
"""`records` stream → plan: a job that is READY (no other item has that `state`), or that has just given back its
credential; the next write of it takes the mark away; and the audit entry of a resume, or of an account's pause, which
no write repeats. AWS documents filters of table streams for the key `dynamodb` only; a deletion has no NewImage."""
LOG_STREAM_FILTER: Final = {
    "dynamodb": {"NewImage": {"dirty": {"N": ["1"]}, "status": {"S": ["IDLE", "DONE"]}}},
}
"""`ops` stream → log: a ledger whose cells changed and that nobody works on."""

POST_PREFIX: Final = "W#"
"""Begins the partitions of `ops` in which the webhook function remembers posts, and the only ones it writes."""
WEBHOOK_PATH: Final = "/webhooks/{provider}/{credential_id}"


def prefix(stage: str) -> str:
    """Return the prefix of every physical name that other parts must know, e.g. `posthaste-prod`."""
    return f"posthaste-{stage}"


def lane_queue_name(stage: str, credential_id: str) -> str:
    """Return the queue name of a credential's lane; its dead-letter queue is this name + `-dlq`."""
    return f"{prefix(stage)}-lane-{credential_id}"


def express_queue_name(stage: str, credential_id: str) -> str:
    """Return the queue name of a lane's jobs of a few messages; what is dead of it lies with what is dead of the lane.

    No credential's id has an underscore.
    """
    return lane_queue_name(stage, credential_id) + EXPRESS_SUFFIX


def secret_name(stage: str, credential_id: str) -> str:
    """Return the Secrets Manager name that holds a credential's secret: a JSON object, created empty."""
    return f"{prefix(stage)}/credential/{credential_id}"


def webhook_secret_name(stage: str, credential_id: str) -> str:
    """Return the Secrets Manager name of what verifies a credential's webhooks: those fields of its secret alone."""
    return f"{prefix(stage)}/webhook/{credential_id}"


def unsubscribe_secret_name(stage: str) -> str:
    """Return the Secrets Manager name of what signs unsubscription links: {"current": key, "previous": "key key"}."""
    return f"{prefix(stage)}/unsubscribe"


def configuration_set_name(stage: str, credential_id: str) -> str:
    """Return the name of the SES configuration set that the stack makes for a credential."""
    return f"{prefix(stage)}-{credential_id}"


def ses_topic_name(stage: str) -> str:
    """Return the name of the SNS topic to which those configuration sets publish their events."""
    return f"{prefix(stage)}-ses"


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
    shared: bool = False
    """Campaigns run side by side, each at its own rate, instead of one after the other."""

    @property
    def express_workers(self) -> int:
        """Workers besides, for the express queue alone: as many, since single mails are served by them only."""
        return self.workers

    def open_to(self, account: str) -> bool:
        """Tell whether the account may give this credential something to send."""
        return not self.retired and ("*" in self.accounts or account in self.accounts)


class Routing(StrEnum):
    """How the credentials of a route share the work."""

    SPREAD = "spread"
    """Chunks begin at each credential in turn."""
    ORDERED = "ordered"
    """All chunks begin at the first usable credential; the others are for failover."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The deployment's settings as every function sees them."""

    stage: str
    credentials: tuple[Credential, ...]
    routes: dict[str, tuple[str, ...]]
    public_url: str = ""
    jobs_days: int = 30
    feedback_timeout: int = FEEDBACK_TIMEOUT
    """Seconds after which a message without its provider's word is shown as unacknowledged."""
    audit_days: int = AUDIT_DAYS
    """For how long an entry of the audit log is kept."""
    archive_days: int = 0
    """For how long the archive of a job is kept; 0: none is made."""
    routing: dict[str, str] = field(default_factory=dict)
    """How a channel's route is used, where that is not SPREAD."""
    extra: dict[str, Any] = field(default_factory=dict)

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
            return Credential(TEST_CREDENTIAL, "test", "any", TEST_RATE)
        raise KeyError(credential_id)

    def dumps(self) -> str:
        """Serialise for an environment variable."""
        plain = json.dumps(
            {
                "stage": self.stage,
                "credentials": [
                    {
                        "id": c.id,
                        "provider": c.provider,
                        "channel": c.channel,
                        "rate": c.rate,
                        "base_url": c.base_url,
                        "accounts": list(c.accounts),
                        "workers": c.workers,
                        "per_call": c.per_call,
                        **({"region": c.region} if c.region else {}),
                        **({"configuration_set": c.configuration_set} if c.configuration_set else {}),
                        **({"retired": True} if c.retired else {}),
                        **({"headers": list(c.headers)} if c.headers else {}),
                        **({"domains": list(c.domains)} if c.domains else {}),
                        **({"shared": True} if c.shared else {}),
                    }
                    for c in self.credentials
                ],
                "routes": {k: list(v) for k, v in self.routes.items()},
                **({"routing": self.routing} if self.routing else {}),
                "public_url": self.public_url,
                "jobs_days": self.jobs_days,
                "feedback_timeout": self.feedback_timeout,
                **({"audit_days": self.audit_days} if self.audit_days != AUDIT_DAYS else {}),
                **({"archive_days": self.archive_days} if self.archive_days else {}),
                "extra": self.extra,
            },
            separators=(",", ":"),
        )
        if len(plain) <= 1500:  # noqa: PLR2004 - plain text while it leaves ample room in Lambda's 4 KB
            return plain
        return "z:" + base64.b64encode(zlib.compress(plain.encode(), 9)).decode()

    @classmethod
    def loads(cls, text: str) -> "Settings":
        """Read what `dumps` wrote, of this version or another.

        A deploy changes a function's code and its environment one after the other: unknown fields are passed over, and
        those that are missing have their defaults.
        """
        plain = zlib.decompress(base64.b64decode(text[2:])).decode() if text.startswith("z:") else text
        raw = _known(cls, json.loads(plain))
        credentials = (_known(Credential, c) for c in raw["credentials"])
        listed = ("accounts", "headers", "domains")
        return cls(
            **{
                **raw,
                "credentials": tuple(
                    Credential(**{**c, **{name: tuple(c[name]) for name in listed if name in c}}) for c in credentials
                ),
                "routes": {k: tuple(v) for k, v in raw["routes"].items()},
            }
        )


def _known(kind: type[Any], raw: dict[str, Any]) -> dict[str, Any]:
    """Return the fields that a dataclass has."""
    names = {f.name for f in fields(kind)}
    return {name: value for name, value in dict(raw).items() if name in names}


# Bodies of queue messages. A pointer is a hint to work on one chunk; a word is a provider's feedback about one attempt.


def pointer(job: str, chunk: int) -> str:
    """Return the body of a lane's message."""
    return json.dumps({"job": job, "chunk": chunk}, separators=(",", ":"))


def question(job: str, chunk: int) -> str:
    """Return the body of a lane's message that has its provider asked about a chunk's messages of unknown fate."""
    return json.dumps({"job": job, "chunk": chunk, "resolve": True}, separators=(",", ":"))


def ingest(campaign: str, upload: str) -> str:
    """Return the body of a message that has an uploaded list read; a hint, like a pointer."""
    return json.dumps({"campaign": campaign, "upload": upload}, separators=(",", ":"))


def load_ingest(body: str) -> tuple[str, str]:
    """Read what `ingest` wrote: campaign and upload; ValueError, KeyError or TypeError on anything else."""
    raw = json.loads(body)
    campaign, upload = raw["campaign"], raw["upload"]
    if not (isinstance(campaign, str) and isinstance(upload, str)):
        raise TypeError("not the ids of a campaign and an upload")
    return campaign, upload


def due(job: str) -> str:
    """Return the body of a message about a job whose time has come; a hint, like a pointer."""
    return json.dumps({"job": job}, separators=(",", ":"))


def load_due(body: str) -> str:
    """Read what `due` wrote: the job; ValueError, KeyError or TypeError on anything else."""
    job = json.loads(body)["job"]
    if not isinstance(job, str):
        raise TypeError("not the id of a job")
    return job


LOOK: Final = '{"look":"leases"}'
"""The body of a message that has leases of dead workers looked for; it comes by the queue of jobs that are due."""


@dataclass(frozen=True, slots=True)
class Waking:
    """What has all woken that a pause held back, and how far it has come; it comes by the queue of jobs that are due.

    Attributes:
        credential: what was resumed; or
        account: this; everything if neither is named.
        at: when, Unix milliseconds.
        slot: the partition of the index `open` to go on in; `after`: behind which key.
        job: the large job that follows there, of which the chunks before `chunk` are woken.
        link: how many messages the way has taken.
    """

    credential: str = ""
    account: str = ""
    at: int = 0
    slot: str = ""
    after: str = ""
    job: str = ""
    chunk: int = 0
    link: int = 1

    def dumps(self) -> str:
        """Return the body of a message."""
        return json.dumps({"wake": {f.name: getattr(self, f.name) for f in fields(self)}}, separators=(",", ":"))

    @classmethod
    def loads(cls, body: str) -> "Waking | None":
        """Read what `dumps` wrote, of this version or another.

        Returns:
            None for a message of another kind.

        Raises:
            ValueError, TypeError: it is none of ours.
        """
        raw = json.loads(body)
        if not (isinstance(raw, dict) and "wake" in raw):
            return None
        found = cls(**_known(cls, raw["wake"]))
        if any(type(getattr(found, f.name)) is not type(f.default) for f in fields(cls)):
            raise TypeError("not a place in the index of open jobs")
        return found


def export(name: str) -> str:
    """Return the body of a message that has an export made or gone on with; a hint, like a pointer."""
    return json.dumps({"export": name}, separators=(",", ":"))


def load_export(body: str) -> str:
    """Read what `export` wrote: the export's id; ValueError, KeyError or TypeError on anything else."""
    name = json.loads(body)["export"]
    if not isinstance(name, str):
        raise TypeError("not the id of an export")
    return name


@dataclass(frozen=True, slots=True)
class Word:
    """A provider's word about one attempt, normalised; feedback messages carry lists of these.

    Attributes:
        ref: `job-chunk-index-attempt`.
        word: a value of `shared.domain.jobs.feedback.WordKind`: accepted, deferred, delivered, bounced, complained,
            dropped, blocked, failed_temporarily, unsubscribed, resubscribed.
        at: Unix time in seconds, as the provider says.
        id: the provider's message id, or empty.
        code: the provider's code or SMTP status, or empty.
        detail: the provider's own text, at most 200 characters, addresses removed.
        secondary: true if the word is about a cc or bcc of the message, not about its recipient.
    """

    ref: str
    word: str
    at: int
    id: str = ""
    code: str = ""
    detail: str = ""
    secondary: bool = False


def dump_feedback(credential_id: str, words: list[Word]) -> str:
    """Return the body of one feedback message."""
    rows = [[w.ref, w.word, w.at, w.id, w.code, w.detail, int(w.secondary)] for w in words]
    return json.dumps({"credential": credential_id, "words": rows}, separators=(",", ":"), ensure_ascii=False)


def load_feedback(body: str) -> tuple[str, list[Word]]:
    """Read what `dump_feedback` wrote; ValueError, KeyError or TypeError on anything else."""
    raw = json.loads(body)
    return raw["credential"], [Word(r[0], r[1], r[2], r[3], r[4], r[5], bool(r[6])) for r in raw["words"]]
