"""Two stages of one account and region: each watches its own figures only."""

import json
import re
from fnmatch import fnmatchcase
from typing import Any, Final

import jmespath
import pytest

from cli.checks.first import ours
from infra.lint import examples, templates
from infra.settings import ROOT, SettingsError, read
from shared import contracts
from tests.infra.conftest import deployment
from tests.infra.synthesis import synthesised
from tests.infra.template import Template, text

pytestmark = pytest.mark.slow  # each synthesises stacks of its own

Series = tuple[str, str, tuple[tuple[str, str], ...]]
"""Namespace, name, dimensions."""
NAMED = {"AWS::SQS::Queue": "QueueName"}
"""Resources with names of ours; CloudFormation names all others after their stack, and each API has an id."""

ALIKE: Final = (
    *("prod", "pro", "pr", "p", "prod1", "prod-", "prod--", "prod-e", "prod-eu", "prod-eu1", "prod-eu-west-1"),
    *("prod-calls", "prod-hooks", "prod-api", "prod-alarms", "prod-dead-letters", "prod-digest", "prod-lanes"),
    *("prod-ses", "prod-storage"),
)
"""Twenty stages that may run in one account and region."""
HERE: Final = re.compile(r"arn:<AWS::Partition>:([a-z]+):(?:<AWS::Region>)?:<AWS::AccountId>:(.*)")
CONSOLE: Final = {"client_id": "client", "allowed": {"users": ["ann"]}}


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
    assert {namespace for namespace, _, _ in dev} == {
        "Posthaste",
        "AWS/SQS",
        "AWS/Lambda",
        "AWS/ApiGateway",
        "AWS/DynamoDB",
    }
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


Names = set[tuple[str, str]]
"""Service and name, as the end of an ARN has it."""


@pytest.fixture(scope="module")
def like() -> tuple[Names, Names]:
    """Return the names of the resources of a stage `prod`, and what its rights and rules choose by name."""
    return chosen("prod")


def chosen(stage: str) -> tuple[Names, Names]:
    """Return the names of a stage's resources, and the names and patterns that its rights and rules are about."""
    main = synthesised(read(examples()["eu"] | {"stage": stage, "console": CONSOLE}))
    found = [Template(json.loads(f.read_text("utf-8"))) for f in templates(main.parent)]
    return {x for t in found for x in made(t)}, {x for t in found for x in patterns(t)}


def made(template: Template) -> Names:
    """Return the names of a template's resources, where they are ours."""
    names: Names = set()
    for kind, key, service, form in (
        ("SQS::Queue", "QueueName", "sqs", "{}"),
        ("SNS::Topic", "TopicName", "sns", "{}"),
        ("SecretsManager::Secret", "Name", "secretsmanager", "secret:{}-AbCdEf"),
        ("CloudWatch::Alarm", "AlarmName", "cloudwatch", "alarm:{}"),
        ("Scheduler::ScheduleGroup", "Name", "scheduler", "schedule/{}/job"),
        ("SES::ConfigurationSet", "Name", "ses", "configuration-set/{}"),
        ("Logs::LogGroup", "LogGroupName", "logs", "log-group:{}"),
    ):
        names |= {(service, form.format(text(row[key]))) for row in template.of(kind).values() if key in row}
    return names


def patterns(template: Template) -> Names:
    """Return what a template's statements and rules name; not what names every resource of a service."""
    found: Names = set()
    for row in template.resources.values():
        for resource in resources(row.get("Properties", {})):
            if (parts := HERE.fullmatch(text(resource))) and "posthaste" in text(resource):
                found.add((parts[1], parts[2]))
    for rule in template.of("Events::Rule").values():
        for name in rule.get("EventPattern", {}).get("detail", {}).get("alarmName", ()):
            prefix = f"{name['prefix']}*" if isinstance(name, dict) else name
            found.add(("cloudwatch", f"alarm:{prefix}"))
    return found


def resources(value: Any) -> list[Any]:
    """Return what all statements within a value are about."""
    if isinstance(value, list):
        return [x for row in value for x in resources(row)]
    if not isinstance(value, dict):
        return []
    own = value.get("Resource", []) if "Effect" in value else []
    return [*(own if isinstance(own, list) else [own]), *(x for row in value.values() for x in resources(row))]


def renamed(names: Names, stage: str) -> Names:
    return {(service, re.sub(r"posthaste-prod(?=$|[^a-z0-9])", f"posthaste-{stage}", name)) for service, name in names}


def test_a_stage_s_names_and_patterns_follow_from_its_name(like: tuple[Names, Names]) -> None:
    assert tuple(renamed(x, "prod-eu") for x in like) == chosen("prod-eu"), "what the next test derives is so"


def test_no_right_or_rule_of_a_stage_is_about_resources_of_another(like: tuple[Names, Names]) -> None:
    names, about = like
    assert {service for service, _ in about} >= {"sqs", "secretsmanager", "cloudwatch", "scheduler"}
    assert len(ALIKE) == len({deployment(stage=stage).stage for stage in ALIKE}) == 20
    own = {stage: renamed(names, stage) for stage in ALIKE}
    for stage in ALIKE:
        ruled = renamed(about, stage)
        assert [x for x in ruled if x[0] == "cloudwatch" and fits(x, own[stage])], "the rules hear its own alarms"
        for other in ALIKE:
            if other != stage:
                assert not own[stage] & own[other]
                assert [x for x in ruled if fits(x, own[other])] == [], (stage, other)


def fits(pattern: tuple[str, str], names: Names) -> list[str]:
    return [name for service, name in names if service == pattern[0] and fnmatchcase(name, pattern[1])]


def test_the_commands_of_a_stage_choose_its_own_resources(like: tuple[Names, Names]) -> None:
    own = {stage: renamed(like[0], stage) for stage in ALIKE}
    operations = (ROOT / "docs" / "operations.md").read_text("utf-8")
    (firing,) = re.findall(r'"(MetricAlarms\[.*?\]\])\.\[', operations)
    (running,) = re.findall(r'"(Functions\[.*?\)\])\.\[', operations)
    for stage in ALIKE:
        queues = [name for x in ALIKE for service, name in own[x] if service == "sqs"]
        assert set(ours(stage, queues)) == {name for service, name in own[stage] if service == "sqs"}
        alarms = [{"AlarmName": x, "AlarmActions": [f"arn:aws:sns:r:1:posthaste-{x}-alarms"]} for x in ALIKE]
        shown = jmespath.search(firing.replace("$STAGE", stage), {"MetricAlarms": alarms})
        assert [x["AlarmName"] for x in shown] == [stage]
        functions = [
            {"Environment": {"Variables": {contracts.ENV_IDENTITIES_TABLE: f"posthaste-{x}-StorageIdentities1-X"}}}
            for x in ALIKE
        ]
        listed = jmespath.search(running.replace("$STAGE", stage), {"Functions": [*functions, {}]})
        assert listed == [functions[ALIKE.index(stage)]]


def test_no_command_of_a_page_chooses_by_the_beginning_of_a_stage_s_names() -> None:
    """Only `describe-alarms` asks by it, which finds fewer that way; its query is exact."""
    for page in (ROOT / "docs").rglob("*.md"):
        if page.parent.name != "adr":
            found = [line for line in page.read_text("utf-8").splitlines() if re.search(r"\$STAGE-[\"']", line)]
            assert [line for line in found if "--alarm-name-prefix" not in line] == [], page.name


@pytest.mark.parametrize("stage", ["prod-lane", "prod-lane-eu", "a-lane-lane"])
def test_no_stage_has_a_name_by_which_its_queues_are_lanes_of_another(stage: str) -> None:
    with pytest.raises(SettingsError, match=r"stage: .* has -lane, by which the queues of a stage '(prod|a)' begin"):
        deployment(stage=stage)
