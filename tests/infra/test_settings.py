"""Wrong settings stop the synth with one clear line."""

import copy
import json
import os
import random
import subprocess
import sys
from collections.abc import Callable
from datetime import date
from typing import Any, Final

import pytest

from infra.lint import context, examples, synthesise
from infra.settings import ROOT, SettingsError, TableCapacity, providers, read, workers
from shared import contracts
from shared.contracts import Settings
from tests.infra.conftest import DOMAIN, SETTINGS, deployment

Change = Callable[[dict[str, Any]], None]


def credential(number: int = 0, **fields: Any) -> Change:
    return lambda raw: raw["credentials"][number].update(fields)


def field(**fields: Any) -> Change:
    return lambda raw: raw.update(fields)


def both(first: Change, second: Change) -> Change:
    def change(raw: dict[str, Any]) -> None:
        first(raw)
        second(raw)

    return change


def many(count: int, **fields: Any) -> Change:
    row = {"provider": "sendgrid", "channel": "email", "rate": 1, **fields}
    return field(credentials=[{"id": f"c{i}", **row} for i in range(count)], routes={})


def without(name: str) -> Change:
    return lambda raw: raw.pop(name)


DAILY: Final = [{"messages": 1000, "per": "day"}]
GROWING: Final = {"start": "2026-12-01", "first": 50, "factor": 1.5}

WRONG: dict[str, tuple[Change, str]] = {
    "unknown provider": (
        credential(provider="pigeon"),
        "credentials[0].provider: 'pigeon' is unknown; there are sendgrid",
    ),
    "the built-in provider": (credential(provider="test"), "credentials[0].provider: 'test' is unknown"),
    "rate 0": (credential(rate=0), "credentials[0].rate: must be above 0"),
    "rate below the least": (
        credential(rate=0.019),
        "credentials[0].rate: 0.019 messages per second are too few: at least 0.02, one in 50 seconds",
    ),
    "rate infinite": (credential(rate=float("inf")), "credentials[0].rate: must be a finite number"),
    "rate as text": (credential(rate="150"), "credentials[0].rate: must be a number"),
    "duplicate id": (credential(1, id="sendgrid-main"), "credential 'sendgrid-main' is declared twice"),
    "id with capitals": (credential(id="Main"), "credentials[0].id: 'Main' is not 1 to 32 of a-z, 0-9 and -"),
    "id empty": (credential(id=""), "credentials[0].id: '' is not 1 to 32"),
    "id with a newline": (credential(id="main\n"), "credentials[0].id: 'main\\n' is not 1 to 32"),
    "id too long": (credential(id="a" * 33), "is not 1 to 32"),
    "id reserved": (credential(id="test"), "credentials[0].id: 'test' is reserved"),
    "id of a dead-letter queue": (credential(id="big-dlq"), "credentials[0].id: 'big-dlq' ends with -dlq"),
    "channel unknown": (
        credential(channel="fax"),
        "credentials[0].channel: must be 'email', 'sms', 'voice' or 'whatsapp'",
    ),
    "one worker": (credential(workers=1), "credentials[0].workers: must be at least 2"),
    "negative bound of a call": (credential(per_call=-1), "credentials[0].per_call: "),
    "a quota of nothing": (
        credential(quotas=[{"messages": 0, "per": "day"}]),
        "quotas[0].messages: must be at least 1",
    ),
    "a quota per week": (credential(quotas=[{"messages": 9, "per": "week"}]), "credentials[0].quotas[0].per: must be"),
    "a quota in no zone": (
        credential(quotas=[{"messages": 9, "per": "day", "zone": "Mars/Olympus"}]),
        "quotas[0]: zone 'Mars/Olympus' is no name of the IANA database",
    ),
    "24 hours in a zone": (
        credential(quotas=[{"messages": 9, "per": "24h", "zone": "UTC"}]),
        "quotas[0]: zone belongs to a calendar period",
    ),
    "two quotas per day": (
        credential(quotas=[{"messages": 9, "per": "day"}, {"messages": 8, "per": "day", "zone": "Asia/Tokyo"}]),
        "quotas: two are per day",
    ),
    "a quota of less than one SMS": (
        credential(channel="sms", quotas=[{"messages": 5, "per": "hour"}]),
        "quotas: 5 per hour is less than one message of",
    ),
    "a warm-up to nowhere": (credential(warmup=GROWING), "warmup: quotas need one per day, to which it grows"),
    "a warm-up in two forms": (
        credential(quotas=DAILY, warmup=GROWING | {"days": [5]}),
        "warmup: it has either days, or first and factor",
    ),
    "a warm-up in no form": (
        credential(quotas=DAILY, warmup={"start": "2026-12-01", "first": 5}),
        "warmup: it has either days, or first and factor",
    ),
    "a warm-up from no day": (
        credential(quotas=DAILY, warmup=GROWING | {"start": "2026-02-30"}),
        "warmup: start '2026-02-30' is no day, such as 2026-12-01",
    ),
    "a warm-up that shrinks": (
        credential(quotas=DAILY, warmup={"start": "2026-12-01", "days": [5, 4, 9]}),
        "warmup: a day is smaller than the day before",
    ),
    "a warm-up that begins full": (
        credential(quotas=DAILY, warmup={"start": "2026-12-01", "days": [1000]}),
        "warmup: the first day is no smaller than the 1000 of the quota per day",
    ),
    "a warm-up without end": (
        credential(quotas=DAILY, warmup=GROWING | {"factor": 1.01}),
        "warmup: it lasts more than 100 days",
    ),
    "a warm-up of less than one SMS": (
        credential(channel="sms", quotas=DAILY, warmup=GROWING | {"first": 2}),
        "warmup: 2 on the first day is less than one message of",
    ),
    "overflow misspelt": (credential(when_full="drop"), "when_full: must be 'next' or 'wait'"),
    "nobody may use it": (credential(accounts=[]), "credentials[0].accounts"),
    "plain http": (credential(base_url="http://example.org"), "credentials[0].base_url: 'http://example.org' is not"),
    "not an address": (field(public_url="posthaste"), "public_url: 'posthaste' is not an https address"),
    "address with a query": (field(public_url="https://example.org/?a=b"), "has more than scheme, host, port and path"),
    "route to nowhere": (field(routes={"email": ["gone"]}), "route 'email' names credential 'gone', which is not"),
    "route of mixed channels": (
        credential(1, channel="sms"),
        "route 'email' names credential 'big' of channel 'sms'",
    ),
    "route twice through one": (field(routes={"email": ["few", "few"]}), "names credential 'few' twice"),
    "route through a retired one": (
        credential(1, retired=True),
        "route 'email' names credential 'big', which is retired",
    ),
    "route without end": (field(routes={"email": []}), "routes.email: must have 1 or more items"),
    "mails to nowhere": (field(routes={"mail": ["gone"]}), "route 'mail' names credential 'gone', which is not"),
    "mails by text": (
        both(credential(1, channel="sms"), field(routes={"mail": ["big"]})),
        "route 'mail' names credential 'big' of channel 'sms'",
    ),
    "mails through a provider that makes its own": (
        field(routes={"mail": ["few"]}),
        "route 'mail' names credential 'few', but 'sendgrid' takes no finished messages",
    ),
    "routing of no route": (field(routing={"sms": "ordered"}), "routing names channel 'sms', which has no route"),
    "routing of no kind": (field(routing={"email": "first"}), "routing.email"),
    "route of no channel": (field(routes={"fax": ["few"]}), "routes.fax"),
    "unknown field": (field(credential=[]), "credential: unknown field"),
    "unknown field of a credential": (credential(rates=1), "credentials[0].rates: unknown field"),
    "several at once": (field(a=1, b=2, c=3), "a: unknown field (and 2 more)"),
    "stage missing": (without("stage"), "stage: is required"),
    "stage with a slash": (field(stage="a/b"), "stage: 'a/b' is not a letter followed by"),
    "retention CloudWatch does not know": (field(retention={"logs_days": 31}), "retention.logs_days: 31 is not one of"),
    "uploads kept for less than a list may take": (field(retention={"uploads_days": 1}), "retention.uploads_days: "),
    "backups DynamoDB does not keep": (field(retention={"backups_days": 36}), "retention.backups_days: "),
    "a key by its alias": (
        field(kms_key_arn="arn:aws:kms:eu-west-1:111122223333:alias/mail"),
        "kms_key_arn: 'arn:aws:kms:eu-west-1:111122223333:alias/mail' is not the ARN of a key",
    ),
    "a domain with a path": (
        field(domain={**DOMAIN, "name": "send.example.eu/x"}),
        "domain.name: 'send.example.eu/x' is no domain",
    ),
    "a certificate of IAM": (
        field(domain={**DOMAIN, "certificate_arn": "arn:aws:iam::1:x"}),
        "domain.certificate_arn: 'arn:aws:iam::1:x' is not the ARN of a certificate",
    ),
    "two public addresses": (
        field(domain=DOMAIN, public_url="https://mail.example.eu"),
        "public_url: domain.name is the public address; leave one of them out",
    ),
    "an archive for eleven years": (field(retention={"archive_days": 3651}), "retention.archive_days: "),
    "keys for eleven years": (field(max_key_days=3651), "max_key_days: must be at most"),
    "an audit log of a week": (field(retention={"audit_days": 7}), "retention.audit_days: "),
    "jobs kept for no day": (field(retention={"jobs_days": 0}), "retention.jobs_days: "),
    "no time for feedback": (field(feedback_timeout=59), "feedback_timeout: must be at least"),
    "a price of a country by its name": (field(prices={"sms": {"Germany": 1}}), "prices.sms"),
    "a negative limit": (field(limits={"email": -1}), "limits.email: must be at least"),
    "a limit of nothing known": (field(limits={"fax": 1}), "limits.fax"),
    "forever for feedback": (field(feedback_timeout=2_592_001), "feedback_timeout: must be at most"),
    "reserved misspelt": (field(reserved="yes"), "reserved: must be 'auto' or 'none'"),
    "over a hundred credentials": (many(101), "101 credentials; a deployment has at most 100"),
    "posts at once without what is reserved": (
        field(webhooks_at_once=50, reserved="none"),
        'webhooks_at_once is reserved concurrency, and reserved is "none"',
    ),
    "bounds without what is reserved": (
        field(at_once={"api": 9}, reserved="none"),
        'at_once is reserved concurrency, and reserved is "none"',
    ),
    "two bounds of one function": (
        field(at_once={"api": 9, "webhooks": 9}, webhooks_at_once=9),
        "at_once.webhooks: webhooks_at_once bounds the function already",
    ),
    "a bound of no console": (field(at_once={"api": 9, "console": 9}), "at_once.console: there is no console"),
    "a bound of none": (field(at_once={"api": 0}), "at_once.api: must be at least"),
    "bounds above what may be reserved": (field(at_once={"api": 900}), "the functions reserve 9"),
    "capacity of one bound": (field(capacity={"writes": [1], "reads": [1, 2]}), "capacity.writes: "),
    "capacity that shrinks": (
        field(capacity={"writes": [9, 8], "reads": [1, 2]}),
        "capacity: writes: 9 is the least, and more than 8",
    ),
    "capacity without reads": (field(capacity={"writes": [1, 2]}), "capacity.reads: "),
    "capacity of nothing": (field(capacity={"writes": [0, 2], "reads": [1, 2]}), "capacity.writes"),
    "too many posts at once": (field(webhooks_at_once=501), "webhooks_at_once: "),
    "over 900 reserved": (many(3, workers=300), "the functions reserve 1835 concurrent executions in sum, more"),
}


def each_for_an_account_of_its_own(raw: dict[str, Any]) -> None:
    many(100)(raw)
    for i, row in enumerate(raw["credentials"]):
        row["accounts"] = [f"acc_{random.Random(i).getrandbits(128):032x}"]  # noqa: S311 - an id, not a secret


WRONG["more than a function's environment holds"] = (
    each_for_an_account_of_its_own,
    "bytes, and a function's environment has room for 2600; open more of them to all accounts",
)


def test_a_hundred_credentials_fit_a_function_s_environment() -> None:
    raw = copy.deepcopy(SETTINGS)
    many(100)(raw)
    assert len(read(raw, known=["sendgrid"]).settings.dumps()) < 1000


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_setting_is_one_clear_line(name: str) -> None:
    change, expected = WRONG[name]
    raw = copy.deepcopy(SETTINGS)
    change(raw)
    with pytest.raises(SettingsError) as caught:
        read(raw, known=["sendgrid"])
    message = str(caught.value)
    assert expected in message
    assert "\n" not in message


@pytest.mark.parametrize(
    ("raw", "expected"),
    [(None, "context.posthaste is missing"), ("{", "not JSON"), ([], "must be an object"), ("7", "must be an object")],
)
def test_what_is_no_object_is_refused(raw: object, expected: str) -> None:
    with pytest.raises(SettingsError, match=expected):
        read(raw)


def test_a_target_is_aws_or_local() -> None:
    with pytest.raises(SettingsError, match="'azure' is neither aws nor local"):
        read(SETTINGS, target="azure")
    with pytest.raises(SettingsError, match="only the local target has a simulator"):
        read(SETTINGS, target="aws", simulator_url="http://127.0.0.1:1")


def test_only_the_local_target_has_compressed_time() -> None:
    with pytest.raises(SettingsError, match="only the local target has a clock of its own"):
        read(SETTINGS, target="aws", notice_clock="1790000000x3600")
    found = read(SETTINGS, target="local", notice_clock="1790000000x3600", known=["sendgrid"]).settings
    assert contracts.Settings.loads(found.dumps()).notice_clock == (1_790_000_000, 3_600)
    plain = read(SETTINGS, target="local", known=["sendgrid"]).settings
    assert contracts.Settings.loads(plain.dumps()).notice_clock == (0, 1)
    assert "notice_clock" not in plain.dumps()


@pytest.mark.parametrize("text", ["x", "1", "1x", "x1", "1x0", "-1x2", "1x1e3", "1x999999", "1 x2"])
def test_another_text_is_no_clock(text: str) -> None:
    with pytest.raises(SettingsError, match="is not SINCExSPEED"):
        read(SETTINGS, target="local", notice_clock=text)


@pytest.mark.slow
def test_the_app_says_it_in_one_line_without_a_traceback() -> None:
    raw = copy.deepcopy(SETTINGS)
    raw["credentials"][0]["rate"] = 0
    environment = {**os.environ, "CDK_CONTEXT_JSON": json.dumps({"posthaste": json.dumps(raw)})}
    done = subprocess.run(
        [sys.executable, "app.py"], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr == "posthaste: credentials[0].rate: must be above 0\n"
    assert done.stdout == ""


@pytest.mark.slow
def test_more_lanes_than_cloudformation_carries_are_refused(tmp_path: Any) -> None:
    raw = copy.deepcopy(SETTINGS)
    many(60)(raw)
    with pytest.raises(
        SettingsError,
        match=r"the stack has \d+ resources, and .* allows 500: \d+ of 61 lanes, .*; .*\"stack\": \"more\"",
    ):
        synthesise(read(raw, known=["sendgrid"]), tmp_path)


def test_posts_of_providers_count_among_what_is_reserved() -> None:
    plain, bounded = (read({**SETTINGS, **x}, known=["sendgrid"]) for x in ({}, {"webhooks_at_once": 50}))
    assert bounded.concurrency == plain.concurrency + 50
    assert contracts.Settings.loads(bounded.settings.dumps()).webhooks_at_once == 50
    with pytest.raises(SettingsError, match="webhooks_at_once: the local cloud's functions have no addresses"):
        read({**SETTINGS, "webhooks_at_once": 50}, target="local", known=["sendgrid"])


def test_bounds_count_among_what_is_reserved_and_the_doctor_knows() -> None:
    given = {**SETTINGS, "at_once": {"api": 100, "webhooks": 30}}
    plain, bounded = (read(x, known=["sendgrid"]) for x in (SETTINGS, given))
    assert bounded.concurrency == plain.concurrency + 131
    assert contracts.Settings.loads(bounded.settings.dumps()).more_reserved == 131
    assert bounded.webhooks_reserved == 30
    with pytest.raises(SettingsError, match="at_once: the local cloud's machine is the bound"):
        read(given, target="local", known=["sendgrid"])


def test_the_capacity_of_the_table_is_for_aws() -> None:
    capacity = {"writes": [100, 4000], "reads": [50, 900]}
    found = read({**SETTINGS, "capacity": capacity}, known=["sendgrid"])
    assert found.capacity == TableCapacity((100, 4000), (50, 900), 70)
    assert contracts.Settings.loads(found.settings.dumps()).writes_most == 4000
    with pytest.raises(SettingsError, match="capacity: the local cloud's tables have none"):
        read({**SETTINGS, "capacity": capacity}, target="local", known=["sendgrid"])


def test_the_local_cloud_has_no_certificates() -> None:
    with pytest.raises(SettingsError, match="domain: the local cloud has no certificates"):
        read({**SETTINGS, "domain": DOMAIN}, target="local", known=["sendgrid"])


def test_a_domain_is_the_public_address() -> None:
    assert read({**SETTINGS, "domain": DOMAIN}, known=["sendgrid"]).settings.public_url == "https://send.example.eu"


def test_the_local_cloud_has_no_keys() -> None:
    arn = read(examples()["thirty"]).kms_key_arn
    with pytest.raises(SettingsError, match="kms_key_arn: the local cloud has no KMS"):
        read({**SETTINGS, "kms_key_arn": arn}, target="local", known=["sendgrid"])


def test_the_repository_s_own_settings_are_right() -> None:
    found = read(context()["posthaste"])
    assert found.stage == "dev"
    assert [c.id for c in found.settings.credentials] == ["sendgrid-main", "mailgun-main"]
    assert found.settings.routes == {"email": ("sendgrid-main", "mailgun-main")}


def test_finished_mails_have_a_route_of_their_own() -> None:
    raw = copy.deepcopy(SETTINGS)
    raw["credentials"][0]["provider"] = "mailgun"
    name = raw["credentials"][0]["id"]
    raw["routes"] = {**raw["routes"], "mail": [name]}
    found = read(raw, known=["sendgrid", "mailgun"]).settings
    assert found.routes["mail"] == (name,)
    assert Settings.loads(found.dumps()) == found


def test_a_retired_credential_keeps_its_lane_and_takes_no_new_work() -> None:
    raw = copy.deepcopy(SETTINGS)
    raw["credentials"][2]["retired"] = True
    found = read(raw, known=["sendgrid"])
    assert "few" in {c.id for c in found.credentials}, "each has a lane"
    told = contracts.Settings.loads(found.settings.dumps())
    assert [c.id for c in told.credentials if c.open_to("acme")] == ["sendgrid-main", "big"]


def test_campaigns_take_turns_unless_they_are_to_share() -> None:
    raw = copy.deepcopy(SETTINGS)
    raw["credentials"][1]["campaigns"] = "shared"
    raw["credentials"][2]["campaigns"] = "exclusive"
    told = contracts.Settings.loads(read(raw, known=["sendgrid"]).settings.dumps())
    assert [c.shared for c in told.credentials] == [False, True, False]
    raw["credentials"][2]["campaigns"] = "both"
    with pytest.raises(SettingsError, match="campaigns"):
        read(raw, known=["sendgrid"])


def test_quotas_reach_the_functions_as_declared() -> None:
    raw = copy.deepcopy(SETTINGS)
    none = read(raw, known=["sendgrid"]).settings
    assert "quotas" not in none.dumps()
    assert "when_full" not in none.dumps()
    declared = [{"messages": 50_000, "per": "day", "zone": "America/Los_Angeles"}, {"messages": 200, "per": "24h"}]
    raw["credentials"][1] |= {"quotas": declared, "when_full": "wait"}
    told = contracts.Settings.loads(read(raw, known=["sendgrid"]).settings.dumps()).credentials[1]
    day = contracts.CredentialQuota(50_000, contracts.Per.DAY, "America/Los_Angeles")
    assert told.quotas == (day, contracts.CredentialQuota(200, contracts.Per.SLIDING))
    assert (told.overflows, told.when_full) == (False, contracts.WhenFull.WAIT)


@pytest.mark.parametrize(
    ("form", "days"),
    [
        ({"first": 50, "factor": 2.0}, (50, 100, 200, 400, 800)),
        ({"first": 300, "factor": 1.5}, (300, 450, 675)),
        ({"days": [10, 20, 20, 500, 1000]}, (10, 20, 20, 500)),
        ({"days": [10, 2000]}, (10,)),
    ],
)
def test_a_warmup_reaches_the_functions_as_the_size_of_each_day(form: dict[str, Any], days: tuple[int, ...]) -> None:
    raw = copy.deepcopy(SETTINGS)
    quotas = [{"messages": 9, "per": "hour"}, {"messages": 1000, "per": "day", "zone": "Europe/Paris"}]
    raw["credentials"][1] |= {"quotas": quotas, "warmup": {"start": "2026-12-01", **form}}
    told = contracts.Settings.loads(read(raw, known=["sendgrid"]).settings.dumps()).credentials[1]
    assert [q.warmup for q in told.quotas] == [None, contracts.Warmup(date(2026, 12, 1), days)]


def test_settings_reach_the_functions_as_declared() -> None:
    found = contracts.Settings.loads(deployment().settings.dumps())
    assert [(c.id, c.rate, c.workers, c.accounts) for c in found.credentials] == [
        ("sendgrid-main", 150, 2, ("*",)),
        ("big", 2500, 3, ("acme",)),
        ("few", 10, 3, ("*",)),
    ]
    assert (found.stage, found.jobs_days, found.public_url) == ("dev", 30, "")
    assert found.feedback_timeout == 259_200


def test_the_time_for_feedback_reaches_the_functions() -> None:
    raw = {**SETTINGS, "feedback_timeout": 3600}
    assert contracts.Settings.loads(read(raw, known=["sendgrid"]).settings.dumps()).feedback_timeout == 3600


def test_limits_of_accounts_reach_the_functions_and_prices_are_whole_millionths() -> None:
    raw = {**SETTINGS, "limits": {"email": 10_000, "price": 20.5, "newcomer": 0}}
    found = contracts.Settings.loads(read(raw, known=["sendgrid"]).settings.dumps())
    assert found.limits == {"email": 10_000, "price": 20_500_000}
    assert found.newcomer_messages == 0
    priced = {**SETTINGS, "prices": {"email": 0.0001, "sms": {"DE": 0.075, "*": 0.1}}}
    assert contracts.Settings.loads(read(priced, known=["sendgrid"]).settings.dumps()).prices == {
        "email": {"*": 100},
        "sms": {"DE": 75_000, "*": 100_000},
    }
    bare = contracts.Settings.loads(deployment().settings.dumps())
    assert (bare.limits, bare.newcomer_messages) == ({}, contracts.NEWCOMER_MESSAGES)


def test_a_hundred_credentials_fit_lambda_s_environment() -> None:
    raw = copy.deepcopy(SETTINGS)
    many(100, base_url="https://api.eu.sendgrid.com", accounts=["some-account", "another-account"])(raw)
    assert len(read(raw, known=["sendgrid"]).settings.dumps()) < 3000


def test_the_simulator_takes_the_place_of_every_provider() -> None:
    found = read(SETTINGS, target="local", simulator_url="http://127.0.0.1:8000/", known=["sendgrid"])
    assert [c.base_url for c in found.settings.credentials] == [
        "http://127.0.0.1:8000/sendgrid/sendgrid-main",
        "http://127.0.0.1:8000/sendgrid/big",
        "http://127.0.0.1:8000/sendgrid/few",
    ]


def relayed(url: str, target: str = "aws", simulator_url: str = "") -> str:
    raw = copy.deepcopy(SETTINGS)
    credential(provider="smtp", base_url=url)(raw)
    found = read(raw, target=target, simulator_url=simulator_url, known=["sendgrid", "smtp"])
    return found.settings.credentials[0].base_url


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("smtp://relay.example:587", "smtp://relay.example:587"),
        ("smtp://relay.example/", "smtp://relay.example"),
        ("smtps://relay.example:465", "smtps://relay.example:465"),
        ("smtp+plain://10.1.2.3:25", "smtp+plain://10.1.2.3:25"),
        ("smtp+plain://[fd00::1]:25", "smtp+plain://[fd00::1]:25"),
        ("smtp+plain://localhost:2525", "smtp+plain://localhost:2525"),
    ],
)
def test_a_relay_is_where_its_operator_says(url: str, expected: str) -> None:
    assert relayed(url) == expected


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("", "credentials[0].base_url: a relay is smtp://host:587, smtps://host:465 or smtp+plain://host:25"),
        ("https://relay.example", "a relay is smtp://host:587"),
        ("relay.example:587", "a relay is smtp://host:587"),
        ("smtp://", "a relay is smtp://host:587"),
        ("smtp://relay.example:0", "a relay is smtp://host:587"),
        ("smtp://relay.example:65536", "a relay is smtp://host:587"),
        ("smtp://relay.example:x", "a relay is smtp://host:587"),
        ("smtp://relay.example/path", "has more than scheme, host and port"),
        ("smtp://relay.example?tls=none", "has more than scheme, host and port"),
        ("smtp+plain://relay.example:25", "smtp+plain is for loopback and private addresses, and 'relay.example' is"),
        ("smtp+plain://8.8.8.8:25", "smtp+plain is for loopback and private addresses"),
        ("smtp+plain://0.0.0.0:25", "smtp+plain is for loopback and private addresses"),
    ],
)
def test_a_relay_that_cannot_be_used(url: str, expected: str) -> None:
    with pytest.raises(SettingsError) as caught:
        relayed(url)
    assert expected in str(caught.value)


def test_a_password_in_a_relay_s_address_is_refused_and_not_repeated() -> None:
    for url in ("smtp://ann:hunter2@relay.example:587", "smtp//ann:hunter2@relay.example", "mail://:hunter2@x:1"):
        with pytest.raises(SettingsError) as caught:
            relayed(url)
        assert "hunter2" not in str(caught.value)


def test_the_local_cloud_relays_to_this_machine_alone() -> None:
    simulator = "http://127.0.0.1:8000"
    for url in ("smtp+plain://127.0.0.1:2525", "smtp+plain://localhost:2525", "smtp://[::1]:587"):
        assert relayed(url, "local", simulator) == url
    for url in ("smtp://relay.example:587", "smtp+plain://10.1.2.3:25"):
        with pytest.raises(SettingsError, match="the local cloud relays only to this machine"):
            relayed(url, "local", simulator)


def test_only_this_machine_may_be_plain_http() -> None:
    with pytest.raises(SettingsError, match="is not an https address"):
        read(SETTINGS, target="local", simulator_url="http://192.0.2.1:8000", known=["sendgrid"])


@pytest.mark.parametrize(("rate", "expected"), [(0.1, 2), (1000, 2), (2000, 2), (2001, 3), (10_000, 10)])
def test_workers_follow_the_rate(rate: float, expected: int) -> None:
    assert workers(rate) == expected


def test_providers_are_the_files_that_define_one() -> None:
    found = providers()
    assert "sendgrid" in found
    assert not {"test", "registry", "sendgrid-events"} & set(found)


def test_data_outlives_production_stacks_alone() -> None:
    assert {s: deployment(stage=s).removal.name for s in ("prod", "prod-eu", "dev", "staging", "preprod")} == {
        "prod": "RETAIN",
        "prod-eu": "RETAIN",
        "dev": "DESTROY",
        "staging": "DESTROY",
        "preprod": "DESTROY",
    }
