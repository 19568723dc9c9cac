"""The doctor asks AWS what its checks need, says what it may not or cannot know, and exits with 1 on errors alone."""

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError, DataNotFoundError, EndpointConnectionError
from botocore.stub import Stubber

from cli.checks import Finding, Level
from cli.deployment import OperatedDeployment, deployment
from cli.doctor import doctor
from cli.doctor.context import Patient
from cli.doctor.doctor import CHECKS, Check, examine
from cli.errors import NotFound
from shared.contracts import ENV_FEEDBACK_QUEUE_URL, ENV_SETTINGS, Credential, Settings
from shared.domain.recipients.address_names import NameKeys, NamesState
from shared.ports import Retriable
from tests.cli.fakes import Answer, FakeApi, FakeClock, Run

REGION = "eu-west-1"
SES = Credential("ses-main", "ses", "email", 14, configuration_set="posthaste-blue-ses-main", accounts=("acc",))
SETTINGS = Settings("blue", (SES,), {"email": ("ses-main",)}, public_url="https://mail.example.com")
TOPIC = f"arn:aws:sns:{REGION}:123456789012:posthaste-blue-ses"
QUEUE = f"arn:aws:sqs:{REGION}:123456789012:posthaste-blue-feedback"
KEYED = NamesState(1, 1, 5, NameKeys(("k" * 64,)).checks)
OWN = ("names", "first accounts", "stack", "address", "webhooks", "edge", "dead letters", "breakers", "switches")
"""Asked elsewhere: by the deployed test, on stores, over HTTP."""


class Stage:
    """A deployment whose clients answer as recorded and check what they are asked; the part that the doctor uses."""

    stage = "blue"
    where = f"AWS {REGION}"

    def __init__(self, *, local: bool = False, functions: tuple[str, ...] = ("send",)) -> None:
        self.local = local
        self.moved = True
        self.functions = functions
        self.session = boto3.Session("x", "y", region_name=REGION)
        self.stubs: dict[str, Stubber] = {}

    def stub(self, service: str) -> Stubber:
        if service not in self.stubs:
            self.stubs[service] = Stubber(self.session.client(service))  # type: ignore[call-overload]
            self.stubs[service].activate()
        return self.stubs[service]

    def client(self, service: str, region: str | None = None, *, attempts: int = 0) -> Any:
        assert region in (None, REGION)
        assert (service == "sesv2") == (attempts > 3), "SES takes one such call a second"
        return self.stub(service).client

    def resources(self, kind: str) -> list[str]:
        if not self.functions:
            raise NotFound("no stack")
        return ["posthaste-blue-x"] if kind == "AWS::CloudWatch::Alarm" else list(self.functions)

    environment = OperatedDeployment.environment
    secret = OperatedDeployment.secret

    def output(self, name: str) -> str:
        return {"SesTopicArn": TOPIC, "AlarmTopicArn": TOPIC}[name]

    def accounts(self, _clock: Any) -> Any:
        stage = self

        class Accounts:
            def moved(self) -> bool:
                return stage.moved

            def list_accounts(self) -> list[Any]:
                return [Credential("acc", "", "", 1), Credential("other", "", "", 1)]

            def list_senders(self, account: str) -> list[str]:
                return {"acc": ["example.com"], "other": ["not-of-ses.example"]}[account]

        return Accounts()

    def names(self, _clock: Any) -> NamesState:
        return KEYED

    def patient(self) -> Patient:
        return Patient(self, SETTINGS, reserved=True, from_file=True, clock=FakeClock())  # type: ignore[arg-type]


@pytest.fixture
def stage() -> Iterator[Stage]:
    found = Stage()
    yield found
    for stub in found.stubs.values():
        stub.assert_no_pending_responses()


def healthy(stage: Stage) -> None:
    """Record the answers of an account and a deployment without a flaw."""
    date = datetime.fromtimestamp(FakeClock().now(), UTC).strftime("%a, %d %b %Y %H:%M:%S GMT")
    headers = {"ResponseMetadata": {"HTTPHeaders": {"date": date}, "HTTPStatusCode": 200}}
    stage.stub("sts").add_response(
        "get_caller_identity", {"Account": "123456789012", "Arn": "arn:aws:iam::123456789012:user/ann", **headers}
    )
    variables = {ENV_SETTINGS: SETTINGS.dumps(), ENV_FEEDBACK_QUEUE_URL: "https://sqs/feedback"}
    lambdas = stage.stub("lambda")
    lambdas.add_response("get_function_configuration", {"Environment": {"Variables": variables}})
    lambdas.add_response("get_function_concurrency", {"ReservedConcurrentExecutions": 4}, {"FunctionName": "send"})
    limit = {"ConcurrentExecutions": 1000, "UnreservedConcurrentExecutions": 996}
    lambdas.add_response("get_account_settings", {"AccountLimit": limit})
    parameter = {"Parameter": {"Value": "30"}}
    stage.stub("ssm").add_response("get_parameter", parameter, {"Name": "/cdk-bootstrap/hnb659fds/version"})
    asked = {"ServiceCode": "dynamodb", "QuotaCode": "L-AB614373"}
    stage.stub("service-quotas").add_response("get_service_quota", {"Quota": {"Value": 40_000.0}}, asked)
    mail = stage.stub("sesv2")
    quota = {"Max24HourSend": 50_000.0, "MaxSendRate": 14.0, "SentLast24Hours": 1.0}
    account = {"ProductionAccessEnabled": True, "SendingEnabled": True, "EnforcementStatus": "HEALTHY"}
    mail.add_response("get_account", {**account, "SendQuota": quota})
    identity = {"IdentityName": "example.com", "SendingEnabled": True}
    mail.add_response("list_email_identities", {"EmailIdentities": [], "NextToken": "n"}, {"PageSize": 1000})
    mail.add_response("list_email_identities", {"EmailIdentities": [identity]}, {"PageSize": 1000, "NextToken": "n"})
    dkim = {"DkimAttributes": {"SigningEnabled": True, "Status": "SUCCESS"}}
    mail.add_response("get_email_identity", dkim, {"EmailIdentity": "example.com"})
    kinds = ["BOUNCE", "COMPLAINT", "DELIVERY", "REJECT"]
    sns = {"Name": "d", "Enabled": True, "MatchingEventTypes": kinds, "SnsDestination": {"TopicArn": TOPIC}}
    asked = {"ConfigurationSetName": SES.configuration_set}
    mail.add_response("get_configuration_set_event_destinations", {"EventDestinations": [sns]}, asked)
    secrets = stage.stub("secretsmanager")
    secrets.add_response("get_secret_value", {}, {"SecretId": "posthaste-blue/credential/ses-main"})
    key = json.dumps({"current": "k" * 64})
    secrets.add_response("get_secret_value", {"SecretString": key}, {"SecretId": "posthaste-blue/unsubscribe"})
    secrets.add_response("get_secret_value", {"SecretString": key}, {"SecretId": "posthaste-blue/addresses"})
    asked = {"QueueUrl": "https://sqs/feedback", "AttributeNames": ["QueueArn"]}  # type: ignore[dict-item]
    stage.stub("sqs").add_response("get_queue_attributes", {"Attributes": {"QueueArn": QUEUE}}, asked)
    subscription = {"Protocol": "sqs", "Endpoint": QUEUE, "SubscriptionArn": f"{TOPIC}:1", "TopicArn": TOPIC}
    for _ in ("events", "alarms"):
        answer = {"Subscriptions": [subscription]}
        stage.stub("sns").add_response("list_subscriptions_by_topic", answer, {"TopicArn": TOPIC})
    alarm = {"AlarmName": "posthaste-blue-x", "ActionsEnabled": True, "AlarmActions": [TOPIC], "StateValue": "OK"}
    theirs = {"AlarmName": "posthaste-blue-eu-x", "ActionsEnabled": True, "AlarmActions": [], "StateValue": "ALARM"}
    asked = {"AlarmNamePrefix": "posthaste-blue-"}
    stage.stub("cloudwatch").add_response("describe_alarms", {"MetricAlarms": [alarm, theirs]}, asked)


@pytest.mark.slow
def test_a_healthy_deployment_is_ok_in_every_respect(stage: Stage) -> None:
    healthy(stage)
    found = list(examine(stage.patient(), [x for x in CHECKS if x.name not in OWN]))
    assert {x.level for x in found} == {Level.OK}, found
    assert [x.check for x in found] == [
        "clock",
        "settings",
        "bootstrap",
        "concurrency",
        "tables",
        "single messages",
        f"ses {REGION}",
        f"ses {REGION} identities",
        "secret ses-main",
        "secret unsubscribe",
        "identities",
        "hashes",
        "ses events",
        "alarms",
    ]


def test_a_retired_credential_that_goes_has_its_lane_looked_at(stage: Stage) -> None:
    deployed = replace(
        SETTINGS, credentials=(*SETTINGS.credentials, Credential("old", "smtp", "email", 1, retired=True))
    )
    variables = {ENV_SETTINGS: deployed.dumps()}
    stage.stub("lambda").add_response("get_function_configuration", {"Environment": {"Variables": variables}})
    queues = stage.stub("sqs")
    queues.add_response("get_queue_url", {"QueueUrl": "https://sqs/old"}, {"QueueName": "posthaste-blue-lane-old"})
    mine = {"QueueName": "posthaste-blue-lane-old_express"}
    queues.add_response("get_queue_url", {"QueueUrl": "https://sqs/old_express"}, mine)
    counts = {"ApproximateNumberOfMessages": "2", "ApproximateNumberOfMessagesDelayed": "1", "DelaySeconds": "9"}
    asked = {"QueueUrl": "https://sqs/old", "AttributeNames": ["All"]}
    queues.add_response("get_queue_attributes", {"Attributes": counts}, asked)
    asked = {"QueueUrl": "https://sqs/old_express", "AttributeNames": ["All"]}
    queues.add_response("get_queue_attributes", {"Attributes": {"ApproximateNumberOfMessages": "4"}}, asked)
    differ, held = examine(stage.patient(), [x for x in CHECKS if x.name == "settings"])
    assert (differ.level, held.level) == (Level.WARNING, Level.ERROR)
    assert "still holds 7 chunks" in held.says


def test_a_forbidden_or_failed_check_is_reported_and_blocks_no_other(stage: Stage) -> None:
    stage.functions = ()
    stage.stub("service-quotas").add_client_error("get_service_quota", "AccessDeniedException")
    stage.stub("sesv2").add_client_error("get_account", "InternalFailure")
    stage.stub("sts").add_response(
        "get_caller_identity", {"Account": "123456789012", "Arn": "arn:aws:iam::123456789012:user/ann"}
    )
    stage.stub("ssm").add_client_error("get_parameter", "ParameterNotFound")
    wanted = ("tables", "ses", "bootstrap", "secrets", "ses events")
    bootstrap, tables, failed, *later = examine(stage.patient(), [x for x in CHECKS if x.name in wanted])
    assert (tables.level, "GetServiceQuota (AccessDeniedException)" in tables.says) == (Level.WARNING, True)
    assert (failed.level, "GetAccount failed: InternalFailure" in failed.says) == (Level.WARNING, True)
    assert bootstrap.level is Level.ERROR
    assert [(x.check, x.level) for x in later] == [("secrets", Level.SKIPPED), ("ses events", Level.SKIPPED)]


def raising(name: str, *errors: Exception, deployed: bool = False) -> Check:
    def look(_patient: Patient) -> Iterator[Finding]:
        yield Finding(name, Level.OK, "seen before")
        raise errors[0]

    return Check(name, look, deployed=deployed)


def test_an_unreachable_or_refusing_service_blocks_no_other_check(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_kind: str) -> list[str]:
        raise ClientError({"Error": {"Code": "AccessDenied"}}, "ListStackResources")

    monkeypatch.setattr(stage, "resources", refuse)
    away = EndpointConnectionError(endpoint_url="https://servicequotas")
    sns = ClientError({"Error": {"Code": "AuthorizationError"}}, "ListSubscriptionsByTopic")
    checks = [
        Check("first", lambda _: [Finding("first", Level.OK, "fine")]),
        raising("away", away),
        raising("stack", deployed=True),
        raising("sns", sns),
        raising("engine", Retriable()),
        raising("library", DataNotFoundError(data_path="x")),
    ]
    found = list(examine(stage.patient(), checks))
    assert [(x.check, x.says) for x in found if x.level is Level.WARNING] == [
        ("away", "not checked: the service does not answer"),
        ("stack", "not checked: your identity may not call ListStackResources (AccessDenied)"),
        ("sns", "not checked: your identity may not call ListSubscriptionsByTopic (AuthorizationError)"),
        ("engine", "not checked: the service does not answer"),
        ("library", "not checked: the AWS client failed: DataNotFoundError"),
    ]
    with pytest.raises(EndpointConnectionError):  # nothing is: that is one line, not as many as there are checks
        list(examine(stage.patient(), [raising("first", away), *checks]))


@pytest.mark.slow
@pytest.mark.usefixtures("aws")
def test_an_unknown_aws_identity_is_reported_once_with_the_clock_check(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    declared = {"stage": "blue", "credentials": [], "routes": {}, "reserved": "none"}
    (folder / "cdk.json").write_text(json.dumps({"context": {"posthaste": declared}}))
    for ahead, says in ((0, "check the AWS identity"), (400, "clock is 400 s off AWS's")):
        head = {"HTTPHeaders": {"date": format_datetime(datetime.fromtimestamp(FakeClock().now() + ahead, UTC))}}
        answer = {"Error": {"Code": "SignatureDoesNotMatch"}, "ResponseMetadata": head}
        monkeypatch.setattr(doctor, "CHECKS", (raising("x", ClientError(answer, "GetCallerIdentity")),))  # type: ignore[arg-type]
        done = run("doctor")
        assert (done.code, done.out, says in done.err, done.err.count("\n")) == (4, "", True, 1)


def test_a_secret_that_cannot_be_read_keeps_no_other(stage: Stage) -> None:
    variables = {ENV_SETTINGS: SETTINGS.dumps()}
    stage.stub("lambda").add_response("get_function_configuration", {"Environment": {"Variables": variables}})
    texts = stage.stub("secretsmanager")
    texts.add_client_error("get_secret_value", "InvalidRequestException", "it was marked for deletion")
    texts.add_client_error("get_secret_value", "AccessDeniedException")
    doomed, denied = examine(stage.patient(), [x for x in CHECKS if x.name == "secrets"])
    assert (doomed.check, doomed.level) == ("secret ses-main", Level.ERROR)
    assert doomed.do == "aws secretsmanager restore-secret --secret-id posthaste-blue/credential/ses-main"
    assert (denied.check, denied.level) == ("secret unsubscribe", Level.WARNING)
    assert "GetSecretValue (AccessDeniedException)" in denied.says


def test_webhooks_that_are_verified_by_no_copy_or_an_old_one_are_an_error(stage: Stage) -> None:
    mailgun = Credential("mg", "mailgun", "email", 14)
    deployed = replace(SETTINGS, credentials=(mailgun,), routes={})
    ours = json.dumps({"api_key": "key", "domain": "mg.example.com", "webhook_signing_key": "new"})
    for apart, level in (("", Level.ERROR), ("old", Level.ERROR), ("new", None)):
        variables = {ENV_SETTINGS: deployed.dumps()}
        stage.stub("lambda").add_response("get_function_configuration", {"Environment": {"Variables": variables}})
        secrets = stage.stub("secretsmanager")
        secrets.add_response("get_secret_value", {"SecretString": ours}, {"SecretId": "posthaste-blue/credential/mg"})
        copy = {"SecretString": json.dumps({"webhook_signing_key": apart})} if apart else {}
        secrets.add_response("get_secret_value", copy, {"SecretId": "posthaste-blue/webhook/mg"})
        links = {"SecretString": json.dumps({"current": "k" * 64})}
        secrets.add_response("get_secret_value", links, {"SecretId": "posthaste-blue/unsubscribe"})
        patient = replace(stage.patient(), settings=deployed)
        found = {x.check: x for x in examine(patient, [x for x in CHECKS if x.name == "secrets"])}
        told = found.get("secret mg (webhooks)")
        assert (told.level if told else None) == level
        assert told is None or told.do == "posthaste credential split"


def test_identities_that_functions_could_write_are_a_warning(stage: Stage) -> None:
    stage.moved = False
    variables = {ENV_SETTINGS: SETTINGS.dumps()}
    stage.stub("lambda").add_response("get_function_configuration", {"Environment": {"Variables": variables}})
    (told,) = examine(stage.patient(), [x for x in CHECKS if x.name == "identities"])
    assert (told.level, told.do) == (Level.WARNING, "posthaste account move")


def test_ses_is_checked_without_access_to_its_secret(stage: Stage) -> None:
    variables = {ENV_SETTINGS: SETTINGS.dumps()}
    stage.stub("lambda").add_response("get_function_configuration", {"Environment": {"Variables": variables}})
    stage.stub("secretsmanager").add_client_error("get_secret_value", "AccessDeniedException")
    stage.stub("sesv2").add_response("get_account", {"ProductionAccessEnabled": False, "SendingEnabled": True})
    stage.stub("sesv2").add_client_error("list_email_identities", "AccessDeniedException")
    sandbox, *_, last = examine(stage.patient(), [x for x in CHECKS if x.name == "ses"])
    assert (sandbox.level, "in the sandbox" in sandbox.says) == (Level.ERROR, True)
    assert (last.level, "ListEmailIdentities" in last.says) == (Level.WARNING, True)


@pytest.mark.slow
@pytest.mark.usefixtures("aws")
def test_a_first_deploy_that_failed_and_left_no_function_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    found = deployment("blue", aws=False)
    patient = Patient(found, SETTINGS, reserved=True, from_file=True, clock=FakeClock())
    (check,) = (x for x in CHECKS if x.name == "stack")
    assert [(x.level, x.says) for x in examine(patient, [check])] == [(Level.SKIPPED, "nothing is deployed yet")]
    failed = {"StackName": "posthaste-blue", "StackStatus": "ROLLBACK_COMPLETE"}
    monkeypatch.setattr(type(found), "stack", lambda _self: failed)
    (told,) = examine(patient, [check])
    assert (told.level, "is ROLLBACK_COMPLETE" in told.says) == (Level.ERROR, True)


@pytest.mark.slow
@pytest.mark.usefixtures("aws")
def test_names_are_looked_at_before_a_first_deploy_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """A queue, and a secret that waits for its deletion: both keep their names."""
    found = deployment("blue", aws=False)
    patient = Patient(found, SETTINGS, reserved=True, from_file=True, clock=FakeClock())
    (check,) = (x for x in CHECKS if x.name == "names")
    assert [x.level for x in examine(patient, [check])] == [Level.OK]
    found.client("sqs").create_queue(QueueName="posthaste-blue-feedback")
    found.client("secretsmanager").create_secret(Name="posthaste-blue/unsubscribe", SecretString="x")
    found.client("secretsmanager").delete_secret(SecretId="posthaste-blue/unsubscribe")
    for status, levels in (("", [Level.ERROR]), ("ROLLBACK_COMPLETE", [Level.ERROR]), ("CREATE_COMPLETE", [])):
        if status:
            stack = {"StackName": "posthaste-blue", "StackStatus": status}
            monkeypatch.setattr(type(found), "stack", lambda _self, stack=stack: stack)
        told = list(examine(patient, [check]))
        assert [x.level for x in told] == levels
        assert all("posthaste-blue-feedback, posthaste-blue/unsubscribe" in x.says for x in told)


@pytest.mark.usefixtures("aws")
def test_a_stack_of_production_without_protection_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    found = deployment("prod", aws=False)
    patient = Patient(found, replace(SETTINGS, stage="prod"), reserved=True, from_file=True, clock=FakeClock())
    (check,) = (x for x in CHECKS if x.name == "stack")
    for protected, levels in ((True, [Level.OK]), (False, [Level.OK, Level.WARNING])):
        stack = {"StackName": "posthaste-prod", "StackStatus": "CREATE_COMPLETE"}
        stack["EnableTerminationProtection"] = protected  # type: ignore[assignment]
        monkeypatch.setattr(type(found), "stack", lambda _self, stack=stack: stack)
        assert [x.level for x in examine(patient, [check])] == levels


def test_the_address_is_asked_by_way_of_the_system_s_proxy(monkeypatch: pytest.MonkeyPatch, stage: Stage) -> None:
    proxy = FakeApi()
    proxy.answers(Answer({"status": "ok"}))
    monkeypatch.setenv("http_proxy", proxy.url)
    settings = replace(SETTINGS, public_url="http://mail.example.test")
    (found,) = examine(replace(stage.patient(), settings=settings), [x for x in CHECKS if x.name == "address"])
    proxy.close()
    assert (found.level, [x.path for x in proxy.asked]) == (Level.OK, ["http://mail.example.test/health"])


@pytest.mark.parametrize(
    ("answer", "level", "says"),
    [
        (Answer({"code": "webhook_bad_signature"}, 401), Level.OK, "takes posts"),
        (Answer({"Message": "Forbidden"}, 403), Level.ERROR, "answers 403 to a post without a signature, not 401"),
        (Answer(drop=True), Level.ERROR, "cannot be reached"),
    ],
)
def test_the_address_of_providers_posts_refuses_what_is_unsigned(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, answer: Answer, level: Level, says: str
) -> None:
    settings = replace(SETTINGS, webhooks_at_once=50)
    (check,) = (x for x in CHECKS if x.name == "webhooks")
    api = FakeApi()
    api.answers(answer)
    monkeypatch.setattr(stage, "output", {"WebhooksUrl": api.url}.__getitem__)
    (found,) = check.look(replace(stage.patient(), settings=settings))
    api.close()
    assert (found.level, says in found.says) == (level, True)
    assert [(x.method, x.path) for x in api.asked] == [("POST", "/webhooks/none/none")]


def test_an_address_of_providers_posts_that_is_not_deployed_is_a_warning(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(name: str) -> str:
        raise NotFound(f"no output {name}")

    monkeypatch.setattr(stage, "output", missing)
    (check,) = (x for x in CHECKS if x.name == "webhooks")
    assert [x.level for x in check.look(stage.patient())] == [Level.OK]
    (found,) = check.look(replace(stage.patient(), settings=replace(SETTINGS, webhooks_at_once=50)))
    assert (found.level, found.says, found.do) == (
        Level.WARNING,
        "no output WebhooksUrl",
        "deploy: webhooks_at_once is set",
    )


@pytest.mark.parametrize(
    ("public", "beside", "level", "says"),
    [
        ({"X-Amz-Cf-Id": "x"}, Answer({"code": "address_closed"}, 403), Level.OK, "nothing answers beside it"),
        ({"X-Amz-Cf-Id": "x"}, Answer({"message": "Forbidden"}, 403), Level.OK, "nothing answers beside it"),
        ({"X-Amz-Cf-Id": "x"}, Answer(drop=True), Level.OK, "nothing answers beside it"),
        ({"X-Amz-Cf-Id": "x"}, Answer({"ok": True}), Level.WARNING, "firewall can be passed by"),
        ({}, Answer({"ok": True}), Level.WARNING, "its firewall sees none"),
        ({}, Answer({"code": "address_closed"}, 403), Level.ERROR, "requests are refused"),
    ],
)
def test_the_edge_is_asked_by_its_name_and_beside_it(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, public: dict[str, str], beside: Answer, level: Level, says: str
) -> None:
    (check,) = (x for x in CHECKS if x.name == "edge")
    front, origin = FakeApi(), FakeApi()
    front.answers(Answer({"ok": True}, headers=public))
    origin.answers(beside)
    outputs = {"ApiOrigin": origin.url.removeprefix("http://"), "ApiTarget": "d1.cloudfront.net"}
    monkeypatch.setattr(stage, "output", outputs.__getitem__)
    (found,) = check.look(replace(stage.patient(), settings=replace(SETTINGS, public_url=front.url)))
    for api in (front, origin):
        api.close()
    assert (found.level, says in found.says) == (level, True)
    assert [(x.path, x.headers["Host"]) for x in origin.asked] == [("/health", "127.0.0.1")], "under the public name"
    assert ("d1.cloudfront.net" in found.do) == (not public)


def test_without_an_edge_the_doctor_asks_nothing(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise NotFound(f"no output {name}")

    monkeypatch.setattr(stage, "output", missing)
    (check,) = (x for x in CHECKS if x.name == "edge")
    assert [(x.level, x.says) for x in check.look(stage.patient())] == [(Level.OK, "there is no edge before the API")]


def test_what_a_local_cloud_cannot_know_is_never_ok() -> None:
    blind = [x for x in CHECKS if not x.local]
    found = list(examine(Stage(local=True).patient(), blind))
    assert {x.level for x in found} == {Level.SKIPPED}
    aws = {"bootstrap", "concurrency", "tables", "single messages", "names", "alarms", "webhooks", "edge"}
    aws |= {"ses", "ses events", "aws-sms", "aws-sms trial"}
    assert aws == {x.check for x in found}


def given(*findings: Finding) -> tuple[Check, ...]:
    return (Check("given", lambda _: findings, local=True),)


@pytest.mark.slow
@pytest.mark.usefixtures("aws")
def test_the_command_reads_cdk_json_and_exits_with_1_on_errors(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    declared = {"stage": "blue", "credentials": [], "routes": {}, "reserved": "none"}
    (folder / "cdk.json").write_text(json.dumps({"context": {"posthaste": declared}}))
    seen: list[Patient] = []
    ok, bad = Finding("a", Level.OK, "fine"), Finding("b", Level.ERROR, "broken", "mend it")
    monkeypatch.setattr(doctor, "CHECKS", (Check("x", lambda p: seen.append(p) or [ok], local=True),))  # type: ignore[func-returns-value]
    done = run("doctor")
    assert (done.code, "1 finding at stage blue, AWS us-east-1: 0 errors" in done.out) == (0, True)
    assert (seen[0].settings.stage, seen[0].reserved, seen[0].from_file) == ("blue", False, True)
    monkeypatch.setattr(doctor, "CHECKS", given(ok, bad))
    done = run("doctor", "--json")
    assert (done.code, done.json["errors"], done.json["items"][1]["do"]) == (1, 1, "mend it")
    done = run("doctor", "--quiet")
    assert ("fine" in done.out, "→ mend it" in done.out) == (False, True)
    (folder / "cdk.json").write_text(json.dumps({"context": {"posthaste": {**declared, "stage": "Blue!"}}}))
    done = run("doctor")
    assert (done.code, "cdk.json: stage: 'Blue!'" in done.err) == (2, True)
