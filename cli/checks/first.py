"""Checks of a first deploy: one that failed, names that are taken before one, and what protects its stack."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from cli.checks import Finding, Level
from shared.contracts import prefix, webhook_secret_name

PAGE: Final = "docs/deploying.md"
FAILED: Final = frozenset({"CREATE_FAILED", "ROLLBACK_COMPLETE", "ROLLBACK_FAILED", "DELETE_FAILED"})
"""States of a stack that has never run, or no longer: `cdk deploy` must delete it before it can create it."""
EMPTY: Final = "REVIEW_IN_PROGRESS"
"""The state of a stack whose first change set was never executed."""
QUEUE: Final = re.compile(
    r"(?:lane-[a-z0-9-]+(?:_express)?|feedback|due|ingest|inbox|digest|hooks|calls(?:-slow)?|gather_hooks|call_hooks"
    r"|notices|export|plan|log|sweep)(?:-dlq)?"
)
"""The end of a queue's name, after the stage's prefix; the queues of a stage `prod-eu` do not look like `prod`'s."""


def failed(answer: Mapping[str, Any]) -> Finding:
    """Say how to continue after a stack failed before it ever ran (an item of `cloudformation.describe_stacks`)."""
    name, status = answer["StackName"], answer["StackStatus"]
    events = (
        f"aws cloudformation describe-stack-events --stack-name {name} --output table "
        "--query \"StackEvents[?ends_with(ResourceStatus, 'FAILED')].[LogicalResourceId, ResourceStatusReason]\""
    )
    steps = [f"read why: {events}"]
    if answer.get("EnableTerminationProtection"):
        off = "aws cloudformation update-termination-protection --no-enable-termination-protection"
        steps.append(f"let it be deleted: {off} --stack-name {name}")
    if status in ("ROLLBACK_COMPLETE", "ROLLBACK_FAILED"):
        steps.append("deploy again, which deletes it first: .venv/bin/npx cdk deploy -c protect=off")
    else:
        steps.append(f"aws cloudformation delete-stack --stack-name {name}, then deploy again")
    says = f"{name} is {status}: its first deploy failed, or its deletion did, and nothing of it runs"
    return Finding("stack", Level.ERROR, says, f"{'; '.join(steps)} ({PAGE})")


def protection(answer: Mapping[str, Any]) -> list[Finding]:
    """Judge whether the stack of a production stage is protected from being deleted."""
    if answer.get("EnableTerminationProtection"):
        return []
    says = f"{answer['StackName']} is not protected from being deleted"
    return [Finding("stack", Level.WARNING, says, ".venv/bin/npx cdk deploy, without -c protect=off")]


def ours(stage: str, queues: Iterable[str]) -> list[str]:
    """Return those of some queues' names that a deploy of the stage makes."""
    start = f"{prefix(stage)}-"
    return [name for name in queues if name.startswith(start) and QUEUE.fullmatch(name.removeprefix(start))]


def names(stage: str, queues: Iterable[str], secrets: Iterable[str]) -> Finding:
    """Judge the names that a first deploy needs.

    Args:
        stage: which is to be deployed.
        queues: names of queues that there are.
        secrets: names of secrets that there are, those marked for deletion included: they keep their names.
    """
    made = webhook_secret_name(stage, "")  # by `posthaste credential`, not by the stack: those are in nothing's way
    left = [x for x in secrets if x.startswith(f"{prefix(stage)}/") and not x.startswith(made)]
    taken = sorted([*ours(stage, queues), *left])
    if not taken:
        return Finding("names", Level.OK, "no queue or secret of an earlier deployment has one of this stage's names")
    says = f"an earlier deployment left {', '.join(taken)}: the deploy will fail, since these names are taken"
    return Finding("names", Level.ERROR, says, f"keep or delete what is in them: {PAGE}")
