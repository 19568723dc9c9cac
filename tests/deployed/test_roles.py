"""Each forbidden act is tried in the role of each deployed function, under the local cloud's IAM."""

import base64
from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest
from botocore.exceptions import ClientError

from infra.local import accounts, deploy
from shared.contracts import (
    ENV_AUDIT_TABLE,
    ENV_BUCKET,
    ENV_IDENTITIES_TABLE,
    ENV_LANE,
    ENV_OPS_TABLE,
    ENV_RECORDS_TABLE,
    HANDLERS,
    INDEX_MINE,
    INDEX_OPEN,
    TEST_CREDENTIAL,
    addresses_secret_name,
    secret_name,
    unsubscribe_secret_name,
    webhook_secret_name,
)
from shared.domain.channels.email import EMAIL
from shared.domain.channels.lookup import carried

pytestmark = [pytest.mark.deployed, pytest.mark.promise(9)]

Aws = Callable[[str], Any]
InRole = Callable[[str, str], Any]

KEY: Final = {"pk": {"S": "K#forged"}, "sk": {"S": "KEY"}}
PROFILE: Final = {"pk": {"S": "A#acc_000000000000"}, "sk": {"S": "PROFILE"}}
NOTE: Final = {"pk": {"S": "N#forged"}, "sk": {"S": "NOTE"}}
"""What makes first accounts reads its own notes alone."""
ENTRY: Final = {"pk": {"S": "A#acc_forged#AUDIT"}, "sk": {"S": "000000000000001#x#key.created"}}
SET: Final = {"UpdateExpression": "SET forged = :yes", "ExpressionAttributeValues": {":yes": {"BOOL": True}}}
FOLDERS: Final = ("contents", "uploads", "exports", "inbox", "archive", "images")
DENIED: Final = ("AccessDenied", "AccessDeniedException")
STARTS: Final = ("due", "plan", "sweep")
"""What starts jobs: they look at key and sender again, and may stop a job, which is audited."""


@pytest.fixture(scope="module")
def deployment(stacks: list[deploy.Stack], cloud_port: int) -> accounts.LocalDeployment:
    return accounts.describe(stacks, cloud_port)


@pytest.fixture(scope="module")
def functions(stacks: list[deploy.Stack], aws: Aws) -> dict[str, str]:
    """What each function is, `send-<credential>` or as in HANDLERS, by the name it was given."""
    kinds = {handler: kind for kind, handler in HANDLERS.items()}
    found = {}
    for stack in stacks:
        for name, _ in stack.of_type("AWS::Lambda::Function"):
            row = aws("lambda").get_function_configuration(FunctionName=name)
            if row["Handler"] in kinds:
                lane = row["Environment"]["Variables"].get(ENV_LANE)
                found[name] = f"send-{lane}" if lane else kinds[row["Handler"]]
    assert {kind.partition("-")[0] for kind in found.values()} == set(HANDLERS)
    return found


@pytest.fixture
def may(functions: dict[str, str], in_role: InRole) -> Callable[[str, str, dict[str, Any]], set[str]]:
    """Returns which functions may make a call: `may(service, method, arguments)`."""

    def ask(service: str, method: str, arguments: dict[str, Any]) -> set[str]:
        return {kind for name, kind in functions.items() if allowed(in_role(name, service), method, arguments)}

    return ask


def allowed(client: Any, method: str, arguments: dict[str, Any]) -> bool:
    """Make a call; tell whether IAM let it pass, whatever came of it."""
    try:
        getattr(client, method)(**arguments)
    except ClientError as error:
        return error.response["Error"]["Code"] not in DENIED
    return True


May = Callable[[str, str, dict[str, Any]], set[str]]


@pytest.mark.parametrize(
    ("method", "arguments", "those"),
    [
        ("put_item", {"Item": KEY}, {"buttons", "join", "operate"}),
        ("update_item", {"Key": KEY, **SET}, {"buttons", "operate"}),
        ("delete_item", {"Key": KEY}, {"buttons", "operate"}),
    ],
)
def test_only_operators_function_and_what_makes_first_accounts_write_identities(
    may: May,
    deployment: accounts.LocalDeployment,
    aws: Aws,
    method: str,
    arguments: dict[str, Any],
    those: set[str],
) -> None:
    """See docs/adr/0157: `join` adds accounts, keys and its notes; the partitions are asserted on the template.

    `operate` runs only for whom IAM has let call it (docs/adr/0216), `buttons` for operators' sessions (docs/adr/0264).
    """
    table = deployment.environment[ENV_IDENTITIES_TABLE]
    try:
        assert may("dynamodb", method, {"TableName": table, **arguments}) == those
        action = _action(method, table, arguments)
        assert may("dynamodb", "transact_write_items", {"TransactItems": [action]}) == those
    finally:
        aws("dynamodb").delete_item(TableName=table, Key=KEY)


def test_no_function_writes_keys_in_a_batch(may: May, deployment: accounts.LocalDeployment) -> None:
    for variable, item in ((ENV_IDENTITIES_TABLE, KEY), (ENV_AUDIT_TABLE, ENTRY)):
        table = deployment.environment[variable]
        assert may("dynamodb", "batch_write_item", {"RequestItems": {table: [{"PutRequest": {"Item": item}}]}}) == set()


@pytest.mark.parametrize(("method", "arguments"), [("update_item", SET), ("delete_item", {})])
def test_no_function_changes_or_deletes_an_entry_of_the_audit_log(
    may: May, deployment: accounts.LocalDeployment, aws: Aws, method: str, arguments: dict[str, Any]
) -> None:
    table = deployment.environment[ENV_AUDIT_TABLE]
    aws("dynamodb").put_item(TableName=table, Item=ENTRY)
    try:
        change = {"Key": ENTRY, **arguments}
        assert may("dynamodb", method, {"TableName": table, **change}) == set()
        assert may("dynamodb", "transact_write_items", {"TransactItems": [_action(method, table, change)]}) == set()
        assert aws("dynamodb").get_item(TableName=table, Key=ENTRY)["Item"] == ENTRY
    finally:
        aws("dynamodb").delete_item(TableName=table, Key=ENTRY)


def test_entries_of_the_audit_log_are_added_by_what_does_something_that_is_audited(
    may: May, deployment: accounts.LocalDeployment, aws: Aws
) -> None:
    table = deployment.environment[ENV_AUDIT_TABLE]
    try:
        assert may("dynamodb", "put_item", {"TableName": table, "Item": ENTRY}) == {
            "api",
            "buttons",
            "call_hooks",
            "console",
            "digest",
            "join",
            "log",
            "notices",
            "operate",
            "take",
            *STARTS,
        }
    finally:
        aws("dynamodb").delete_item(TableName=table, Key=ENTRY)


def test_identities_are_read_by_what_people_use_or_starts_jobs(may: May, deployment: accounts.LocalDeployment) -> None:
    table = deployment.environment[ENV_IDENTITIES_TABLE]
    readers = {"api", "buttons", "console", "digest", "operate", *STARTS}
    assert may("dynamodb", "get_item", {"TableName": table, "Key": KEY}) == readers
    assert may("dynamodb", "get_item", {"TableName": table, "Key": NOTE}) == {*readers, "join"}
    credentials = (*deployment.settings.credentials, deployment.settings.credential(TEST_CREDENTIAL))
    mailing = {f"send-{x.id}" for x in credentials if EMAIL in carried(x.channel)}
    assert mailing
    accepting = {"take", "notices", "ingest", "log"}  # what accounts may spend, and whether they are searched
    assert may("dynamodb", "get_item", {"TableName": table, "Key": PROFILE}) == {*readers, *mailing, *accepting}
    assert may("dynamodb", "scan", {"TableName": table}) == set()


def test_what_sends_is_read_by_its_sender_and_what_verifies_by_the_webhook_function(
    may: May, deployment: accounts.LocalDeployment, functions: dict[str, str]
) -> None:
    stage = deployment.settings.stage

    def readers(name: str) -> set[str]:
        return may("secretsmanager", "get_secret_value", {"SecretId": name})

    tried = 0
    for credential in deployment.settings.credentials:
        assert readers(secret_name(stage, credential.id)) == {f"send-{credential.id}"}
        assert readers(webhook_secret_name(stage, credential.id)) <= {"webhooks"}
        tried += 1
    assert tried
    senders = {kind for kind in functions.values() if kind.startswith("send-")}
    assert readers(unsubscribe_secret_name(stage)) <= {*senders, "api"}
    naming = {
        "api",
        "buttons",
        "console",
        "operate",
        "plan",
        "log",
        "track",
        "sweep",
        "ingest",
        "digest",
        "notices",
        "take",
    }
    assert {"api", "track"} <= readers(addresses_secret_name(stage)) <= {*senders, *naming}


@pytest.fixture
def files(deployment: accounts.LocalDeployment, aws: Aws) -> Iterator[str]:
    """The bucket, with a file in each folder."""
    bucket = deployment.environment[ENV_BUCKET]
    for folder in FOLDERS:
        aws("s3").put_object(Bucket=bucket, Key=f"{folder}/forged", Body=b"x")
    yield bucket
    for folder in FOLDERS:
        aws("s3").delete_object(Bucket=bucket, Key=f"{folder}/forged")


def test_files_are_reached_by_folder_and_deleted_by_the_function_that_erases(
    may: May, functions: dict[str, str], files: str
) -> None:
    senders = {kind for kind in functions.values() if kind.startswith("send-")}
    readers = {f: may("s3", "get_object", {"Bucket": files, "Key": f"{f}/forged"}) for f in FOLDERS}
    assert readers == {
        "contents": {*senders, "api", "console", "operate", "sweep"},
        "uploads": {"api", "console", "ingest"},
        "exports": {"api", "console", "export"},
        "inbox": {"operate", "take"},
        "archive": {"operate"},
        "images": {"pictures"},
    }
    writers = {f: may("s3", "put_object", {"Bucket": files, "Key": f"{f}/forged", "Body": b"x"}) for f in FOLDERS}
    assert writers == {
        "contents": {"api", "console", "digest", "operate", "sweep"},
        "uploads": {"api", "console", "ingest"},
        "exports": {"export"},
        "inbox": {"api", "operate"},
        "archive": {"operate"},
        "images": {"api", "console"},
    }
    for folder in FOLDERS:
        deleters = {"api", "console", "operate"} if folder == "images" else {"operate"}
        assert may("s3", "delete_object", {"Bucket": files, "Key": f"{folder}/forged"}) == deleters


def test_no_other_function_sends_mail(may: May, deployment: accounts.LocalDeployment) -> None:
    raw = {"Raw": {"Data": base64.b64encode(b"Subject: x\n\nx").decode()}}
    mail = {"FromEmailAddress": "a@example.com", "Destination": {"ToAddresses": ["b@example.org"]}, "Content": raw}
    senders = {f"send-{c.id}" for c in deployment.settings.credentials if c.provider == "ses"}
    assert may("sesv2", "send_email", mail) <= senders


def _action(method: str, table: str, arguments: dict[str, Any]) -> dict[str, Any]:
    kind = {"put_item": "Put", "update_item": "Update", "delete_item": "Delete"}[method]
    return {kind: {"TableName": table, **arguments}}


@pytest.fixture
def console(functions: dict[str, str], in_role: InRole) -> Any:
    """DynamoDB, as the console may use it."""
    return in_role(next(name for name, kind in functions.items() if kind == "console"), "dynamodb")


@pytest.mark.parametrize(("partition", "may"), [("J#forged", True), ("HQ#forged", True), ("A#acc_forged", False)])
def test_the_console_writes_several_rows_at_once_only_where_it_may(
    console: Any, deployment: accounts.LocalDeployment, tag: str, partition: str, *, may: bool
) -> None:
    table = deployment.environment[ENV_RECORDS_TABLE]
    here, there = ({"pk": {"S": pk}, "sk": {"S": tag}, "ttl": {"N": "1"}} for pk in (partition, "A#acc_forged"))
    puts = [{"PutRequest": {"Item": item}} for item in (here, there)]
    assert allowed(console, "batch_write_item", {"RequestItems": {table: puts[:1]}}) is may
    if may:
        assert not allowed(console, "batch_write_item", {"RequestItems": {table: puts}}), "one of them it may not"


def test_a_transaction_is_judged_by_the_rows_of_each_of_its_actions(
    console: Any, deployment: accounts.LocalDeployment, tag: str
) -> None:
    table = deployment.environment[ENV_RECORDS_TABLE]
    keys = [{"pk": {"S": pk}, "sk": {"S": tag}} for pk in ("A#acc_forged", "T#forged", "A#acc_forged#SUMS")]
    put = {"Put": {"TableName": table, "Item": keys[0]}}
    mine, other = ({"Delete": {"TableName": table, "Key": key}} for key in keys[1:])
    assert allowed(console, "transact_write_items", {"TransactItems": [put, mine]})
    assert not allowed(console, "transact_write_items", {"TransactItems": [put, other]})


def test_the_console_reads_the_whole_index_of_open_jobs_and_nothing_else_whole(
    console: Any, may: May, deployment: accounts.LocalDeployment
) -> None:
    table = deployment.environment[ENV_RECORDS_TABLE]
    assert may("dynamodb", "scan", {"TableName": table, "IndexName": INDEX_OPEN}) == {"console"}
    for other in (INDEX_MINE, "", "none"):
        assert not allowed(console, "scan", {"TableName": table, **({"IndexName": other} if other else {})}), other
    for name in (ENV_OPS_TABLE, ENV_AUDIT_TABLE, ENV_IDENTITIES_TABLE):
        assert not allowed(console, "scan", {"TableName": deployment.environment[name]}), name


@pytest.mark.parametrize(("partition", "may"), [("ACCOUNTS", True), ("A#acc_forged", True), ("K#forged", False)])
def test_a_query_is_judged_by_the_partition_that_it_names(
    console: Any, deployment: accounts.LocalDeployment, partition: str, *, may: bool
) -> None:
    query = {
        "TableName": deployment.environment[ENV_IDENTITIES_TABLE],
        "KeyConditionExpression": "#p = :p",
        "ExpressionAttributeNames": {"#p": "pk"},
        "ExpressionAttributeValues": {":p": {"S": partition}},
    }
    assert allowed(console, "query", query) is may
