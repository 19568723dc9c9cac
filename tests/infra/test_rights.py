"""Who may do what: each function has only the rights that it uses, and no secret stands in the template."""

import json
import string

import pytest

from infra.grants import WRITE
from infra.settings import DeployTarget, read
from shared import contracts
from tests.infra.conftest import ADDRESS_KEY_ID, HOOK_KEY_ID, LINK_KEYS_ID, SENDERS, TABLES
from tests.infra.synthesis import synthesised
from tests.infra.template import Template, listed, target

SCANS = {"dynamodb:Scan", "dynamodb:PartiQLSelect"}
LIST_RESOURCES = "cloudformation:ListStackResources"
FILES = ("uploads", "exports", "images", "mail-uploads", "contents", "inbox", "archive")
ERASING = ("DeleteObject", "DeleteObjectVersion")
LANES = "arn:<AWS::Partition>:sqs:<AWS::Region>:<AWS::AccountId>:posthaste-dev-lane-*"
OWN = "arn:<AWS::Partition>:{}:<AWS::Region>:<AWS::AccountId>:"
SCHEDULE = "arn:<AWS::Partition>:scheduler:<AWS::Region>:<AWS::AccountId>:schedule/"
SECRET = "arn:<AWS::Partition>:secretsmanager:<AWS::Region>:<AWS::AccountId>:secret:posthaste-dev/credential/"
WEBHOOK_SECRET = SECRET.replace("/credential/", "/webhook/")
OBJECTS = "<StorageBucket5CB7C8EA.Arn>/"
LINK_KEYS = "arn:<AWS::Partition>:secretsmanager:<AWS::Region>:<AWS::AccountId>:secret:posthaste-dev/unsubscribe-??????"
ADDRESS_KEYS = LINK_KEYS.replace("/unsubscribe-", "/addresses-")
NAMING = {*SENDERS, "api", "operate", "plan", "log", "track", "sweep", "ingest", "digest", "notices", "take"}
"""What looks for addresses in suppressions."""


ANNOUNCERS = ("plan", "log", "track", "sweep", "notices", "take")
"""Functions that announce when notices are due."""


def test_schedules_of_this_account_alone_may_send_and_only_to_the_queue_of_what_is_due(template: Template) -> None:
    (group,) = template.of("Scheduler::ScheduleGroup").values()
    assert group["Name"] == "posthaste-dev"
    variables = template.functions()["api"]["Environment"]["Variables"]
    role = template.resources[target(variables[contracts.ENV_SCHEDULER_ROLE_ARN])]["Properties"]
    (trust,) = role["AssumeRolePolicyDocument"]["Statement"]
    assert trust["Principal"] == {"Service": "scheduler.amazonaws.com"}
    assert trust["Condition"] == {"StringEquals": {"aws:SourceAccount": {"Ref": "AWS::AccountId"}}}
    (policy,) = role["Policies"]
    (statement,) = policy["PolicyDocument"]["Statement"]
    queue = target(variables[contracts.ENV_DUE_QUEUE_URL])
    dead = target(template.resources[queue]["Properties"]["RedrivePolicy"]["deadLetterTargetArn"])
    assert (statement["Action"], {target(r) for r in statement["Resource"]}) == ("sqs:SendMessage", {queue, dead})
    names = [template.resources[q]["Properties"]["QueueName"] for q in (queue, dead)]
    assert names == ["posthaste-dev-due", "posthaste-dev-due-dlq"], "the adapter derives the second from the first"
    passers = {s for s in template.functions() if "iam:PassRole" in template.actions(s)}
    assert passers == {"api", "due", *ANNOUNCERS}


@pytest.mark.promise(9)
def test_each_sender_reads_its_own_secret_alone(template: Template) -> None:
    for service in SENDERS:
        found = {
            r for s in template.statements(service) if "secretsmanager:GetSecretValue" in s.actions for r in s.resources
        }
        name = service.removeprefix("send-")
        assert found - {LINK_KEYS, ADDRESS_KEYS} == (set() if name == "test" else {f"{SECRET}{name}-??????"})


@pytest.mark.promise(9)
def test_each_secret_has_its_readers_and_what_operators_call_writes_and_reads_none(template: Template) -> None:
    found: dict[str, set[str]] = {}
    written: set[tuple[str, str, str]] = set()
    for service in template.functions():
        for statement in template.statements(service):
            for action in (a.partition(":")[2] for a in statement.actions if a.startswith("secretsmanager:")):
                for name in (resource.partition(":secret:")[2].split("/")[1] for resource in statement.resources):
                    if action == "GetSecretValue":
                        found.setdefault(name, set()).add(service)
                    else:
                        written.add((service, name, action))
    assert written == {
        ("operate", "credential", "PutSecretValue"),
        ("operate", "credential", "DescribeSecret"),
        ("operate", "webhook", "PutSecretValue"),
        ("operate", "webhook", "CreateSecret"),
    }
    assert found == {
        "credential": {*SENDERS} - {"send-test"},
        "webhook": {"webhooks"},
        "unsubscribe-??????": {*SENDERS, "api"},
        "hooks-??????": {"api", "operate"},
        "addresses-??????": NAMING,
    }


@pytest.mark.promise(9)
def test_secrets_are_created_without_a_value(template: Template) -> None:
    secrets = template.of("SecretsManager::Secret")
    rows = [secret for key, secret in secrets.items() if key not in (LINK_KEYS_ID, HOOK_KEY_ID, ADDRESS_KEY_ID)]
    assert {r["Name"] for r in rows} == {f"posthaste-dev/credential/{c}" for c in ("sendgrid-main", "big", "few")}
    assert all(set(r) == {"Name", "Description"} for r in rows)


@pytest.mark.promise(9)
@pytest.mark.parametrize(
    ("secret_id", "name"),
    [
        (LINK_KEYS_ID, contracts.unsubscribe_secret_name("dev")),
        (ADDRESS_KEY_ID, contracts.addresses_secret_name("dev")),
    ],
)
def test_the_first_key_of_a_secret_is_made_with_the_stack(template: Template, secret_id: str, name: str) -> None:
    secret = template.of("SecretsManager::Secret")[secret_id]
    assert secret["Name"] == name
    assert "SecretString" not in secret
    made = secret["GenerateSecretString"]
    assert (made["SecretStringTemplate"], made["GenerateStringKey"], made["PasswordLength"]) == ("{}", "current", 64)
    assert set(made["ExcludeCharacters"]) == {*string.punctuation, " "}, "former keys are parted by blanks"


@pytest.mark.promise(9)
def test_wildcards_stand_in_an_explained_list(template: Template) -> None:
    explained = {
        ("*", "dynamodb:ListStreams"): {"plan", "log"},
        ("*", "lambda:ListEventSourceMappings"): {"operate"},
        ("*", "cloudwatch:GetMetricData"): {"operate"},
        **{(f"{LANES}-dlq", f"sqs:{x}"): {"operate"} for x in ("ReceiveMessage", "GetQueueAttributes")},
        **{(f"{LANES}-dlq", f"sqs:{x}"): {"operate"} for x in ("DeleteMessage", "ChangeMessageVisibility")},
        (f"{OWN.format('lambda')}function:posthaste-dev-*", "lambda:GetFunctionConfiguration"): {"operate"},
        (f"{OWN.format('logs')}log-group:posthaste-dev-*", "logs:FilterLogEvents"): {"operate"},
        **{
            (f"{OWN.format('cloudformation')}stack/posthaste-dev{x}/*", LIST_RESOURCES): {"operate"} for x in ("", "-*")
        },
        (LANES, "sqs:SendMessage"): {
            *SENDERS,
            "api",
            "plan",
            "log",
            "track",
            "sweep",
            "due",
            "notices",
            "digest",
            "take",
            "operate",
        },
        (LANES, "sqs:GetQueueAttributes"): {
            *("api", "plan", "log", "track", "sweep", "notices", "digest", "take", "operate"),
        },
        (f"{OBJECTS}contents/*", "s3:GetObject"): {*SENDERS, "api", "sweep", "operate"},
        (f"{OBJECTS}contents/*", "s3:PutObject"): {"api", "sweep", "digest", "operate"},
        (f"{OBJECTS}contents/mails/*", "s3:GetObject"): {"log", "notices"},
        (f"{OBJECTS}contents/mails/*", "s3:PutObject"): {"log", "notices"},
        (f"{OBJECTS}contents/mails/*", "s3:DeleteObject"): {"api", "log", "notices"},
        (f"{OBJECTS}mail-uploads/*", "s3:GetObject"): {"api"},
        (f"{OBJECTS}mail-uploads/*", "s3:PutObject"): {"api"},
        (f"{OBJECTS}uploads/*", "s3:GetObject"): {"api", "ingest"},
        (f"{OBJECTS}uploads/*", "s3:PutObject"): {"api", "ingest"},
        (f"{OBJECTS}exports/*", "s3:GetObject"): {"api", "export"},
        (f"{OBJECTS}exports/*", "s3:PutObject"): {"export"},
        (f"{OBJECTS}inbox/*", "s3:GetObject"): {"take", "operate"},
        (f"{OBJECTS}inbox/*", "s3:PutObject"): {"api", "operate"},
        **{(f"{OBJECTS}archive/*", f"s3:{x}"): {"operate"} for x in ("GetObject", "GetObjectVersion", "PutObject")},
        **{(f"{OBJECTS}{x}/*", f"s3:{action}"): {"operate"} for x in FILES for action in ERASING},
        (f"{SCHEDULE}posthaste-dev/*", "scheduler:CreateSchedule"): {"api", "due", *ANNOUNCERS},
        (f"{SCHEDULE}posthaste-dev/*", "scheduler:UpdateSchedule"): {"api", "due"},
        (f"{SCHEDULE}posthaste-dev/*", "scheduler:DeleteSchedule"): {"api"},
        (f"{WEBHOOK_SECRET}*", "secretsmanager:GetSecretValue"): {"webhooks"},
        **{(f"{SECRET}*", f"secretsmanager:{x}"): {"operate"} for x in ("PutSecretValue", "DescribeSecret")},
        **{(f"{WEBHOOK_SECRET}*", f"secretsmanager:{x}"): {"operate"} for x in ("PutSecretValue", "CreateSecret")},
    }
    found: dict[tuple[str, str], set[str]] = {}
    for service in template.functions():
        for statement in template.statements(service):
            for resource in statement.resources:
                for action in statement.actions:
                    if "*" in resource or "*" in action:
                        # The emulator judges every schedule as one of the group `default`, and names log groups.
                        named = resource.replace(f"{SCHEDULE}default/", f"{SCHEDULE}posthaste-dev/")
                        named = named.replace(":/aws/cloudformation/posthaste-dev/*", ":posthaste-dev-*")
                        found.setdefault((named, action), set()).add(service)
    assert found == explained


READERS = {"api", "plan", "due", "ingest", "log", "sweep", "digest", "notices", "take", "operate", *SENDERS}
"""Functions that read keys, senders and limits of accounts."""


@pytest.mark.promise(9)
def test_only_operators_write_identities_and_few_functions_the_audit_log(template: Template) -> None:
    """The tables of their own, whatever the key: what the local cloud enforces, too."""
    ids = {name: id_ for id_, name in TABLES.items()}
    found: dict[tuple[str, str], set[str]] = {}
    for service in template.functions():
        for statement in template.statements(service):
            for table in ("identities", "audit"):
                if f"<{ids[table]}.Arn>" in statement.resources:
                    for action in statement.actions:
                        found.setdefault((table, action), set()).add(service)
    assert found == {
        ("identities", "dynamodb:GetItem"): READERS,
        ("identities", "dynamodb:BatchGetItem"): READERS,
        ("identities", "dynamodb:Query"): {"api", "operate", "sweep"},  # one account's senders, and all accounts
        ("identities", "dynamodb:PutItem"): {"operate"},
        ("identities", "dynamodb:UpdateItem"): {"operate"},
        ("identities", "dynamodb:DeleteItem"): {"operate"},
        ("identities", "dynamodb:ConditionCheckItem"): {"operate"},
        ("audit", "dynamodb:Query"): {"api", "operate", "sweep"},
        ("audit", "dynamodb:GetItem"): {"sweep"},
        ("audit", "dynamodb:PutItem"): {"api", "plan", "due", "log", "sweep", "notices", "operate", "digest", "take"},
    }


CHANGES = ("dynamodb:UpdateItem", "dynamodb:DeleteItem", "dynamodb:BatchWriteItem", "dynamodb:PartiQLUpdate")


@pytest.mark.promise(9)
@pytest.mark.parametrize("log", ["A#acc_0123456789ab", "A#acc_0123456789ab#TEST", "A#acc_0123456789ab-team", "A#*"])
def test_no_function_changes_an_entry_or_a_seal_and_only_the_sweeper_seals(aws: Template, log: str) -> None:
    """A put may replace an item, so each entry is put on a condition, and what still gets replaced breaks its seal."""
    audit = next(id_ for id_, name in TABLES.items() if name == "audit")
    logging = {"api", "plan", "due", "log", "sweep", "notices", "operate", "digest", "take"}
    adding = logging | {"call_hooks", "console", "join"}
    for service in aws.functions():
        for action in (*CHANGES, "dynamodb:PartiQLDelete", "dynamodb:DeleteTable", "dynamodb:UpdateTimeToLive"):
            for part in ("AUDIT", "SEALS"):
                assert not aws.may(service, action, audit, f"{log}#{part}"), (service, action)
        assert aws.may(service, "dynamodb:PutItem", audit, f"{log}#AUDIT") <= (service in adding), service
        assert aws.may(service, "dynamodb:PutItem", audit, f"{log}#SEALS") == (service == "sweep"), service
        assert not aws.may(service, "dynamodb:PutItem", audit, "SYS"), service


@pytest.mark.promise(9)
@pytest.mark.parametrize("sender", SENDERS)
def test_a_sender_reads_no_keys_by_their_hashes(template: Template, sender: str) -> None:
    ids = {name: id_ for id_, name in TABLES.items()}
    mine = [s for s in template.statements(sender) if f"<{ids['identities']}.Arn>" in s.resources]
    assert [s.partitions for s in mine] == [("A#*", "SYS")]


@pytest.mark.promise(9)
@pytest.mark.parametrize("partition", ["K#0123", "ACCOUNTS", "A#acc_0123456789ab#AUDIT", "A#*#AUDIT"])
def test_only_operators_write_where_identities_were_before_and_none_changes_an_old_audit_log(
    aws: Template, partition: str
) -> None:
    records = next(id_ for id_, name in TABLES.items() if name == "records")
    for service in aws.functions():
        for action in WRITE:
            adds = {"dynamodb:PutItem"} if partition.endswith("#AUDIT") else set(WRITE)
            operated = service == "operate" and action in adds
            assert aws.may(service, action, records, partition) == operated, (service, action)
    assert aws.may("api", "dynamodb:PutItem", records, "J#1"), "what else it writes it may"
    assert aws.may("api", "dynamodb:UpdateItem", records, "USE#0123")
    assert aws.may("track", "dynamodb:PutItem", records, "A#acc_0123456789ab#SUP")


@pytest.mark.promise(9)
def test_no_function_scans_but_that_which_erases_and_few_delete(template: Template) -> None:
    for service in template.functions():
        actions = template.actions(service)
        assert actions & SCANS == ({"dynamodb:Scan"} if service == "operate" else set()), service
        assert ("dynamodb:DeleteItem" in actions) == (service in ("api", "digest", "operate"))
    assert not any(a.startswith("dynamodb:") for a in template.actions("webhooks"))


@pytest.mark.slow
@pytest.mark.promise(9)
@pytest.mark.parametrize("place", list(DeployTarget))
def test_posts_of_unbound_signatures_are_all_that_the_webhooks_write(place: DeployTarget) -> None:
    mailgun = {"id": "mg", "provider": "mailgun", "channel": "email", "rate": 10}
    settings = {"stage": "dev", "credentials": [mailgun], "routes": {"email": ["mg"]}, "alarm_email": "ops@example.com"}
    made = Template(json.loads(synthesised(read(settings, target=place, known=["mailgun"])).read_text("utf-8")))
    role = made.resources[target(made.functions()["webhooks"]["Role"])]["Properties"]
    statements = [s for p in role["Policies"] for s in p["PolicyDocument"]["Statement"]]
    (writes,) = [s for s in statements if "dynamodb" in str(s["Action"])]
    assert writes["Action"] == "dynamodb:PutItem"
    assert TABLES[target(writes["Resource"])] == "ops"
    within = {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": ["W#*"]}, "Null": {"dynamodb:LeadingKeys": "false"}}
    assert writes["Condition"] == within


@pytest.mark.promise(9)
def test_each_queue_has_its_producers_and_consumers(aws: Template) -> None:
    for service, queue_id, _ in aws.sources():
        if queue_id in TABLES:
            continue
        receives = {r for s in aws.statements(service) if "sqs:ReceiveMessage" in s.actions for r in s.resources}
        express = f"{LANES[:-1]}{service.removeprefix('send-')}_express"
        assert receives == {f"<{queue_id}.Arn>"} | ({express} if service in SENDERS else set()), service
    feeders = {
        service
        for service in aws.functions()
        for s in aws.statements(service)
        if "sqs:SendMessage" in s.actions and "<FeedbackWorkQueue0B2BF44F.Arn>" in s.resources
    }
    assert feeders == {"webhooks", "send-test", "track"}


def test_no_right_comes_from_elsewhere(template: Template) -> None:
    assert template.of("IAM::Policy") == {}
    assert not any({*policy} & {"Roles", "Users", "Groups"} for policy in template.of("IAM::ManagedPolicy").values())
    assert all("ManagedPolicyArns" not in r for r in template.of("IAM::Role").values())


def test_plain_http_is_refused_on_aws(aws: Template) -> None:
    refused = {"Bool": {"aws:SecureTransport": "false"}}
    closed: set[str] = set()
    for kind in ("SQS::QueuePolicy", "S3::BucketPolicy"):
        for policy in aws.of(kind).values():
            for statement in policy["PolicyDocument"]["Statement"]:
                if statement["Effect"] == "Deny" and statement.get("Condition") == refused:
                    assert statement["Action"] in ("sqs:*", "s3:*")
                    closed |= {target(x) for x in listed(policy.get("Queues", policy.get("Bucket")))}
    assert closed == {*aws.of("SQS::Queue"), *aws.of("S3::Bucket")}
