"""The schedule of a function that runs every minute."""

from typing import Final

from aws_cdk import Duration
from aws_cdk.aws_events import Rule, Schedule
from aws_cdk.aws_events_targets import LambdaFunction
from aws_cdk.aws_lambda_destinations import SqsDestination

from infra.building.function import Function
from infra.resources.queue import DeadLetters

MINUTE: Final = Duration.minutes(1)


def every_minute(consumer: Function, dead: DeadLetters) -> None:
    """Run a function every minute.

    The next minute is the retry, of a failed delivery as of a failed run. The failure itself is kept.
    """
    target = LambdaFunction(consumer.function, dead_letter_queue=dead.queue, retry_attempts=0, max_event_age=MINUTE)
    Rule(consumer, "Schedule", schedule=Schedule.rate(MINUTE), targets=[target])
    consumer.function.configure_async_invoke(
        on_failure=SqsDestination(dead.queue), retry_attempts=0, max_event_age=MINUTE
    )
