"""The CDK app: context → settings → stack.

Context: `posthaste` (cdk.json; or a JSON object on the command line), `target` (aws | local), `simulator_url` (local),
`notice_clock` (local: `SINCExSPEED`, from which Unix second on the time of notices is how many times as fast),
`protect` (on | off: termination protection of production; off for its first deploy),
`bytecode` (on | off: whether the functions are compiled),
`part` (firewall: the stack of the edge's firewall instead of the other).
"""

import sys
from pathlib import Path
from typing import Final

from infra.settings import FIREWALL, DeploymentSettings, SettingsError, read  # isort: skip  # first: infra chooses the node beneath aws_cdk
from aws_cdk import App

from infra import fitting
from infra.building import bundling
from infra.resources.firewall import FirewallStack
from infra.stack import PosthasteStack

OPTIONS: Final = {
    "target": "aws",
    "simulator_url": "",
    "notice_clock": "",
    "protect": "on",
    "bytecode": "on",
    "part": "",
}
"""Name in the context → default."""


def main() -> int:
    """Synthesise; wrong settings are one line on standard error."""
    app = App()
    options = {name: app.node.try_get_context(name) or default for name, default in OPTIONS.items()}
    try:
        deployment = read(app.node.try_get_context("posthaste"), **options)
        if options["part"]:
            _firewall(app, deployment)
        else:
            _all(app, deployment)
    except SettingsError as error:
        print(f"posthaste: {error}", file=sys.stderr)  # noqa: T201 - a command line's answer
        return 1
    return 0


def _all(app: App, deployment: DeploymentSettings) -> None:
    """Synthesise the stack, with those that are nested in it."""
    if deployment.bytecode and app.node.try_get_context("aws:cdk:bundling-stacks") != []:
        bundling.interpreter(deployment.target)  # here it is one line; amid the synth it would be a trace
    stack = PosthasteStack(app, f"posthaste-{deployment.stage}", deployment=deployment)
    fitting.refuse(Path(app.synth().directory), stack.stack_name)


def _firewall(app: App, deployment: DeploymentSettings) -> None:
    """Synthesise the stack of the edge's firewall, which the settings have."""
    if deployment.edge is not None:
        FirewallStack(app, f"posthaste-{deployment.stage}-{FIREWALL}", deployment=deployment, edge=deployment.edge)
        app.synth()


if __name__ == "__main__":
    sys.exit(main())
