"""The console in the stack: its rights, its routes, and that it is not there unless it is asked for."""

import json
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest

from infra import schema
from infra.functions.console import CLAIMED, DRAFTED, PICTURED, SUPPRESSED
from infra.grants import HOOK_CALLED
from infra.grants import IDENTITIES as IDENTITY_PARTITIONS
from infra.lint import templates
from infra.local import sign_in
from infra.settings import SettingsError
from shared.adapters.dynamo.keys import LISTS
from shared.contracts import (
    DEAD_ENDING,
    ENV_CONSOLE,
    ENV_PEOPLE_TABLE,
    ENV_RECORDS_TABLE,
    HANDLERS,
    QUEUES,
    dead_queue_names,
    dead_queue_url,
)
from shared.contracts.console import FILE, ConsoleSettings
from shared.domain.people import LOGIN
from tests.infra.conftest import TABLES, deployment
from tests.infra.synthesis import synthesised
from tests.infra.template import Template, joined, target
from tests.infra.test_hooks import QUEUES as OF_HOOKS
from tests.infra.test_hooks import REPORTS

pytestmark = pytest.mark.slow  # each synthesises stacks of its own

CONSOLE: dict[str, Any] = {
    "client_id": "client",
    "allowed": {"users": ["Ann"], "organizations": ["Acme"]},
    "roles": {"Olga": "operator"},
}
OPENID: dict[str, Any] = {
    "provider": "openid",
    "client_id": "client",
    "issuer": "https://login.acme.example/tenant/",
    "allowed": {"users": ["Ann"], "organizations": ["Marketing"], "domains": ["acme.example"]},
    "roles": {"group:Keepers": "operator", "@acme.example": "operator", "Olga": "operator"},
}
IDENTITIES = next(name for name, table in TABLES.items() if table == "identities")
WRITES = {
    f"dynamodb:{name}Item" for name in ("Put", "Update", "Delete", "BatchWrite", "PartiQLInsert", "PartiQLUpdate")
}


@pytest.fixture(scope="module")
def with_console() -> Template:
    file = synthesised(deployment(console=CONSOLE))  # cdk-nag finds nothing that is not explained
    (nested,) = (f for f in templates(file.parent) if "Operate" in f.name)
    main, operate = (Template(json.loads(f.read_text("utf-8"))) for f in (file, nested))
    return joined(main, operate, "Operate")


def people(template: Template) -> str:
    (name,) = (x for x in template.of("DynamoDB::Table") if "People" in x)
    return name


def told_by_layer(template: Template, assembly: Path) -> ConsoleSettings:
    """Return the settings in the layer of the console's function."""
    (layer,) = template.functions()["console"]["Layers"]
    row = template.resources[target(layer)]["Properties"]
    (file,) = (assembly / f"asset.{row['Content']['S3Key'].removesuffix('.zip')}").rglob("*.json")
    assert file.parent.name == "python", "Lambda puts no other folder of a layer on the import path"
    assert file.name == FILE
    return ConsoleSettings.loads(file.read_text("utf-8"))


def test_three_hundred_people_deploy_and_another_person_is_another_layer() -> None:
    """An environment of 4,096 bytes had room for 55."""
    people = [f"first.last-{n}@a-rather-long-name.bank.example" for n in range(300)]
    layers = []
    for some in (people, people[1:]):
        roles = {f"id:{n}": "operator" for n in range(50)}
        settings = deployment(console={**CONSOLE, "allowed": {"users": some}, "roles": roles})
        file = synthesised(settings)
        template = Template(json.loads(file.read_text("utf-8")))
        told = told_by_layer(template, file.parent)
        assert told == settings.console
        assert told.users == tuple(some)
        layers.append(template.of("Lambda::LayerVersion"))
    assert layers[0].keys() == layers[1].keys()
    assert layers[0] != layers[1], "else a function that runs would keep the people that it knows"


def test_the_console_makes_no_account_key_or_sender(with_console: Template) -> None:
    mine = [s for s in with_console.statements("console") if any(IDENTITIES in r for r in s.resources)]
    assert mine
    assert not any(s.actions & WRITES for s in mine)
    assert [s.partitions for s in mine if "dynamodb:Query" in s.actions] == [("ACCOUNTS", "A#*")]


def test_the_console_scans_the_index_of_open_jobs_and_no_table(with_console: Template) -> None:
    records = next(name for name, table in TABLES.items() if table == "records")
    scanned = {
        (service, resource)
        for service in with_console.functions()
        for s in with_console.statements(service)
        for resource in s.resources
        if "dynamodb:Scan" in s.actions
    }
    assert scanned == {
        ("console", f"<{records}.Arn>/index/open"),
        ("operate", f"<{records}.Arn>"),  # to erase a person
        ("operate", f"<{people(with_console)}.Arn>"),  # for who has signed in by a login
    }


def test_its_functions_run_the_handlers_of_the_contract(with_console: Template) -> None:
    for name in ("console", "join"):
        assert with_console.functions()[name]["Handler"] == HANDLERS[name]


def test_what_makes_first_accounts_adds_items_and_does_nothing_else(with_console: Template) -> None:
    audit = next(name for name, table in TABLES.items() if table == "audit")
    rights = {
        (action, resource, s.partitions)
        for s in with_console.statements("join")
        for action in s.actions
        for resource in s.resources
        if not action.startswith("logs:")
    }
    assert rights == {
        ("dynamodb:PutItem", f"<{IDENTITIES}.Arn>", ("A#*", "ACCOUNTS", "K#*", "N#*")),
        ("dynamodb:GetItem", f"<{IDENTITIES}.Arn>", ("N#*",)),
        ("dynamodb:PutItem", f"<{audit}.Arn>", ("A#*#AUDIT",)),
    }


def test_only_the_console_calls_what_makes_first_accounts(with_console: Template) -> None:
    callers = {
        service: s.resources
        for service in with_console.functions()
        for s in with_console.statements(service)
        if "lambda:InvokeFunction" in s.actions and any("Join" in r for r in s.resources)
    }
    assert set(callers) == {"console"}
    (function,) = callers["console"]
    assert "Join" in function
    permissions = with_console.of("Lambda::Permission").values()
    assert "join" not in {with_console.service(x["FunctionName"]) for x in permissions}
    variables = with_console.functions()["join"]["Environment"]["Variables"]
    assert {ENV_PEOPLE_TABLE, ENV_RECORDS_TABLE, ENV_CONSOLE}.isdisjoint(variables)


@pytest.fixture(scope="module")
def with_buttons() -> Template:
    file = synthesised(deployment(console={**CONSOLE, "buttons": True}))
    (nested,) = (f for f in templates(file.parent) if "Operate" in f.name)
    main, operate = (Template(json.loads(f.read_text("utf-8"))) for f in (file, nested))
    return joined(main, operate, "Operate")


def test_buttons_are_there_only_if_the_settings_say_so(with_console: Template, with_buttons: Template) -> None:
    assert "buttons" not in with_console.functions()
    assert with_buttons.functions()["buttons"]["Handler"] == HANDLERS["buttons"]
    assert "lambda:InvokeFunction" in with_buttons.actions("console")


def test_only_the_console_calls_what_does_what_operators_press(with_buttons: Template) -> None:
    callers = {
        service
        for service in with_buttons.functions()
        for s in with_buttons.statements(service)
        if "lambda:InvokeFunction" in s.actions and any("Buttons" in r for r in s.resources)
    }
    assert callers == {"console"}
    permissions = with_buttons.of("Lambda::Permission").values()
    assert "buttons" not in {with_buttons.service(x["FunctionName"]) for x in permissions}


def test_what_operators_press_changes_identities_and_no_audit_log_and_reads_no_secret(with_buttons: Template) -> None:
    audit, records = (next(name for name, table in TABLES.items() if table == x) for x in ("audit", "records"))
    rights = with_buttons.statements("buttons")
    of_audit = {a for s in rights if any(audit in r for r in s.resources) for a in s.actions}
    assert of_audit == {"dynamodb:PutItem"}
    writing = [s for s in rights if s.actions & WRITES and audit not in str(s.resources)]
    assert {s.partitions for s in writing} == {IDENTITY_PARTITIONS, (*IDENTITY_PARTITIONS, "USE#*", "NAMES")}
    assert not any(a.startswith("s3:") for a in with_buttons.actions("buttons"))
    secrets = {r for s in rights if "secretsmanager:GetSecretValue" in s.actions for r in s.resources}
    assert [x.rpartition(":posthaste-dev/")[2] for x in secrets] == ["addresses-??????"]
    assert {a for s in rights if people(with_buttons) in str(s.resources) for a in s.actions} == {
        "dynamodb:GetItem",
        "dynamodb:Query",
    }
    assert records in str([s.resources for s in writing])


def test_without_accounts_of_their_own_there_is_no_such_function() -> None:
    file = synthesised(deployment(console={**CONSOLE, "own_accounts": False}))
    found = Template(json.loads(file.read_text("utf-8")))
    assert "console" in found.functions()
    assert "join" not in found.functions()
    assert "lambda:InvokeFunction" not in found.actions("console")


def test_only_the_console_and_operators_know_its_people_and_only_the_console_its_secret(with_console: Template) -> None:
    table = people(with_console)
    for service in with_console.functions():
        text = json.dumps([sorted(s.resources) for s in with_console.statements(service)])
        assert (table in text) is (service in ("console", "operate"))
        assert ("posthaste-dev/console" in text) is (service == "console")


def test_the_console_reads_only_lists_contents_and_results_and_no_other_secret(with_console: Template) -> None:
    files = [s for s in with_console.statements("console") if any(a.startswith("s3:") for a in s.actions)]
    assert {a for s in files for a in s.actions} == {"s3:GetObject", "s3:PutObject", "s3:ListBucket"}
    named = {r.rpartition("/")[0].rpartition("/")[2] for s in files if "s3:GetObject" in s.actions for r in s.resources}
    assert named == {"uploads", "contents", "exports"}
    written = {
        r.rpartition("/")[0].rpartition("/")[2] for s in files if "s3:PutObject" in s.actions for r in s.resources
    }
    assert written == {"uploads", "contents"}
    secrets = [s for s in with_console.statements("console") if "secretsmanager:GetSecretValue" in s.actions]
    read = {r.rpartition("/")[2] for s in secrets for r in s.resources}
    assert read == {"console-??????", "addresses-??????"}


def test_the_console_lifts_suppressions_and_deletes_drafts_and_nothing_else(with_console: Template) -> None:
    deleting = [s for s in with_console.statements("console") if "dynamodb:DeleteItem" in s.actions]
    assert [s.partitions for s in deleting] == [(*SUPPRESSED, *DRAFTED, *CLAIMED, *PICTURED), HOOK_CALLED, ()]
    assert deleting[-1].resources == {f"<{people(with_console)}.Arn>"}
    for reach, name in LISTS.items():
        for ending in (name, f"{name}LOG"):
            assert any(fnmatchcase(f"A#acc_0123456789ab#{ending}", p) for p in SUPPRESSED), reach
    for other in ("A#acc_0123456789ab", "A#acc_0123456789ab#AUDIT", "K#0", "J#0", "A#acc_0123456789ab#STATS"):
        assert not any(fnmatchcase(other, p) for p in (*SUPPRESSED, *DRAFTED, *CLAIMED, *PICTURED))


def test_only_the_console_s_pages_may_put_files_from_a_browser(with_console: Template, aws: Template) -> None:
    (bucket,) = with_console.of("S3::Bucket").values()
    (rule,) = bucket["CorsConfiguration"]["CorsRules"]
    assert (rule["AllowedMethods"], rule["AllowedHeaders"]) == (["PUT"], ["content-type", "if-none-match"])
    assert "ApiEndpoint" in json.dumps(rule["AllowedOrigins"])
    assert "*" not in json.dumps(rule["AllowedOrigins"])
    (without,) = aws.of("S3::Bucket").values()
    assert "CorsConfiguration" not in without


def test_the_console_counts_dead_letters_and_reads_none(with_console: Template) -> None:
    (may,) = (s for s in with_console.statements("console") if any("-dlq" in r for r in s.resources))
    assert may.actions == {"sqs:GetQueueAttributes"}
    assert {r.rpartition(":")[2] for r in may.resources} == set(dead_queue_names("dev"))
    assert "sqs:ReceiveMessage" not in with_console.actions("console")
    names = {q["QueueName"] for q in with_console.of("SQS::Queue").values() if q["QueueName"].endswith(DEAD_ENDING)}
    names |= OF_HOOKS | REPORTS  # which are in a stack of their own
    found = {name.removeprefix("posthaste-dev-").removesuffix(DEAD_ENDING) for name in names}
    assert {x for x in found if not x.startswith("lane-")} == set(QUEUES), "the page shows every queue"
    assert dead_queue_url("https://sqs/posthaste-dev-lane-", "feedback") == "https://sqs/posthaste-dev-feedback-dlq"


def test_the_console_lists_alarms_and_changes_none(with_console: Template) -> None:
    assert {a for a in with_console.actions("console") if a.startswith("cloudwatch:")} == {"cloudwatch:DescribeAlarms"}


def test_its_pages_are_behind_the_api_s_address(with_console: Template) -> None:
    routes = {row["RouteKey"] for row in with_console.of("ApiGatewayV2::Route").values()}
    assert {"ANY /console", "ANY /console/{proxy+}"} <= routes


def test_it_is_told_who_may_sign_in_and_logins_know_no_case(with_console: Template) -> None:
    variables = with_console.functions()["console"]["Environment"]["Variables"]
    assert ConsoleSettings.loads(variables[ENV_CONSOLE]) == ConsoleSettings("github", "client", file=FILE)
    told = told_by_layer(with_console, Path(synthesised(deployment(console=CONSOLE))).parent)
    assert told == ConsoleSettings("github", "client", ("ann",), ("acme",), {"olga": "operator"})
    assert told.having("operator") == {"olga"}
    others = with_console.functions()
    knowing = {name for name, row in others.items() if ENV_CONSOLE in row["Environment"]["Variables"]}
    assert knowing == {"console", "operate"}


def test_groups_and_domains_of_an_openid_provider_have_forms_that_no_login_has() -> None:
    told = deployment(console=OPENID).console
    assert told == ConsoleSettings(
        "openid",
        "client",
        users=("ann",),
        organizations=("group:Marketing", "@acme.example"),
        roles={"group:Keepers": "operator", "@acme.example": "operator", "olga": "operator"},
        issuer="https://login.acme.example/tenant/",
        name="login.acme.example",
    )
    assert told is not None
    assert ConsoleSettings.loads(told.dumps()) == told
    named = deployment(console={**OPENID, "name": "Acme", "groups_claim": "teams"}).console
    assert named is not None
    assert (named.name, named.groups_claim) == ("Acme", "teams")


@pytest.mark.parametrize("of", [CONSOLE, OPENID])
def test_an_id_is_compared_letter_by_letter_by_every_provider(of: dict[str, Any]) -> None:
    names = {"allowed": {"users": ["id:Ab|1", "Ann"]}, "roles": {"id:X9": "operator"}}
    found = deployment(console={**of, **names}).console
    assert found is not None
    assert (found.users, found.roles) == (("id:Ab|1", "ann"), {"id:X9": "operator"})


def test_settings_and_sign_ins_know_the_same_logins() -> None:
    assert schema.LOGIN == LOGIN


def test_without_settings_there_is_no_console(aws: Template) -> None:
    assert "console" not in aws.functions()
    assert not [x for x in aws.of("DynamoDB::Table") if "People" in x]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"client_id": ""}, "console.client_id"),
        ({"client_id": "x"}, "console: allowed is empty"),
        ({"client_id": "x", "allowed": {"users": ["a"]}, "provider": "other"}, "console.provider"),
        ({"client_id": "x", "roles": {"a": "king"}}, "console.roles.a"),
        ({"client_id": "x", "allowed": {"users": ["a"]}, "base_url": "http://example.com"}, "console.base_url"),
        ({**CONSOLE, "issuer": "https://example.com"}, "console: issuer is a setting of provider openid"),
        ({**CONSOLE, "groups_claim": "a"}, "console: groups_claim is a setting of provider openid"),
        ({**CONSOLE, "name": "a"}, "console: name is a setting of provider openid"),
        ({**CONSOLE, "allowed": {"domains": ["a.com"]}}, "console: allowed.domains is a setting of provider openid"),
        ({**OPENID, "base_url": "https://example.com"}, "console: base_url is a setting of provider github"),
        ({**OPENID, "issuer": ""}, "console: provider openid needs issuer"),
        ({**OPENID, "issuer": "http://example.com"}, "console.issuer: 'http://example.com' is not an https address"),
        ({**OPENID, "issuer": "https://example.com?a=b"}, "console.issuer: 'https://example.com?a=b' has more than"),
        (
            {**OPENID, "issuer": "https://example.com/.well-known/openid-configuration"},
            "console: issuer is the address before /.well-known/openid-configuration",
        ),
        ({**OPENID, "allowed": {"domains": ["@acme.example"]}}, "console.allowed.domains[0]: '@acme.example'"),
        ({**OPENID, "roles": {"@Acme": "operator"}}, "console: roles: '@Acme' is not @ and a domain in lower case"),
        (
            {**OPENID, "roles": {"/keepers": "operator"}},
            "console: '/keepers' is no login; a group of roles is written 'group:/keepers'",
        ),
        ({**OPENID, "allowed": {"users": ["Ann Example"]}}, "console: 'Ann Example' is no login"),
        (
            {**OPENID, "allowed": {"organizations": ["group:keepers"]}},
            "console: allowed.organizations: 'group:keepers' has a prefix",
        ),
        (
            {"client_id": "x", "allowed": {"users": ["a"]}, "inbox": "https://example.com"},
            "console.inbox: only the local target",
        ),
    ],
)
def test_wrong_settings_are_one_line(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingsError) as found:
        deployment(console=wrong)
    assert said in str(found.value)


def test_the_local_cloud_s_console_is_one_that_the_settings_take(tmp_path: Path) -> None:
    settings = {**sign_in.settings("http://127.0.0.1:9"), "base_url": "", "inbox": ""}
    assert deployment(console=settings).console is not None
    assert sign_in.app("http://x/y")["callback"] == "http://x/y/console/signed-in"
