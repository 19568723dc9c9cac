"""A lane: what serves one credential, its bulkhead."""

from collections.abc import Mapping
from typing import Final

from aws_cdk.aws_lambda import Code
from aws_cdk.aws_secretsmanager import CfnSecret
from constructs import Construct

from infra.building.function import Function
from infra.resources.queue import ExpressQueue, WorkQueue
from infra.settings import DeploymentSettings, DeployTarget
from shared import contracts

SECONDS: Final = {DeployTarget.AWS: 120, DeployTarget.LOCAL: 20}
"""A sender's time-out. Lambda bills the waiting too, but each start costs a lease and a read of the chunk."""
LEASE_MARGIN_SECONDS: Final = 5
"""How much longer than its work a lease lasts: clocks differ, and a frozen sandbox may wake up late (ADR 205)."""
BATCH: Final = 2
"""Pointers per invocation: one lease works while the other waits for its provider."""
BUSY_RATE: Final = 250
SLOW_MB: Final = 512
FAST_MB: Final = 1024
"""A message costs up to 250 µs of a processor, and 1,769 MB are one. So 512 MB carry 1,100 messages a second, less TLS
and bursts. A slow lane's workers mostly wait for slots, and AWS also bills waiting by memory."""


class LaneConstruct(Construct):
    """Queues, dead-letter queue, sender and secret of one credential."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        deployment: DeploymentSettings,
        code: Code,
        credential: contracts.Credential,
    ) -> None:
        super().__init__(scope, construct_id)
        self._deployment = deployment
        self._code = code
        self.credential = credential
        self.work = WorkQueue(
            self,
            "Work",
            deployment=deployment,
            name=contracts.lane_queue_name(deployment.stage, credential.id),
            consumer_seconds=SECONDS[deployment.target],
            removal=deployment.lane_removal(credential.id),
        )
        self.secret: CfnSecret | None = None
        if credential.id != contracts.TEST_CREDENTIAL:
            # Without a value: `posthaste credential set` or the console puts it there, no template ever sees it.
            self.secret = CfnSecret(
                self,
                "Secret",
                name=contracts.secret_name(deployment.stage, credential.id),
                description=f"Posthaste: what credential {credential.id} needs to call {credential.provider}",
                kms_key_id=deployment.kms_key_arn or None,
            )
            self.secret.apply_removal_policy(deployment.lane_removal(credential.id))

    def serve(self, environment: Mapping[str, str]) -> Function:
        """Create the sender and let it consume the queue."""
        deployment, credential = self._deployment, self.credential
        sender = Function(
            self,
            "Send",
            deployment=deployment,
            code=self._code,
            name="send",
            service=f"send-{credential.id}",
            seconds=SECONDS[deployment.target],
            memory=SLOW_MB if credential.rate / credential.workers <= BUSY_RATE else FAST_MB,
            reserved=credential.workers + credential.express_workers if deployment.reserved else None,
            environment={
                **environment,
                contracts.ENV_LANE: credential.id,
                contracts.ENV_LEASE_MARGIN: str(LEASE_MARGIN_SECONDS),
            },
        )
        self.work.feed(sender, batch=BATCH, concurrency=credential.workers)
        return sender

    def express(self, home: Construct, sender: Function) -> ExpressQueue:
        """Create the express queue in a stack of the caller's choice, and let the sender also consume it."""
        deployment, credential = self._deployment, self.credential
        queue = ExpressQueue(
            home,
            f"Express-{credential.id}",
            deployment=deployment,
            lane=self.work,
            credential=credential.id,
            consumer_seconds=SECONDS[deployment.target],
        )
        queue.feed(sender, batch=credential.group, concurrency=credential.express_workers)
        return queue
