"""Everything is watched, alarms reach somebody, and each has its runbook."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from aws_cdk import App, Stack
from aws_cdk.assertions import Annotations, Match
from aws_cdk.aws_cloudwatch import MathExpression

from benchmarks.counting import cost, rest, singles
from infra.functions import api, dispatch, hooks, lane
from infra.lint import context
from infra.monitoring import alarms, figures
from infra.resources.queue import WorkQueue
from infra.settings import ROOT, read
from infra.stack import PosthasteStack
from shared.metrics import Metric, Service
from tests.cli.tree import root
from tests.infra.conftest import SETTINGS, deployment
from tests.infra.synthesis import synthesised
from tests.infra.template import Template, target, text
from tests.monitoring.cloudwatch import evaluate

RUNBOOKS = ROOT / "docs" / "runbooks"
OPERATIONS = ROOT / "docs" / "operations.md"
BLOCK = re.compile(r"```sh\n(.*?)```", re.DOTALL)
COMMAND = re.compile(r"(?:^|`)posthaste ([a-z]+) ([a-z][a-z-]*)", re.MULTILINE)
LINK = re.compile(r"What to do: docs/runbooks/([a-z-]+)\.md$")


def found(template: Template) -> list[dict[str, Any]]:
    return list(template.of("CloudWatch::Alarm").values())


def stats(alarm: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the metrics of an alarm, each with its dimensions."""
    if "Metrics" not in alarm:
        return [alarm]
    return [row["MetricStat"]["Metric"] for row in alarm["Metrics"] if "MetricStat" in row]


def watched(template: Template, metric: str) -> set[str]:
    """Return the resources of which an alarm watches a metric."""
    names = {
        text(d["Value"]).strip("<>").partition(".")[0]
        for alarm in found(template)
        for stat in stats(alarm)
        for d in stat["Dimensions"]
        if stat["MetricName"] == metric
    }
    return names & set(template.resources)


def test_every_queue_and_every_function_is_watched(aws: Template) -> None:
    queues = aws.of("SQS::Queue")
    dead = {k for k, q in queues.items() if q["QueueName"].endswith("-dlq")}
    nested = set(aws.of("CloudFormation::Stack"))
    express = {x for x in nested if x.startswith("Express")}  # whose outputs name four queues
    hooks = nested - express  # whose outputs name eight queues and two functions
    assert watched(aws, "ApproximateNumberOfMessagesVisible") == dead | hooks
    assert watched(aws, "ApproximateAgeOfOldestMessage") == (set(queues) - dead) | nested
    lanes = {k for k, q in queues.items() if "-lane-" in q["QueueName"]} - dead
    assert watched(aws, "NumberOfMessagesDeleted") == lanes | express
    names = {text(d["Value"]) for alarm in found(aws) for stat in stats(alarm) for d in stat["Dimensions"]}
    assert len([n for n in names if any(n.startswith(f"<{x}.Outputs") for x in express)]) == 4
    assert len([n for n in names if any(n.startswith(f"<{x}.Outputs") for x in hooks)]) == 10
    assert watched(aws, "Errors") == watched(aws, "Throttles") == set(aws.of("Lambda::Function")) | hooks
    readers = {
        target(s["FunctionName"]) for s in aws.of("Lambda::EventSourceMapping").values() if "StartingPosition" in s
    }
    assert watched(aws, "IteratorAge") == readers | hooks


def test_our_own_metrics_are_those_that_the_functions_tell(aws: Template) -> None:
    for alarm in found(aws):
        for stat in stats(alarm):
            if stat["Namespace"] != "Posthaste":
                continue
            dimensions = {d["Name"]: d["Value"] for d in stat["Dimensions"]}
            assert stat["MetricName"] in set(Metric)
            assert dimensions["service"] in set(Service)
            assert dimensions["stage"] == "dev"
            assert dimensions.keys() in ({"stage", "service"}, {"stage", "service", "channel", "provider"})
            assert dimensions.get("provider", "sendgrid") == "sendgrid"


def test_an_alarm_s_limits(aws: Template) -> None:
    """Source: CloudWatch's quotas, and PutMetricAlarm."""
    for alarm in found(aws):
        assert len(stats(alarm)) <= 10
        periods = {row["MetricStat"]["Period"] for row in alarm.get("Metrics", []) if "MetricStat" in row}
        (period,) = periods or {alarm["Period"]}
        assert period * alarm["EvaluationPeriods"] <= (86_400 if period < 3600 else 7 * 86_400)
        assert alarm["DatapointsToAlarm"] <= alarm["EvaluationPeriods"]
        silent = alarm["AlarmName"].endswith(("sweeper-silent", "hooks-silent"))
        assert alarm["TreatMissingData"] == ("breaching" if silent else "notBreaching")
        assert len(alarm["AlarmDescription"]) <= 1024
        for row in alarm.get("Metrics", []):
            assert len(row.get("Expression", "")) <= 1024
            assert not re.search(r"\de", row.get("Expression", "")), "numbers are plain"


def test_alarms_and_their_ends_go_to_the_topic(aws: Template) -> None:
    (topic_id,) = aws.of("SNS::Topic")
    for alarm in found(aws):
        assert [target(a) for a in alarm["AlarmActions"]] == [topic_id]
        assert [target(a) for a in alarm["OKActions"]] == [topic_id]
    (subscription,) = aws.of("SNS::Subscription").values()
    assert (subscription["Protocol"], subscription["Endpoint"]) == ("email", "ops@example.com")


@pytest.mark.promise(9)
def test_the_topic_is_encrypted_by_a_key_that_cloudwatch_may_use(aws: Template) -> None:
    (topic,) = aws.of("SNS::Topic").values()
    (key_id,) = aws.of("KMS::Key")
    assert target(topic["KmsMasterKeyId"]) == key_id
    key = aws.of("KMS::Key")[key_id]
    assert key["EnableKeyRotation"] is True
    (policy,) = aws.of("SNS::TopicPolicy").values()
    here = {"StringEquals": {"aws:SourceAccount": {"Ref": "AWS::AccountId"}}}
    for document, actions in (
        (key["KeyPolicy"], ["kms:Decrypt", "kms:GenerateDataKey*"]),
        (policy["PolicyDocument"], "sns:Publish"),
    ):
        (ours,) = [s for s in document["Statement"] if s.get("Sid") == "Alarms"]
        assert ours["Principal"] == {"Service": "cloudwatch.amazonaws.com"}
        assert (ours["Action"], ours["Condition"]) == (actions, here)


@pytest.mark.slow
def test_without_an_address_the_topic_exists_and_the_synth_warns(tmp_path: Path) -> None:
    app = App(context={**context(), "aws:cdk:bundling-stacks": []}, outdir=str(tmp_path))
    stack = PosthasteStack(app, "posthaste-dev", deployment=deployment(alarm_email=""))
    template = Template(json.loads((Path(app.synth().directory) / stack.template_file).read_text("utf-8")))
    assert template.of("SNS::Subscription") == {}
    assert len(template.of("SNS::Topic")) == 1
    said = Annotations.from_stack(stack)
    said.has_warning("*", Match.string_like_regexp("alarm_email is not set"))
    said.has_info("*", Match.string_like_regexp(f"reserve {deployment().concurrency} concurrent .*docs/deploying.md"))


def test_the_dashboard_begins_with_whether_mail_is_flowing(aws: Template) -> None:
    (board,) = aws.of("CloudWatch::Dashboard").values()
    assert board["DashboardName"] == "posthaste-dev"
    body = json.loads(text(board["DashboardBody"]))
    first = [w["properties"]["title"] for w in body["widgets"] if w["y"] == 0]
    assert first == [
        "Accepted per minute",
        "Oldest message of a lane (s)",
        "Dead letters",
        "Breakers opened",
        "Unknown (%)",
    ]
    (status,) = [w["properties"] for w in body["widgets"] if w["type"] == "alarm"]
    assert len(status["alarms"]) == len(found(aws))


def test_every_alarm_says_what_it_means_and_where_its_runbook_is(aws: Template) -> None:
    named = set()
    for alarm in found(aws):
        link = LINK.search(alarm["AlarmDescription"])
        assert link, alarm["AlarmName"]
        named.add(link[1])
        says = alarm["AlarmDescription"].removesuffix(link[0]).strip()
        assert says.endswith(".")
        assert len(says) > 40
    only_with_limits = [watch.runbook for watch in alarms.limits("dev")]
    assert named.isdisjoint(only_with_limits), "who sets no default limit pays for no alarm about it"
    only_with_capacity = {"throttles-records"}
    assert named.isdisjoint(only_with_capacity), "a table on demand has no alarm about its capacity"
    assert named | set(only_with_limits) | only_with_capacity == {file.stem for file in RUNBOOKS.glob("*.md")}


def test_every_runbook_answers_the_same_questions() -> None:
    for file in RUNBOOKS.glob("*.md"):
        titles = re.findall(r"^## (.*)$", file.read_text("utf-8"), re.MULTILINE)
        assert titles == ["What it means", "What users feel", "How to look", "What to do", "How it ends"], file.name


def test_the_entry_page_lists_every_alarm(aws: Template) -> None:
    page = OPERATIONS.read_text("utf-8")
    linked = set(re.findall(r"\]\(runbooks/([a-z-]+)\.md\)", page))
    assert linked == {file.stem for file in RUNBOOKS.glob("*.md")}
    for alarm in found(aws):
        name = alarm["AlarmName"].removeprefix("posthaste-dev-")
        row = re.sub(r"-\d+$", "-<n>", name).replace("-email-sendgrid", "-<channel>-<provider>")
        assert f"`{row}`" in page


def test_the_commands_of_the_runbooks_exist() -> None:
    """The shell can read them, those of `posthaste` are there, and each helper is defined on the entry page."""
    pages = [OPERATIONS, *RUNBOOKS.glob("*.md")]
    shell = "\n".join(block for page in pages for block in BLOCK.findall(page.read_text("utf-8")))
    done = subprocess.run(["bash", "-n"], input=shell, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    known = root()
    used = {words for page in pages for words in COMMAND.findall(page.read_text("utf-8"))}
    assert ("batch", "retry") in used
    for group, name in used - {("audit", "verify")}:  # a word that its argument takes
        commands = known.commands[group].commands
        assert name in commands, f"posthaste {group} {name}"


def test_the_log_groups_of_the_runbooks_exist(aws: Template) -> None:
    """CloudFormation names them after their logical ids. Lambda's own lines name nothing else."""
    shell = "\n".join(page.read_text("utf-8") for page in (OPERATIONS, *RUNBOOKS.glob("*.md")))
    asked = set(re.findall(r"@log=\*(\w+)\*", shell))
    assert asked == {"DispatchLog", "DispatchSweep", "ApiServe"}
    groups = list(aws.of("Logs::LogGroup"))
    assert all(sum(name.startswith(f"{x}Logs") for name in groups) == 1 for x in asked), groups


@pytest.mark.slow
def test_a_hundred_lanes_take_twenty_alarms(tmp_path: Path) -> None:
    stack = Stack(App(outdir=str(tmp_path)), "hundred")
    deployed = deployment()
    work = [WorkQueue(stack, f"q{i}", deployment=deployed, name=f"q{i}", consumer_seconds=1) for i in range(100)]
    assert len(list(alarms.lanes(work))) == 20
    assert len(list(alarms.dead([w.dead.queue for w in work]))) == 10


def test_what_alarms_cost_is_as_documented(aws: Template) -> None:
    """Three credentials of one provider; CloudWatch charges by the metrics that alarms look at."""
    page = (ROOT / "docs" / "cost.md").read_text("utf-8")
    documented = re.search(r"alarms: (\d+) metrics, (\d+) for each credential, (\d+) for each provider", page)
    assert documented
    fixed, credential, provider = map(int, documented.groups())
    assert sum(len(stats(alarm)) for alarm in found(aws)) == fixed + 3 * credential + provider
    assert (fixed, credential, provider) == (rest.ALARMED, rest.ALARMED_CREDENTIAL, rest.ALARMED_PROVIDER)


def test_what_singles_and_idle_functions_assume_is_what_is_deployed() -> None:
    assert cost.MEMORY_GB * 1024 == lane.SLOW_MB
    assert singles.HOOKS_GB * 1024 == hooks.GATHER_MB
    assert cost.API_GB * 1024 == api.MEMORY_MB
    memory = {x.what: x.gb * 1024 for x in rest.IDLE}
    assert list(memory.values()) == [
        *[dispatch.MEMORY_MB] * 2,
        hooks.CALL_MB,
    ]


def test_what_polls_cost_is_counted_for_every_queue_that_a_function_consumes(local_hooks: Template) -> None:
    sources = local_hooks.of("Lambda::EventSourceMapping").values()
    queues = [x for x in sources if "StartingPosition" not in x]
    assert len(queues) == rest.QUEUES_BESIDES + 3 * rest.QUEUES_OF_A_CREDENTIAL


def test_rates_of_a_provider_s_credentials_add_up() -> None:
    (pair,) = figures.pairs(deployment())
    assert pair == figures.Pair("dev", "email", "sendgrid", 2660.0, credentials=3)


@pytest.mark.parametrize(("channel", "segments"), [("email", 1), ("sms", 24)])
@pytest.mark.parametrize("rate", [0.02, 0.05, 1, 500])
def test_the_slowest_credentials_at_their_rate_are_no_alarm(channel: str, segments: int, rate: float) -> None:
    """A sender tells of two minutes at its end: in a quarter of an hour it tells of 17 minutes, both ends included."""
    watches = alarms.sending([figures.Pair("dev", channel, "x", 2 * rate, credentials=2)])
    (watch,) = [w for w in watches if w.runbook == "above-rate"]
    assert isinstance(watch.metric, MathExpression)

    def share(slots: float) -> float:
        found = evaluate(watch.metric.expression, {f"slots_{channel}_x": slots})  # type: ignore[attr-defined]
        assert found is not None
        return found

    assert share(2 * (int(1020 * rate) + segments)) <= watch.threshold
    assert share(2 * (1.2 * 900 * rate + segments)) > watch.threshold


@pytest.mark.slow
def test_a_relay_without_events_raises_no_alarm() -> None:
    relay = {"id": "relay", "provider": "smtp", "channel": "email", "rate": 5, "base_url": "smtps://mail.example.com"}
    settings = read({**SETTINGS, "credentials": [relay], "routes": {}})
    template = Template(json.loads(synthesised(settings).read_text("utf-8")))
    names = {a["AlarmName"] for a in found(template)}
    assert "posthaste-dev-unknown-share-email-smtp" in names
    assert not {n for n in names if "unacknowledged" in n or "bad-webhooks" in n}
