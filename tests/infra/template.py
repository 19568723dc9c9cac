"""Questions to ask a synthesised template."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

Properties = dict[str, Any]


@dataclass(frozen=True)
class Statement:
    """One statement of a role: its actions and resources, a resource as JSON text where it is no plain string."""

    actions: frozenset[str]
    resources: frozenset[str]


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
        role = self.resources[target(self.functions()[service]["Role"])]["Properties"]
        return [_statement(s) for p in role["Policies"] for s in p["PolicyDocument"]["Statement"]]

    def actions(self, service: str) -> set[str]:
        """Return every action of a function's role."""
        return {action for s in self.statements(service) for action in s.actions}


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
    narrowed = set(raw.get("Condition", {})) <= {"ForAllValues:StringLike", "Null"}  # to partitions of a table
    if raw["Effect"] != "Allow" or set(raw) - {"Condition"} != {"Effect", "Action", "Resource"} or not narrowed:
        raise AssertionError(f"not a plain grant: {raw}")
    return Statement(frozenset(listed(raw["Action"])), frozenset(text(r) for r in listed(raw["Resource"])))
