"""The way of AWS End User Messaging's events to the feedback queue: configuration sets, a topic, its subscription."""

from collections.abc import Sequence
from typing import Final

from aws_cdk import Stack
from aws_cdk.aws_iam import PolicyStatement, ServicePrincipal
from aws_cdk.aws_smsvoice import CfnConfigurationSet
from aws_cdk.aws_sns import Topic
from aws_cdk.aws_sns_subscriptions import SqsSubscription
from constructs import Construct

from infra.resources.queue import WorkQueue
from infra.settings import DeploymentSettings
from shared import contracts
from shared.providers.needs import needs_of

EVENTS: Final = ("TEXT_ALL", "VOICE_ALL")


class SmsEvents(Construct):
    """The events of all credentials for SMS and calls of the stack's own account and region.

    A configuration set named in the settings is its owner's: the stack does not make it.
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
        self.topic.add_to_resource_policy(
            PolicyStatement(
                sid="Sms",
                principals=[ServicePrincipal(needs.topic)],
                actions=["sns:Publish"],
                resources=[self.topic.topic_arn],
                conditions={"StringEquals": {"aws:SourceAccount": Stack.of(self).account}},
            )
        )
        # The envelope stays: it shows which provider published. What cannot be delivered can be redriven.
        self.topic.add_subscription(
            SqsSubscription(feedback.queue, raw_message_delivery=False, dead_letter_queue=feedback.dead.queue)
        )
        for c in credentials if not deployment.local else ():  # the local cloud has no such service
            if c.configuration_set == contracts.configuration_set_name(deployment.stage, c.id):
                self._publish(c)

    def _publish(self, credential: contracts.Credential) -> None:
        made = CfnConfigurationSet(
            self,
            f"Set-{credential.id}",
            configuration_set_name=credential.configuration_set,
            event_destinations=[
                CfnConfigurationSet.EventDestinationProperty(
                    enabled=True,
                    event_destination_name="posthaste",
                    matching_event_types=list(EVENTS),
                    sns_destination=CfnConfigurationSet.SnsDestinationProperty(topic_arn=self.topic.topic_arn),
                )
            ],
        )
        made.node.add_dependency(self.topic)  # with its policy, without which nothing can be published


CONSTRUCT: Final = SmsEvents
"""Found by this module's name, which providers declare as `topic_name`."""
