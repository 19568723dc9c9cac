"""Counts the resources of stacks: too many are one line that says which they are, and what makes them fewer."""

from collections import Counter
from typing import Final

from aws_cdk import CfnResource, NestedStack, Stack

from infra.limits import TEMPLATE_RESOURCES
from infra.settings import DeploymentSettings, SettingsError

LANE: Final = "Lane-"
"""Begins the construct ids of lanes."""
PUBLISHING: Final = ("Set-", "Destination-")
"""Begin the construct ids of what brings a credential's events from a service of AWS."""


def refuse_crowded(stack: Stack, deployment: DeploymentSettings) -> None:
    """Raise `SettingsError` if a stack, or one nested in it, has more resources than CloudFormation allows."""
    every = stack.node.find_all()
    homes: dict[str, Stack] = {x.node.path: x for x in every if isinstance(x, NestedStack)} | {stack.node.path: stack}
    counts: dict[str, Counter[str]] = {}
    for path in (x.node.path for x in every if isinstance(x, CfnResource)):
        home = max((x for x in homes if path.startswith(f"{x}/")), key=len)
        counts.setdefault(home, Counter())[_part(path)] += 1
    for home, parts in counts.items():
        if parts.total() > TEMPLATE_RESOURCES.most:
            raise SettingsError(_refusal(homes[home], parts, deployment))


def _part(path: str) -> str:
    """Return what a resource belongs to: lanes, the publishing of events, or everything else."""
    ids = path.split("/")
    if any(x.startswith(LANE) for x in ids):
        return "lanes"
    return "sets" if ids[-1].startswith(PUBLISHING) else "rest"


def _refusal(home: Stack, parts: Counter[str], deployment: DeploymentSettings) -> str:
    nested = isinstance(home, NestedStack)
    name = home.node.id.removeprefix("Lanes-") if nested else ""
    lanes = sum(deployment.stacks.get(c.id, "") == name for c in deployment.credentials)
    every = [f"{parts['lanes']} of {lanes} lanes", f"{parts['sets']} of credentials' configuration sets"]
    made = ", ".join([*(x for x in every if not x.startswith("0 ")), f"{parts['rest']} of everything else"])
    where = f"nested stack {name!r}" if nested else "the stack"
    return (
        f"credentials: {where} has {parts.total()} resources, and CloudFormation allows {TEMPLATE_RESOURCES.most}: "
        f"{made}; {' and '.join(_advice(parts, deployment))}, or split the credentials among several stages "
        "(docs/operations.md)"
    )


def _advice(parts: Counter[str], deployment: DeploymentSettings) -> list[str]:
    """Return what makes a stack smaller: a lane that is deployed cannot move."""
    found = []
    if parts["lanes"]:
        known = set(deployment.stacks.values())
        name = next(x for x in ("more", *(f"more{n}" for n in range(2, 200))) if x not in known)
        found.append(f'give credentials that are not deployed yet a nested stack of their own: "stack": "{name}"')
    if parts["sets"]:
        found.append('name a "configuration_set" of yours in credentials, for which the stack then makes none')
    return found
