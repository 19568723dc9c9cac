"""The start of jobs at their time: EventBridge Scheduler sends to a queue, whose function starts what is due."""

from collections.abc import Mapping

from aws_cdk.aws_lambda import Code
from aws_cdk.aws_scheduler import CfnScheduleGroup
from constructs import Construct

from infra.building.function import Function
from infra.functions.workers import QueueWorker
from infra.resources.roles import SchedulerRole
from infra.settings import DeploymentSettings
from shared import contracts


class SchedulesConstruct(SchedulerRole):
    """The group of schedules, the queue that they send to, and the role in which they do."""

    def __init__(self, scope: Construct, construct_id: str, *, deployment: DeploymentSettings) -> None:
        super().__init__(scope, construct_id)
        self.name = contracts.prefix(deployment.stage)
        self.group = CfnScheduleGroup(self, "Group", name=self.name)
        self._due = QueueWorker(
            self,
            "due",
            "Due",
            deployment,
            queue=f"{self.name}-due",
            seconds=60,
            memory=512,
            # A start is a transaction and a message per chunk; thousands of jobs for one minute wait some seconds in
            # the queue. Two suffice for that. A waking after a resume occupies one for 20 seconds, and must keep no
            # job waiting.
            concurrency=4,
            batch=10,
        )
        self.work = self._due.work
        self.environment = {
            contracts.ENV_DUE_QUEUE_URL: self.work.queue.queue_url,
            contracts.ENV_SCHEDULER_ROLE_ARN: self.role.role_arn,
        }

    def told(self, environment: Mapping[str, str]) -> Mapping[str, str]:
        """Return the variables of a function that announces what is due."""
        return {**environment, **self.environment}

    def serve(self, code: Code, environment: Mapping[str, str]) -> Function:
        """Create the function and let it consume the queue."""
        return self._due.serve(code, self.told(environment))
