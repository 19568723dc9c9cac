"""The CDK app: context → settings → stack.

Context: `posthaste` (cdk.json; or a JSON object on the command line), `target` (aws | local), `simulator_url` (local),
`notice_clock` (local: `SINCExSPEED`, from which Unix second on the time of notices is how many times as fast),
`protect` (on | off: termination protection of production; off for its first deploy),
`bytecode` (on | off: whether the functions are compiled).
"""

import sys
from pathlib import Path

from infra.settings import SettingsError, read  # isort: skip  # first: infra chooses the node beneath aws_cdk
from aws_cdk import App

from infra import fitting
from infra.building import bundling
from infra.stack import PosthasteStack


def main() -> int:
    """Synthesise; wrong settings are one line on standard error."""
    app = App()
    try:
        deployment = read(
            app.node.try_get_context("posthaste"),
            target=app.node.try_get_context("target") or "aws",
            simulator_url=app.node.try_get_context("simulator_url") or "",
            notice_clock=app.node.try_get_context("notice_clock") or "",
            protect=app.node.try_get_context("protect") or "on",
            bytecode=app.node.try_get_context("bytecode") or "on",
        )
        if deployment.bytecode and app.node.try_get_context("aws:cdk:bundling-stacks") != []:
            bundling.interpreter(deployment.target)  # here it is one line; amid the synth it would be a trace
        stack = PosthasteStack(app, f"posthaste-{deployment.stage}", deployment=deployment)
        fitting.refuse(Path(app.synth().directory), stack.stack_name)
    except SettingsError as error:
        print(f"posthaste: {error}", file=sys.stderr)  # noqa: T201 - a command line's answer
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
