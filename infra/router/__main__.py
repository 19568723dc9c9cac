"""The CDK app of a router: `cdk deploy --app ".venv/bin/python -m infra.router" -c router='{…}'`."""

import sys

from infra.settings import SettingsError  # isort: skip  # first: infra chooses the node beneath aws_cdk
from aws_cdk import App

from infra.router import settings
from infra.router.stack import RouterStack


def main() -> int:
    """Synthesise; wrong settings are one line on standard error."""
    app = App()
    try:
        found = settings.read(app.node.try_get_context("router"))
    except SettingsError as error:
        print(f"posthaste: {error}", file=sys.stderr)  # noqa: T201 - a command line's answer
        return 1
    RouterStack(app, f"posthaste-router-{found.name}", settings=found)
    app.synth()
    return 0


if __name__ == "__main__":
    sys.exit(main())
