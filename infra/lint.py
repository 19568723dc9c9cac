"""`python -m infra.lint`: synthesise for AWS and for the local cloud, with cdk-nag and cfn-lint; bundles nothing.

The settings of `cdk.json`, and those in `examples/`, whose templates are linted as they are.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

from infra.settings import FIREWALL, LOCAL_LACKS, ROOT, DeploymentSettings, SettingsError, DeployTarget, read  # isort: skip  # first: it chooses the node
from aws_cdk import App

from infra import fitting
from infra.resources.firewall import FirewallStack
from infra.stack import PosthasteStack

EXAMPLES: Final = ROOT / "examples"
IGNORED: Final = ("W3005",)
"""W3005: CDK writes a dependency on the role beside the reference to it."""


def synthesise(deployment: DeploymentSettings, folder: Path) -> Path:
    """Synthesise without building the asset; return the template's file.

    Raises:
        RuntimeError: cdk-nag or CDK's own validation refused; the findings are on standard error.
        SettingsError: the settings make what exceeds a limit of AWS.
    """
    app = App(context={**context(), "aws:cdk:bundling-stacks": []}, outdir=str(folder))
    stack = PosthasteStack(app, f"posthaste-{deployment.stage}", deployment=deployment)
    app.synth()
    fitting.refuse(folder, stack.stack_name)
    return folder / stack.template_file


def firewall(deployment: DeploymentSettings, folder: Path) -> Path | None:
    """Synthesise the firewall of an edge; return the template's file, None if the settings have no edge."""
    if deployment.edge is None:
        return None
    app = App(context=context(), outdir=str(folder))
    stack = FirewallStack(app, f"posthaste-{deployment.stage}-{FIREWALL}", deployment=deployment, edge=deployment.edge)
    app.synth()
    return folder / stack.template_file


def templates(folder: Path) -> list[Path]:
    """Return the templates of an assembly: the stack's, and those of its nested stacks."""
    return sorted(folder.glob("*.template.json"))


def examples() -> dict[str, Any]:
    """Name → settings of every example."""
    return {file.stem: json.loads(file.read_text(encoding="utf-8")) for file in sorted(EXAMPLES.glob("*.json"))}


def local_example(name: str) -> dict[str, Any]:
    """Return an example's settings without those that the local cloud lacks."""
    return {key: value for key, value in examples()[name].items() if key not in LOCAL_LACKS}


def example_templates() -> list[Path]:
    """Return the templates among the examples, which need no synthesis."""
    return sorted(EXAMPLES.glob("*/template.yaml"))


def cfn_lint(*templates: Path) -> str:
    """Return what cfn-lint says of the templates; nothing if they are clean."""
    command = [
        str(Path(sys.executable).with_name("cfn-lint")),
        "--format",
        "parseable",
        "--ignore-checks",
        *IGNORED,
        "--template",
    ]
    done = subprocess.run([*command, *map(str, templates)], capture_output=True, text=True, check=False)
    return (done.stdout + done.stderr).strip() or (f"cfn-lint: exit code {done.returncode}" if done.returncode else "")


def context() -> dict[str, Any]:
    """Return the context of `cdk.json`: CDK's feature flags, and the settings under `posthaste`."""
    found: dict[str, Any] = json.loads((ROOT / "cdk.json").read_text(encoding="utf-8"))["context"]
    return found


def main() -> int:
    """Lint; return the exit code."""
    own = context()["posthaste"]
    wanted = [("cdk.json", own, target) for target in DeployTarget]
    wanted += [(f"examples/{name}.json", settings, DeployTarget.AWS) for name, settings in examples().items()]
    wanted += [("examples/eu.json", local_example("eu"), DeployTarget.LOCAL)]  # SES and short messages differ there
    with tempfile.TemporaryDirectory(prefix="posthaste-lint-") as base:
        made: list[Path] = []
        for number, (name, settings, target) in enumerate(wanted):
            folder = Path(base) / str(number)
            try:
                deployment = read(settings, target=target)
                synthesise(deployment, folder)
                before = firewall(deployment, Path(base) / f"{number}-firewall")
            except (SettingsError, RuntimeError) as error:
                print(f"{name} for {target}: {error}", file=sys.stderr)  # noqa: T201 - a command line's answer
                return 1
            made += [*templates(folder), *([before] if before else [])]
        findings = cfn_lint(*made, *example_templates())
    said = ", ".join(f"{name} ({target})" for name, _, target in wanted)
    print(findings or f"synth, cdk-nag and cfn-lint: clean for {said}")  # noqa: T201 - the same
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
