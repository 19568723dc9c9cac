"""The operators' door on the local cloud, whose IAM checks each signature and asks each policy."""

import base64
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import boto3
import pytest
from botocore.exceptions import ClientError
from typer.testing import CliRunner

from cli.main import app
from infra.local import emulator, processes
from shared.adapters.dynamo import keys
from shared.adapters.dynamo.client import Dynamo
from shared.adapters.dynamo.recipients import suppressions
from shared.adapters.dynamo.recipients.stored_names import read_state
from shared.contracts import COPY_ENDING, ENV_AUDIT_TABLE, ENV_RECORDS_TABLE, prefix, secret_name, webhook_secret_name
from shared.domain.exports import header, rows
from shared.domain.recipients.address_names import MOVE_MS, generation_of
from shared.domain.recipients.addresses import address_hash
from shared.domain.recipients.suppressions import Reach, Suppression
from tests.deployed.api import Api
from tests.deployed.inside import Inside

pytestmark = [pytest.mark.deployed, pytest.mark.promise(9)]

Aws = Callable[[str], Any]
Call = Callable[..., tuple[int, str, str]]
"""The exit code of a command, and what it prints."""
NOT_FOUND: Final = 3
NOT_AUTHORISED: Final = 4
ADDRESS: Final = "POSTHASTE_URL"


@pytest.fixture
def outputs(aws: Aws) -> dict[str, str]:
    stack = aws("cloudformation").describe_stacks(StackName=prefix("dev"))["Stacks"][0]
    return {x["OutputKey"]: x["OutputValue"] for x in stack["Outputs"]}


@pytest.fixture
def operator(inside: Inside, aws: Aws, outputs: dict[str, str], tag: str) -> Iterator[Callable[[str], dict[str, str]]]:
    """Makes a user with one policy, and returns the environment of their shell."""
    iam, made = aws("iam"), []

    def make(policy: str) -> dict[str, str]:
        name = f"{policy or 'nobody'}-{tag}".lower()
        iam.create_user(UserName=name)
        made.append(name)
        if policy:
            iam.attach_user_policy(UserName=name, PolicyArn=outputs[f"{policy}Policy"])
        key = iam.create_access_key(UserName=name)["AccessKey"]
        return {
            "AWS_ACCESS_KEY_ID": key["AccessKeyId"],
            "AWS_SECRET_ACCESS_KEY": key["SecretAccessKey"],
            "AWS_REGION": emulator.REGION,
            "POSTHASTE_OPERATE_URL": inside.cloud.env[ADDRESS],
        }

    yield make
    for name in made:
        for key in iam.list_access_keys(UserName=name)["AccessKeyMetadata"]:
            iam.delete_access_key(UserName=name, AccessKeyId=key["AccessKeyId"])
        for policy in iam.list_attached_user_policies(UserName=name)["AttachedPolicies"]:
            iam.detach_user_policy(UserName=name, PolicyArn=policy["PolicyArn"])
        iam.delete_user(UserName=name)


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch) -> Call:
    for name in ("AWS_ENDPOINT_URL", "AWS_PROFILE", "POSTHASTE_LOCAL"):
        monkeypatch.delenv(name, raising=False)

    def run(environment: dict[str, str], *words: str) -> tuple[int, str, str]:
        found = CliRunner().invoke(app, [*words, "--aws"], env=environment)
        return found.exit_code, found.stdout, found.stderr

    return run


def test_each_policy_lets_its_operators_call_its_routes_and_no_others(operator: Any, call: Call) -> None:
    viewer, everyone, nobody = operator("Viewer"), operator("Operator"), operator("")
    for environment in (viewer, everyone):
        assert call(environment, "audit")[0] == 0
        assert call(environment, "queue", "list")[0] == 0
        assert call(environment, "redrive", "export", "--dry-run")[0] == 0
        assert call(environment, "rate", "list")[0] == 0
    for environment in (nobody, {**viewer, "AWS_SECRET_ACCESS_KEY": "forged"}):
        code, out, err = call(environment, "audit")
        assert (code, out, "may not make it" in err) == (NOT_AUTHORISED, "", True)


def test_what_a_viewer_must_not_a_viewer_cannot(inside: Inside, operator: Any, call: Call) -> None:
    viewer = operator("Viewer")
    dead = inside.sqs.get_queue_url(QueueName=f"{prefix('dev')}-export-dlq")["QueueUrl"]
    inside.sqs.send_message(QueueUrl=dead, MessageBody="nonsense")
    assert call(viewer, "redrive", "export", "--discard", "--yes")[0] == NOT_AUTHORISED
    assert inside.waiting(dead) == 1
    assert call(operator("Operator"), "redrive", "export", "--discard", "--yes")[0] == 0
    assert inside.waiting(dead) == 0


def test_an_operator_turns_each_switch_by_the_function_s_rights(operator: Any, call: Call) -> None:
    """The function writes tables and both copies of the audit log in one transaction, as IAM judges it."""
    viewer, someone = operator("Viewer"), operator("Operator")
    assert call(viewer, "pause", "--credential", "test")[0] == NOT_AUTHORISED
    try:
        for words in (("--credential", "test"), ("--all", "--yes")):
            code, out, err = call(someone, "pause", *words, "--reason", "drill")
            assert (code, "writes the switch itself" in err) == (0, False), err
            assert "is paused" in out
    finally:
        for words in (("--credential", "test"), ("--all", "--yes")):
            code, out, err = call(someone, "resume", *words)
            assert (code, "is resumed" in out) == (0, True), err
    assert call(someone, "rate", "set", "test", "50")[0] == 0
    assert call(someone, "rate", "reset", "test")[0] == 0
    assert call(someone, "credential", "close-breaker", "test")[0] == 0
    assert "deployment.resumed" in call(viewer, "audit", "--action", "deployment.resumed")[1]


def test_an_operator_stops_jobs_and_a_viewer_sees_them(api: Api, operator: Any, call: Call, tag: str) -> None:
    viewer, someone = operator("Viewer"), operator("Operator")
    later = datetime.now(UTC) + timedelta(days=1)
    body = {"from": "news@example.com", "to": [f"ann+{tag}@example.com"], "subject": "x", "text": "x"}
    job = api.call("POST", "/batches", {**body, "scheduled_at": later.isoformat()}).body["job_id"]
    assert processes.wait_for(lambda: job in call(viewer, "job", "list")[1], 30)
    account = next(x for x in call(viewer, "job", "list", "--json")[1].splitlines() if job in x)
    assert job in call(viewer, "job", "list", "--account", json.loads(account)["account_id"])[1]
    assert call(viewer, "job", "stop", job)[0] == NOT_AUTHORISED
    assert "stopped" in call(someone, "job", "stop", job, "--reason", "drill")[1]
    assert api.get(f"/jobs/{job}")["state"] in ("STOPPED", "LOGGED")


def test_who_may_erase_erases_a_person_from_tables_and_files(
    api: Api, operator: Any, call: Call, aws: Aws, outputs: dict[str, str], tag: str
) -> None:
    """The function's own rights are enough, also for versions of files and for a copy in parts."""
    person = f"ann+{tag}@example.com"
    job = api.post([person, f"ben+{tag}@example.com"], "sendgrid-main")
    api.finished(job)
    name = f"archive/acc_{tag}/2026/11/21/{tag}.csv"
    row = [tag, "0.0", person, *["x"] * 7, "Ann"]
    aws("s3").put_object(Bucket=outputs["BucketName"], Key=name, Body=header(["name"]) + rows([row]))
    assert call(operator("Operator"), "erase", person, "--dry-run")[0] == NOT_AUTHORISED
    code, out, err = call(operator("Eraser"), "erase", person, "--yes", "--json")
    assert code == 0, err
    found = json.loads(out)["erased"]
    assert (found["recipients blanked"], found["rows of archived files blanked"]) == (1, 1)
    assert sorted(x["recipient"] for x in api.lines(job)) == sorted(["erased", f"ben+{tag}@example.com"])
    left = aws("s3").get_object(Bucket=outputs["BucketName"], Key=name)["Body"].read()
    assert left == header(["name"]) + rows([[tag, "0.0", "erased", *["x"] * 7, ""]])
    aws("s3").delete_object(Bucket=outputs["BucketName"], Key=name)


def test_an_operator_moves_hashes_of_addresses_by_the_function_s_rights(
    operator: Any, call: Call, aws: Aws, outputs: dict[str, str], tag: str
) -> None:
    """A new stage has nothing to move. So the test puts an entry as earlier versions stored it, and announces a key."""
    viewer, someone, person = operator("Viewer"), operator("Operator"), f"old+{tag}@example.com"
    db, table = Dynamo(aws("dynamodb")), outputs["RecordsTable"]
    before = read_state(db, table)
    assert (before.floor, before.settled) == (1, True), "the first account began with the key"
    account = json.loads(call(viewer, "account", "list", "--json")[1].splitlines()[0])["account_id"]
    old = Suppression(person, "manual", int(time.time() * 1000))
    assert suppressions.add(db, table, Reach.ALL, account, old)
    announced = {"#floor": "floor", "#at": "at"}
    values = {":floor": {"N": "0"}, ":at": {"N": str(old.at - 2 * MOVE_MS)}}
    db.call(
        "update_item",
        TableName=table,
        Key=keys.names(),
        UpdateExpression="SET #floor = :floor, #at = :at",
        ExpressionAttributeNames=announced,
        ExpressionAttributeValues=values,
    )
    assert json.loads(call(viewer, "rehash", "--look", "--json")[1])["phase"] == "moving"
    assert call(viewer, "rehash", "--yes")[0] == NOT_AUTHORISED
    code, out, err = call(someone, "rehash", "--yes", "--json")
    assert (code, json.loads(out)["phase"]) == (0, "keyed"), err
    assert db.get(table, keys.suppression(account, address_hash(person))) is None
    listed = db.partition(table, keys.suppression(account, "")["pk"]["S"])
    assert [generation_of(x["sk"]["S"]) for x in listed if x["address"]["S"] == person] == [1]


def test_a_viewer_reads_what_the_functions_logged(operator: Any, call: Call) -> None:
    viewer = operator("Viewer")

    def logged() -> bool:
        code, out, err = call(viewer, "logs", "--service", "operate", "--where", "operation=lines", "--json")
        assert code == 0, err
        return "answered" in out

    assert processes.wait_for(logged, 30)


def test_who_administers_keys_sets_a_secret_by_the_function_s_rights(
    inside: Inside, aws: Aws, operator: Any, call: Call, tmp_path: Path
) -> None:
    (credential, *_) = (c.id for c in inside.deployment.settings.credentials if c.provider == "sendgrid")
    secrets = aws("secretsmanager")
    before = secrets.get_secret_value(SecretId=secret_name("dev", credential))["SecretString"]
    file = tmp_path / "secret.json"
    file.write_text(before)
    words = ("credential", "set", credential, "--file", str(file), "--force")
    viewer = operator("Viewer")
    for environment in (operator(""), viewer, operator("Operator")):
        assert call(environment, *words)[0] == NOT_AUTHORISED
    secrets.delete_secret(SecretId=webhook_secret_name("dev", credential), ForceDeleteWithoutRecovery=True)
    code, out, err = call(operator("KeyAdmin"), *words)
    assert (code, "stored" in out) == (0, True), err
    after = secrets.get_secret_value(SecretId=secret_name("dev", credential))["SecretString"]
    own = secrets.get_secret_value(SecretId=webhook_secret_name("dev", credential))["SecretString"]
    assert json.loads(after) == json.loads(before)
    assert json.loads(own).items() <= json.loads(before).items()
    assert credential in call(viewer, "audit", "--action", "credential.set")[1]


def test_keys_and_members_are_made_by_their_admins_only(operator: Any, call: Call, tag: str) -> None:
    """The function writes identities, people, notifiers and endpoints, and both copies of the audit log."""
    viewer, someone, admin = operator("Viewer"), operator("Operator"), operator("KeyAdmin")
    code, out, err = call(someone, "account", "create", f"t{tag}", "--sender", "example.com", "--json")
    assert code == 0, err
    account = json.loads(out)["account_id"]
    assert call(admin, "account", "suspend", account)[0] == NOT_AUTHORISED
    assert call(someone, "sender", "add", account, "news@example.org")[0] == 0
    assert call(someone, "sender", "remove", account, "news@example.org")[0] == 0
    assert call(someone, "sender", "identities")[0] == 0
    for environment in (viewer, someone):
        assert call(environment, "key", "create", account)[0] == NOT_AUTHORISED
        assert call(environment, "member", "invite", account, "ann")[0] == NOT_AUTHORISED
        assert call(environment, "notifier", "rotate", f"n{tag}")[0] == NOT_AUTHORISED
    code, out, err = call(admin, "key", "create", account, "--json")
    assert code == 0, err
    made = json.loads(out)
    assert call(viewer, "key", "list", account)[1].count(made["key_id"]) == 1
    assert made["key"] not in call(viewer, "key", "list", account, "--json")[1]
    heir = json.loads(call(admin, "key", "rotate", account, made["key_id"], "--json")[1])
    assert call(admin, "key", "expire", account, heir["key_id"], "12h")[0] == 0
    assert call(admin, "key", "revoke", account, heir["key_id"])[0] == 0
    assert call(admin, "key", "revoke", account, made["key_id"], "--dry-run")[0] == 0
    assert "key.created" in call(viewer, "audit", account)[1]


def test_keys_have_networks_and_are_exchanged_for_tokens(operator: Any, call: Call, tag: str, api: Api) -> None:
    """The functions keep what a key is limited to, and what a revoked one leaves, by their own rights."""
    someone, admin = operator("Operator"), operator("KeyAdmin")
    account = json.loads(call(someone, "account", "create", f"k{tag}", "--json")[1])["account_id"]
    far = json.loads(call(admin, "key", "create", account, "--network", "198.51.100.0/24", "--json")[1])
    assert Api(api.url, far["key"]).call("GET", "/jobs").body["code"] == "network_not_allowed"
    assert call(admin, "key", "networks", account, far["key_id"], "--everywhere")[0] == 0
    careful = json.loads(call(admin, "key", "create", account, "--proof", "oauth", "--expires", "2d", "--json")[1])
    assert Api(api.url, careful["key"]).call("GET", "/jobs").body["code"] == "proof_needed"
    basic = base64.b64encode(f"{careful['key_id']}:{careful['key']}".encode()).decode()
    form = {"authorization": f"Basic {basic}", "content_type": "application/x-www-form-urlencoded"}
    given = Api(api.url, "").call("POST", "/oauth/token", raw=b"grant_type=client_credentials", **form)
    assert given.status == 200, given.body
    assert Api(api.url, given.body["access_token"]).call("GET", "/jobs").status == 200
    assert "key.expiring" in call(admin, "audit", account)[1]
    unused = json.loads(call(admin, "key", "create", account, "--json")[1])
    assert call(admin, "key", "revoke", account, unused["key_id"])[0] == 0
    assert Api(api.url, unused["key"]).call("GET", "/jobs").body["code"] == "key_revoked"


def test_members_notifiers_and_endpoints_are_changed_by_the_function_s_rights(
    operator: Any, call: Call, tag: str
) -> None:
    someone, admin = operator("Operator"), operator("KeyAdmin")
    account = json.loads(call(someone, "account", "create", f"m{tag}", "--json")[1])["account_id"]
    login, notifier = f"l{tag}", f"n{tag}"
    for words in (
        ("member", "invite", account, login),
        ("member", "remove", account, login),
        ("notifier", "create", notifier, "--account", account, "--timezone", "Australia/Sydney"),
        ("notifier", "rotate", notifier),
        ("notifier", "disable", notifier),
        ("notifier", "stats", notifier),
        ("notifier", "delete", notifier),
    ):
        code, _, err = call(admin, *words)
        assert code == 0, (words, err)
    assert call(admin, "member", "sign-out", login)[0] == NOT_FOUND, "it has looked for the person"
    words = ("hook", "create", "https://hooks.example.com/x", "--deployment", "--event", "breaker.opened", "--json")
    code, out, err = call(someone, *words)
    assert code == 0, err
    hook = json.loads(out)["id"]
    for verb in ("rotate", "show", "deliveries", "delete"):
        code, _, err = call(someone, "hook", verb, hook, "--deployment")
        assert code == 0, (verb, err)


def test_no_operator_reads_a_table_a_queue_or_a_secret(inside: Inside, operator: Any, outputs: dict[str, str]) -> None:
    """But a restorer reads tables, to bring them back."""
    policies = [x.removesuffix("Policy") for x in outputs if x.endswith("Policy")]
    assert {"Viewer", "Operator", "KeyAdmin"} <= set(policies)
    for policy in policies:
        _reads_nothing(inside, operator(policy), outputs, but="dynamodb" if policy == "Restorer" else "")


def _reads_nothing(inside: Inside, environment: dict[str, str], outputs: dict[str, str], *, but: str) -> None:
    session = boto3.Session(environment["AWS_ACCESS_KEY_ID"], environment["AWS_SECRET_ACCESS_KEY"])
    calls: dict[str, tuple[str, dict[str, Any]]] = {
        "dynamodb": ("scan", {"TableName": inside.deployment.environment[ENV_RECORDS_TABLE]}),
        "sqs": ("receive_message", {"QueueUrl": outputs["FeedbackQueueUrl"]}),
        "secretsmanager": ("get_secret_value", {"SecretId": f"{prefix('dev')}/hooks"}),
        "lambda": ("list_functions", {}),
    }
    calls.pop(but, None)
    for service, (method, asked) in calls.items():
        client: Any = session.client(  # type: ignore[call-overload]  # its service is a parameter
            service, emulator.REGION, endpoint_url=emulator.url(inside.port), config=emulator.config()
        )
        with pytest.raises(ClientError, match="not authorized"):
            getattr(client, method)(**asked)


def test_a_restorer_brings_a_table_back_and_deletes_nothing(
    operator: Any, call: Call, inside: Inside, aws: Aws, tag: str
) -> None:
    restorer, viewer, everyone = operator("Restorer"), operator("Viewer"), operator("Operator")
    audit = inside.deployment.environment[ENV_AUDIT_TABLE]
    copy = f"{audit}{COPY_ENDING}{tag}"
    client = aws("dynamodb")
    client.restore_table_to_point_in_time(SourceTableName=audit, TargetTableName=copy, UseLatestRestorableTime=True)
    lost = client.scan(TableName=audit, Limit=1)["Items"][0]
    key = {name: lost[name] for name in ("pk", "sk")}
    client.delete_item(TableName=audit, Key=key)

    def restore(environment: dict[str, str], *words: str) -> subprocess.CompletedProcess[str]:
        tables = {**inside.deployment.environment, **emulator.client_environment(inside.port), **environment}
        command = [str(Path(sys.executable).parent / "posthaste"), "restore", *words]
        return subprocess.run(
            command,
            env={**emulator.tool_environment(inside.port), **tables},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    assert restore(viewer, "review").returncode == NOT_AUTHORISED
    assert "Item" not in client.get_item(TableName=audit, Key=key)
    plan = restore(restorer, "plan")
    assert (plan.returncode, audit in plan.stdout) == (0, True), plan.stderr
    done = restore(restorer, "copy", f"audit={copy}", "--yes")
    assert done.returncode == 0, done.stderr
    assert client.get_item(TableName=audit, Key=key)["Item"] == lost
    assert restore(restorer, "review").returncode == 0
    assert call(everyone, "resume", "--all", "--yes")[0] == 0
    mine = boto3.client(
        "dynamodb",
        aws_access_key_id=restorer["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=restorer["AWS_SECRET_ACCESS_KEY"],
        region_name=emulator.REGION,
        endpoint_url=emulator.url(inside.port),
    )
    with pytest.raises(ClientError, match="AccessDenied"):
        mine.delete_item(TableName=audit, Key=key)
    client.delete_table(TableName=copy)
