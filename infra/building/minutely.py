"""The schedule of a function that runs every minute."""

from typing import Final

from aws_cdk import Duration
from aws_cdk.aws_events import Rule, Schedule
from aws_cdk.aws_events_targets import LambdaFunction
from aws_cdk.aws_lambda_destinations import SqsDestination
from aws_cdk.aws_scheduler import CfnSchedule, CfnScheduleGroup
from constructs import Construct

from infra.building.function import Function
from infra.resources.queue import DeadLetters
from infra.resources.roles import SchedulerRole

MINUTE: Final = Duration.minutes(1)


def by_rule(consumer: Function, dead: DeadLetters) -> None:
    """Run a function every minute, as `EveryMinute` does."""
    target = LambdaFunction(consumer.function, dead_letter_queue=dead.queue, retry_attempts=0, max_event_age=MINUTE)
    Rule(consumer, "Schedule", schedule=Schedule.rate(MINUTE), targets=[target])
    consumer.function.configure_async_invoke(
        on_failure=SqsDestination(dead.queue), retry_attempts=0, max_event_age=MINUTE
    )


class EveryMinute(Construct):
    """Runs a function every minute, by a schedule of the stage's own group, in a role that can do nothing else.

    The next minute is the retry, of a failed delivery as of a failed run. The failure itself is kept.
    """

    def __init__(self, consumer: Function, dead: DeadLetters, group: CfnScheduleGroup) -> None:
        super().__init__(consumer, "EveryMinute")
        self.role = SchedulerRole(self, "Role")
        CfnSchedule(
            self,
            "Schedule",
            name=f"{group.name}-{consumer.name}",
            group_name=group.ref,
            schedule_expression="rate(1 minute)",
            flexible_time_window=CfnSchedule.FlexibleTimeWindowProperty(mode="OFF"),
            target=CfnSchedule.TargetProperty(
                arn=consumer.function.function_arn,
                role_arn=self.role.role.role_arn,
                dead_letter_config=CfnSchedule.DeadLetterConfigProperty(arn=dead.queue.queue_arn),
                retry_policy=CfnSchedule.RetryPolicyProperty(
                    maximum_event_age_in_seconds=MINUTE.to_seconds(), maximum_retry_attempts=0
                ),
            ),
        )
        consumer.function.configure_async_invoke(
            on_failure=SqsDestination(dead.queue), retry_attempts=0, max_event_age=MINUTE
        )
