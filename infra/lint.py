"""`python -m infra.lint`: synthesise for AWS and for the local cloud, with cdk-nag and cfn-lint; bundles nothing."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

from infra.settings import ROOT, Deployment, SettingsError, Target, read  # isort: skip  # first: it chooses the node
from aws_cdk import App

from infra.stack import PosthasteStack

IGNORED: Final = ("W3005",)
"""W3005: CDK writes a dependency on the role beside the reference to it."""


def synthesise(deployment: Deployment, folder: Path) -> Path:
    """Synthesise without building the asset; return the template's file.

    Raises:
        RuntimeError: cdk-nag or CDK's own validation refused; the findings are on standard error.
        SettingsError: the settings make too large a stack.
    """
    app = App(context={**context(), "aws:cdk:bundling-stacks": []}, outdir=str(folder))
    stack = PosthasteStack(app, f"posthaste-{deployment.stage}", deployment=deployment)
    app.synth()
    return folder / stack.template_file


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
    with tempfile.TemporaryDirectory(prefix="posthaste-lint-") as folder:
        templates = []
        for target in Target:
            try:
                templates.append(synthesise(read(context()["posthaste"], target=target), Path(folder) / target))
            except (SettingsError, RuntimeError) as error:
                print(f"{target}: {error}", file=sys.stderr)  # noqa: T201 - a command line's answer
                return 1
        findings = cfn_lint(*templates)
    print(findings or "synth, cdk-nag and cfn-lint: clean for aws and local")  # noqa: T201 - the same
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
