"""`posthaste doctor`: what is wrong with an AWS account before a deploy, and with a deployment after it.

This module asks AWS; `cli.checks` judges the answers. A check that cannot be made does not stop the others. If the
identity may not read something, or a service does not answer, that is a warning. Facts that a local cloud cannot know
are named, and never called ok.
"""

import json as codec
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Final

import typer

from cli.checks import Finding, Level, account, stack
from cli.client import connections
from cli.deployment import (
    FUNCTION,
    OPS_OUTPUT,
    ORIGIN_OUTPUT,
    TARGET_OUTPUT,
    WEBHOOKS_OUTPUT,
    Aws,
    OperatedDeployment,
    Stage,
    aws_errors,
    deployment,
)
from cli.doctor import providers, stacks
from cli.doctor.context import Patient, environment
from cli.doctor.secrets import first_accounts, hashes, identities, look
from cli.doctor.stacks import NOT_DEPLOYED
from cli.errors import ExitCode, Misused, NotFound
from cli.operating.door import OperatorClient
from cli.output import Json, clean, counted, emit, say, surroundings
from shared.contracts import (
    ENV_SETTINGS,
    HOOKS_RESERVED,
    TEST_CREDENTIAL,
    WEBHOOK_PATH,
    Settings,
    express_queue_name,
    lane_queue_name,
    prefix,
)
from shared.domain.lanes.switches import EVERYTHING, Switch
from shared.ports import Clock

ALARM: Final = "AWS::CloudWatch::Alarm"
WORKERS: Final = 8
TIMEOUT: Final = 10.0
"""Seconds that the API may take to answer."""
LOCAL_ONLY: Final = "cannot be known on the local cloud"
MARKS: Final = {Level.OK: "ok", Level.WARNING: "warning", Level.ERROR: "ERROR", Level.SKIPPED: "-"}


@dataclass(frozen=True, slots=True)
class Check:
    """One look.

    Attributes:
        name: of its findings, if it cannot be made.
        look: asks AWS and has the answers judged.
        local: whether a local cloud's answer is worth anything.
        deployed: whether there must be a deployment.
    """

    name: str
    look: Callable[[Patient], Iterable[Finding]]
    local: bool = False
    deployed: bool = False


def doctor(
    ctx: typer.Context,
    *,
    settings: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The settings to deploy. Default: cdk.json of this folder or one above."),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show warnings and errors only.")] = False,
    stage: Stage = "",
    aws: Aws = False,
    json: Json = False,
) -> None:
    """Check the AWS account before a deploy, and the deployment after it. Each problem comes with a solution.

    It changes and sends nothing. The exit code is 1 if there is an error.
    """
    clock = surroundings(ctx).clock
    found, settings_found = _patient(settings, stage, aws=aws, clock=clock)
    with aws_errors(found.where), _clock_blamed(clock):
        findings = list(examine(settings_found(), CHECKS))
    errors = sum(x.level is Level.ERROR for x in findings)
    warnings = sum(x.level is Level.WARNING for x in findings)
    if json:
        items = [{"check": x.check, "level": x.level.value, "says": x.says, "do": x.do} for x in findings]
        emit({"stage": found.stage, "where": found.where, "errors": errors, "warnings": warnings, "items": items})
    else:
        _print([x for x in findings if not quiet or x.level in (Level.WARNING, Level.ERROR)])
        known = f"{counted(errors, 'error')}, {counted(warnings, 'warning')}"
        say(f"{counted(len(findings), 'finding')} at stage {found.stage}, {found.where}: {known}")
    if errors:
        raise typer.Exit(ExitCode.FAILED)


def examine(patient: Patient, checks: Iterable[Check]) -> Iterator[Finding]:
    """Make all checks that can be made.

    Raises:
        Exception: AWS does not know the identity, or no part of AWS was reached: no check can be made.
    """
    from cli.checks.unasked import UNASKED, unasked, unreachable  # noqa: PLC0415 - loads botocore

    answered = False
    for check in checks:
        if patient.found.local and not check.local:
            yield Finding(check.name, Level.SKIPPED, LOCAL_ONLY)
            continue
        try:
            if check.deployed and not patient.environment:
                yield Finding(check.name, Level.SKIPPED, NOT_DEPLOYED)
            else:
                yield from check.look(patient)
        except UNASKED as error:
            if unreachable(error) and not answered:
                raise
            yield unasked(check.name, error)
        answered = True


@contextmanager
def _clock_blamed(clock: Clock) -> Iterator[None]:
    """Say so if AWS refuses all that is signed here since this machine's clock is wrong."""
    from botocore.exceptions import ClientError  # noqa: PLC0415 - loads botocore

    from cli.checks.unasked import blamed  # noqa: PLC0415

    try:
        yield
    except ClientError as error:
        raise blamed(error, clock) or error from None


def _print(findings: Iterable[Finding]) -> None:
    shown = list(findings)
    width = max((len(x.check) for x in shown), default=0)
    for x in shown:
        say(f"{MARKS[x.level]:<8} {x.check:<{width}}  {x.says}")
        if x.do:
            say(f"{'':<8} {'':<{width}}  → {clean(x.do)}")


def _patient(
    file: Path | None, stage: str, *, aws: bool, clock: Clock
) -> tuple[OperatedDeployment, Callable[[], Patient]]:
    """Return the deployment, and what finds out its settings; a local cloud's are those that it was deployed with."""
    found = deployment(stage, aws=aws)
    path = file or _nearest()
    declared = None if path is None or (found.local and file is None) else _declared(path)
    if declared is not None and not stage and file is None:
        found = deployment(declared[0].stage, aws=aws)
    if declared is not None and declared[0].stage != found.stage:
        declared = None

    def patient() -> Patient:
        if declared is not None:
            return Patient(found, declared[0], declared[1], from_file=True, clock=clock)
        variables = environment(found)
        if not variables:
            raise NotFound(
                f"no stage {found.stage} in {found.where}, and no cdk.json of that stage: name it with --settings"
            )
        return Patient(found, Settings.loads(variables[ENV_SETTINGS]), reserved=True, from_file=False, clock=clock)

    return found, patient


def _nearest() -> Path | None:
    """Return the cdk.json of the current folder, or of the nearest folder above that has one."""
    return next((p for f in (Path.cwd(), *Path.cwd().parents) if (p := f / "cdk.json").is_file()), None)


def _declared(path: Path) -> tuple[Settings, bool]:
    """Return the settings of a cdk.json, and whether its lanes reserve their concurrency."""
    from infra.settings import SettingsError, read  # noqa: PLC0415 - starts the CDK

    try:
        raw = codec.loads(path.read_text(encoding="utf-8"))
        declared = read(raw.get("context", {}).get("posthaste") if isinstance(raw, dict) else None)
    except (OSError, ValueError) as error:
        raise Misused(f"cannot read {path}: {error}") from None
    except SettingsError as error:
        raise Misused(f"{path}: {error}") from None
    return declared.settings, declared.reserved


# What asks AWS. Each returns what `cli.checks` makes of the answers.


def _clock(patient: Patient) -> list[Finding]:
    date = patient.identity["ResponseMetadata"]["HTTPHeaders"].get("date", "")
    return [account.clock(date, patient.clock.now())] if date else []


def _settings(patient: Patient) -> list[Finding]:
    if not patient.from_file:
        says = f"as deployed: {len(patient.settings.credentials)} credentials"
        return [Finding("settings", Level.OK, says)]
    text = patient.environment.get(ENV_SETTINGS, "")
    if not text:
        return [account.declared(patient.settings, None)]
    deployed = Settings.loads(text)
    kept = {c.id for c in patient.settings.credentials}
    waiting = {c.id: _waiting(patient, c.id) for c in deployed.credentials if c.retired and c.id not in kept}
    return [account.declared(patient.settings, deployed), *account.leaving(patient.settings, deployed, waiting)]


def _waiting(patient: Patient, credential: str) -> int:
    """Return about how many pointers a lane holds, in both queues if the deployed version has them."""
    client = patient.found.client("sqs")
    stage, waiting = patient.settings.stage, 0
    urls = [client.get_queue_url(QueueName=lane_queue_name(stage, credential))["QueueUrl"]]
    with suppress(client.exceptions.QueueDoesNotExist):
        urls.append(client.get_queue_url(QueueName=express_queue_name(stage, credential))["QueueUrl"])
    for url in urls:
        found = client.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
        waiting += sum(int(value) for name, value in found.items() if name.startswith("ApproximateNumberOf"))
    return waiting


def _bootstrap(patient: Patient) -> list[Finding]:
    client = patient.found.client("ssm")
    try:
        answer = client.get_parameter(Name=account.BOOTSTRAP)
    except client.exceptions.ParameterNotFound:
        answer = None
    return [account.bootstrap(answer, patient.identity["Account"], str(patient.found.session.region_name))]


def _concurrency(patient: Patient) -> list[Finding]:
    client = patient.found.client("lambda")
    names = patient.found.resources(FUNCTION) if patient.environment else []
    with ThreadPoolExecutor(WORKERS) as pool:
        answers = list(pool.map(lambda name: client.get_function_concurrency(FunctionName=name), names))
    here = sum(x.get("ReservedConcurrentExecutions", 0) for x in answers)
    lanes = [*patient.settings.credentials, patient.settings.credential(TEST_CREDENTIAL)]
    more = max(patient.settings.more_reserved, patient.settings.webhooks_at_once)  # older settings have the second only
    needed = HOOKS_RESERVED + more + sum(c.workers + c.express_workers for c in lanes)
    return [account.concurrency(client.get_account_settings(), here, needed, reserved=patient.reserved)]


def _writes(patient: Patient) -> list[Finding]:
    client = patient.found.client("service-quotas")
    quota = client.get_service_quota(ServiceCode="dynamodb", QuotaCode=account.WRITES_QUOTA)
    return [account.writes(quota, patient.settings)]


def _singles(patient: Patient) -> list[Finding]:
    return account.singles(patient.settings)


def _warmups(patient: Patient) -> list[Finding]:
    return account.warmups(patient.settings, patient.clock.now())


def _address(patient: Patient) -> list[Finding]:
    import urllib3  # noqa: PLC0415 - loads when needed

    if not patient.url:
        return [Finding("address", Level.SKIPPED, "the API has no address yet")]
    try:
        answer = connections(patient.url).request(
            "GET", f"{patient.url}/health", timeout=TIMEOUT, retries=False, redirect=False
        )
    except urllib3.exceptions.HTTPError as error:
        return [stack.address(patient.url, 0, b"", why=type(error).__name__)]
    return [stack.address(patient.url, answer.status, answer.data)]


def _posted(patient: Patient) -> list[Finding]:
    import urllib3  # noqa: PLC0415 - loads when needed

    if not patient.settings.webhooks_at_once:
        return [Finding("webhooks", Level.OK, "providers post their events to the API's address")]
    try:
        url = patient.found.output(WEBHOOKS_OUTPUT)
    except NotFound as error:
        return [Finding("webhooks", Level.WARNING, str(error), "deploy: webhooks_at_once is set")]
    try:
        path = WEBHOOK_PATH.format(provider="none", credential_id="none")
        answer = connections(url).request("POST", url + path, timeout=TIMEOUT, retries=False, redirect=False)
    except urllib3.exceptions.HTTPError as error:
        return [stack.posted(url, 0, why=type(error).__name__)]
    return [stack.posted(url, answer.status)]


def _edge(patient: Patient) -> list[Finding]:
    from cli.doctor.edges import look_before  # noqa: PLC0415 - loads urllib3 when needed

    try:
        origin, target = (patient.found.output(name) for name in (ORIGIN_OUTPUT, TARGET_OUTPUT))
    except NotFound:
        return [Finding("edge", Level.OK, "there is no edge before the API")]
    return look_before(patient.url, origin, target)


def _dead(patient: Patient) -> list[Finding]:
    client = OperatorClient(patient.found, patient.clock)
    try:
        return stack.queues(client.get("/queues")["items"])
    finally:
        client.close()


def _breakers(patient: Patient) -> list[Finding]:
    from shared.adapters.dynamo.client import Dynamo  # noqa: PLC0415
    from shared.adapters.dynamo.credentials.breakers import DynamoBreakers  # noqa: PLC0415 - loads botocore

    store = DynamoBreakers(Dynamo(patient.found.client("dynamodb")), patient.found.output(OPS_OUTPUT))
    return stack.breakers(store.read([c.id for c in patient.settings.credentials]))


def _switches(patient: Patient) -> list[Finding]:
    asked = {c.id: Switch(credential=c.id) for c in patient.settings.credentials}
    held = {x.id: Switch(account=x.id) for x in patient.found.accounts(patient.clock).list_accounts() if x.paused}
    stand = patient.found.switchboard(patient.clock).read(EVERYTHING, *asked.values(), *held.values())
    known = {name: (stand[switch].switches, stand[switch].reason) for name, switch in asked.items()}
    above = stand[EVERYTHING]
    paused = {name: stand[switch].reason for name, switch in held.items()}
    return stack.switches((above.switches.paused, above.reason), patient.settings.credentials, known, paused)


def _alarms(patient: Patient) -> list[Finding]:
    topic = patient.found.output("AlarmTopicArn")
    pages = patient.found.client("cloudwatch").get_paginator("describe_alarms")
    listed = (x for p in pages.paginate(AlarmNamePrefix=f"{prefix(patient.found.stage)}-") for x in p["MetricAlarms"])
    own = set(patient.found.resources(ALARM))  # the alarms of a stage prod-eu begin as those of prod do
    alarms = [x for x in listed if x["AlarmName"] in own]
    return stack.alarms(alarms, topic, providers.subscriptions(patient, topic))


def _of_providers(*, deployed: bool) -> list[Check]:
    """Return the checks that providers declare, of those that need a deployment or those that do not."""
    return [
        Check(check.name, partial(providers.look, provider, check.name), deployed=deployed)
        for provider, check in providers.declared()
        if check.deployed is deployed
    ]


CHECKS: Final = (
    Check("clock", _clock, local=True),
    Check("settings", _settings, local=True),
    Check("bootstrap", _bootstrap),
    Check("concurrency", _concurrency),
    Check("tables", _writes),
    Check("single messages", _singles),
    Check("warm-up", _warmups, local=True),
    *_of_providers(deployed=False),
    Check("secrets", look, local=True),
    Check("identities", identities, local=True),
    Check("hashes", hashes, local=True, deployed=True),
    Check("first accounts", first_accounts, local=True, deployed=True),
    Check("names", stacks.names),
    Check("stack", stacks.look, local=True),
    Check("address", _address, local=True),
    Check("webhooks", _posted, deployed=True),
    Check("edge", _edge, deployed=True),
    *_of_providers(deployed=True),
    Check("dead letters", _dead, local=True, deployed=True),
    Check("breakers", _breakers, local=True, deployed=True),
    Check("switches", _switches, local=True, deployed=True),
    Check("alarms", _alarms, deployed=True),
)
