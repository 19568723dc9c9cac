"""An SES credential: what brings its events to the feedback queue, and what its sender may do."""

import json
from fnmatch import fnmatch
from typing import Any

import pytest
from botocore.session import get_session

from infra.settings import DeployTarget, SettingsError, read
from shared import contracts
from shared.providers.ses.needs import ASK, BULK, LOOK, MAKE, SEND
from tests.infra.conftest import SETTINGS
from tests.infra.synthesis import synthesised
from tests.infra.template import Template, listed, target, text

pytestmark = pytest.mark.slow  # each synthesises stacks of its own

HERE = "arn:<AWS::Partition>:ses:<AWS::Region>:<AWS::AccountId>:"
CONSOLE = {"client_id": "client", "allowed": {"users": ["Ann"], "organizations": []}}
SES: list[dict[str, Any]] = [
    {"id": "ses-main", "provider": "ses", "channel": "email", "rate": 14},
    {"id": "ses-own", "provider": "ses", "channel": "email", "rate": 14, "configuration_set": "newsletter"},
    {
        "id": "ses-eu",
        "provider": "ses",
        "channel": "email",
        "rate": 14,
        "region": "eu-west-1",
        "configuration_set": "events",
    },
]


def settings(*credentials: dict[str, Any]) -> dict[str, Any]:
    return {**SETTINGS, "credentials": [*SETTINGS["credentials"], *credentials]}


@pytest.fixture(scope="module")
def files() -> dict[DeployTarget, Any]:
    """Synthesis fails on any finding of cdk-nag."""
    return {t: synthesised(read(settings(*SES), target=t)) for t in DeployTarget}


@pytest.fixture(params=DeployTarget)
def stack(request: pytest.FixtureRequest, files: dict[DeployTarget, Any]) -> Template:
    return without_alarms(Template(json.loads(files[request.param].read_text("utf-8"))))


def without_alarms(stack: Template) -> Template:
    """Return a template without what watches it, which has a topic of its own."""
    return Template({**stack.raw, "Resources": {k: r for k, r in stack.resources.items() if "Monitoring" not in k}})


def test_the_stack_makes_a_configuration_set_where_none_is_named(stack: Template) -> None:
    names = [row["Name"] for row in stack.of("SES::ConfigurationSet").values()]
    assert names == ["posthaste-dev-ses-main"] == [contracts.configuration_set_name("dev", "ses-main")]
    (row,) = stack.of("SES::ConfigurationSetEventDestination").values()
    destination = row["EventDestination"]
    assert stack.resources[target(row["ConfigurationSetName"])]["Properties"]["Name"] == names[0]
    assert destination["Enabled"] is True
    (topic,) = stack.of("SNS::Topic")
    assert destination["SnsDestination"] == {"TopicARN": {"Ref": topic}}
    events = set(destination["MatchingEventTypes"])
    told = {"send", "reject", "bounce", "complaint", "delivery", "renderingFailure", "deliveryDelay", "subscription"}
    assert events == told


def test_events_reach_the_feedback_queue_in_their_envelope(stack: Template) -> None:
    ((topic_id, topic),) = stack.of("SNS::Topic").items()
    assert topic["TopicName"] == contracts.topic_name("dev", "ses")
    (subscription,) = stack.of("SNS::Subscription").values()
    assert (subscription["Protocol"], subscription["TopicArn"]) == ("sqs", {"Ref": topic_id})
    assert not subscription.get("RawMessageDelivery")
    queue = stack.resources[target(subscription["Endpoint"])]["Properties"]
    assert queue["QueueName"] == "posthaste-dev-feedback"
    dead = stack.resources[target(subscription["RedrivePolicy"]["deadLetterTargetArn"])]["Properties"]
    assert dead["QueueName"] == "posthaste-dev-feedback-dlq"


@pytest.mark.promise(9)
def test_only_the_topic_sends_to_the_queue_and_only_our_sets_to_the_topic(stack: Template) -> None:
    (topic_id,) = stack.of("SNS::Topic")
    allowed = [
        s
        for s in _statements(stack, "SQS::QueuePolicy")
        if s["Effect"] == "Allow" and target(s["Resource"]).startswith("FeedbackWork")
    ]
    assert len(allowed) == 2, "the queue and its dead-letter queue"
    for statement in allowed:
        assert statement["Action"] == "sqs:SendMessage"
        assert statement["Principal"] == {"Service": "sns.amazonaws.com"}
        assert statement["Condition"] == {"ArnEquals": {"aws:SourceArn": {"Ref": topic_id}}}
    (publishing,) = [s for s in _statements(stack, "SNS::TopicPolicy") if s["Effect"] == "Allow"]
    assert publishing["Principal"] == {"Service": "ses.amazonaws.com"}
    assert publishing["Action"] == "sns:Publish"
    equal = publishing["Condition"]["StringEquals"]
    assert equal["aws:SourceAccount"] == {"Ref": "AWS::AccountId"}
    names = ("posthaste-dev-ses-main", "newsletter")
    assert [text(a) for a in equal["aws:SourceArn"]] == [f"{HERE}configuration-set/{n}" for n in names]


def test_plain_http_is_refused_on_aws(files: dict[DeployTarget, Any]) -> None:
    stack = without_alarms(Template(json.loads(files[DeployTarget.AWS].read_text("utf-8"))))
    denied = [s for s in _statements(stack, "SNS::TopicPolicy") if s["Effect"] == "Deny"]
    assert [s["Condition"] for s in denied] == [{"Bool": {"aws:SecureTransport": "false"}}]


@pytest.mark.promise(9)
@pytest.mark.parametrize(
    ("credential", "here", "name"),
    [
        ("ses-main", HERE, "posthaste-dev-ses-main"),
        ("ses-own", HERE, "newsletter"),
        ("ses-eu", HERE.replace("<AWS::Region>", "eu-west-1"), "events"),
    ],
)
def test_a_sender_may_send_by_its_own_configuration_set_alone(
    stack: Template, credential: str, here: str, name: str
) -> None:
    found = [s for s in stack.statements(f"send-{credential}") if any(a.startswith("ses:") for a in s.actions)]
    assert {a for s in found for a in s.actions} == {*SEND, BULK, ASK}
    for statement in found:
        if statement.actions == {ASK}:
            assert statement.resources == {"*"}
            continue
        assert statement.resources == {here + "identity/*", here + "template/*", f"{here}configuration-set/{name}"}


@pytest.mark.promise(9)
@pytest.mark.parametrize("place", list(DeployTarget))
def test_a_credential_with_domains_sends_from_these_alone(place: DeployTarget) -> None:
    credential = {**SES[0], "domains": ["example.com", "xn--bcher-kva.example"]}
    made = Template(json.loads(synthesised(read(settings(credential), target=place)).read_text("utf-8")))
    role = made.resources[target(made.functions()["send-ses-main"]["Role"])]["Properties"]
    statements = [s for p in role["Policies"] for s in p["PolicyDocument"]["Statement"] if "ses:" in str(s["Action"])]
    patterns = ["*@example.com", "*@*.example.com", "*@xn--bcher-kva.example", "*@*.xn--bcher-kva.example"]
    condition = {"StringLike": {"ses:FromAddress": patterns}}
    known = {action: s.get("Condition") for s in statements for action in listed(s["Action"])}
    assert known == {**dict.fromkeys(SEND, condition), BULK: None, ASK: None}, "SendBulkEmail does not know the sender"
    identities = {
        f"{HERE}identity/{x}" for d in ("example.com", "xn--bcher-kva.example") for x in (d, f"*@{d}", f"*.{d}")
    }
    for statement in (s for s in statements if listed(s["Action"]) != [ASK]):
        found = {text(r) for r in statement["Resource"]}
        assert found == {*identities, f"{HERE}template/*", f"{HERE}configuration-set/posthaste-dev-ses-main"}


@pytest.fixture(scope="module")
def with_console() -> Template:
    credential = {**SES[0], "domains": ["example.com"]}
    wanted = {**settings(credential, SES[2]), "console": CONSOLE}
    made = synthesised(read(wanted, target=DeployTarget.AWS))
    return Template(json.loads(made.read_text("utf-8")))


def test_no_other_function_may_use_ses(stack: Template, with_console: Template) -> None:
    """The API and the console verify domains."""
    for template, verify in ((stack, {"api"}), (with_console, {"api", "console"})):
        for service in template.functions():
            if not service.startswith("send-ses-"):
                used = {a for a in template.actions(service) if a.startswith(("ses:", "sns:"))}
                assert used == ({LOOK, MAKE} if service in verify else set()), service


@pytest.mark.promise(9)
def test_no_function_may_remove_tag_or_change_an_identity(stack: Template, with_console: Template) -> None:
    """An operator's identity that is lost stops its mail. Actions may be patterns, in any case of letters."""
    models = [get_session().get_service_model(name) for name in ("ses", "sesv2")]
    others = {f"ses:{x}" for model in models for x in model.operation_names} - {LOOK, MAKE, *SEND, BULK, ASK}
    assert {"ses:DeleteEmailIdentity", "ses:DeleteIdentity", "ses:TagResource"} <= others
    for template in (stack, with_console):
        for service in template.functions():
            actions = template.actions(service)
            may = {x for x in others for action in actions if fnmatch(x.lower(), action.lower())}
            assert may == set(), service


def identity_places(template: Template, service: str, action: str, effect: str = "Allow") -> set[str]:
    """Return the resources of a function's statements about an action; no such statement has a condition."""
    role = template.resources[target(template.functions()[service]["Role"])]["Properties"]
    every = [s for p in role["Policies"] for s in p["PolicyDocument"]["Statement"]]
    found = [s for s in every if s["Effect"] == effect and action in listed(s["Action"])]
    assert not any("Condition" in s for s in found)
    return {text(r) for s in found for r in listed(s["Resource"])}


def of_identities(*names: str, region: str = "<AWS::Region>") -> set[str]:
    return {f"{HERE.replace('<AWS::Region>', region)}identity/{x}" for x in names}


@pytest.mark.promise(9)
@pytest.mark.parametrize("place", list(DeployTarget))
def test_identities_are_made_in_the_regions_of_credentials_and_never_of_addresses(
    files: dict[DeployTarget, Any], place: DeployTarget
) -> None:
    """SES would write to an address."""
    template = Template(json.loads(files[place].read_text("utf-8")))
    both = of_identities("*") | of_identities("*", region="eu-west-1")
    assert identity_places(template, "api", LOOK) == both
    assert identity_places(template, "api", MAKE) == both
    addresses = of_identities("*@*") | of_identities("*@*", region="eu-west-1")
    assert identity_places(template, "api", MAKE, "Deny") == addresses


@pytest.mark.promise(9)
@pytest.mark.parametrize("service", ["api", "console"])
def test_a_credential_with_domains_has_identities_of_these_alone_made(with_console: Template, service: str) -> None:
    here, there = of_identities("example.com", "*.example.com"), of_identities("*", region="eu-west-1")
    assert identity_places(with_console, service, MAKE) == here | there
    addresses = of_identities("*@*") | of_identities("*@*", region="eu-west-1")
    assert identity_places(with_console, service, MAKE, "Deny") == addresses


def test_without_such_a_credential_there_is_nothing_of_it(template: Template) -> None:
    assert not without_alarms(template).of("SNS::Topic")
    assert not template.of("SES::ConfigurationSet")
    assert "SesTopicArn" not in template.raw["Outputs"]
    assert not [a for s in template.functions() for a in template.actions(s) if a.startswith("ses:")]


def test_the_functions_know_their_configuration_sets() -> None:
    found = contracts.Settings.loads(read(settings(*SES)).settings.dumps())
    assert [(c.region, c.configuration_set) for c in found.credentials if c.provider == "ses"] == [
        ("", "posthaste-dev-ses-main"),
        ("", "newsletter"),
        ("eu-west-1", "events"),
    ]
    assert {(c.region, c.configuration_set) for c in found.credentials if c.provider != "ses"} == {("", "")}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"region": "eu-west-1"}, "region needs configuration_set"),
        ({"region": "Europe", "configuration_set": "x"}, "region 'Europe' is no AWS region"),
        ({"configuration_set": "a.b"}, "configuration_set 'a.b' is not 1 to 64 of"),
        ({"configuration_set": "a" * 65}, "is not 1 to 64 of"),
        ({"provider": "sendgrid", "configuration_set": "x"}, "configuration_set is not a setting of provider sendgrid"),
        ({"provider": "sendgrid", "domains": ["example.com"]}, "domains is not a setting of provider sendgrid"),
        ({"domains": ["Example.com"]}, "domains[0]: 'Example.com' is no domain in lower case"),
        ({"domains": ["*"]}, "domains[0]: '*' is no domain in lower case"),
        ({"domains": ["news@example.com"]}, "is no domain in lower case"),
    ],
)
def test_a_wrong_setting_is_one_clear_line(changes: dict[str, Any], expected: str) -> None:
    with pytest.raises(SettingsError, match="credentials") as caught:
        read(settings({**SES[0], **changes}))
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_longest_name_is_one_that_ses_takes() -> None:
    assert len(contracts.configuration_set_name("s" * 20, "c" * 32)) <= 64


def _statements(stack: Template, kind: str) -> list[dict[str, Any]]:
    return [s for policy in stack.of(kind).values() for s in policy["PolicyDocument"]["Statement"]]
