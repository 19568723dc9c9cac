"""The way of SES's events to the feedback queue: configuration sets, one topic, and its subscription."""

from collections.abc import Sequence
from typing import Final

from aws_cdk import Stack
from aws_cdk.aws_iam import PolicyStatement, ServicePrincipal
from aws_cdk.aws_ses import CfnConfigurationSet, CfnConfigurationSetEventDestination
from aws_cdk.aws_sns import Topic
from aws_cdk.aws_sns_subscriptions import SqsSubscription
from constructs import Construct

from infra.resources.queue import WorkQueue
from infra.settings import DeploymentSettings
from shared import contracts
from shared.providers.needs import needs_of

EVENTS: Final = (
    "send",
    "reject",
    "bounce",
    "complaint",
    "delivery",
    "renderingFailure",
    "deliveryDelay",
    "subscription",
)
"""Not open and click: they change no state, and make SES rewrite what is sent."""


class SesEvents(Construct):
    """The events of all SES credentials of the stack's own account and region.

    A configuration set named in the settings is its owner's: it may publish here, but gets no event destination.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        deployment: DeploymentSettings,
        credentials: Sequence[contracts.Credential],
        feedback: WorkQueue,
    ) -> None:
        super().__init__(scope, construct_id)
        needs = needs_of(credentials[0].provider)
        topic_name = contracts.topic_name(deployment.stage, needs.topic_name)
        self.topic = Topic(self, "Topic", topic_name=topic_name, enforce_ssl=not deployment.local)
        stack = Stack.of(self)
        names = [c.configuration_set for c in credentials]
        sets = [stack.format_arn(service="ses", resource="configuration-set", resource_name=name) for name in names]
        self.topic.add_to_resource_policy(
            PolicyStatement(
                sid="Ses",
                principals=[ServicePrincipal(needs.topic)],
                actions=["sns:Publish"],
                resources=[self.topic.topic_arn],
                conditions={"StringEquals": {"aws:SourceAccount": stack.account, "aws:SourceArn": sets}},
            )
        )
        # The envelope stays: it tells the tracker whose message it is. What cannot be delivered can be redriven.
        self.topic.add_subscription(
            SqsSubscription(feedback.queue, raw_message_delivery=False, dead_letter_queue=feedback.dead.queue)
        )
        for c in credentials:
            if c.configuration_set == contracts.configuration_set_name(deployment.stage, c.id):
                self._publish(c)

    def _publish(self, credential: contracts.Credential) -> None:
        made = CfnConfigurationSet(self, f"Set-{credential.id}", name=credential.configuration_set)
        destination = CfnConfigurationSetEventDestination(
            self,
            f"Destination-{credential.id}",
            configuration_set_name=made.ref,
            event_destination=CfnConfigurationSetEventDestination.EventDestinationProperty(
                enabled=True,
                matching_event_types=list(EVENTS),
                sns_destination=CfnConfigurationSetEventDestination.SnsDestinationProperty(
                    topic_arn=self.topic.topic_arn
                ),
            ),
        )
        destination.node.add_dependency(self.topic)  # with its policy: SES publishes a message at once, to try it


CONSTRUCT: Final = SesEvents
"""Found by this module's name, which providers declare as `topic_name`."""
