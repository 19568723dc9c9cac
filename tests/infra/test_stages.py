"""Two stages of one account and region: each watches its own figures only."""

import json
from typing import Any

import pytest

from infra.lint import examples, templates
from infra.settings import read
from tests.infra.synthesis import synthesised
from tests.infra.template import Template, text

pytestmark = pytest.mark.slow  # each synthesises stacks of its own

Series = tuple[str, str, tuple[tuple[str, str], ...]]
"""Namespace, name, dimensions."""
NAMED = {"AWS::SQS::Queue": "QueueName"}
"""Resources with names of ours; CloudFormation names all others after their stack, and each API has an id."""


class Stage:
    """The templates of a stage, and what its alarms and its dashboard read."""

    def __init__(self, name: str) -> None:
        main = synthesised(read(examples()["eu"] | {"stage": name}))
        self.stack = f"posthaste-{name}"
        self.main = Template(json.loads(main.read_text("utf-8")))
        self.nested = [Template(json.loads(f.read_text("utf-8"))) for f in templates(main.parent) if f != main]

    def series(self) -> set[Series]:
        """Return all series that it reads."""
        return self._of_alarms() | self._of_dashboard()

    def _of_alarms(self) -> set[Series]:
        found = set()
        for alarm in self.main.of("CloudWatch::Alarm").values():
            stats = [row["MetricStat"]["Metric"] for row in alarm.get("Metrics", ()) if "MetricStat" in row]
            for stat in stats or [alarm]:
                dimensions = {d["Name"]: self._physical(text(d["Value"])) for d in stat["Dimensions"]}
                found.add((stat["Namespace"], stat["MetricName"], tuple(sorted(dimensions.items()))))
        return found

    def _of_dashboard(self) -> set[Series]:
        found = set()
        (board,) = self.main.of("CloudWatch::Dashboard").values()
        for widget in json.loads(text(board["DashboardBody"]))["widgets"]:
            for row in widget["properties"].get("metrics", []):
                if isinstance(row[0], str):  # else an expression over others of the rows
                    namespace, metric, *pairs = [part for part in row if isinstance(part, str)]
                    dimensions = {n: self._physical(v) for n, v in zip(pairs[::2], pairs[1::2], strict=True)}
                    found.add((namespace, metric, tuple(sorted(dimensions.items()))))
        return found

    def _physical(self, value: str) -> str:
        """Return a resource's name in the account, for a value that refers to one."""
        if not value.startswith("<"):
            return value
        name, _, attribute = value.strip("<>").partition(".")
        template, stack = self.main, self.stack
        if attribute.startswith("Outputs."):
            output, stack = attribute.removeprefix("Outputs."), f"{stack}-{name}"
            (template,) = [t for t in self.nested if output in t.raw.get("Outputs", {})]
            name = text(template.raw["Outputs"][output]["Value"]).strip("<>").partition(".")[0]
        resource = template.resources[name]
        own = NAMED.get(resource["Type"])
        return resource["Properties"][own] if own else f"{stack}-{name}"


@pytest.fixture(scope="module")
def stages() -> tuple[Stage, Stage]:
    return tuple(Stage(name) for name in ("dev", "prod"))  # type: ignore[return-value]


def test_two_stages_have_no_series_in_common(stages: tuple[Stage, Stage]) -> None:
    dev, prod = (stage.series() for stage in stages)
    assert {namespace for namespace, _, _ in dev} == {"Posthaste", "AWS/SQS", "AWS/Lambda", "AWS/ApiGateway"}
    assert len(dev) == len(prod) > 100
    assert dev.isdisjoint(prod)
    without = [
        {(n, m, tuple(d for d in ds if d[0] != "stage")) for n, m, ds in x if n == "Posthaste"} for x in (dev, prod)
    ]
    assert without[0] == without[1], "but for the stage they are the same"


def test_two_stages_share_no_physical_name(stages: tuple[Stage, Stage]) -> None:
    """Else one of them could not be deployed."""
    names: list[set[Any]] = []
    for stage in stages:
        found = set()
        for template in (stage.main, *stage.nested):
            for resource in template.resources.values():
                for key in ("AlarmName", "DashboardName", "QueueName", "TopicName", "LogGroupName", "Name"):
                    if isinstance(value := resource.get("Properties", {}).get(key), str):
                        found.add((resource["Type"], value))
        names.append(found)
    assert len(names[0]) > 40
    assert names[0].isdisjoint(names[1]), names[0] & names[1]
