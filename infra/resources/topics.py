"""The way of a provider's events within AWS to the feedback queue: a topic and its subscription."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from aws_cdk import Stack
from aws_cdk.aws_iam import PolicyStatement, ServicePrincipal
from aws_cdk.aws_sns import Topic
from aws_cdk.aws_sns_subscriptions import SqsSubscription
from constructs import Construct

from infra.resources.queue import WorkQueue
from infra.settings import DeploymentSettings
from shared import contracts
from shared.providers.needs import needs_of


class ProviderEvents(Construct):
    """The events of all credentials of a provider in the stack's own account and region.

    A configuration set named in the settings is its owner's: the stack does not make it, and adds no destination.
    """

    sid: ClassVar[str]
    """Of the statement that lets the provider publish."""
    local = True
    """Whether the local cloud has configuration sets."""

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
                sid=self.sid,
                principals=[ServicePrincipal(needs.topic)],
                actions=["sns:Publish"],
                resources=[self.topic.topic_arn],
                conditions={"StringEquals": {"aws:SourceAccount": Stack.of(self).account, **self.sources(credentials)}},
            )
        )
        # The envelope stays: it shows which provider published. What cannot be delivered can be redriven.
        self.topic.add_subscription(
            SqsSubscription(feedback.queue, raw_message_delivery=False, dead_letter_queue=feedback.dead.queue)
        )
        for c in credentials if self.local or not deployment.local else ():
            if c.configuration_set == contracts.configuration_set_name(deployment.stage, c.id):
                self.publish(c).node.add_dependency(self.topic)  # with its policy, without which nothing is published

    def sources(self, credentials: Sequence[contracts.Credential]) -> Mapping[str, Any]:
        """Return more conditions of who may publish."""
        del credentials
        return {}

    @abstractmethod
    def publish(self, credential: contracts.Credential) -> Construct:
        """Make a credential's configuration set; return what publishes to the topic."""
