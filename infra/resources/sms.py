"""AWS End User Messaging's events, of SMS and calls: configuration sets, and their way to the feedback queue."""

from typing import Final

from aws_cdk.aws_smsvoice import CfnConfigurationSet
from constructs import Construct

from infra.resources.topics import ProviderEvents
from shared import contracts

EVENTS: Final = ("TEXT_ALL", "VOICE_ALL")


class SmsEvents(ProviderEvents):
    """Events of SMS and calls."""

    sid = "Sms"
    local = False

    def publish(self, credential: contracts.Credential) -> Construct:
        """Make a set with its destination."""
        return CfnConfigurationSet(
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


CONSTRUCT: Final = SmsEvents
"""Found by this module's name, which providers declare as `topic_name`."""
