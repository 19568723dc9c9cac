"""The base of every function of a deployment: settings, tables, queues, clients and secrets."""

import os
import random
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from shared import contracts
from shared.adapters.aws import Aws
from shared.adapters.clock import Calendar, SystemClock
from shared.adapters.dynamo.audit import DynamoAcceptances, DynamoJournal
from shared.adapters.dynamo.client import CONFIG, Dynamo, answered_at
from shared.adapters.dynamo.homes import Homes
from shared.adapters.dynamo.hooks.listeners import DynamoListeners
from shared.adapters.dynamo.jobs.ledger_writes import JobTables
from shared.adapters.dynamo.jobs.ledgers import DynamoLedgers, in_stream
from shared.adapters.dynamo.jobs.records import DynamoRecords
from shared.adapters.s3.blobs import S3Blobs
from shared.adapters.sqs import SqsLanes, SqsQueue
from shared.contracts import Settings
from shared.lazy import PartOf, lazy
from shared.metrics import Metric, Service
from shared.ports import Clock

if TYPE_CHECKING:
    from shared.adapters import dns, links, secrets
    from shared.adapters.dynamo import indices, open_places
    from shared.adapters.dynamo.accounts import claims, spending, standings
    from shared.adapters.dynamo.credentials import breakers, pacer
    from shared.adapters.dynamo.jobs import account_turns
    from shared.adapters.dynamo.recipients import stored_names, suppressions, texts
    from shared.adapters.http import direct, steps, transport
    from shared.bootstrap import identifying
    from shared.domain.spending.limits import ReachedQuota
    from shared.engine import spender
    from shared.engine.intake import proven
    from shared.engine.lane import breaker_cache, recovery
else:
    dns, links, secrets = lazy("shared.adapters", "dns", "links", "secrets")
    indices, open_places = lazy("shared.adapters.dynamo", "indices", "open_places")
    direct, steps, transport = lazy("shared.adapters.http", "direct", "steps", "transport")
    claims, spending, standings = lazy("shared.adapters.dynamo.accounts", "claims", "spending", "standings")
    breakers, pacer = lazy("shared.adapters.dynamo.credentials", "breakers", "pacer")
    (account_turns,) = lazy("shared.adapters.dynamo.jobs", "account_turns")
    stored_names, suppressions, texts = lazy(
        "shared.adapters.dynamo.recipients", "stored_names", "suppressions", "texts"
    )
    (identifying,) = lazy("shared.bootstrap", "identifying")
    (spender,) = lazy("shared.engine", "spender")
    (proven,) = lazy("shared.engine.intake", "proven")
    breaker_cache, recovery = lazy("shared.engine.lane", "breaker_cache", "recovery")

part = PartOf["Core"]()


class Core:
    """The parts that every function of a deployment may need, each made when first asked for.

    Args:
        env: environment with the names of `shared.contracts`.
    """

    def __init__(self, env: Mapping[str, str] | None = None, clock: Clock | None = None) -> None:
        self.env: Mapping[str, str] = os.environ if env is None else env
        self.clock: Clock = clock or SystemClock()
        self.rng = random.Random()  # noqa: S311 - jitter

    settings = part(lambda d: Settings.loads(d.env[contracts.ENV_SETTINGS]))
    calendar = part(lambda d: Calendar(d.clock, *d.settings.notice_clock))
    """The time that notices go by."""

    def tell_limit(self, found: "ReachedQuota") -> None:
        """Tell that a share of a limit of a day is used."""
        from shared.adapters import metrics  # noqa: PLC0415 - few functions need it, and seldom

        figures = {Metric.LIMITS_REACHED: 1, Metric.DEFAULTS_USED_UP: int(found.default and found.used_up)}
        metrics.tell(self.settings.stage, Service.LIMITS, figures)

    @property
    def records_table(self) -> str:
        """The name of the table `records`."""
        return self.env[contracts.ENV_RECORDS_TABLE]

    @property
    def ops_table(self) -> str:
        """The name of the table `ops`."""
        return self.env[contracts.ENV_OPS_TABLE]

    @property
    def address(self) -> str:
        """The API's public address, without a slash at its end; empty where it is not known."""
        return self.settings.public_url or self.env.get(contracts.ENV_API_URL, "")

    @property
    def served(self) -> list[str]:
        """The credentials that have a lane: those declared, and that of test keys."""
        return [*(c.id for c in self.settings.credentials), contracts.TEST_CREDENTIAL]

    @property
    def archive_after(self) -> int | None:
        """After how many milliseconds a job that has ended is archived; None: no job is."""
        return self.settings.feedback_timeout * 1000 if self.settings.archive_days else None

    @property
    def homes(self) -> Homes:
        """Where identities and the audit log are; code is deployed a moment before the variables that name them."""
        return Homes(
            identities=self.env.get(contracts.ENV_IDENTITIES_TABLE, ""),
            audit=self.env.get(contracts.ENV_AUDIT_TABLE, ""),
        )

    @property
    def is_direct(self) -> bool:
        """Whether calls of DynamoDB, SQS and Secrets Manager are made without botocore, as those of functions are."""
        return contracts.ON_LAMBDA in self.env

    # What clients are made by: a client that is made `later` is made by its first call.

    aws = part(lambda _: Aws())
    direct_http = part(
        lambda d: steps.SteppingHttp(
            transport.HttpClient(
                d.clock, connect_timeout=direct.CONNECT_TIMEOUT, idle=direct.IDLE, max_body=direct.MAX_BODY
            )
        )
    )
    """The connections to AWS of a function that calls it without botocore."""
    sleep = part(lambda d: steps.sleeper(d.clock) if d.is_direct else d.clock.sleep)
    """Waits some seconds."""
    dynamo_client = part(lambda d: d.direct(direct.DYNAMODB) if d.is_direct else d.aws.client("dynamodb", CONFIG))
    secretsmanager = part(lambda d: d.direct(direct.SECRETS) if d.is_direct else d.aws.later("secretsmanager"))
    secrets = part(lambda d: secrets.Secrets(d.secretsmanager, d.settings.stage, d.clock))
    """The credentials' secrets, and what signs links."""
    names = part(
        lambda d: stored_names.KeyedNames(
            Dynamo(
                d.dynamo_client,
                sleep=d.sleep,
                audit_days=d.settings.audit_days,
                homes=d.homes,
            ),
            d.env.get(contracts.ENV_RECORDS_TABLE, ""),  # a function without the table names nobody
            lambda kept: d.secrets.addresses(kept),
            d.clock,
        )
    )
    """What addresses are stored as."""
    dynamo = part(
        lambda d: Dynamo(
            d.dynamo_client,
            sleep=d.sleep,
            audit_days=d.settings.audit_days,
            homes=d.homes,
            names=d.names,
        )
    )
    sqs = part(lambda d: d.direct(direct.SQS) if d.is_direct else d.aws.later("sqs"))
    """Most invocations of most functions never send anything."""
    links = part(lambda d: links.SecretLinks(d.secrets))
    """What signs unsubscription links."""
    dns = part(lambda d: dns.DnsResolver(d.env.get(contracts.ENV_DNS, "")))

    def direct(self, service: "direct.AwsService") -> Any:
        """Return a client that takes less processor time."""
        return direct.client(service, self.aws, self.direct_http, self.clock, self.sleep)

    # Queues

    lanes = part(lambda d: SqsLanes(d.sqs, d.env[contracts.ENV_LANE_URL_PREFIX], d.served, d.clock))
    feedback = part(lambda d: d.queue(contracts.ENV_FEEDBACK_QUEUE_URL))

    def queue(self, variable: str) -> SqsQueue:
        """Return the queue whose URL is in a variable of the environment."""
        return SqsQueue(self.sqs, self.env[variable], self.clock)

    # Stores

    ledgers = part(lambda d: DynamoLedgers(d.dynamo, JobTables(d.records_table, d.ops_table)))
    ledgers_in = staticmethod(in_stream)
    blobs = part(lambda d: S3Blobs(lambda: d.aws.client("s3"), d.env.get(contracts.ENV_BUCKET, "")))
    """Large contents."""
    audience = part(lambda d: DynamoListeners(d.dynamo, records=d.records_table, clock=d.clock))
    """Which namespaces have webhooks."""
    records = part(
        lambda d: DynamoRecords(
            d.dynamo,
            records=d.records_table,
            ops=d.ops_table,
            blobs=d.blobs,
            archive=d.archive_after,
            listeners=d.audience,
            clock=d.clock,
        )
    )
    """Jobs, chunks, contents and details."""
    acceptances = part(lambda d: DynamoAcceptances(d.dynamo, d.records_table, d.clock))
    """The store that notes accepted requests in audit logs."""
    journal = part(lambda d: DynamoJournal(d.dynamo, d.records_table))
    """Audit logs."""
    texts = part(lambda d: texts.DynamoTexts(d.dynamo, records=d.records_table))
    """Texts that recipients wrote."""
    suppressions = part(
        lambda d: suppressions.Suppressions(
            d.dynamo.client,
            d.records_table,
            d.clock,
            audit_days=d.settings.audit_days,
            homes=d.homes,
            names=d.names,
        )
    )
    open_places = part(lambda d: open_places.DynamoOpenPlaces(d.dynamo, records=d.records_table, clock=d.clock))
    """Places for files that accounts hold."""
    account_turns = part(lambda d: account_turns.DynamoAccountTurns(d.dynamo, records=d.records_table, clock=d.clock))
    """Turns of accounts' lists and exports."""
    rules = part(lambda d: spending.KnownRules(d.dynamo, d.records_table, d.clock))
    """Limits that operators have set for accounts."""
    spending = part(lambda d: spending.DynamoSpending(d.dynamo, d.records_table, d.clock, d.tell_limit))
    """What accounts have spent today."""
    unlisting = part(lambda d: indices.KnownUnlisting(d.dynamo, d.records_table))
    """Whether new small jobs may be left out of the index of open jobs."""
    spender = part(lambda d: spender.Spender(store=d.spending, rules=d.rules.of, settings=d.settings, clock=d.clock))
    """Counts what accounts spend."""
    pacer = part(
        lambda d: pacer.DynamoPacer(
            d.dynamo,
            d.ops_table,
            d.clock,
            answered=answered_at if type(d.clock) is SystemClock else None,  # one that was given differs on purpose
        )
    )
    """The credentials' slots."""

    # What decides whether and how a lane goes on

    claims = part(lambda d: claims.DynamoClaims(d.dynamo, d.records_table, d.clock))
    """Domains that accounts claim."""
    proofs = part(lambda d: proven.Proofs(claims=d.claims, dns=lambda: d.dns, clock=d.clock))
    """Which domains their DNS lets accounts send from."""
    standings = part(
        lambda d: proven.ProvenAccountStatuses(
            granted=standings.DynamoAccountStatuses(d.dynamo, d.records_table), proofs=d.proofs
        )
    )
    """The keys and senders of accounts."""
    identity_service = part(lambda d: identifying.service(d.settings, d.aws, d.dynamo, d.records_table, d.clock))
    """Domains at the providers that sign for them."""
    breaker_cache = part(
        lambda d: breaker_cache.BreakerCache(
            breakers=breakers.DynamoBreakers(d.dynamo, d.ops_table), clock=d.clock, rng=d.rng
        )
    )
    """The credentials' circuit breakers."""
    recovery = part(
        lambda d: recovery.Recovery(
            records=d.records,
            ledgers=d.ledgers,
            lanes=d.lanes,
            breaker_cache=d.breaker_cache,
            clock=d.clock,
            rng=d.rng,
        )
    )
    """Takeover of what a crash left."""
