"""Questions to ask a synthesised template."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

Properties = dict[str, Any]


@dataclass(frozen=True)
class Statement:
    """One statement of a role: its actions and resources, a resource as JSON text where it is no plain string.

    `partitions`: patterns of the keys that it is about; none: all.
    """

    actions: frozenset[str]
    resources: frozenset[str]
    partitions: tuple[str, ...] = ()

    def about(self, action: str, resource: str, partition: str) -> bool:
        """Tell whether it is about an action on a partition of a table, given as the table's ARN."""
        patterns = self.partitions or ("*",)
        return (
            action in self.actions and resource in self.resources and any(fnmatchcase(partition, p) for p in patterns)
        )


class Template:
    """A CloudFormation template."""

    def __init__(self, raw: dict[str, Any]) -> None:
        self.raw = raw
        self.resources: dict[str, dict[str, Any]] = raw["Resources"]

    def of(self, kind: str) -> dict[str, Properties]:
        """Logical id → properties of every resource of a type, e.g. `SQS::Queue`."""
        return {k: r.get("Properties", {}) for k, r in self.resources.items() if r["Type"] == f"AWS::{kind}"}

    def functions(self) -> dict[str, Properties]:
        """Service name (`send-<credential>`, `api`, ...) → properties of every function."""
        rows = self.of("Lambda::Function").values()
        return {row["Environment"]["Variables"]["POWERTOOLS_SERVICE_NAME"]: row for row in rows}

    def sources(self) -> Iterator[tuple[str, str, Properties]]:
        """Service name, logical id of queue or table, properties of every event source."""
        for row in self.of("Lambda::EventSourceMapping").values():
            yield self.service(row["FunctionName"]), row["EventSourceArn"]["Fn::GetAtt"][0], row

    def service(self, reference: dict[str, Any]) -> str:
        """Return the service name of the function that a Ref or GetAtt points to."""
        found: str = self.resources[target(reference)]["Properties"]["Environment"]["Variables"][
            "POWERTOOLS_SERVICE_NAME"
        ]
        return found

    def statements(self, service: str) -> list[Statement]:
        """Return what a function's role may do."""
        return self._statements(service, "Allow")

    def denials(self, service: str) -> list[Statement]:
        """Return what a function's role may not do, whatever else it may."""
        return self._statements(service, "Deny")

    def may(self, service: str, action: str, table: str, partition: str) -> bool:
        """Tell whether a function may do an action on a partition of a table, given by its logical id."""
        arn = f"<{table}.Arn>"
        denied = any(s.about(action, arn, partition) for s in self.denials(service))
        return not denied and any(s.about(action, arn, partition) for s in self.statements(service))

    def _statements(self, service: str, effect: str) -> list[Statement]:
        role = self.resources[target(self.functions()[service]["Role"])]["Properties"]
        every = [s for p in role["Policies"] for s in p["PolicyDocument"]["Statement"]]
        return [_statement(s) for s in every if s["Effect"] == effect]

    def actions(self, service: str) -> set[str]:
        """Return every action of a function's role."""
        return {action for s in self.statements(service) for action in s.actions}


def joined(stack: Template, nested: Template, name: str) -> Template:
    """Return a stack with the resources of one nested in it, as the flat stack of the local cloud has them.

    Args:
        name: begins the logical id of the nested stack.
    """
    (key,) = (k for k in stack.of("CloudFormation::Stack") if k.startswith(name))
    given = stack.resources[key]["Properties"]["Parameters"]

    def within(value: dict[str, Any]) -> Any:
        return given.get(value.get("Ref"), value)

    def around(value: dict[str, Any]) -> Any:
        match value:
            case {"Fn::GetAtt": [owner, output]} if owner == key:
                return nested.raw["Outputs"][output.removeprefix("Outputs.")]["Value"]
        return value

    outer = _replaced({k: r for k, r in stack.resources.items() if k != key}, around)
    inner = _replaced(nested.resources, within)
    return Template({"Resources": {**outer, **inner}, "Outputs": _replaced(stack.raw["Outputs"], around)})


def _replaced(value: Any, by: Callable[[dict[str, Any]], Any]) -> Any:
    """Return a value with each object in it replaced by what a function makes of it."""
    if isinstance(value, list):
        return [_replaced(x, by) for x in value]
    if not isinstance(value, dict):
        return value
    return by({k: _replaced(x, by) for k, x in value.items()})


def target(reference: Any) -> str:
    """Return the logical id in a Ref or GetAtt."""
    found: str = reference["Ref"] if "Ref" in reference else reference["Fn::GetAtt"][0]
    return found


def text(value: Any) -> str:
    """Return a value as one string, joins resolved, references as `<Id.Attribute>`."""
    if isinstance(value, str):
        return value
    match value:
        case {"Fn::Join": [separator, parts]}:
            return str(separator).join(text(p) for p in parts)
        case {"Ref": name}:
            return f"<{name}>"
        case {"Fn::GetAtt": [name, attribute]}:
            return f"<{name}.{attribute}>"
        case _:
            return json.dumps(value)


def listed(value: Any) -> list[Any]:
    """Return a value that may stand alone as a list."""
    return value if isinstance(value, list) else [value]


def _statement(raw: dict[str, Any]) -> Statement:
    condition = raw.get("Condition", {})
    plain = {"Allow": {"ForAllValues:StringLike", "Null", "StringLike"}, "Deny": {"ForAnyValue:StringLike"}}
    if set(raw) - {"Condition"} != {"Effect", "Action", "Resource"} or not set(condition) <= plain[raw["Effect"]]:
        raise AssertionError(f"not a plain statement: {raw}")
    keys = [k for name, values in condition.items() if name != "Null" for k in values.get("dynamodb:LeadingKeys", ())]
    actions, resources = listed(raw["Action"]), (text(r) for r in listed(raw["Resource"]))
    # On the local cloud actions of SQS stand for those of several messages, too; on AWS they are the same.
    actions = [a.removesuffix("*") if a.startswith("sqs:") else a for a in actions]
    return Statement(frozenset(actions), frozenset(resources), tuple(keys))
