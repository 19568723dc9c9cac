"""Checks of the AWS account and region, which need no deployment."""

import math
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any, Final

from cli.checks import Finding, Level
from shared.contracts import Settings, Warmup
from shared.domain.lanes.breaker import Breaker
from shared.domain.lanes.state import CredentialState, QuotaLeft

SKEW_WARNING: Final = 5.0
"""Seconds. The rate needs clocks within 10 ms, but those of Lambda; this one decides about what commands say."""
SKEW_ERROR: Final = 300.0
"""AWS refuses requests that are signed five minutes ahead or behind."""
UNRESERVED: Final = 100
"""Concurrent executions that Lambda keeps for functions without reservation."""
LEAST_SHARED: Final = 50
"""The concurrency that functions without reservation need at least to run side by side: feedback takes ten."""
BOOTSTRAP: Final = "/cdk-bootstrap/hnb659fds/version"
"""The parameter of the CDK's default bootstrap stack."""
BOOTSTRAP_LEAST: Final = 6
"""The oldest that the templates of today's CDK take."""
CONCURRENCY_QUOTA: Final = "L-B99A9384"
WRITES_QUOTA: Final = "L-AB614373"
"""DynamoDB: write units per second of one on-demand table; docs.aws.amazon.com/servicequotas."""
BULK_WRITES: Final = 0.5
"""Write units a message of a batch or campaign, of the table that takes more, feedback included; `make bench` counts
less."""
SINGLE_WRITES: Final = 14
"""Write units of `records` a single message with one event about it. Those of indexes are not of the table's quota."""
SINGLES_PER_WORKER: Final = 40
"""Single messages a second of an express worker of 512 MB, whose processor bounds them. `make bench` measures it
(docs/performance.md, "What a worker sends")."""
MOST_WORKERS: Final = 450
"""The most `workers` of all lanes together; infra/settings.py bounds what they reserve."""
NEW_TABLE: Final = 4000
"""Write units per second that a new on-demand table takes, until it has grown; DynamoDB Developer Guide, "On-demand
capacity mode"."""
RAISE: Final = (
    "aws service-quotas request-service-quota-increase --service-code {} --quota-code {} --desired-value {:.0f}"
)


def clock(date: str, now: float) -> Finding:
    """Compare this machine's clock (Unix seconds) with the `Date` of an answer of AWS, which has whole seconds."""
    off = abs(now - parsedate_to_datetime(date).timestamp())
    says = f"this machine's clock is {off:.0f} s off AWS's"
    if off >= SKEW_ERROR:
        return Finding("clock", Level.ERROR, f"{says}: AWS refuses what it signs", "set the clock by NTP")
    if off >= SKEW_WARNING:
        return Finding("clock", Level.WARNING, says, "set the clock by NTP")
    return Finding("clock", Level.OK, "this machine's clock agrees with AWS's")


def bootstrap(parameter: Mapping[str, Any] | None, account: str, region: str) -> Finding:
    """Judge the CDK's bootstrap stack by its version parameter.

    Args:
        parameter: the answer of `ssm.get_parameter`; None if the parameter does not exist.
        account: the AWS account's twelve digits.
        region: the AWS region, as in `eu-central-1`.
    """
    do = f".venv/bin/npx cdk bootstrap aws://{account}/{region}"
    if parameter is None:
        return Finding("bootstrap", Level.ERROR, f"the CDK has no bootstrap stack in {account}, {region}", do)
    version = parameter["Parameter"]["Value"]
    if not version.isdecimal() or int(version) < BOOTSTRAP_LEAST:
        return Finding("bootstrap", Level.ERROR, f"the CDK's bootstrap stack is of version {version}, too old", do)
    return Finding("bootstrap", Level.OK, f"the CDK's bootstrap stack is of version {version}")


def concurrency(answer: Mapping[str, Any], here: int, needed: int, *, reserved: bool) -> Finding:
    """Judge the account's concurrent executions.

    Args:
        answer: of `lambda.get_account_settings`.
        here: reserved by this stage's functions already.
        needed: by all functions that reserve some, together.
        reserved: whether the lanes reserve theirs.
    """
    name = "concurrency"
    limit = answer["AccountLimit"]["ConcurrentExecutions"]
    free = answer["AccountLimit"]["UnreservedConcurrentExecutions"] + here
    elsewhere = f", of which {limit - free} are reserved elsewhere" if limit > free else ""
    says = f"Lambda runs {limit:,} functions at once in this account and region{elsewhere}; Posthaste needs {needed:,}"
    raised = RAISE.format("lambda", CONCURRENCY_QUOTA, max(1000, needed + UNRESERVED + limit - free))
    if reserved and free < needed + UNRESERVED:
        return Finding(
            name,
            Level.ERROR,
            f"{says} reserved and {UNRESERVED} must stay unreserved: the deploy will fail",
            f'{raised}; until it is granted set "reserved": "none"',
        )
    if not reserved and free < needed + LEAST_SHARED:
        return Finding(name, Level.WARNING, f"{says}: a busy lane can starve all other functions", raised)
    return Finding(name, Level.OK, says)


def writes(answer: Mapping[str, Any], settings: Settings) -> Finding:
    """Judge DynamoDB's write throughput of a table (`service-quotas.get_service_quota`) by the rates declared.

    Batches and campaigns must have room for all rates together: else it is an error. Single messages cost some forty
    times as much, and few deployments send nothing else: without room for them it is a warning.
    """
    rate = sum(c.rate for c in settings.credentials)
    bulk, single, limit = rate * BULK_WRITES, rate * SINGLE_WRITES, answer["Quota"]["Value"]
    if 0 < settings.writes_most < limit:
        return _provisioned(settings.writes_most, bulk, single)
    new = min(limit, NEW_TABLE)
    says = (
        f"a table takes {limit:,.0f} write units a second, a new one {new:,.0f}; {rate:,.0f} messages a second need "
        f"{bulk:,.0f} in batches and campaigns, and {single:,.0f} as single messages: the table takes "
        f"{limit / SINGLE_WRITES:,.0f} of those a second, a new one {new / SINGLE_WRITES:,.0f}"
    )
    if limit < bulk:
        return Finding("tables", Level.ERROR, says, RAISE.format("dynamodb", WRITES_QUOTA, 2 * bulk))
    if limit < single:
        do = RAISE.format("dynamodb", WRITES_QUOTA, single)
        return Finding("tables", Level.WARNING, says, f"if you send so many single messages: {do}")
    return Finding("tables", Level.OK, says)


def _provisioned(most: int, bulk: float, single: float) -> Finding:
    """Judge what the table `records` may grow to by what batches, and single messages, need at the rates declared."""
    says = (
        f"the table records grows to {most:,} write units a second; the rates declared need {bulk:,.0f} in batches and "
        f"campaigns, and {single:,.0f} as single messages"
    )
    if most < bulk:
        return Finding("tables", Level.ERROR, says, f'set "capacity": {{"writes": [..., {2 * bulk:.0f}]}} in cdk.json')
    if most < single:
        do = f'if you send so many single messages: set "capacity": {{"writes": [..., {single:.0f}]}} in cdk.json'
        return Finding("tables", Level.WARNING, says, do)
    return Finding("tables", Level.OK, says)


def singles(settings: Settings) -> list[Finding]:
    """Compare each credential's rate with the single messages that its express workers send.

    Batches and campaigns have workers of their own, which send at any rate. Few deployments send nothing but single
    messages: so it is a warning.
    """
    name, found = "single messages", []
    for c in settings.credentials:
        sent, needed = c.express_workers * SINGLES_PER_WORKER, math.ceil(c.rate / SINGLES_PER_WORKER)
        if c.retired or c.rate <= sent:
            continue
        says = (
            f"{c.id} may send {c.rate:,g} messages a second, and its {c.express_workers} express workers send about "
            f"{sent:,} single ones: a rate of single messages above that falls behind"
        )
        do = f'set "workers": {needed}' if needed <= MOST_WORKERS else "put several recipients into a batch"
        found.append(
            Finding(name, Level.WARNING, says, f"if you post so many single messages: {do} (docs/settings.md)")
        )
    return found or [Finding(name, Level.OK, "each credential's express workers send about as many as its rate allows")]


def warmups(settings: Settings, now: float) -> list[Finding]:
    """Say of each credential that warms up which day it is, and when its full quota begins. `now`: Unix seconds."""
    left = [(c.id, x) for c in settings.credentials for x in CredentialState(Breaker(c.id), at=now).left(c.quotas)]
    return [Finding("warm-up", Level.OK, _warmup(name, x, x.warmup)) for name, x in left if x.warmup is not None]


def _warmup(name: str, x: QuotaLeft, warmup: Warmup) -> str:
    ends = f"the full quota of {x.quota.messages:,} a day begins on {warmup.full_from}"
    if not x.day:
        return f"{name} sends nothing before {warmup.start}, the first day of its warm-up; {ends}"
    return f"{name}: day {x.day} of {len(warmup.days)} of its warm-up, with {x.most:,} messages; {ends}"


def declared(settings: Settings, deployed: Settings | None) -> Finding:
    """Compare cdk.json with what is deployed."""
    if deployed is None:
        return Finding(
            "settings", Level.OK, f"cdk.json is valid: {len(settings.credentials)} credentials, not deployed"
        )
    if deployed == settings:
        return Finding(
            "settings", Level.OK, f"cdk.json matches the deployment: {len(settings.credentials)} credentials"
        )
    mine, theirs = ({c.id: c for c in s.credentials} for s in (settings, deployed))
    changes = [f"+{name}" for name in mine.keys() - theirs.keys()] + [
        f"-{name}" for name in theirs.keys() - mine.keys()
    ]
    changes += [f"~{name}" for name in mine.keys() & theirs.keys() if mine[name] != theirs[name]]
    what = ", ".join(sorted(changes, key=lambda x: x[1:])) or "others than the credentials"
    return Finding(
        "settings", Level.WARNING, f"cdk.json differs from the deployment: {what}", ".venv/bin/npx cdk deploy"
    )


def leaving(settings: Settings, deployed: Settings, waiting: Mapping[str, int]) -> list[Finding]:
    """Judge the credentials that a deploy would take away.

    Args:
        settings: as in cdk.json.
        deployed: as the functions have them.
        waiting: retired credential → pointers in its lane.
    """
    kept = {c.id for c in settings.credentials}
    out = []
    for c in deployed.credentials:
        if c.id not in kept and not c.retired:
            says = f"{c.id} is missing from cdk.json but still takes messages: they would fail over or fail"
            do = f'keep {c.id} with "retired": true, and deploy that first'
            out.append(Finding("settings", Level.ERROR, says, do))
        elif c.id not in kept and waiting.get(c.id):
            says = f"{c.id} is missing from cdk.json, and its lane still holds {waiting[c.id]} chunks"
            out.append(Finding("settings", Level.ERROR, says, f"keep {c.id} until `posthaste queue list` shows 0"))
    return out
