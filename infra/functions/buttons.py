"""A function that only the console calls: it does for operators there what else only their commands do.

On AWS it is in the nested stack of the operators' function, so that it takes no room from the lanes.
"""

from collections.abc import Mapping

from aws_cdk.aws_lambda import Code
from constructs import Construct

from infra.building.function import Function
from infra.functions.console import ConsoleConstruct
from infra.functions.operators import operating
from infra.settings import DeploymentSettings
from shared import contracts


class ButtonsConstruct(Construct):
    """The function; only where `console.buttons` of `cdk.json` is true."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        deployment: DeploymentSettings,
        code: Code,
        environment: Mapping[str, str],
        console: ConsoleConstruct,
        sweep: Function,
        gather: Function,
    ) -> None:
        """Create it, and have the console know it.

        Args:
            scope: the operators' stack, nested on AWS.
            code: the common asset, as one of that stack.
            environment: the variables that the operators' function also has.
            console: knows who may sign in.
            sweep: a function that operators have run once more after one of its runs failed, as the other.
        """
        super().__init__(scope, construct_id)
        self.serve = operating(self, deployment, code, "buttons", environment, again=(sweep, gather))
        self.serve.function.add_layers(console.told)
        console.serve.function.add_environment(contracts.ENV_BUTTONS_FUNCTION, self.serve.function.function_arn)
