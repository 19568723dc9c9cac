"""The guide to digests, followed call by call, and the EventBridge rules of its example."""

import json
import re
from typing import Any

import pytest
import yaml

from infra.settings import ROOT
from tests.api.conftest import Api, Reply

GUIDE = (ROOT / "docs" / "digests-guide.md").read_text("utf-8")
CALL = re.compile(r"curl -sX? ?(PUT|POST|) ?\"\$POSTHASTE_URL(/[^\"]+)\"((?:.|\n)*?)\n(?=```|curl|[A-Z]+=|sleep)")
BODY = re.compile(r"-d '((?:.|\n)*?)'")
VALUES = {"BatchKey": "acme/production", "Recipients": '"ann@example.org", "ben@example.org"'}
CPU: dict[str, Any] = {
    "version": "0",
    "id": "c4c1c1c9-6542-e61b-6ef0-8c4d36933a92",
    "detail-type": "CloudWatch Alarm State Change",
    "source": "aws.cloudwatch",
    "account": "123456789012",
    "time": "2026-11-20T09:00:00Z",
    "region": "eu-central-1",
    "resources": ["arn:aws:cloudwatch:eu-central-1:123456789012:alarm:CPU"],
    "detail": {
        "alarmName": "CPU",
        "configuration": {
            "description": "The processor is busy.",
            "metrics": [
                {"id": "m1", "metricStat": {"metric": {}, "period": 300, "stat": "Average"}, "returnData": True}
            ],
        },
        "previousState": {"reason": "It was calm.", "timestamp": "2026-11-19T09:00:00.000+0000", "value": "OK"},
        "state": {
            "reason": 'Threshold "90" crossed: 1 datapoint [99.5 (20/11/26 08:59:00)] \\ <90>.',
            "reasonData": '{"version":"1.0","recentDatapoints":[99.5],"threshold":90.0}',
            "timestamp": "2026-11-20T09:00:00.123+0000",
            "value": "ALARM",
        },
    },
}
"""What CloudWatch publishes of a change of an alarm."""
ENDED: dict[str, Any] = {
    "version": "0",
    "id": "315c1398-40ff-a850-213b-158f73e60175",
    "detail-type": "Step Functions Execution Status Change",
    "source": "aws.states",
    "account": "123456789012",
    "time": "2026-11-20T09:00:01Z",
    "region": "eu-central-1",
    "resources": ["arn:aws:states:eu-central-1:123456789012:execution:nightly:run-7"],
    "detail": {
        "executionArn": "arn:aws:states:eu-central-1:123456789012:execution:nightly:run-7",
        "stateMachineArn": "arn:aws:states:eu-central-1:123456789012:stateMachine:nightly",
        "name": "run-7",
        "status": "FAILED",
        "startDate": 1795160000847,
        "stopDate": 1795165200881,
        "input": "{}",
        "output": None,
    },
}
"""What Step Functions publishes of the end of an execution."""


def changed(happened: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """Return an event with another value at a path."""
    name, _, rest = path.partition(".")
    return {**happened, name: changed(happened[name], rest, value) if rest else value}


COMPOSITE = changed(CPU, "detail.configuration", {"alarmRule": "ALARM(CPU) AND ALARM(Memory)"})


class Loader(yaml.SafeLoader):  # type: ignore[misc]  # it has no types
    """Reads CloudFormation's own tags as what they are applied to."""


def _plain(loader: yaml.SafeLoader, _suffix: str, node: yaml.Node) -> Any:
    return loader.construct_scalar(node) if isinstance(node, yaml.ScalarNode) else None


Loader.add_multi_constructor("!", _plain)
RESOURCES = yaml.load((ROOT / "examples/eventbridge/template.yaml").read_text("utf-8"), Loader)["Resources"]  # noqa: S506


def pattern_of(rule: str) -> dict[str, Any]:
    """Return the event pattern of a rule."""
    found: dict[str, Any] = RESOURCES[rule]["Properties"]["EventPattern"]
    return found


def transformed(rule: dict[str, Any], happened: dict[str, Any]) -> str:
    """Return what an input transformer makes of an event: a name in quotes is text in a text, any other is JSON."""
    transformer = rule["Targets"][0]["InputTransformer"]
    template: str = re.sub(r"\$\{(\w+)\}", lambda m: VALUES[m[1]], transformer["InputTemplate"])
    for name, path in transformer["InputPathsMap"].items():
        value: Any = happened
        for part in path.removeprefix("$.").split("."):
            value = value[part]
        template = template.replace(f": <{name}>", f": {json.dumps(value)}")
        template = template.replace(f"<{name}>", value)
    return template


def matches(pattern: dict[str, Any], happened: dict[str, Any]) -> bool:
    """Return whether an event pattern selects an event: each leaf of the pattern lists the values that it takes."""
    return all(
        matches(wanted, happened.get(name, {})) if isinstance(wanted, dict) else happened.get(name) in wanted
        for name, wanted in pattern.items()
    )


@pytest.mark.parametrize(
    ("rule", "happened", "named"),
    [
        ("Alarms", CPU, "CloudWatch ALARM"),
        ("Alarms", COMPOSITE, "CloudWatch ALARM"),
        ("Alarms", changed(CPU, "detail.state.value", "OK"), "CloudWatch OK"),
        ("Failures", ENDED, "Step Functions FAILED"),
        ("Failures", changed(ENDED, "detail.status", "TIMED_OUT"), "Step Functions TIMED_OUT"),
        ("Failures", changed(ENDED, "detail.status", "ABORTED"), "Step Functions ABORTED"),
    ],
)
def test_a_rule_s_posts_are_accepted_and_repeats_recognised(api: Api, rule: str, happened: Any, named: str) -> None:
    api.call("PUT", "/digest-policies/acme/", {"from": "news@example.com"})
    properties = RESOURCES[rule]["Properties"]
    assert [name for name in ("Alarms", "Failures") if matches(pattern_of(name), happened)] == [rule]
    body = transformed(properties, happened)
    event = json.loads(body)
    assert (event["event_type"], event["event_id"]) == (named, happened["id"])
    assert event["data"].get("reason") == happened["detail"].get("state", {}).get("reason")
    for _ in range(2):
        got = api.call("POST", "/events", body, headers={"Content-Type": "application/json; charset=utf-8"})
        assert (got.status, got.json["items"][0]["accepted"]) == (202, 1)


@pytest.mark.parametrize(
    "happened",
    [
        changed(CPU, "detail.state.value", "INSUFFICIENT_DATA"),
        changed(CPU, "detail-type", "CloudWatch Alarm Configuration Change"),
        changed(ENDED, "detail.status", "RUNNING"),
        changed(ENDED, "detail.status", "SUCCEEDED"),
        changed(ENDED, "source", "aws.batch"),
    ],
)
def test_no_rule_selects_what_is_no_failure(happened: dict[str, Any]) -> None:
    assert not any(matches(pattern_of(rule), happened) for rule in ("Alarms", "Failures"))


def test_what_cannot_be_delivered_is_kept() -> None:
    for rule in ("Alarms", "Failures"):
        (target,) = RESOURCES[rule]["Properties"]["Targets"]
        assert target["DeadLetterConfig"] == {"Arn": "Undelivered.Arn"}


def test_the_guide_leads_from_the_policy_to_the_window(api: Api) -> None:
    calls = [(m[1] or "GET", m[2], m[3]) for m in CALL.finditer(GUIDE)]
    methods = [f"{method} {path.partition('?')[0]}" for method, path, _ in calls]
    assert methods == [
        *("PUT /digest-policies/acme/", "GET /digest-policies/acme//preview", "POST /events", "GET /digests"),
        *("POST /digests/$WINDOW/close", *2 * ("GET /digests/$WINDOW",), "GET /jobs/$JOB/logs"),
    ]
    window = ""
    got: list[Reply] = []
    for method, path, rest in calls[:-1]:
        body = BODY.search(rest)
        at, _, query = path.replace("$WINDOW", window).partition("?")
        given = json.loads(body[1].replace("jobs@", "news@")) if body else {} if method == "POST" else None
        got.append(api.call(method, at, given, query=query))
        assert got[-1].status in {200, 202}, got[-1].text
        window = got[-1].json["items"][0]["window_id"] if at == "/digests" else window
    assert "task.failed x3" in got[1].json["text"]
    assert got[2].json["items"][0]["accepted"] == 3
    assert (got[-1].json["state"], got[-1].json["events"]) == ("closed", 3)


def test_the_policy_of_the_page_is_accepted_and_its_lines_shown(api: Api) -> None:
    page = (ROOT / "docs" / "digests.md").read_text("utf-8")
    (body,) = [json.loads(x) for x in re.findall(r"```json\n(.*?)```", page, re.DOTALL) if '"template"' in x]
    stored = api.call("PUT", "/digest-policies/acme/", {**body, "from": "news@example.com"})
    assert stored.status == 200, stored.text
    shown = api.call("GET", "/digest-policies/acme//preview").json
    assert shown["subject"] == "5 failures in acme/production"
    assert shown["html"].count("<li><b>") == 5
    assert re.search(r"<li><b>send-invoices</b> at [\d :-]+: Timed out after 300 s\.</li>", shown["html"])
