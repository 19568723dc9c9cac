"""Every command, with no option that it does not demand, against the real API and the real stores in memory."""

import json
import os
from base64 import b64encode
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Final

import boto3
import pytest

from cli.deployment import OperatedDeployment
from shared import contracts
from shared.adapters.queues import dead_letters
from shared.adapters.stacks.function_logs import FunctionLogs
from shared.contracts import ENV_SETTINGS, TEST_CREDENTIAL, Credential, Settings, secret_name
from shared.domain.accounts import ALL_SCOPES
from shared.domain.queues.dead_letters import places
from tests.api.conftest import SENDER, Api, build_api
from tests.api.senders import claimed, made_known
from tests.cli import printed
from tests.cli.conftest import public_key
from tests.cli.coverage import COVERED, operations
from tests.cli.fakes import FakeClock, Run
from tests.cli.operators import OperatorsFunction
from tests.cli.real import RealApi
from tests.cli.tree import commands
from tests.fakes.clock import FakeClock as EngineClock
from tests.fakes.image_files import png
from tests.fakes.people import MEMBER_VERBS, member_words, people_of

REGION: Final = "us-east-1"
MESSAGE: Final = ("--subject", "Hello {{ name }}", "--from", SENDER)
NOTICE: Final = (
    "m1", "--first-name", "Ann", "--phone", "+61491570006", "--template", "t",
    "--method", "SMS", "--date", "2026-12-01",
)  # fmt: skip
ELSEWHERE: Final = {
    *(("local", x) for x in ("up", "down", "status", "fail")),
    *(("relay",), ("hook", "listen"), ("account", "arrive")),
}
"""Commands that need a local cloud, run until they are stopped, or need another stage: `tests/deployed`,
`tests/cli/relay`, `test_local_failing` and `test_moving_cells` run them."""


class Case:
    """What a case may refer to: an account with a batch, a campaign, a template, a key."""

    def __init__(self, api: Api, folder: Path, real: RealApi) -> None:
        self.api = api
        self.real = real
        self.folder = folder
        self.stage = api.tables.records.removeprefix("records-")
        self.typed: str | None = None
        """What the command reads from stdin."""
        (folder / "list.csv").write_text("recipient,name\na@example.org,Ann\nb@example.org,Ben\n")
        (folder / "mail.html").write_text("<p>Dear {{ name }}</p>")
        (folder / "batch.json").write_text(json.dumps(api.body(("c@example.org",))))
        (folder / "mail.eml").write_bytes(b"From: news@example.com\r\n\r\nHello!\r\n")
        (folder / "secret.json").write_text(json.dumps({"api_key": "SG.x", "webhook_public_key": public_key()}))

    @property
    def account(self) -> str:
        return self.api.account

    def address(self) -> tuple[str, ...]:
        """Return the API's address, and have its key on stdin."""
        self.typed = f"{self.api.key}\n"
        return (os.environ["POSTHASTE_URL"],)

    def key(self) -> str:
        _, key = self.api.services.accounts.create_key(self.account)
        return key.id

    def login(self) -> tuple[str, ...]:
        """Return the words by which a notifier logs in."""
        name, password = self.api.notifier()
        (self.folder / "password").write_text(password)
        return "--user", name, "--password-file", str(self.folder / "password")

    def template(self) -> str:
        said = {
            "from": SENDER,
            "subject": "Hi {{ name }}",
            "body": "<p>{{ name }}</p>",
            "name": "x",
            "channel": "email",
        }
        found: str = self.api.call("POST", "/templates", said).json["template_id"]
        return found

    def changed(self) -> str:
        """Return the id of a template with two versions."""
        name = self.template()
        body = {"from": SENDER, "subject": "Hello {{ name }}", "body": "<p>{{ name }}</p>"}
        assert self.api.call("PUT", f"/templates/{name}", body).status == 200
        return name

    def batch(self) -> str:
        """Return the id of a batch that one provider has sent."""
        return self.api.logged(route=["one"])

    def text(self) -> str:
        """Return the id of a template of texts."""
        found: str = self.api.call("POST", "/templates", {"name": "x", "channel": "sms", "body": "Hi"}).json[
            "template_id"
        ]
        return found

    def picture(self) -> str:
        """Return the name of a file with a picture."""
        (self.folder / "logo.png").write_bytes(png())
        return "logo.png"

    def image(self) -> str:
        """Return the id of a picture."""
        body = {"data": b64encode(png()).decode()}
        found: str = self.api.call("POST", "/images", body).json["id"]
        return found

    def program(self) -> str:
        body = {"name": "course", "steps": [{"template_id": self.text(), "offset_days": 28}]}
        assert self.api.call("POST", "/programs", body).status == 201
        return "course"

    def campaign(self) -> str:
        name = self.api.campaign()
        self.upload = self.api.listed(name)
        return name

    def waiting(self) -> str:
        """Return the id of a campaign for which another key asks."""
        assert self.api.call("PUT", "/approval-limit", {"above": 0}).status == 200
        other, _ = self.api.services.accounts.create_key(self.account, scopes=ALL_SCOPES, by="operator:ops")
        name = self.campaign()
        assert self.api.call("POST", f"/campaigns/{name}/send", {}, key=other).json["waiting_for"] == "approval"
        return name

    def proposed(self) -> str:
        """Have another key propose a looser limit."""
        assert self.api.call("PUT", "/approval-limit", {"above": 1}).status == 200
        other, _ = self.api.services.accounts.create_key(self.account, scopes=ALL_SCOPES, by="operator:ops")
        assert self.api.call("PUT", "/approval-limit", {"above": 2}, key=other).status == 202
        return other

    def mail(self) -> tuple[str, str]:
        """Return the id of a mail, and its destination, which waits for tomorrow."""
        body = {
            "mail_from": SENDER,
            "destinations": [{"address": "d@example.org", "schedule_at": self.tomorrow()}],
            "content": "From: news@example.com\r\n\r\nHello!\r\n",
        }
        found: str = self.api.call("POST", "/mails", body).json["mail_id"]
        return found, "d@example.org"

    def hook(self) -> str:
        body = {"url": "https://shop.example.com/", "events": ["*"]}
        found: str = self.api.call("POST", "/hooks", body).json["id"]
        return found

    def delivery(self) -> tuple[str, str]:
        """Return the id of an endpoint, and of its test event."""
        hook = self.hook()
        return hook, self.api.hooks.waiting(hook)[0].name

    def tomorrow(self) -> str:
        return datetime.fromtimestamp(self.api.world.clock.now() + 86_400, UTC).isoformat()

    def notifier(self) -> str:
        name, _ = self.api.notifier()
        return name

    def policy(self) -> str:
        assert self.api.call("PUT", "/digest-policies/acme/", {"from": SENDER}).status == 200
        return "acme/"

    def event(self) -> tuple[str, ...]:
        self.policy()
        return "--type", "task.failed", "--key", "acme/production", "--to", "ann@example.org"

    def window(self) -> str:
        self.policy()
        body = {"event_type": "task.failed", "batch_key": "acme/production", "recipients": ["ann@example.org"]}
        found: str = self.api.call("POST", "/events", body).json["items"][0]["window_id"]
        return found

    @staticmethod
    def there(_name: str) -> tuple[str, ...]:
        """Return no words: that it is there is all that the command needs."""
        return ()

    def sent(self) -> str:
        name = self.campaign()
        self.api.sent(name)
        self.api.world.settle()
        return name

    def suppressed(self) -> tuple[str, ...]:
        assert self.api.call("PUT", "/suppressions/gone@example.org", {}).status == 200
        return ("gone@example.org",)

    def guest(self) -> tuple[str, ...]:
        assert self.api.call("PUT", "/guests/ann@example.org", {}).status == 200
        return ("ann@example.org",)

    def scheduled(self) -> str:
        body = {**self.api.body(("c@example.org",)), "scheduled_at": self.tomorrow()}
        found: str = self.api.call("POST", "/batches", body).json["job_id"]
        return found

    def later(self) -> str:
        name = self.campaign()
        self.api.sent(name, scheduled_at=self.tomorrow())
        return name

    def stopped(self) -> str:
        name = self.campaign()
        job = self.api.sent(name)
        assert self.api.call("POST", f"/jobs/{job}/stop").status == 200
        self.api.world.settle()
        return name


Words = Callable[[Case], tuple[str, ...]]
COMMANDS: Final[dict[tuple[str, ...], Words]] = {
    ("login",): lambda c: c.address(),
    ("logout",): lambda _: (),
    ("whoami",): lambda _: (),
    ("audit",): lambda c: (c.account,),
    ("erase",): lambda _: ("ann@example.org", "--yes"),
    **{(verb,): (lambda _: ("--credential", "one")) for verb in ("pause", "resume")},
    ("redrive",): lambda _: ("lane-one", "--yes"),
    ("doctor",): lambda _: (),
    ("account", "move"): lambda _: (),
    ("rehash",): lambda _: ("--look",),
    ("restore", "plan"): lambda _: (),
    ("restore", "copy"): lambda c: (f"ops={c.api.tables.homes.audit}", "--yes"),
    ("restore", "review"): lambda _: (),
    ("restore", "release"): lambda _: ("--all", "--yes"),
    ("credential", "split"): lambda _: (),
    ("batch", "send"): lambda _: ("batch.json", "--yes"),
    ("batch", "list"): lambda c: c.there(c.batch()),
    ("batch", "show"): lambda c: (c.batch(),),
    ("message", "show"): lambda c: (f"{c.batch()}/0.0",),
    ("message", "find"): lambda c: c.there(c.batch()) or ("a@example.org",),
    ("domain", "add"): lambda _: ("news.example.net",),
    **{("domain", verb): (lambda c: claimed(c.api)) for verb in ("show", "verify", "remove")},
    **{(kind, "list"): (lambda _: ()) for kind in ("domain", "guest")},
    ("guest", "add"): lambda _: ("ann@example.org",),
    ("guest", "remove"): lambda c: c.guest(),
    ("suppression", "list"): lambda _: (),
    ("suppression", "show"): lambda c: c.suppressed(),
    ("suppression", "add"): lambda _: ("gone@example.org",),
    ("suppression", "remove"): lambda c: c.suppressed(),
    ("schedule", "list"): lambda c: c.there(c.scheduled()),
    ("schedule", "cancel"): lambda c: (c.scheduled(),),
    ("stats",): lambda _: (),
    ("quota",): lambda _: (),
    ("batch", "watch"): lambda c: (c.batch(),),
    ("batch", "logs"): lambda c: (c.batch(),),
    ("batch", "export"): lambda c: (c.batch(),),
    ("batch", "stop"): lambda c: (c.api.accepted(),),
    ("batch", "resume"): lambda c: (c.batch(), "--yes"),
    ("batch", "reschedule"): lambda c: (c.scheduled(), "--now", "--yes"),
    ("batch", "retry"): lambda c: (c.batch(), "--yes"),
    ("campaign", "run"): lambda _: ("list.csv", "--template", "mail.html", *MESSAGE, "--yes"),
    ("campaign", "list"): lambda c: c.there(c.campaign()),
    ("campaign", "show"): lambda c: (c.sent(),),
    ("campaign", "stats"): lambda c: (c.sent(),),
    ("campaign", "send"): lambda c: (c.campaign(), "--yes"),
    ("campaign", "test"): lambda c: (c.campaign(), "me@example.com"),
    ("campaign", "delete"): lambda c: (c.campaign(),),
    ("campaign", "update"): lambda c: (c.campaign(), "--name", "December"),
    ("campaign", "watch"): lambda c: (c.sent(),),
    ("campaign", "preview"): lambda c: (c.campaign(),),
    ("campaign", "problems"): lambda c: (c.campaign(), c.upload),
    ("campaign", "logs"): lambda c: (c.sent(),),
    ("campaign", "export"): lambda c: (c.sent(),),
    ("campaign", "stop"): lambda c: (c.sent(),),
    ("campaign", "resume"): lambda c: (c.stopped(), "--yes"),
    ("campaign", "reschedule"): lambda c: (c.later(), "--now", "--yes"),
    ("campaign", "retry"): lambda c: (c.sent(), "--yes"),
    ("campaign", "waiting"): lambda c: c.there(c.waiting()),
    ("campaign", "approve"): lambda c: (c.waiting(), "--yes"),
    ("campaign", "refuse"): lambda c: (c.waiting(),),
    ("approval-limit", "show"): lambda _: (),
    ("approval-limit", "set"): lambda _: ("1000",),
    **{("approval-limit", verb): (lambda c: c.there(c.proposed())) for verb in ("approve", "refuse")},
    ("campaign", "override-bounce-guard"): lambda c: (c.campaign(), "--yes"),
    ("batch", "override-bounce-guard"): lambda c: (c.batch(), "--yes"),
    ("template", "list"): lambda c: c.there(c.template()),
    ("template", "put"): lambda _: ("mail.html", *MESSAGE),
    **{("template", verb): (lambda c: (c.template(),)) for verb in ("show", "versions")},
    ("template", "diff"): lambda c: (c.changed(),),
    ("template", "preview"): lambda c: (c.template(), "--value", "name=Ann"),
    ("template", "test"): lambda c: (c.template(), "me@example.com", "--value", "name=Ann"),
    ("template", "delete"): lambda c: (c.template(),),
    ("image", "add"): lambda c: (c.picture(),),
    ("image", "list"): lambda c: c.there(c.image()),
    ("image", "delete"): lambda c: (c.image(),),
    ("program", "put"): lambda c: ("course", "--step", f"{c.text()}+28@9-12/SMS"),
    ("program", "list"): lambda c: c.there(c.program()),
    ("program", "show"): lambda c: (c.program(),),
    ("program", "delete"): lambda c: (c.program(),),
    ("text", "list"): lambda _: (),
    ("mail", "send"): lambda _: ("mail.eml", "--from", SENDER, "--to", "d@example.org", "--yes"),
    ("mail", "list"): lambda c: c.there(c.mail()[0]),
    ("mail", "show"): lambda c: c.mail()[:1],
    ("mail", "drop"): lambda c: c.mail(),
    ("mail", "reschedule"): lambda c: (*c.mail(), c.tomorrow()),
    ("hook", "create"): lambda _: ("https://shop.example.com/",),
    ("hook", "list"): lambda c: c.there(c.hook()),
    ("hook", "show"): lambda c: (c.hook(),),
    ("hook", "update"): lambda c: (c.hook(), "--disable"),
    ("hook", "delete"): lambda c: (c.hook(),),
    ("hook", "rotate"): lambda c: (c.hook(),),
    ("hook", "test"): lambda c: (c.hook(),),
    ("hook", "deliveries"): lambda c: (c.hook(),),
    ("hook", "delivery"): lambda c: c.delivery(),
    ("hook", "retry"): lambda c: c.delivery(),
    ("hook", "replay"): lambda c: (c.hook(), "--since", "2d"),
    ("event", "send"): lambda c: c.event(),
    ("digest", "list"): lambda c: c.there(c.window()),
    ("digest", "show"): lambda c: (c.window(),),
    ("digest", "close"): lambda c: (c.window(), "--yes"),
    ("digest", "cancel"): lambda c: (c.window(),),
    ("digest", "policy", "list"): lambda c: c.there(c.policy()),
    ("digest", "policy", "show"): lambda c: (c.policy(),),
    ("digest", "policy", "set"): lambda _: ("acme/", "--from", SENDER),
    ("digest", "policy", "preview"): lambda c: (c.policy(),),
    ("digest", "policy", "delete"): lambda c: (c.policy(),),
    ("account", "create"): lambda _: ("Acme",),
    ("account", "delete"): lambda c: (c.account, "--after", "7d"),
    ("account", "list"): lambda _: (),
    ("account", "depart"): lambda c: (c.account, "--cancel"),
    ("account", "suspend"): lambda c: (c.account,),
    ("account", "unsuspend"): lambda c: (c.account,),
    ("account", "approval"): lambda c: (c.account, "--every"),
    ("account", "region"): lambda c: (c.account, "DE"),
    ("account", "images"): lambda c: (c.account,),
    ("account", "search"): lambda c: (c.account, "off"),
    ("account", "limit"): lambda c: (c.account,),
    ("account", "quiet-hours"): lambda c: (c.account, "sms", "21:00-08:00 Europe/Paris"),
    ("account", "open"): lambda c: (c.account, "--channel", "sms"),
    ("account", "close"): lambda c: (c.account, "--channel", "sms"),
    ("key", "create"): lambda c: (c.account,),
    ("key", "list"): lambda c: (c.account,),
    ("key", "expire"): lambda c: (c.account, c.key(), "7d"),
    ("key", "networks"): lambda c: (c.account, c.key(), "192.0.2.0/24"),
    ("key", "rotate"): lambda c: (c.account, c.key()),
    ("key", "revoke"): lambda c: (c.account, c.key()),
    ("job", "list"): lambda _: (),
    ("job", "stop"): lambda c: (c.api.accepted(),),
    ("sender", "add"): lambda c: (c.account, "acme.example"),
    ("sender", "list"): lambda c: (c.account,),
    ("sender", "remove"): lambda c: (c.account, "example.com"),
    ("sender", "identities"): lambda _: (),
    ("sender", "forget"): lambda c: (*made_known(c.api), "--yes"),
    **{("member", verb): partial(member_words, verb) for verb in MEMBER_VERBS},
    ("notifier", "spool", "add"): lambda _: NOTICE,
    ("notifier", "spool", "update"): lambda _: NOTICE,
    ("notifier", "spool", "cancel"): lambda _: ("m1",),
    ("notifier", "spool", "status"): lambda _: (),
    ("notifier", "spool", "list"): lambda _: (),
    ("notifier", "spool", "updates"): lambda _: (),
    ("notifier", "sync"): lambda c: c.login(),
    ("credential", "list"): lambda _: (),
    ("credential", "set"): lambda _: ("one", "--file", "secret.json"),
    ("credential", "close-breaker"): lambda _: ("one",),
    ("rate", "set"): lambda _: ("one", "5"),
    ("rate", "reset"): lambda _: ("one",),
    ("rate", "list"): lambda _: (),
    ("queue", "list"): lambda _: (),
    ("logs",): lambda _: (),
    ("notifier", "create"): lambda c: ("ward", "--account", c.account, "--timezone", "Australia/Sydney"),
    ("notifier", "rotate"): lambda c: (c.notifier(),),
    ("notifier", "list"): lambda c: c.there(c.notifier()),
    ("notifier", "disable"): lambda c: (c.notifier(),),
    ("notifier", "enable"): lambda c: (c.notifier(),),
    ("notifier", "show"): lambda c: (c.notifier(),),
    ("notifier", "update"): lambda c: (c.notifier(), "--hours", "8-20"),
    ("notifier", "stats"): lambda c: (c.notifier(), "--days", "1"),
    ("notifier", "delete"): lambda c: (c.notifier(),),
}
"""Command → what it is given: its required arguments, and what names the one thing that it is about."""
FINDS_FAULTS: Final = {("doctor",)}
"""Commands that end with 1 because they look at a world that is no complete stack."""
UNORDERED: Final = {("audit",)}
"""Commands that print what was done in one millisecond in any order."""


def test_no_command_is_left_out() -> None:
    assert commands() == set(COMMANDS) | ELSEWHERE


@pytest.fixture
def case(
    moto_dynamo: Any, folder: Path, clock: FakeClock, operators: OperatorsFunction, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Case]:
    """An account with a live key, the API that it calls, and the deployment that its operators mean."""
    api = build_api(moto_dynamo, EngineClock())
    real = RealApi(api)
    clock.on_sleep = lambda _: real.move()
    monkeypatch.setenv("POSTHASTE_URL", real.url)
    monkeypatch.setenv("POSTHASTE_API_KEY", api.key)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.setenv(name, REGION)
    monkeypatch.delenv("POSTHASTE_DEBUG", raising=False)
    made, stage = Case(api, folder, real), api.tables.records.removeprefix("records-")
    monkeypatch.setenv("POSTHASTE_STAGE", stage)
    monkeypatch.setattr(dead_letters, "WAIT_SECONDS", 0)
    credentials = (Credential("one", "sendgrid", "email", 100), Credential(TEST_CREDENTIAL, "test", "email", 100))
    settings = Settings(stage, credentials, {"email": ("one",)})
    boto3.client("secretsmanager", REGION).create_secret(Name=secret_name(stage, "one"))
    sqs = boto3.client("sqs", REGION)
    for place in places(f"https://sqs/posthaste-{stage}-lane-", ("one", TEST_CREDENTIAL)):
        for url in filter(None, (place.url, place.dead)):
            sqs.create_queue(QueueName=url.rpartition("/")[2])
    bucket = f"bucket-{stage}"
    boto3.client("s3", REGION).create_bucket(Bucket=bucket)
    tables, homes = api.tables, api.tables.homes
    outputs = {
        "BucketName": bucket,
        "RecordsTable": tables.records,
        "OpsTable": tables.ops,
        "IdentitiesTable": homes.identities,
        "AuditTable": homes.audit,
        "ApiUrl": real.url,
    }
    operators.settings = settings
    operators.variables = {
        contracts.ENV_RECORDS_TABLE: tables.records,
        contracts.ENV_OPS_TABLE: tables.ops,
        contracts.ENV_IDENTITIES_TABLE: homes.identities,
        contracts.ENV_AUDIT_TABLE: homes.audit,
        **people_of(api),
        contracts.ENV_BUCKET: bucket,
    }
    stack = {
        "StackName": f"posthaste-{stage}",
        "StackStatus": "CREATE_COMPLETE",
        "Outputs": [{"OutputKey": k, "OutputValue": v} for k, v in outputs.items()],
    }
    boto3.client("logs", REGION).create_log_group(logGroupName=f"/posthaste/{stage}")
    monkeypatch.setattr(OperatedDeployment, "resources", lambda _self, _kind: [])
    monkeypatch.setattr(FunctionLogs, "groups", [f"/posthaste/{stage}"])
    monkeypatch.setattr(OperatedDeployment, "environment", lambda _self: {ENV_SETTINGS: settings.dumps()})
    monkeypatch.setattr(OperatedDeployment, "stack", lambda _self: stack)
    yield made
    real.close()


@pytest.mark.slow
@pytest.mark.parametrize("command", sorted(COMMANDS), ids=" ".join)
def test_each_command_works_with_its_defaults(run: Run, case: Case, command: tuple[str, ...]) -> None:
    done = run(*command, *COMMANDS[command](case), input=case.typed)
    text = printed.masked(done, stage=case.stage, folder=case.folder, ordered=command not in UNORDERED)
    printed.check("defaults", command, text)
    assert done.code == 0 or (command in FINDS_FAULTS and done.code == 1), done.err
    assert "unexpected" not in done.err
    assert done.out or done.err
    assert {name for name, words in COVERED.items() if words == command} <= operations(case.real.called)
