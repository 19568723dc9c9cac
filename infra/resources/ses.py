"""SES's events: configuration sets, and their way to the feedback queue."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from aws_cdk import Stack
from aws_cdk.aws_ses import CfnConfigurationSet, CfnConfigurationSetEventDestination
from constructs import Construct

from infra.resources.topics import ProviderEvents
from shared import contracts

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


class SesEvents(ProviderEvents):
    """Events of SES."""

    sid = "Ses"

    def sources(self, credentials: Sequence[contracts.Credential]) -> Mapping[str, Any]:
        """Let only configuration sets publish that the settings name."""
        stack, names = Stack.of(self), [c.configuration_set for c in credentials]
        sets = [stack.format_arn(service="ses", resource="configuration-set", resource_name=name) for name in names]
        return {"aws:SourceArn": sets}

    def publish(self, credential: contracts.Credential) -> Construct:
        """Make a set and its destination. SES publishes a message at once, to try it."""
        made = CfnConfigurationSet(self, f"Set-{credential.id}", name=credential.configuration_set)
        return CfnConfigurationSetEventDestination(
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


CONSTRUCT: Final = SesEvents
"""Found by this module's name, which providers declare as `topic_name`."""
