"""Every template, and the largest that the settings allow, are within AWS's limits; what is not is one clear line."""

import json
import re
from collections.abc import Iterable
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
from aws_cdk import App

from infra import limits
from infra.fitting import Found, measured, refuse
from infra.lengths import UNKNOWN, Lengths
from infra.limits import Limit
from infra.lint import context, examples
from infra.settings import ROOT, DeploymentSettings, SettingsError, read
from infra.stack import PosthasteStack
from shared import contracts
from tests.infra.conftest import DOMAIN, EDGE, SETTINGS, VPC, deployment
from tests.infra.synthesis import synthesised

PAIRS = (
    *((name, "email") for name in ("sendgrid", "mailgun", "postmark", "resend", "ses")),
    *(("twilio", channel) for channel in ("sms", "whatsapp", "voice")),
    ("aws-sms", "sms"),
)
STAGE = "production-of-bank-1"
"""As long as a stage's name may be, and one whose data is kept."""
CONSOLE: dict[str, Any] = {
    "provider": "openid",
    "client_id": "c" * 200,
    "issuer": f"https://login.bank.example/{'t' * 400}",
    "allowed": {"users": [f"first-name.last-name-{n}@a-rather-long-name.bank.example" for n in range(300)]},
    "roles": {f"id:{n:036}": "operator" for n in range(100)},
}


def large(*, main: int = 0) -> DeploymentSettings:
    """Return a hundred credentials of nine pairs and three hundred people; `main` of them are in the stack itself."""
    rows = [
        {
            "id": f"{n:02}-{'credential-of-a-long-name-'[:29]}",
            "provider": provider,
            "channel": channel,
            "rate": 100,
            **({} if n < main else {"stack": f"more-{n // 25}"}),
        }
        for n, (provider, channel) in zip(range(100), cycle(PAIRS))
    ]
    key = "arn:aws:kms:eu-central-1:123456789012:key/01234567-0123-0123-0123-0123456789ab"
    more = {"console": CONSOLE, "retention": {"archive_days": 30}, "alarm_email": "", "kms_key_arn": key}
    more |= {"domain": DOMAIN, "edge": EDGE, "vpc": VPC}
    return read({**SETTINGS, "stage": STAGE, "credentials": rows, "routes": {}, "reserved": "none", **more})


def found(deployment: DeploymentSettings) -> list[Found]:
    file = synthesised(deployment)
    return list(measured(file.parent, f"posthaste-{deployment.stage}"))


def too_much(rows: Iterable[Found]) -> list[str]:
    return [str(row) for row in rows if not row.fits]


@pytest.mark.slow
def test_a_hundred_credentials_and_three_hundred_people_are_within_every_limit() -> None:
    rows = found(large())
    assert too_much(rows) == []
    declared = {x for x in vars(limits).values() if isinstance(x, Limit)}
    assert declared == {row.limit for row in rows}, "each limit is counted"
    assert max(row.count for row in rows if row.limit is limits.WIDGET_ALARMS) == limits.WIDGET_ALARMS.most
    assert max(row.count for row in rows if row.limit is limits.ENVIRONMENT) > 1500


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cdk.json", *examples()])
def test_every_example_is_within_every_limit(name: str) -> None:
    settings = context()["posthaste"] if name == "cdk.json" else examples()[name]
    assert too_much(found(read(settings))) == []


def assembly(folder: Path, resources: dict[str, Any]) -> Path:
    """Write an assembly of one template."""
    (folder / "posthaste-dev.template.json").write_text(json.dumps({"Resources": resources}), "utf-8")
    files = {"0": {"source": {"path": "posthaste-dev.template.json"}}}
    (folder / "posthaste-dev.assets.json").write_text(json.dumps({"files": files}), "utf-8")
    (folder / "posthaste-old.template.json").write_text("of another stage", "utf-8")
    return folder


def function(**variables: Any) -> dict[str, Any]:
    return {"F": {"Type": "AWS::Lambda::Function", "Properties": {"Environment": {"Variables": variables}}}}


@pytest.mark.parametrize(
    ("variable", "setting"), [(contracts.ENV_SETTINGS, "credentials"), (contracts.ENV_CONSOLE, "console")]
)
def test_an_environment_that_is_too_large_names_the_setting(tmp_path: Path, variable: str, setting: str) -> None:
    around = len(json.dumps({variable: ""}, separators=(",", ":")))
    refuse(assembly(tmp_path, function(**{variable: "x" * (4096 - around)})), "posthaste-dev")
    with pytest.raises(SettingsError) as error:
        refuse(assembly(tmp_path, function(**{variable: "x" * (4097 - around)})), "posthaste-dev")
    line = str(error.value)
    assert line.startswith(
        f"{setting}: posthaste-dev/F has 4,097 bytes of a function's environment, and AWS takes 4,096"
    )
    assert "https://docs.aws.amazon.com/" in line
    assert "\n" not in line


@pytest.mark.parametrize(
    ("kind", "properties", "limit"),
    [
        ("SQS::Queue", {"QueueName": "q" * 81}, limits.QUEUE_NAME),
        ("Events::Rule", {"EventPattern": {"detail": {"alarmName": ["a" * 100] * 20}}}, limits.RULE_PATTERN),
        ("IAM::Role", {"Policies": [{"PolicyDocument": {"x": "y" * 6000}}] * 2}, limits.INLINE_POLICIES),
        ("CloudWatch::Alarm", {"Metrics": [{"MetricStat": {}}] * 11}, limits.ALARM_METRICS),
        ("Lambda::EventSourceMapping", {"FilterCriteria": {"Filters": [{"Pattern": "{}"}] * 6}}, limits.FILTERS),
        (
            "CloudWatch::Dashboard",
            {"DashboardBody": json.dumps({"widgets": [{"properties": {"alarms": ["a"] * 101}}]})},
            limits.WIDGET_ALARMS,
        ),
    ],
)
def test_what_exceeds_a_limit_is_refused(tmp_path: Path, kind: str, properties: Any, limit: Limit) -> None:
    folder = assembly(tmp_path, {"R": {"Type": f"AWS::{kind}", "Properties": properties}})
    assert [row.limit for row in measured(folder, "posthaste-dev") if not row.fits] == [limit]


def test_readers_of_a_stream_count_over_nested_stacks(tmp_path: Path) -> None:
    stream = {"Fn::GetAtt": ["T", "StreamArn"]}
    reader = {"FunctionName": {"Ref": "F"}, "StartingPosition": "LATEST"}
    resources: dict[str, Any] = {
        "T": {"Type": "AWS::DynamoDB::Table"},
        "N": {"Type": "AWS::CloudFormation::Stack", "Properties": {"Parameters": {"P": stream}}},
        **{
            f"S{n}": {"Type": "AWS::Lambda::EventSourceMapping", "Properties": {**reader, "EventSourceArn": source}}
            for n, source in enumerate((stream, {"Ref": "P"}))
        },
    }
    readers = [x for x in measured(assembly(tmp_path, resources), "posthaste-dev") if x.limit is limits.STREAM_READERS]
    assert [(x.where, x.count, x.fits) for x in readers] == [("T", 2, True)]
    resources["S2"] = resources["S1"]
    with pytest.raises(SettingsError, match=r"T has 3 readers of a table's stream, and AWS takes 2"):
        refuse(assembly(tmp_path, resources), "posthaste-dev")


def test_executions_are_what_is_reserved_and_what_queues_start_beside() -> None:
    given = deployment()
    (row,) = (x for x in found(given) if x.limit is limits.EXECUTIONS)
    assert given.concurrency < row.count < given.concurrency + 100, "the unreserved hundred is enough"


def test_a_reference_is_as_long_as_it_can_become() -> None:
    resources = {
        "Q": {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": "n" * 80}},
        "T": {"Type": "AWS::DynamoDB::Table"},
        "N": {"Type": "AWS::CloudFormation::Stack", "Properties": {"Parameters": {"P": {"Ref": "T"}}}},
    }
    sizes = Lengths("posthaste-dev", [{"Resources": resources}])
    url = "https://sqs.ap-southeast-1.amazonaws.com.cn/123456789012/" + "n" * 80
    assert sizes.text({"Ref": "Q"}) == len(url)
    table = "posthaste-dev-T-" + "1234567890123"
    assert sizes.text({"Ref": "T"}) == sizes.text({"Ref": "P"}) == len(table)
    assert sizes.text({"Fn::Join": ["/", [{"Ref": "T"}, "a", {"Ref": "AWS::AccountId"}]]}) == len(table) + 3 + 12
    assert sizes.text({"Fn::GetAtt": ["Q", "Arn"]}) >= len("arn:aws-us-gov:sqs:us-gov-west-1:123456789012:") + 80
    assert sizes.text({"Fn::GetAtt": ["N", "Outputs.X"]}) == UNKNOWN > len(url)


def crowd(main: int, **changes: Any) -> DeploymentSettings:
    """Return forty-five SES credentials, `main` of them in the stack itself."""
    rows = [
        {"id": f"c{n}", "provider": "ses", "channel": "email", "rate": 1, **changes}
        | ({} if n < main else {"stack": "more0"})
        for n in range(45)
    ]
    return read({**SETTINGS, "credentials": rows, "routes": {}, "reserved": "none"})


def built(deployment: DeploymentSettings) -> PosthasteStack:
    app = App(context={"aws:cdk:bundling-stacks": []})
    return PosthasteStack(app, f"posthaste-{deployment.stage}", deployment=deployment)


@pytest.mark.slow
def test_a_stack_that_is_too_large_says_of_what_and_what_it_advises_helps() -> None:
    with pytest.raises(SettingsError) as error:
        built(crowd(main=27))
    line = str(error.value)
    has = re.search(r"has (\d+) resources, .* allows 500: (\d+) of 28 lanes, (\d+) of .* sets, (\d+) of every", line)
    assert has, line
    every, lanes, sets, rest = map(int, has.groups())
    assert (every, lanes, sets) == (lanes + sets + rest, 27 * 9 + 8, 90)
    for advised in ('a nested stack of their own: "stack": "more"', 'name a "configuration_set" of yours'):
        assert advised in line
    built(crowd(main=0))
    built(crowd(main=27, configuration_set="newsletter"))


@pytest.mark.slow
def test_a_nested_stack_that_is_too_large_is_named() -> None:
    rows = [{**SETTINGS["credentials"][0], "id": f"c{n}", "stack": "more"} for n in range(60)]
    with pytest.raises(
        SettingsError, match=r"nested stack 'more' has \d+ resources, .* 60 lanes.*\"stack\": \"more2\""
    ):
        built(read({**SETTINGS, "credentials": rows, "routes": {}, "reserved": "none"}))


def page(name: str) -> str:
    return (ROOT / "docs" / name).read_text("utf-8")


def only(count: int, provider: str) -> DeploymentSettings:
    """Return credentials of one provider in the stack itself."""
    rows = [{"id": f"c{n}", "provider": provider, "channel": "email", "rate": 1} for n in range(count)]
    return read({**SETTINGS, "credentials": rows, "routes": {}, "reserved": "none"})


@pytest.mark.slow
def test_the_page_says_how_many_credentials_a_stack_holds() -> None:
    has = re.search(r"The stack holds (\d+), or (\d+) if all are SES's", page("operations.md"))
    assert has
    for provider, count in (("sendgrid", int(has[1])), ("ses", int(has[2]))):
        built(only(count, provider))
        with pytest.raises(SettingsError, match="CloudFormation allows 500"):
            built(only(count + 1, provider))


@pytest.mark.slow
def test_the_page_of_a_first_deploy_has_the_numbers_of_one() -> None:
    text = page("first-deploy.md")
    (settings,) = re.findall(r"```json\n(\{\n.*?\n\})\n```", text, re.DOTALL)
    deployment = read(settings)
    resources = [row.count for row in found(deployment) if row.limit is limits.TEMPLATE_RESOURCES]
    main = max(resources)
    assert f"| {main} with one credential, and {sum(resources) - main} in nested stacks |" in text
    assert f"131, and four for each lane: {deployment.concurrency + 100} with one credential" in text
    assert deployment.concurrency + 100 == 131 + 4 * len(deployment.credentials)
