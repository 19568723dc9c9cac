"""A credential of AWS End User Messaging: what brings its events to the feedback queue, and what its sender may do."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from infra.settings import DeployTarget, SettingsError, read
from shared import contracts
from tests.infra.conftest import SETTINGS
from tests.infra.synthesis import synthesised
from tests.infra.template import Template, listed, target

pytestmark = pytest.mark.slow  # each synthesises stacks of its own

PHONES: list[dict[str, Any]] = [
    {"id": "aws-texts", "provider": "aws-sms", "channel": "sms", "rate": 20, "number": "+12125550101"},
    {"id": "aws-calls", "provider": "aws-sms", "channel": "voice", "rate": 1, "configuration_set": "calls"},
    {
        "id": "aws-au",
        "provider": "aws-sms",
        "channel": "sms",
        "rate": 1,
        "region": "ap-southeast-2",
        "configuration_set": "texts",
    },
]


@pytest.fixture(scope="module")
def files() -> dict[DeployTarget, Any]:
    """Synthesis fails on any finding of cdk-nag."""
    settings = {**SETTINGS, "credentials": [*SETTINGS["credentials"], *PHONES]}
    return {t: synthesised(read(settings, target=t)) for t in DeployTarget}


@pytest.fixture(params=DeployTarget)
def stack(request: pytest.FixtureRequest, files: dict[DeployTarget, Any]) -> Template:
    raw = json.loads(Path(files[request.param]).read_text("utf-8"))
    return Template({**raw, "Resources": {k: r for k, r in raw["Resources"].items() if "Monitoring" not in k}})


def test_the_stack_makes_a_configuration_set_where_none_is_named(files: dict[DeployTarget, Any]) -> None:
    stack = Template(json.loads(Path(files[DeployTarget.AWS]).read_text("utf-8")))
    (row,) = stack.of("SMSVOICE::ConfigurationSet").values()
    assert row["ConfigurationSetName"] == contracts.configuration_set_name("dev", "aws-texts")
    (destination,) = row["EventDestinations"]
    assert destination["Enabled"] is True
    assert set(destination["MatchingEventTypes"]) == {"TEXT_ALL", "VOICE_ALL"}
    topic = stack.of("SNS::Topic")[target(destination["SnsDestination"]["TopicArn"])]
    assert topic["TopicName"] == contracts.topic_name("dev", "sms")


@pytest.mark.promise(9)
def test_only_the_service_publishes_and_the_feedback_queue_hears_it(stack: Template) -> None:
    ((topic_id, topic),) = stack.of("SNS::Topic").items()
    assert topic["TopicName"] == contracts.topic_name("dev", "sms")
    (subscription,) = stack.of("SNS::Subscription").values()
    assert (subscription["Protocol"], subscription["TopicArn"]) == ("sqs", {"Ref": topic_id})
    assert not subscription.get("RawMessageDelivery")
    (policy,) = stack.of("SNS::TopicPolicy").values()
    (publishing,) = [s for s in listed(policy["PolicyDocument"]["Statement"]) if s["Effect"] == "Allow"]
    assert publishing["Principal"] == {"Service": "sms-voice.amazonaws.com"}
    assert publishing["Action"] == "sns:Publish"
    assert publishing["Condition"] == {"StringEquals": {"aws:SourceAccount": {"Ref": "AWS::AccountId"}}}


@pytest.mark.promise(9)
@pytest.mark.parametrize(
    ("credential", "action"),
    [
        ("aws-texts", "sms-voice:SendTextMessage"),
        ("aws-calls", "sms-voice:SendVoiceMessage"),
        ("aws-au", "sms-voice:SendTextMessage"),
    ],
)
def test_a_sender_may_send_by_its_own_channel_alone(stack: Template, credential: str, action: str) -> None:
    found = [s for s in stack.statements(f"send-{credential}") if any(a.startswith("sms-voice:") for a in s.actions)]
    assert {a for s in found for a in s.actions} == {action, "sms-voice:DescribeAccountAttributes"}
    for other in ("send-sendgrid-main", "api", "webhooks", "track"):
        assert not any(a.startswith("sms-voice:") for s in stack.statements(other) for a in s.actions)


def test_a_credential_has_the_number_to_which_recipients_write() -> None:
    settings = {**SETTINGS, "credentials": [*SETTINGS["credentials"], *PHONES]}
    found = read(settings, target=DeployTarget.AWS).settings
    assert contracts.Settings.loads(found.dumps()).credential("aws-texts").number == "+12125550101"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"number": "12125550101"}, "number '12125550101' is not + and 7 to 15 digits"),
        ({"number": "+1 212 555 0101"}, "is not + and 7 to 15 digits"),
        ({"provider": "twilio", "number": "+12125550101"}, "number is not a setting of provider twilio"),
    ],
)
def test_a_number_has_one_form_and_belongs_to_a_topic(changes: dict[str, str], message: str) -> None:
    wrong = {"id": "texts", "provider": "aws-sms", "channel": "sms", "rate": 1, **changes}
    with pytest.raises(SettingsError, match=re.escape(message)):
        read({**SETTINGS, "credentials": [*SETTINGS["credentials"], wrong]}, target=DeployTarget.AWS)
