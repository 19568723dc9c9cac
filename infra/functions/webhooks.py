"""The function that takes the providers' webhooks: verify, normalise, enqueue, answer."""

from collections.abc import Mapping

from aws_cdk import Fn
from aws_cdk.aws_lambda import Code, FunctionUrlAuthType
from constructs import Construct

from infra.building.function import Function
from infra.settings import DeploymentSettings


class WebhooksConstruct(Construct):
    """The function, whose route is the API's, and an address of its own if the settings ask for one.

    Attributes:
        address: as `https://` and a host; empty: it has only the API's.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        deployment: DeploymentSettings,
        code: Code,
        environment: Mapping[str, str],
    ) -> None:
        super().__init__(scope, construct_id)
        at_once = deployment.settings.webhooks_at_once
        self.receive = Function(
            self,
            "Receive",
            deployment=deployment,
            code=code,
            name="webhooks",
            seconds=10,  # providers wait no longer, and post again
            memory=512,
            environment=environment,
            reserved=deployment.webhooks_reserved,
        )
        self.address = ""
        if at_once:
            # Nobody signs in here: as on the API's route, the provider's signature is what is believed.
            made = self.receive.function.add_function_url(auth_type=FunctionUrlAuthType.NONE)
            self.address = f"https://{Fn.select(2, Fn.split('/', made.url))}"
