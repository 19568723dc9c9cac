"""The base of every function of a deployment: settings, tables, queues, clients and secrets."""

import os
import random
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from shared import contracts
from shared.adapters.aws import Aws
from shared.adapters.clock import Calendar, SystemClock
from shared.adapters.dynamo.client import CONFIG, Dynamo
from shared.adapters.dynamo.homes import Homes
from shared.adapters.dynamo.jobs.ledgers import DynamoLedgers
from shared.adapters.dynamo.jobs.records import DynamoRecords
from shared.contracts import Settings
from shared.ports import Clock

if TYPE_CHECKING:
    from shared.adapters.dns import DnsResolver
    from shared.adapters.dynamo.audit import DynamoAcceptances
    from shared.adapters.dynamo.credentials.pacer import DynamoPacer
    from shared.adapters.dynamo.open_places import DynamoOpenPlaces
    from shared.adapters.dynamo.recipients.texts import DynamoTexts
    from shared.adapters.links import SecretLinks
    from shared.adapters.s3.blobs import S3Blobs
    from shared.adapters.secrets import Secrets
    from shared.adapters.sqs import SqsLanes, SqsQueue
    from shared.engine.intake.identities import IdentityDesk
    from shared.engine.intake.proven import Proofs, ProvenStandings
    from shared.engine.lane.breaker_cache import BreakerCache
    from shared.engine.lane.recovery import Recovery


class Core:
    """The parts that every function of a deployment may need, each made when first asked for.

    Args:
        env: environment with the names of `shared.contracts`.
    """

    def __init__(self, env: Mapping[str, str] | None = None, clock: Clock | None = None) -> None:
        self.env = os.environ if env is None else env
        self.clock: Clock = clock or SystemClock()
        self.rng = random.Random()  # noqa: S311 - jitter

    @cached_property
    def settings(self) -> Settings:
        """The deployment's settings."""
        return Settings.loads(self.env[contracts.ENV_SETTINGS])

    @cached_property
    def calendar(self) -> Calendar:
        """The time that notices go by."""
        return Calendar(self.clock, *self.settings.notice_clock)

    @property
    def records_table(self) -> str:
        """The name of the table `records`."""
        return self.env[contracts.ENV_RECORDS_TABLE]

    @property
    def ops_table(self) -> str:
        """The name of the table `ops`."""
        return self.env[contracts.ENV_OPS_TABLE]

    @cached_property
    def aws(self) -> Aws:
        """What makes AWS clients."""
        return Aws()

    @cached_property
    def dynamo(self) -> Dynamo:
        """DynamoDB."""
        return Dynamo(
            self.aws.client("dynamodb", CONFIG),
            sleep=self.clock.sleep,
            audit_days=self.settings.audit_days,
            homes=self.homes,
        )

    @property
    def homes(self) -> Homes:
        """Where identities and the audit log are; code is deployed a moment before the variables that name them."""
        return Homes(
            identities=self.env.get(contracts.ENV_IDENTITIES_TABLE, ""),
            audit=self.env.get(contracts.ENV_AUDIT_TABLE, ""),
        )

    @cached_property
    def ledgers(self) -> DynamoLedgers:
        """The ledger store."""
        return DynamoLedgers(self.dynamo, self.ops_table)

    @cached_property
    def blobs(self) -> "S3Blobs":
        """Large contents."""
        from shared.adapters.s3.blobs import S3Blobs  # noqa: PLC0415

        return S3Blobs(lambda: self.aws.client("s3"), self.env.get(contracts.ENV_BUCKET, ""))

    @cached_property
    def records(self) -> DynamoRecords:
        """Jobs, chunks, contents and details."""
        return DynamoRecords(
            self.dynamo,
            records=self.records_table,
            ops=self.ops_table,
            blobs=self.blobs,
            archive=self.archive_after,
        )

    @cached_property
    def acceptances(self) -> "DynamoAcceptances":
        """The store that notes accepted requests in audit logs."""
        from shared.adapters.dynamo.audit import DynamoAcceptances  # noqa: PLC0415 - of what keys ask for

        return DynamoAcceptances(self.dynamo, self.records_table, self.clock)

    @cached_property
    def texts(self) -> "DynamoTexts":
        """Texts that recipients wrote."""
        from shared.adapters.dynamo.recipients.texts import DynamoTexts  # noqa: PLC0415 - few invocations need it

        return DynamoTexts(self.dynamo, records=self.records_table)

    @cached_property
    def sqs(self) -> Any:
        """The SQS client; most invocations of most functions never send anything."""
        return self.aws.later("sqs")

    @cached_property
    def lanes(self) -> "SqsLanes":
        """The lanes' queues."""
        from shared.adapters.sqs import SqsLanes  # noqa: PLC0415

        return SqsLanes(self.sqs, self.env[contracts.ENV_LANE_URL_PREFIX], self.served, self.clock)

    @property
    def served(self) -> list[str]:
        """The credentials that have a lane: those declared, and that of test keys."""
        return [*(c.id for c in self.settings.credentials), contracts.TEST_CREDENTIAL]

    def queue(self, variable: str) -> "SqsQueue":
        """Return the queue whose URL is in a variable of the environment."""
        from shared.adapters.sqs import SqsQueue  # noqa: PLC0415

        return SqsQueue(self.sqs, self.env[variable], self.clock)

    @cached_property
    def feedback(self) -> "SqsQueue":
        """The feedback queue."""
        return self.queue(contracts.ENV_FEEDBACK_QUEUE_URL)

    @cached_property
    def pacer(self) -> "DynamoPacer":
        """The credentials' slots."""
        from shared.adapters.dynamo.client import answered_at  # noqa: PLC0415
        from shared.adapters.dynamo.credentials.pacer import DynamoPacer  # noqa: PLC0415

        judge = answered_at if type(self.clock) is SystemClock else None  # one that was given differs on purpose
        return DynamoPacer(self.dynamo, self.ops_table, self.clock, answered=judge)

    @cached_property
    def secretsmanager(self) -> Any:
        """The client of Secrets Manager; it is made when first used."""
        return self.aws.later("secretsmanager")

    @cached_property
    def secrets(self) -> "Secrets":
        """The credentials' secrets, and what signs links."""
        from shared.adapters.secrets import Secrets  # noqa: PLC0415

        return Secrets(self.secretsmanager, self.settings.stage, self.clock)

    @cached_property
    def links(self) -> "SecretLinks":
        """What signs unsubscription links."""
        from shared.adapters.links import SecretLinks  # noqa: PLC0415

        return SecretLinks(self.secrets)

    @cached_property
    def proofs(self) -> "Proofs":
        """Which domains their DNS lets accounts send from."""
        from shared.adapters.dynamo.accounts.claims import DynamoClaims  # noqa: PLC0415
        from shared.engine.intake.proven import Proofs  # noqa: PLC0415

        return Proofs(
            claims=DynamoClaims(self.dynamo, self.records_table, self.clock), dns=lambda: self.dns, clock=self.clock
        )

    @cached_property
    def dns(self) -> "DnsResolver":
        """Look-ups in DNS."""
        from shared.adapters.dns import DnsResolver  # noqa: PLC0415 - most accounts claim no domain

        return DnsResolver(self.env.get(contracts.ENV_DNS, ""))

    @cached_property
    def identity_desk(self) -> "IdentityDesk":
        """Domains at the providers that sign for them."""
        from shared.bootstrap.identifying import desk  # noqa: PLC0415 - few requests are about domains

        return desk(self.settings, self.aws, self.dynamo, self.records_table, self.clock)

    @cached_property
    def standings(self) -> "ProvenStandings":
        """The keys and senders of accounts."""
        from shared.adapters.dynamo.accounts.standings import DynamoStandings  # noqa: PLC0415
        from shared.engine.intake.proven import ProvenStandings  # noqa: PLC0415

        return ProvenStandings(granted=DynamoStandings(self.dynamo, self.records_table), proofs=self.proofs)

    @property
    def address(self) -> str:
        """The API's public address, without a slash at its end; empty where it is not known."""
        return self.settings.public_url or self.env.get(contracts.ENV_API_URL, "")

    @cached_property
    def breaker_cache(self) -> "BreakerCache":
        """The credentials' circuit breakers."""
        from shared.adapters.dynamo.credentials.breakers import DynamoBreakers  # noqa: PLC0415
        from shared.engine.lane.breaker_cache import BreakerCache  # noqa: PLC0415

        breakers = DynamoBreakers(self.dynamo, self.ops_table)
        return BreakerCache(breakers=breakers, clock=self.clock, rng=self.rng)

    @cached_property
    def recovery(self) -> "Recovery":
        """Takeover of what a crash left."""
        from shared.engine.lane.recovery import Recovery  # noqa: PLC0415

        return Recovery(
            records=self.records,
            ledgers=self.ledgers,
            lanes=self.lanes,
            breaker_cache=self.breaker_cache,
            clock=self.clock,
            rng=self.rng,
        )

    @property
    def archive_after(self) -> int | None:
        """After how many milliseconds a job that has ended is archived; None: no job is."""
        return self.settings.feedback_timeout * 1000 if self.settings.archive_days else None

    @cached_property
    def open_places(self) -> "DynamoOpenPlaces":
        """Places for files that accounts hold."""
        from shared.adapters.dynamo.open_places import DynamoOpenPlaces  # noqa: PLC0415

        return DynamoOpenPlaces(self.dynamo, records=self.records_table, clock=self.clock)
