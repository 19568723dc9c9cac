"""Names that functions and infrastructure share: environment, tables, queues, secrets, handlers."""

from typing import Final

ON_LAMBDA: Final = "AWS_LAMBDA_FUNCTION_NAME"
"""Lambda sets it before it imports the handler's module."""
ENV_SETTINGS: Final = "POSTHASTE_SETTINGS"
ENV_RECORDS_TABLE: Final = "POSTHASTE_RECORDS_TABLE"
ENV_OPS_TABLE: Final = "POSTHASTE_OPS_TABLE"
ENV_IDENTITIES_TABLE: Final = "POSTHASTE_IDENTITIES_TABLE"
ENV_DNS: Final = "POSTHASTE_DNS"
"""`address:port` of the DNS resolver for proofs of domains; unset: the machine's own."""
ENV_AUDIT_TABLE: Final = "POSTHASTE_AUDIT_TABLE"
ENV_AUDIT_COPIES: Final = "POSTHASTE_AUDIT_COPIES"
"""The bucket with copies of sealed audit logs; unset: there is none."""
ENV_BUCKET: Final = "POSTHASTE_BUCKET"
ENV_FEEDBACK_QUEUE_URL: Final = "POSTHASTE_FEEDBACK_QUEUE_URL"
ENV_INGEST_QUEUE_URL: Final = "POSTHASTE_INGEST_QUEUE_URL"
ENV_DUE_QUEUE_URL: Final = "POSTHASTE_DUE_QUEUE_URL"
ENV_SCHEDULER_ROLE_ARN: Final = "POSTHASTE_SCHEDULER_ROLE_ARN"
"""The role in which EventBridge Scheduler sends to the queue of jobs whose time has come."""
ENV_EXPORT_QUEUE_URL: Final = "POSTHASTE_EXPORT_QUEUE_URL"
ENV_LOG_REPORTS_URL: Final = "POSTHASTE_LOG_REPORTS_URL"
ENV_PLAN_REPORTS_URL: Final = "POSTHASTE_PLAN_REPORTS_URL"
"""The queue with what Lambda reports of stream records that the log function was not given, or that it failed."""
ENV_LANE_URL_PREFIX: Final = "POSTHASTE_LANE_URL_PREFIX"
"""A lane's queue URL is this prefix followed by the credential's id."""
EXPRESS_SUFFIX: Final = "_express"
"""The suffix that turns a lane's queue URL, or name, into that of its express queue."""
ENV_LANE: Final = "POSTHASTE_LANE"
"""The credential a sender function serves."""
ENV_API_URL: Final = "POSTHASTE_API_URL"
ENV_OPERATE_URL: Final = "POSTHASTE_OPERATE_URL"
"""The API's address as operators call it; without it the command asks the stack."""
"""The API's own address: for links in messages, and for providers that take a callback URL with each message."""
ENV_CONSOLE: Final = "POSTHASTE_CONSOLE"
"""The people who may sign in to the console, and the identity provider: `ConsoleSettings`."""
ENV_PEOPLE_TABLE: Final = "POSTHASTE_PEOPLE_TABLE"
"""The console's users, memberships and sessions."""
ENV_JOIN_FUNCTION: Final = "POSTHASTE_JOIN_FUNCTION"
"""The function that makes people's first accounts; without it they have to be invited."""
ENV_EDGE: Final = "POSTHASTE_EDGE"
"""`closed` if requests come only by the edge, `open` if also by API Gateway's own address. Empty: there is no edge."""
EDGE_CLOSED: Final = "closed"
EDGE_OPEN: Final = "open"
ENV_BUTTONS_FUNCTION: Final = "POSTHASTE_BUTTONS_FUNCTION"
"""The function that does what operators press in the console; without it the console shows their commands."""
ENV_SWEEP_FUNCTION: Final = "POSTHASTE_SWEEP_FUNCTION"
ENV_GATHER_FUNCTION: Final = "POSTHASTE_GATHER_FUNCTION"
"""Functions that operators have run once more after one of their runs failed."""
ENV_NOTICES_FUNCTION: Final = "POSTHASTE_NOTICES_FUNCTION"
"""The function that is woken when notices are due."""
ENV_LOOPBACK: Final = "POSTHASTE_LOOPBACK"
"""Set on the local cloud only, where webhooks may be posted to this machine."""
ENV_CELLS: Final = "POSTHASTE_CELLS"
"""Of the router: name → base address of each cell, JSON."""
ENV_ROUTES_TABLE: Final = "POSTHASTE_ROUTES_TABLE"
ENV_LEASE_MARGIN: Final = "POSTHASTE_LEASE_MARGIN"
"""Seconds between a sender's deadline and the end of its lease."""

INDEX_OPEN: Final = "open"
INDEX_OPEN_PROJECTION: Final = ("not_before", "campaign", "job")
INDEX_MINE: Final = "mine"
"""Index `open`: keys `open_pk`, `open_sk`; index `mine`: keys `mine_pk`, `mine_sk`, keys only."""

COPY_ENDING: Final = "-restored-"
"""Follows a table's name in that of a copy of its past, before the moment of the copy."""

CONTENTS: Final = "contents/"
"""Where the bucket has contents that are too large for an item."""
CONTENT_WAITS: Final = (1, 8, 31, 92, 366)
"""Days. A large content is in the folder of the first of these within which its job's time comes. A rule of the bucket
removes it as many days after that as jobs are kept. Such a rule matches only a file's age and folder."""

MAIL_UPLOADS: Final = "mail-uploads/"
"""Where clients put the contents of mails; a rule of the bucket removes them after a day."""
MAIL_CONTENTS: Final = f"{CONTENTS}mails/"
"""Where the contents of committed mails are. A mail lives for two days; what a crash leaves goes by a rule."""

MAIL_ROUTE: Final = "mail"
"""The route of finished messages, which not every provider of e-mail takes."""

ANY_CHANNEL: Final = "any"
"""In place of a channel's name: the built-in credential of test keys carries all channels."""
TEAM_ENDING: Final = "-team"
"""The ending of the account name under which team keys act. They send through the credentials of the account itself."""
TEST_CREDENTIAL: Final = "test"
"""The built-in credential of test keys: every deployment has its lane, no setting names it."""
TEST_RATE: Final = 500

HOOK_WORKERS: Final = 20
"""Workers that post to endpoints of accounts at the same time. Each has 8 posts in flight, and up to 32 to an endpoint
that takes them. So 20 workers make 1,000 posts a second to endpoints that answer within 150 ms."""
SLOW_HOOK_WORKERS: Final = 10
"""The same, of endpoints that failed or took long the last time: they never take a worker from the others."""
HOOKS_RESERVED: Final = HOOK_WORKERS + SLOW_HOOK_WORKERS + 1
"""Concurrent executions that webhooks to accounts reserve: one is for the walk of every minute."""

MIN_RATE: Final = 0.02
"""The least rate of a credential in messages per second: one in 50 seconds. A sender lives for two minutes and has to
wait for its slot. A message that counts as several waits for as many slots, and so does a rate that is raised again."""

NEWCOMER_MESSAGES: Final = 50
"""Messages a day of an account that a person made, unless the settings say otherwise."""
MICRO: Final = 1_000_000
"""Prices are whole millionths of the deployment's unit of money."""
AUDIT_DAYS: Final = 400
"""For how long an entry of the audit log is kept, unless cdk.json says so."""
UPLOADS_DAYS: Final = 7
"""For how many days an uploaded file is kept by default."""
MIN_JOBS_DAYS: Final = 30
"""The fewest days that a job is kept, under any settings: it may wait, be retried and receive feedback."""
FEEDBACK_TIMEOUT: Final = 72 * 3600
"""Seconds in which a provider may report the fate of a message, by default. Providers try to deliver for three days."""

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
    "notices": "functions.dispatch.notices.handler",
    "take": "functions.dispatch.take.handler",
    "digest": "functions.digest.handler.handler",
    "gather_hooks": "functions.dispatch.gather_hooks.handler",
    "call_hooks": "functions.dispatch.call_hooks.handler",
    "console": "functions.console.handler.handler",
    "join": "functions.dispatch.join.handler",
    "operate": "functions.operate.handler.handler",
    "buttons": "functions.operate.access.pressed.handler",
    "pictures": "functions.pictures.serve.handler",
}
"""Function → handler string.

- plan: `records` stream
- log: `ops` stream
- track: feedback queue
- sweep: every minute
- due: jobs whose time has come
- ingest: uploaded lists
- export: exports
- notices: minutes in which notices are due
- take: records of notifiers
- digest: windows of events, by hints
- gather_hooks: makes deliveries of what has happened, by hints and from both streams
- call_hooks: posts them, by hints; every minute it looks for endpoints that no hint has named
- console: pages for people
- join: makes a person's first account, at the console's call
- operate: what operators see and change, by the command
- buttons: what they change in the console, at its call
- pictures: pictures of messages, which are public
"""

RESUMED: Final = ("credential.resumed", "account.resumed", "account.unsuspended", "deployment.resumed")
"""Kinds of audit entries whose stream records wake what a pause has kept."""
HELD_BACK: Final = ("account.paused", "account.suspended")
"""Kinds of audit entries whose stream records have campaigns give way that hold a credential."""
PLAN_STREAM_FILTERS: Final = (
    {"dynamodb": {"NewImage": {"state": {"S": ["READY"]}}}},
    {"dynamodb": {"NewImage": {"freed": {"N": ["1"]}}}},
    {"dynamodb": {"NewImage": {"kind": {"S": [*RESUMED, *HELD_BACK]}}}},
    {"dynamodb": {"NewImage": {"l_dirty": {"N": ["1"]}, "l_status": {"S": ["IDLE", "DONE"]}}}},
)
"""`records` stream → plan.

1. A job that is READY. No other item has that `state`.
2. A job that has given back its credential. The next write of the job removes the mark.
3. The copy of the audit entry of a resume, or of an account's pause. No write repeats it.
4. A small job whose cells changed and that no worker holds: what LOG_STREAM_FILTER is for other ledgers.

AWS documents filters of table streams for the key `dynamodb` only. A deletion has no NewImage.
"""
LOG_STREAM_FILTER: Final = {
    "dynamodb": {"NewImage": {"dirty": {"N": ["1"]}, "status": {"S": ["IDLE", "DONE"]}}},
}
"""`ops` stream → log: a ledger whose cells changed and that no worker holds."""

_ANY: Final = [{"exists": True}]
_ABSENT: Final = [{"exists": False}]
HOOKS_RECORDS_FILTERS: Final = (
    {"dynamodb": {"NewImage": {"state": {"S": ["LOGGED", "STOPPED", "closed"]}, "unheard": {"BOOL": _ABSENT}}}},
    {"dynamodb": {"NewImage": {"phase": {"S": ["ready", "failed", "asked", "decided"]}}}},
    {"dynamodb": {"NewImage": {"sk": {"S": ["TEXT", "ENDING", "REACHED", "BOUNCING"]}}}},
    {"dynamodb": {"NewImage": {"notice": {"S": _ANY}, "status": {"S": _ANY}}}},
    {"dynamodb": {"NewImage": {"address": {"S": _ANY}, "reason": {"S": _ANY}, "unheard": {"BOOL": _ABSENT}}}},
)
"""`records` stream → webhooks.

1. Jobs that ended or stopped, and closed windows.
2. Uploads that were read or cannot be, requests for approval and their ends.
3. Texts, API keys that end soon, limits that are reached, days whose single messages bounce.
4. Updates of notices.
5. Suppressions and unsubscriptions.

An event source has at most five filters. An item is `unheard` if it is of an account that had no endpoints.
"""
HOOKS_OPS_FILTERS: Final = ({"dynamodb": {"NewImage": {"sk": {"S": ["BREAKER"]}, "state": {"S": ["OPEN", "CLOSED"]}}}},)
"""`ops` stream → webhooks: breakers that opened or closed."""

INBOX_PREFIX: Final = "inbox/"
"""Begins the names of files with payloads of notifiers that do not fit their items."""
POST_PREFIX: Final = "W#"
"""Begins the partitions of `ops` in which the webhook function remembers posts, and the only ones it writes."""
EDGE_HEADER: Final = "X-Posthaste-Edge"
"""The header with which the edge proves that a request came by it."""
CONSOLE_PATHS: Final = ("/console", "/console/{proxy+}")
"""The paths of the console's pages."""
OPERATE_PATH: Final = "/operate/{proxy+}"
"""The paths of operators, whom IAM authorises."""
IMAGE_PATH: Final = "/images/{account}/{file}"
"""The path of pictures, which are public."""
IMAGES: Final = "images/"
"""Where the bucket has pictures: `images/ACCOUNT/FILE`."""
WEBHOOK_PATH: Final = "/webhooks/{provider}/{credential_id}"
CALLER_PATH: Final = "/cells/callers/{digest}"


def prefix(stage: str) -> str:
    """Return the prefix of every physical name that other parts must know, such as `posthaste-prod`."""
    return f"posthaste-{stage}"


DEAD_ENDING: Final = "-dlq"
"""Ends the name of a queue with dead letters."""
WORK_QUEUES: Final = ("feedback", "due", "ingest", "export", "inbox", "digest", "hooks", "calls", "calls-slow")
"""The queues of work besides those of lanes, without the prefix."""
REPORT_QUEUES: Final = ("plan", "log", "sweep", "notices", "gather_hooks", "call_hooks")
"""Functions whose queues of dead letters hold reports of invocations that failed."""
QUEUES: Final = (*WORK_QUEUES, *REPORT_QUEUES)
"""The queues of dead letters besides those of lanes, without the prefix."""


DEAD_LETTER_HOLD: Final = 300
"""Seconds for which a dead letter in hand is hidden from others; much more than handling ten messages takes."""


def dead_queue_url(lanes: str, name: str) -> str:
    """Return the URL of a queue of dead letters.

    Args:
        name: the queue whose dead letters they are, without the prefix, such as `feedback` or `lane-test`.
    """
    return f"{lanes.removesuffix('lane-')}{name}{DEAD_ENDING}"


def dead_queue_names(stage: str) -> list[str]:
    """Return the names of the queues of dead letters: first a pattern that fits those of all lanes, then the others."""
    return [f"{lane_queue_name(stage, '*')}{DEAD_ENDING}", *(f"{prefix(stage)}-{x}{DEAD_ENDING}" for x in QUEUES)]


def lane_queue_name(stage: str, credential_id: str) -> str:
    """Return the queue name of a credential's lane; its dead-letter queue is this name + `-dlq`."""
    return f"{prefix(stage)}-lane-{credential_id}"


def express_queue_name(stage: str, credential_id: str) -> str:
    """Return the queue name of a lane's jobs of a few messages. Their dead letters are in the lane's dead-letter queue.

    No credential's id has an underscore.
    """
    return lane_queue_name(stage, credential_id) + EXPRESS_SUFFIX


def inbox_queue_name(stage: str) -> str:
    """Return the name of the queue of notifiers' inboxes; its dead-letter queue is this name + `-dlq`."""
    return f"{prefix(stage)}-inbox"


def inbox_queue_url(lanes: str) -> str:
    """Return the URL of that queue, which needs no room in a function's environment."""
    return f"{lanes.removesuffix('lane-')}inbox"


def digest_queue_name(stage: str) -> str:
    """Return the name of the queue of hints about windows; its dead-letter queue is this name + `-dlq`."""
    return f"{prefix(stage)}-digest"


def digest_queue_url(lanes: str) -> str:
    """Return the URL of that queue, which needs no room in a function's environment."""
    return f"{lanes.removesuffix('lane-')}digest"


def hooks_queue_name(stage: str) -> str:
    """Return the name of the queue of changes that webhooks are to hear of; its dead-letter queue is it + `-dlq`."""
    return f"{prefix(stage)}-hooks"


def hooks_queue_url(lanes: str) -> str:
    """Return the URL of that queue, which needs no room in a function's environment."""
    return f"{lanes.removesuffix('lane-')}hooks"


def calls_queue_name(stage: str, *, apart: bool = False) -> str:
    """Return the name of the queue of endpoints to post to; its dead-letter queue is this name + `-dlq`.

    Args:
        apart: whether that of endpoints that fail or hang is meant.
    """
    return f"{prefix(stage)}-calls{'-slow' if apart else ''}"


def calls_queue_url(lanes: str, *, apart: bool = False) -> str:
    """Return the URL of that queue, which needs no room in a function's environment.

    Args:
        apart: whether that of endpoints that fail or hang is meant.
    """
    return f"{lanes.removesuffix('lane-')}calls{'-slow' if apart else ''}"


def hooks_secret_name(stage: str) -> str:
    """Return the Secrets Manager name of what the secrets of endpoints are derived from: {"current": key}."""
    return f"{prefix(stage)}/hooks"


def console_secret_name(stage: str) -> str:
    """Return the Secrets Manager name of what signs the console's cookies, and of its secret at the provider."""
    return f"{prefix(stage)}/console"


def secret_name(stage: str, credential_id: str) -> str:
    """Return the Secrets Manager name that holds a credential's secret: a JSON object, created empty."""
    return f"{prefix(stage)}/credential/{credential_id}"


def webhook_secret_name(stage: str, credential_id: str) -> str:
    """Return the Secrets Manager name of the secret with only those fields of a credential that verify webhooks."""
    return f"{prefix(stage)}/webhook/{credential_id}"


def unsubscribe_secret_name(stage: str) -> str:
    """Return the Secrets Manager name of what signs unsubscription links: {"current": key, "previous": "key key"}."""
    return f"{prefix(stage)}/unsubscribe"


def addresses_secret_name(stage: str) -> str:
    """Return the Secrets Manager name of what hashes of addresses are keyed by: as `unsubscribe_secret_name`."""
    return f"{prefix(stage)}/addresses"


def edge_secret_name(stage: str) -> str:
    """Return the Secrets Manager name of what the edge sends with each request: keys by any name, all of them valid."""
    return f"{prefix(stage)}/edge"


def configuration_set_name(stage: str, credential_id: str) -> str:
    """Return the name of the configuration set that the stack makes for a credential of an AWS service."""
    return f"{prefix(stage)}-{credential_id}"


def topic_name(stage: str, name: str) -> str:
    """Return the name of an SNS topic to which a service of AWS publishes its events.

    Args:
        name: `ProviderNeeds.topic_name`.
    """
    return f"{prefix(stage)}-{name}"
