"""The console: its function, the table of its people, and its secret."""

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from aws_cdk import CfnOutput, Stack
from aws_cdk.aws_apigatewayv2 import HttpMethod
from aws_cdk.aws_apigatewayv2_integrations import HttpLambdaIntegration
from aws_cdk.aws_dynamodb import Table
from aws_cdk.aws_lambda import Code, LayerVersion
from constructs import Construct

from infra.building.function import Function
from infra.functions.api import PEOPLE, SECONDS, Api
from infra.resources.keys import ConsoleKey
from infra.settings import DeploymentSettings
from shared import contracts
from shared.contracts.console import FILE, ConsoleSettings

MEMORY_MB: Final = 1024
JOIN_SECONDS: Final = 10
JOIN_MEMORY_MB: Final = 512
JOIN_KNOWS: Final = (
    contracts.ENV_SETTINGS,
    contracts.ENV_IDENTITIES_TABLE,
    contracts.ENV_AUDIT_TABLE,
)
SUPPRESSED: Final = ("A#*#SUP", "A#*#SUPLOG", "A#*#UNSUB*", "A#*#STOP*")
"""Partitions of `records` with addresses that are not sent to, by address and by time."""
IMPORTED: Final = "python"
"""The folder of a layer that Lambda puts on the import path."""
CLAIMED: Final = ("A#*#CLAIMS",)
"""Partitions of `records` with domains that accounts claim."""
PICTURED: Final = ("A#*#IMAGES",)
"""Partitions of `records` with pictures."""
DRAFTED: Final = ("M#*", "T#*")
"""Partitions of `records` with campaigns and stored templates: people delete drafts."""


def people_environment(settings: ConsoleSettings | None, people: Table | None) -> Mapping[str, str]:
    """Return the variables that name the provider of identities and the table of people; none without a console."""
    if settings is None or people is None:
        return {}
    return {contracts.ENV_CONSOLE: settings.apart.dumps(), contracts.ENV_PEOPLE_TABLE: people.table_name}


class ConsoleConstruct(Construct):
    """The console's function behind the API's address; only where `cdk.json` has a `console`."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        deployment: DeploymentSettings,
        settings: ConsoleSettings,
        code: Code,
        environment: Mapping[str, str],
        people: Table,
        api: Api,
    ) -> None:
        """Create function, routes and secret.

        Args:
            environment: the variables that the API also has.
            people: the table of users and sessions.
        """
        super().__init__(scope, construct_id)
        self.people = people
        self.serve = Function(
            self,
            "Serve",
            deployment=deployment,
            code=code,
            name="console",
            seconds=SECONDS,
            memory=MEMORY_MB,
            environment={
                **environment,
                contracts.ENV_API_URL: api.address,
                **people_environment(settings, people),
            },
            reserved=deployment.at_once.console if deployment.at_once else None,
        )
        self.told = self._told(settings)
        """The layer with the settings, for another function that has to know who may sign in."""
        self.serve.function.add_layers(self.told)
        self.join = self._joining(deployment, code, environment) if settings.own_accounts else None
        if self.join is not None:
            self.serve.function.add_environment(contracts.ENV_JOIN_FUNCTION, self.join.function.function_arn)
        integration = HttpLambdaIntegration("Console", self.serve.function)
        for path in contracts.CONSOLE_PATHS:
            api.limit(*api.http.add_routes(path=path, methods=[HttpMethod.ANY], integration=integration), to=PEOPLE)
        CfnOutput(Stack.of(self), "PeopleTable", value=people.table_name)
        CfnOutput(Stack.of(self), "ConsoleProvider", value=settings.provider)
        self.key = ConsoleKey(self, "Key", deployment=deployment)

    def _told(self, settings: ConsoleSettings) -> LayerVersion:
        """Create the layer with the file of the settings.

        Other settings are another version of the layer, by which Lambda starts the function anew. A rollback brings the
        old version back.
        """
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / IMPORTED / FILE
            file.parent.mkdir()
            file.write_text(settings.dumps(), encoding="utf-8")
            return LayerVersion(self, "Settings", code=Code.from_asset(folder), description="Posthaste: console")

    def _joining(self, deployment: DeploymentSettings, code: Code, environment: Mapping[str, str]) -> Function:
        """Create the function that makes people's first accounts; it knows no more than where those are kept.

        Args:
            environment: the variables that the API has.
        """
        return Function(
            self,
            "Join",
            deployment=deployment,
            code=code,
            name="join",
            seconds=JOIN_SECONDS,
            memory=JOIN_MEMORY_MB,
            environment={name: value for name, value in environment.items() if name in JOIN_KNOWS},
        )
