import io
import json
import logging
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import boto3
import pytest

from functions.operate.handler import logger, respond
from infra.settings import providers
from shared.adapters.dynamo.audit import DynamoJournal
from shared.adapters.secrets import SecretStore
from shared.contracts import ENV_SETTINGS, Credential, Settings, secret_name, webhook_secret_name
from shared.ports import BadSignature
from shared.providers import checks, registry
from shared.providers.registry import AwsAccount, Needs
from tests.cli.conftest import everything_stored, public_key, stored_secret
from tests.cli.fakes import Answer, FakeApi, FakeClock, Run
from tests.cli.operators import ARN, OperatorsFunction

SECRET = "SG.hush-hush-0123456789"
GOOD = json.dumps({"api_key": SECRET, "webhook_public_key": public_key()})
SETTINGS = Settings(
    "dev",
    (
        Credential("sendgrid-main", "sendgrid", "email", 100),
        Credential("relay", "smtp", "email", 10, base_url="smtp://relay.example:587"),
        Credential("ses-main", "ses", "email", 10),
    ),
    {"email": ("sendgrid-main",)},
)

pytestmark = pytest.mark.usefixtures("aws")


@pytest.fixture(autouse=True)
def declared(operators: OperatorsFunction, monkeypatch: pytest.MonkeyPatch) -> None:
    operators.settings = SETTINGS
    monkeypatch.setenv(ENV_SETTINGS, SETTINGS.dumps())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"apikey": SECRET}, "did you mean `api_key`?"),
        ({"api_key": SECRET}, "webhooks of its provider are refused (no_key)"),
        ({"api_key": SECRET, "webhook_public_key": "MFkw"}, "webhooks of its provider are refused"),
        ({**json.loads(GOOD), "region": "eu"}, "unknown field `region`"),
        ({**json.loads(GOOD), SECRET: "x"}, "unknown field with a name that is not one"),
    ],
)
def test_a_secret_that_cannot_work_does_not_replace_one_that_does(run: Run, fields: dict[str, str], said: str) -> None:
    assert run("credential", "set", "sendgrid-main", input=GOOD).code == 0
    done = run("credential", "set", "sendgrid-main", input=json.dumps(fields))
    assert (done.code, done.out) == (1, "")
    assert said in done.err
    assert "whose fields are: api_key, webhook_public_key" in done.err
    assert SECRET not in done.err
    assert stored_secret() == json.dumps(json.loads(GOOD), separators=(",", ":"))
    assert run("credential", "set", "sendgrid-main", "--force", input=json.dumps(fields)).code == 0
    assert json.loads(stored_secret() or "") == fields


def test_each_field_of_the_provider_is_asked_for_unseen(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    given = {"api_key": SECRET, "webhook_public_key": public_key()}

    def prompt(text: str, *, hide_input: bool, **_: object) -> str:
        asked.append(text)
        assert hide_input
        return given[text.partition(":")[0]]

    monkeypatch.setattr("typer.prompt", prompt)
    monkeypatch.setattr("cli.operating.credentials.sys", SimpleNamespace(stdin=SimpleNamespace(isatty=lambda: True)))
    assert run("credential", "set", "sendgrid-main").code == 0
    assert [x.partition(":")[0] for x in asked] == ["api_key", "webhook_public_key"]
    assert json.loads(stored_secret() or "") == given


@pytest.mark.parametrize("provider", sorted(providers()))
def test_a_provider_names_every_field_that_it_reads(provider: str) -> None:
    class Reading(dict[str, str]):
        def get(self, name: str, default: Any = None) -> Any:
            read.add(name)
            return super().get(name, default)

    read: set[str] = set()
    fields = registry.secret_fields(provider)
    base_url = "smtp://relay.example:587" if provider == "smtp" else ""
    for given in ({}, {f.name: "x" for f in fields}):
        secret = Reading(given)
        nowhere: Any = object()
        aws = AwsAccount("us-east-1", lambda: None)
        needs = Needs(nowhere, FakeClock(), secret, base_url=base_url, feedback=nowhere, smtp=nowhere, aws=aws)
        registry.provider(provider)(needs)
        with suppress(KeyError, BadSignature):
            registry.webhooks(provider).verify({}, b"{}", secret, 0.0)
    assert read <= {f.name for f in fields}
    assert {f.name for f in fields if f.required} <= read


@pytest.mark.parametrize("flags", [(), ("--json",)])
def test_a_secret_comes_from_a_file(run: Run, folder: Path, flags: tuple[str, ...]) -> None:
    file = folder / "secret.json"
    file.write_text("\ufeff" + GOOD, encoding="utf-8")
    done = run("credential", "set", "sendgrid-main", "--file", str(file), *flags)
    assert done.code == 0
    assert json.loads(stored_secret() or "") == json.loads(GOOD)
    assert SECRET not in done.out + done.err
    if flags:
        assert done.json == {"credential_id": "sendgrid-main", "stage": "dev", "fields": 2}


@pytest.mark.promise(9)
@pytest.mark.parametrize("provider", sorted(providers()))
def test_webhooks_are_verified_by_the_fields_that_are_kept_apart(provider: str) -> None:
    class Reading(dict[str, str]):
        def get(self, name: str, default: Any = None) -> Any:
            read.add(name)
            return super().get(name, default)

    read: set[str] = set()
    fields = registry.secret_fields(provider)
    for given in ({}, {f.name: "x" for f in fields}):
        with suppress(KeyError, BadSignature):
            registry.webhooks(provider).verify({}, b"{}", Reading(given), 0.0)
    assert read <= {f.name for f in fields if f.feedback}
    everything = {f.name: "x" for f in fields}
    assert registry.verifying(provider, everything).keys() == {f.name for f in fields if f.feedback}


@pytest.mark.promise(9)
def test_what_verifies_webhooks_is_stored_apart_from_what_sends(run: Run) -> None:
    assert run("credential", "set", "sendgrid-main", input=GOOD).code == 0
    apart = {"webhook_public_key": json.loads(GOOD)["webhook_public_key"]}
    assert json.loads(stored_secret(name=webhook_secret_name) or "") == apart
    assert json.loads(stored_secret() or "") == json.loads(GOOD), "an older version finds all of it"
    other = {**json.loads(GOOD), "webhook_public_key": public_key() + "," + public_key()}
    assert run("credential", "set", "sendgrid-main", "--force", input=json.dumps(other)).code == 0
    assert (
        json.loads(stored_secret(name=webhook_secret_name) or "")["webhook_public_key"]
        == public_key() + "," + public_key()
    )


@pytest.mark.promise(9)
def test_the_audit_log_names_who_set_which_credential(run: Run, operators: OperatorsFunction) -> None:
    operators.arn = "arn:aws:sts::123456789012:assumed-role/Keys/ann"
    assert run("credential", "set", "sendgrid-main", input=GOOD).code == 0
    assert run("credential", "set", "sendgrid-main", input=json.dumps({"api_key": SECRET})).code == 1
    entries = [(x["action"], x["subject"], x["actor"], x["data"]) for x in run("audit", "--json").lines]
    actor = "operator:123456789012:assumed-role/Keys/ann"
    assert entries == [("credential.set", "sendgrid-main", actor, {"fields": 2})], "a refused secret changes nothing"


@pytest.mark.promise(9)
def test_no_secret_is_set_without_an_entry_of_the_audit_log(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DynamoJournal, "write", fails)
    assert run("credential", "set", "sendgrid-main", input=GOOD).code == 1
    assert (stored_secret(), stored_secret(name=webhook_secret_name)) == (None, None)


def fails(*_: object) -> None:
    raise RuntimeError(GOOD)


def event(body: str) -> dict[str, Any]:
    """Return a change of a secret as a client sends it that checks nothing."""
    context = {"http": {"method": "PUT"}, "authorizer": {"iam": {"userArn": ARN}}}
    return {"rawPath": "/operate/secrets/sendgrid-main", "requestContext": context, "body": body}


@pytest.mark.promise(9)
def test_nothing_of_a_secret_is_in_a_log_line_an_answer_or_the_tables(
    run: Run, operators: OperatorsFunction, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.DEBUG)
    lines = io.StringIO()
    monkeypatch.setattr(logger.registered_handler, "stream", lines)
    seen: list[str] = []
    for text in (GOOD, json.dumps({"apikey": SECRET}), json.dumps({SECRET: SECRET})):
        done = run("credential", "set", "sendgrid-main", input=text)
        seen += [done.out, done.err]
    for secret in (GOOD, SECRET, [SECRET], {SECRET: 1}, json.dumps({SECRET: 1}), json.dumps({"api_key": [SECRET]})):
        for more in ({"request": "0" * 32, "force": True}, {"request": SECRET}, {}):
            body = json.dumps({"secret": secret, **more})
            seen += [json.dumps(respond(event(x), "r", operators.services)) for x in (body, body[:-1])]
    for owner, name in ((DynamoJournal, "write"), (SecretStore, "put"), (checks, "judge_secret")):
        monkeypatch.setattr(owner, name, fails)
        done = run("credential", "set", "sendgrid-main", input=GOOD)
        assert done.code == 1
        seen += [done.out, done.err]
    logged = lines.getvalue()
    assert all(code in logged for code in ("validation_failed", "malformed_json", "internal_error"))
    seen += [logged, *(repr(vars(x)) for x in caplog.records if x.name == "operate"), everything_stored()]
    assert [x for x in seen if SECRET in x] == []


def test_a_repeat_after_a_lost_answer_makes_no_second_version(
    run: Run, operators: OperatorsFunction, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = operators.answer
    lost: list[tuple[int, dict[str, str], bytes]] = [(503, {}, b"")]

    def once_lost(method: str, *request: Any) -> tuple[int, dict[str, str], bytes]:
        found = answer(method, *request)
        return lost.pop() if method == "PUT" and lost else found

    monkeypatch.setattr(operators, "answer", once_lost)
    assert run("credential", "set", "sendgrid-main", input=GOOD).code == 0
    assert [method for method, _ in operators.asked] == ["GET", "PUT", "PUT"]
    client = boto3.client("secretsmanager", "us-east-1")
    for name in (secret_name, webhook_secret_name):
        versions = client.list_secret_version_ids(SecretId=name("dev", "sendgrid-main"))["Versions"]
        assert len(versions) == 1, name


def test_a_secret_that_somebody_has_deleted_is_exit_code_3(run: Run) -> None:
    client = boto3.client("secretsmanager", "us-east-1")
    client.delete_secret(SecretId=secret_name("dev", "sendgrid-main"), ForceDeleteWithoutRecovery=True)
    done = run("credential", "set", "sendgrid-main", input=GOOD)
    assert (done.code, "no secret posthaste-dev/credential/sendgrid-main" in done.err) == (3, True)
    assert run("audit", "--json").lines == []


@pytest.mark.slow
def test_secrets_of_an_older_version_are_split_by_a_command(run: Run) -> None:
    client = boto3.client("secretsmanager", "us-east-1")
    client.put_secret_value(SecretId=secret_name("dev", "sendgrid-main"), SecretString=GOOD)
    client.create_secret(Name=secret_name("dev", "relay"), SecretString='{"auth": "none"}')
    done = run("credential", "split", "--json")
    assert (done.code, SECRET in done.out + done.err) == (0, False)
    assert {x["credential_id"]: x["written"] for x in done.lines} == {
        "sendgrid-main": True,
        "relay": False,
        "ses-main": False,
    }
    assert json.loads(stored_secret(name=webhook_secret_name) or "") == {"webhook_public_key": public_key()}
    again = run("credential", "split", "--json")
    assert not any(x["written"] for x in again.lines)
    assert [x["Name"] for x in client.list_secrets()["SecretList"] if "/webhook/" in x["Name"]] == [
        webhook_secret_name("dev", "sendgrid-main")
    ]


def test_a_malformed_secret_keeps_no_other_from_being_split(run: Run) -> None:
    client = boto3.client("secretsmanager", "us-east-1")
    client.put_secret_value(SecretId=secret_name("dev", "sendgrid-main"), SecretString=GOOD)
    client.create_secret(Name=secret_name("dev", "relay"), SecretString=SECRET)
    done = run("credential", "split", "--json")
    assert done.code == 1
    assert [x["written"] for x in done.lines] == [True, False, False]
    assert "the secret of relay" in done.err
    assert SECRET not in done.out + done.err


def test_the_secret_of_webhooks_has_the_key_of_its_credential(run: Run) -> None:
    client = boto3.client("secretsmanager", "us-east-1")
    client.delete_secret(SecretId=secret_name("dev", "sendgrid-main"), ForceDeleteWithoutRecovery=True)
    client.create_secret(Name=secret_name("dev", "sendgrid-main"), KmsKeyId="alias/ours")
    assert run("credential", "set", "sendgrid-main", input=GOOD).code == 0
    found = client.describe_secret(SecretId=webhook_secret_name("dev", "sendgrid-main"))
    assert found["KmsKeyId"] == "alias/ours"


def test_a_secret_comes_from_a_pipe(run: Run) -> None:
    done = run("credential", "set", "sendgrid-main", input=GOOD + "\n")
    assert done.code == 0
    assert json.loads(stored_secret() or "")["api_key"] == SECRET
    assert SECRET not in done.out + done.err


def test_what_is_not_an_object_of_texts_is_refused_unshown_and_not_stored(run: Run) -> None:
    for text in (
        SECRET,
        f'{{"api_key": "{SECRET}"',
        f'["{SECRET}"]',
        f'"{SECRET}"',
        f'{{"api_key": ["{SECRET}"]}}',
        f'{{"{SECRET}": 1}}',
        f'{{"{SECRET}": ""}}',
        "{}",
        "",
        "[" * 60_000,
        json.dumps({"api_key": SECRET * 5000}),
        b"\xff\xfe{}",
    ):
        done = run("credential", "set", "sendgrid-main", input=text)
        assert (done.code, done.out) == (2, "")
        assert done.err.count("\n") == 1
        assert SECRET not in done.err
    assert stored_secret() is None


def test_a_secret_in_the_wrong_place_is_not_repeated(run: Run) -> None:
    for words in (
        ("sendgrid-main", GOOD),
        ("sendgrid-main", "--file", GOOD),
        ("sendgrid-main", "--file", SECRET),
        ("sendgrid-main", f"--api-key={SECRET}"),
        ("sendgrid-main", "--api-key", SECRET),
        (SECRET,),
    ):
        done = run("credential", "set", *words, input=GOOD)
        assert done.code == 2
        assert SECRET not in done.out + done.err
        assert done.err.count("\n") == 1
    assert stored_secret() is None


@pytest.mark.parametrize("flags", [(), ("--json",)])
def test_credentials_are_listed_with_their_breakers(run: Run, api: FakeApi, flags: tuple[str, ...]) -> None:
    common = {"channel": "email", "rate": 50.0, "declared_rate": 100.0, "in_flight": 7, "paused": False}
    opened = {"state": "open", "reason": "http_503", "since": "2026-11-20T09:00:00.000Z"}
    items = [
        {"id": "one", "provider": "sendgrid", "breaker": {"state": "closed", "reason": None, "since": None}, **common},
        {"id": "two", "provider": "mailgun", "breaker": opened, **common, "paused": True},
    ]
    hour = {"messages": 60, "per": "hour", "zone": "UTC", "used": 7, "warmup": None}
    warming = {"start": "2026-11-19", "day": 2, "days": 14, "full_from": "2026-12-03", "full": 50000}
    items[0]["quotas"] = [hour, {**hour, "messages": 1500, "per": "day", "warmup": warming}]
    api.answers(Answer({"items": items, "next_cursor": None}))
    done = run("credential", "list", *flags)
    assert (done.code, api.asked[0].path) == (0, "/credentials?limit=1000")
    if flags:
        assert done.lines == items
    else:
        assert [" ".join(row.split()) for row in done.out.splitlines()] == [
            "id provider channel rate declared rate paused in flight breaker reason since full until warmup",
            "one sendgrid email 50.0 100.0 7 closed day 2 of 14: 1,500",
            "two mailgun email 50.0 100.0 paused 7 open http_503 2026-11-20T09:00:00.000Z",
        ]


def test_a_credential_that_is_not_deployed_is_exit_code_3(run: Run) -> None:
    done = run("credential", "set", "mailgun-eu", input=GOOD)
    assert done.code == 3
    assert "cdk.json" in done.err
    assert SECRET not in done.out + done.err


def test_the_built_in_credential_has_no_secret(run: Run) -> None:
    assert run("credential", "set", "test", input=GOOD).code == 2
