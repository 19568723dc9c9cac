"""Holds synthesised templates against AWS's limits: what AWS would refuse hours later is one line at the synth."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from infra import limits
from infra.lengths import Json, Lengths
from infra.limits import Limit
from infra.settings import SettingsError
from shared import contracts

Count = Callable[[Json, Lengths], Iterable[int]]
"""Properties of a resource → what is counted, once or more."""
TEMPLATE: Final = ".template.json"
"""Ends the names of templates."""
BLAMED: Final = {contracts.ENV_SETTINGS: "credentials", contracts.ENV_CONSOLE: "console"}
"""Variables that the settings lengthen → the setting."""

PERMISSION: Final = 200
"""Bytes of a statement around the properties of a permission: its id, effect, and the names of its fields."""


@dataclass(frozen=True, slots=True)
class Found:
    """A count at one place. `setting`: of `cdk.json`, which makes it smaller."""

    limit: Limit
    where: str
    count: int
    setting: str

    @property
    def fits(self) -> bool:
        """Whether AWS takes it."""
        return self.count <= self.limit.most

    def __str__(self) -> str:
        least = f"{self.setting}: {self.where} has {self.count:,} {self.limit.what}, and AWS takes {self.limit.most:,}"
        return f"{least} ({self.limit.source}); make {self.setting} smaller, or split the stage into several"


def _size(name: str) -> Count:
    return lambda p, sizes: [sizes.text(p[name])] if name in p else []


def _number(name: str) -> Count:
    return lambda p, _: [p[name]] if name in p else []


def _many(name: str) -> Count:
    return lambda p, _: [len(p.get(name, ()))]


def _bytes(name: str) -> Count:
    return lambda p, sizes: [sizes.json(p[name])] if name in p else []


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _statements(p: Json, _: Lengths) -> list[int]:
    return [len(p["PolicyDocument"]["Statement"])]


def _policy_actions(p: Json, _: Lengths) -> list[int]:
    return [len(_listed(s.get("Action", []))) for s in p["PolicyDocument"]["Statement"]]


def _inline(p: Json, sizes: Lengths) -> list[int]:
    return [sum(sizes.json(policy["PolicyDocument"]) for policy in p.get("Policies", ()))]


def _environment(p: Json, sizes: Lengths) -> list[int]:
    return [sizes.json(p.get("Environment", {}).get("Variables", {}))]


def _network(name: str) -> Count:
    return lambda p, _: [len(p["VpcConfig"][name])] if "VpcConfig" in p else []


def _filters(p: Json, _: Lengths) -> list[int]:
    return [len(p.get("FilterCriteria", {}).get("Filters", ()))]


def _filter(p: Json, sizes: Lengths) -> list[int]:
    return [sizes.text(row["Pattern"]) for row in p.get("FilterCriteria", {}).get("Filters", ())]


def _concurrency(p: Json, _: Lengths) -> list[int]:
    return [p.get("ScalingConfig", {}).get("MaximumConcurrency", 0)]


def _lifecycle(p: Json, _: Lengths) -> list[int]:
    return [len(p.get("LifecycleConfiguration", {}).get("Rules", ()))]


def _alarm_metrics(p: Json, _: Lengths) -> list[int]:
    return [sum("MetricStat" in row for row in p.get("Metrics", ()))]


def _expressions(p: Json, sizes: Lengths) -> list[int]:
    return [sizes.text(row["Expression"]) for row in p.get("Metrics", ()) if "Expression" in row]


def _projected(p: Json, _: Lengths) -> list[int]:
    return [sum(len(i["Projection"].get("NonKeyAttributes", ())) for i in p.get("GlobalSecondaryIndexes", ()))]


def _widgets(p: Json, sizes: Lengths) -> list[Any]:
    found: list[Any] = json.loads(str(sizes.resolved(p["DashboardBody"])))["widgets"]
    return found


def _rows(widget: Any) -> list[Any]:
    found: list[Any] = widget["properties"].get("metrics", [])
    return found


def _shown(p: Json, sizes: Lengths) -> list[int]:
    return [len(_rows(w)) for w in _widgets(p, sizes)]


def _drawn(p: Json, sizes: Lengths) -> list[int]:
    rows = [row[0] for w in _widgets(p, sizes) for row in _rows(w)]
    return [len(first["expression"]) for first in rows if isinstance(first, dict) and "expression" in first]


def _behaviors(p: Json, _: Lengths) -> list[int]:
    return [1 + len(p["DistributionConfig"].get("CacheBehaviors", ()))]


def _origin_seconds(p: Json, _: Lengths) -> list[int]:
    return [row["CustomOriginConfig"]["OriginReadTimeout"] for row in p["DistributionConfig"]["Origins"]]


def _throttled(name: str) -> Count:
    """Count what all routes of a stage let through together; a path and what is below it count once."""

    def count(p: Json, _: Lengths) -> list[int]:
        apart = {key: row[name] for key, row in p.get("RouteSettings", {}).items()}
        groups = [value for key, value in apart.items() if f"{key}/{{proxy+}}" not in apart]
        return [p["DefaultRouteSettings"][name] + sum(groups)]

    return count


COUNTS: Final[tuple[tuple[Limit, str, Count], ...]] = (
    (limits.ENVIRONMENT, "Lambda::Function", _environment),
    (limits.LAYERS, "Lambda::Function", _many("Layers")),
    (limits.FUNCTION_SECONDS, "Lambda::Function", _number("Timeout")),
    (limits.FUNCTION_MB, "Lambda::Function", _number("MemorySize")),
    (limits.SUBNETS, "Lambda::Function", _network("SubnetIds")),
    (limits.SECURITY_GROUPS, "Lambda::Function", _network("SecurityGroupIds")),
    (limits.FILTERS, "Lambda::EventSourceMapping", _filters),
    (limits.FILTER, "Lambda::EventSourceMapping", _filter),
    (limits.SOURCE_CONCURRENCY, "Lambda::EventSourceMapping", _concurrency),
    (limits.INLINE_POLICIES, "IAM::Role", _inline),
    (limits.TRUST_POLICY, "IAM::Role", _bytes("AssumeRolePolicyDocument")),
    (limits.QUEUE_NAME, "SQS::Queue", _size("QueueName")),
    (limits.QUEUE_POLICY, "SQS::QueuePolicy", _bytes("PolicyDocument")),
    (limits.QUEUE_STATEMENTS, "SQS::QueuePolicy", _statements),
    (limits.QUEUE_ACTIONS, "SQS::QueuePolicy", _policy_actions),
    (limits.TOPIC_NAME, "SNS::Topic", _size("TopicName")),
    (limits.TOPIC_POLICY, "SNS::TopicPolicy", _bytes("PolicyDocument")),
    (limits.TOPIC_STATEMENTS, "SNS::TopicPolicy", _statements),
    (limits.KEY_POLICY, "KMS::Key", _bytes("KeyPolicy")),
    (limits.BUCKET_POLICY, "S3::BucketPolicy", _bytes("PolicyDocument")),
    (limits.BUCKET_RULES, "S3::Bucket", _lifecycle),
    (limits.SECRET_NAME, "SecretsManager::Secret", _size("Name")),
    (limits.LOG_GROUP_NAME, "Logs::LogGroup", _size("LogGroupName")),
    (limits.ALARM_NAME, "CloudWatch::Alarm", _size("AlarmName")),
    (limits.ALARM_DESCRIPTION, "CloudWatch::Alarm", _size("AlarmDescription")),
    (limits.ALARM_ACTIONS, "CloudWatch::Alarm", _many("AlarmActions")),
    (limits.ALARM_METRICS, "CloudWatch::Alarm", _alarm_metrics),
    (limits.EXPRESSION, "CloudWatch::Alarm", _expressions),
    (limits.DASHBOARD_WIDGETS, "CloudWatch::Dashboard", lambda p, sizes: [len(_widgets(p, sizes))]),
    (limits.DASHBOARD_METRICS, "CloudWatch::Dashboard", lambda p, sizes: [sum(_shown(p, sizes))]),
    (limits.WIDGET_METRICS, "CloudWatch::Dashboard", _shown),
    (
        limits.WIDGET_ALARMS,
        "CloudWatch::Dashboard",
        lambda p, z: [len(w["properties"].get("alarms", ())) for w in _widgets(p, z)],
    ),
    (limits.EXPRESSION, "CloudWatch::Dashboard", _drawn),
    (limits.RULE_PATTERN, "Events::Rule", _bytes("EventPattern")),
    (limits.RULE_TARGETS, "Events::Rule", _many("Targets")),
    (limits.GROUP_NAME, "Scheduler::ScheduleGroup", _size("Name")),
    (limits.SCHEDULE_NAME, "Scheduler::Schedule", _size("Name")),
    (limits.ROUTE_RATE, "ApiGatewayV2::Stage", _throttled("ThrottlingRateLimit")),
    (limits.ROUTE_BURST, "ApiGatewayV2::Stage", _throttled("ThrottlingBurstLimit")),
    (limits.ALIASES, "CloudFront::Distribution", lambda p, _: [len(p["DistributionConfig"].get("Aliases", ()))]),
    (limits.BEHAVIORS, "CloudFront::Distribution", _behaviors),
    (limits.ORIGIN_SECONDS, "CloudFront::Distribution", _origin_seconds),
    (limits.TABLE_INDEXES, "DynamoDB::Table", _many("GlobalSecondaryIndexes")),
    (limits.TABLE_PROJECTED, "DynamoDB::Table", _projected),
    (limits.SES_SET_NAME, "SES::ConfigurationSet", _size("Name")),
    (limits.SMS_SET_NAME, "SMSVOICE::ConfigurationSet", _size("ConfigurationSetName")),
)
"""Limits of resources: of which type, and how they are counted."""


def measured(folder: Path, stack: str) -> Iterator[Found]:
    """Count everything that has a limit.

    Args:
        folder: an assembly, as `cdk synth` writes it.
    """
    made = [folder / path for path in _made(folder, stack)]
    templates = {x: json.loads(x.read_text("utf-8")) for x in made if x.name.endswith(TEMPLATE)}
    sizes = Lengths(stack, list(templates.values()))
    yield Found(limits.STACK_NAME, stack, len(stack), limits.STACK_NAME.setting)
    for file, template in templates.items():
        where = file.name.removesuffix(TEMPLATE).removesuffix(".nested")
        yield from _template(where, file, template)
        for name, row in template["Resources"].items():
            yield from _resource(f"{where}/{name}", row, sizes)
        yield from _callers(where, template, sizes)
    yield from _together(stack, templates.values(), sizes)
    size = sum(x.stat().st_size for folder in made if folder.is_dir() for x in folder.rglob("*") if x.is_file())
    yield Found(limits.ASSET, "the functions' code", size, limits.ASSET.setting)


def _together(stack: str, templates: Iterable[Json], sizes: Lengths) -> Iterator[Found]:
    """Count what the templates of a stack have only together: readers of a stream, and executions."""
    every = [x for template in templates for x in template["Resources"].items()]
    sources = [r["Properties"] for _, r in every if r["Type"] == "AWS::Lambda::EventSourceMapping"]
    functions = {name: r.get("Properties", {}) for name, r in every if r["Type"] == "AWS::Lambda::Function"}
    yield from _readers(sources, sizes)
    yield Found(limits.EXECUTIONS, stack, _executions(functions, sources, sizes), limits.EXECUTIONS.setting)


def _readers(sources: Sequence[Json], sizes: Lengths) -> Iterator[Found]:
    readers = Counter(sizes.origin(p.get("EventSourceArn")) for p in sources if "StartingPosition" in p)
    for source, count in readers.items():
        yield Found(limits.STREAM_READERS, source, count, limits.STREAM_READERS.setting)


def _executions(functions: Mapping[str, Json], sources: Sequence[Json], sizes: Lengths) -> int:
    """Return the executions that are reserved, with those that queues start beside them; 0 if none is reserved."""
    reserved = {name: p.get("ReservedConcurrentExecutions", 0) for name, p in functions.items()}
    kept = sum(reserved.values())
    queued = [(sizes.origin(p.get("FunctionName")), _concurrency(p, sizes)[0]) for p in sources]
    return kept + sum(most for function, most in queued if not reserved.get(function)) if kept else 0


def _made(folder: Path, stack: str) -> list[str]:
    """Return the files and folders that a stack has in its assembly, which may also hold those of other stages."""
    manifest = json.loads((folder / f"{stack}.assets.json").read_text("utf-8"))
    return sorted({row["source"]["path"] for row in manifest["files"].values()})


def refuse(folder: Path, stack: str) -> None:
    """Raise `SettingsError` for the first thing that AWS would refuse.

    Args:
        folder: an assembly, as `cdk synth` writes it.
    """
    for found in measured(folder, stack):
        if not found.fits:
            raise SettingsError(str(found))


def _template(where: str, file: Path, template: Json) -> Iterator[Found]:
    counted = (
        (limits.TEMPLATE_RESOURCES, len(template["Resources"])),
        (limits.TEMPLATE_BYTES, file.stat().st_size),
        (limits.TEMPLATE_PARAMETERS, len(template.get("Parameters", {}))),
        (limits.TEMPLATE_OUTPUTS, len(template.get("Outputs", {}))),
        (limits.TEMPLATE_DESCRIPTION, len(template.get("Description", "").encode())),
        (limits.LOGICAL_ID, max(map(len, template["Resources"]), default=0)),
    )
    for limit, count in counted:
        yield Found(limit, where, count, limit.setting)


def _resource(where: str, row: Json, sizes: Lengths) -> Iterator[Found]:
    properties = row.get("Properties", {})
    for limit, kind, count in COUNTS:
        if row["Type"] == f"AWS::{kind}":
            for number in count(properties, sizes):
                setting = _blamed(properties) if limit is limits.ENVIRONMENT else limit.setting
                yield Found(limit, where, number, setting)


def _blamed(properties: Json) -> str:
    """Return the setting that takes the most of a function's environment."""
    variables = properties.get("Environment", {}).get("Variables", {})
    longest = max(BLAMED, key=lambda name: len(str(variables.get(name, ""))))
    return BLAMED[longest]


def _callers(where: str, template: Json, sizes: Lengths) -> Iterator[Found]:
    """Count what is in no single resource: a function's policy of callers, and an API's routes."""
    policies: dict[str, int] = {}
    routes: dict[str, int] = {}
    for row in template["Resources"].values():
        properties = row.get("Properties", {})
        if row["Type"] == "AWS::Lambda::Permission":
            function = json.dumps(properties["FunctionName"])
            policies[function] = policies.get(function, 0) + PERMISSION + sizes.json(properties)
        elif row["Type"] == "AWS::ApiGatewayV2::Route":
            api = json.dumps(properties["ApiId"])
            routes[api] = routes.get(api, 0) + 1
    for limit, counts in ((limits.FUNCTION_POLICY, policies), (limits.ROUTES, routes)):
        for name, count in counts.items():
            yield Found(limit, f"{where}/{name}", count, limit.setting)
