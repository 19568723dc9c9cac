"""The local cloud is what it claims to be: on loopback, complete, with IAM enforced."""

import json
import stat
import subprocess
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from infra.local import accounts, deploy, emulator, processes, providers
from infra.local.cloud import Cloud
from infra.local.completion import complete
from shared.contracts import (
    ENV_LANE,
    ENV_OPS_TABLE,
    ENV_PEOPLE_TABLE,
    ENV_RECORDS_TABLE,
    HANDLERS,
    Credential,
    secret_name,
    webhook_secret_name,
)
from simulator.client import ControlClient

pytestmark = pytest.mark.deployed

Aws = Callable[[str], Any]
InRole = Callable[[str, str], Any]


@pytest.fixture(scope="module")
def deployment(stacks: list[deploy.Stack], cloud_port: int) -> accounts.LocalDeployment:
    return accounts.describe(stacks, cloud_port)


@pytest.fixture(scope="module")
def functions(stacks: list[deploy.Stack], aws: Aws) -> dict[str, dict[str, str]]:
    """Every function of ours, with its environment."""
    found = {}
    for stack in stacks:
        for name, _ in stack.of_type("AWS::Lambda::Function"):
            environment = aws("lambda").get_function_configuration(FunctionName=name).get("Environment", {})
            found[name] = environment.get("Variables", {})
    return found


@pytest.fixture(scope="module")
def credential(deployment: accounts.LocalDeployment) -> Credential:
    return deployment.settings.credentials[0]


@pytest.fixture(scope="module")
def sender(functions: dict[str, dict[str, str]], credential: Credential) -> str:
    return next(name for name, env in functions.items() if env.get(ENV_LANE) == credential.id)


def refused(call: Callable[..., Any], **arguments: Any) -> bool:
    """Tell whether IAM denies a call."""
    try:
        call(**arguments)
    except ClientError as error:
        if error.response["Error"]["Code"] in ("AccessDenied", "AccessDeniedException"):
            return True
        raise
    return False


def listeners(cloud: Cloud) -> Iterator[tuple[str, str]]:
    """Yield (process name, local address) of every listening socket of the cloud's processes and their children."""
    shown = subprocess.run(["ss", "-Hltnp"], capture_output=True, text=True, check=True).stdout
    for process in processes.read(cloud.paths).values():
        for pid in processes.group(process.pid):
            for line in shown.splitlines():
                if f"pid={pid}," in line:
                    yield process.name, line.split()[3]


def test_health(cloud: Cloud) -> None:
    with emulator.direct(f"{cloud.api}/health", timeout=35) as answer:
        assert answer.status == 200


def test_everything_listens_on_loopback_alone(cloud: Cloud) -> None:
    found = list(listeners(cloud))
    assert {name for name, _ in found} == {emulator.NAME, providers.NAME}
    assert {address.rpartition(":")[0] for _, address in found} == {processes.LOOPBACK}


def test_reserved_concurrency_is_what_the_template_says(stacks: list[deploy.Stack], aws: Aws) -> None:
    wanted = {
        name: properties["ReservedConcurrentExecutions"]
        for stack in stacks
        for name, properties in stack.of_type("AWS::Lambda::Function")
        if "ReservedConcurrentExecutions" in properties
    }
    assert wanted
    found = {n: aws("lambda").get_function_concurrency(FunctionName=n)["ReservedConcurrentExecutions"] for n in wanted}
    assert found == wanted


def test_items_expire_in_both_tables(deployment: accounts.LocalDeployment, aws: Aws) -> None:
    for table in (deployment.environment[ENV_RECORDS_TABLE], deployment.environment[ENV_OPS_TABLE]):
        found = aws("dynamodb").describe_time_to_live(TableName=table)["TimeToLiveDescription"]
        assert found["TimeToLiveStatus"] == "ENABLED", table


def test_completing_the_stack_again_changes_nothing(stacks: list[deploy.Stack], cloud_port: int, aws: Aws) -> None:
    assert complete(stacks, cloud_port)["reserved concurrency"] > 0
    test_reserved_concurrency_is_what_the_template_says(stacks, aws)


def test_secrets_are_filled_and_webhooks_are_aimed_at_the_api(
    deployment: accounts.LocalDeployment, credential: Credential, cloud: Cloud, aws: Aws
) -> None:
    name = secret_name(deployment.settings.stage, credential.id)
    secret = json.loads(aws("secretsmanager").get_secret_value(SecretId=name)["SecretString"])
    control = ControlClient(cloud.env["SIMULATOR_URL"])
    keys = control.keys(credential.provider)
    assert secret["api_key"] in keys["keys"]
    assert secret["webhook_public_key"] == keys["webhook_public_key"]
    target = control.webhooks(credential.provider, credential.id)["url"]
    assert target == f"{cloud.api}/webhooks/{credential.provider}/{credential.id}"


@pytest.mark.promise(9)
def test_no_function_may_scan_but_that_of_operators(functions: dict[str, dict[str, str]], in_role: InRole) -> None:
    tried = 0
    every = sorted({value for x in functions.values() for name, value in x.items() if name.endswith("_TABLE")})
    for function, environment in functions.items():
        named = [value for variable, value in environment.items() if variable.endswith("_TABLE")]
        tables = named or every  # the function of pictures has the name of none
        assert len(tables) >= 2, function
        for table in tables:
            scanned = {environment.get(ENV_RECORDS_TABLE), environment.get(ENV_PEOPLE_TABLE)}
            scans = environment["POWERTOOLS_SERVICE_NAME"] == "operate" and table in scanned
            assert refused(in_role(function, "dynamodb").scan, TableName=table) != scans, (function, table)
            tried += 1
    assert tried >= 2 * len(HANDLERS)


@pytest.mark.promise(9)
def test_a_sender_reads_its_own_secret(
    sender: str, deployment: accounts.LocalDeployment, credential: Credential, in_role: InRole
) -> None:
    name = secret_name(deployment.settings.stage, credential.id)
    assert in_role(sender, "secretsmanager").get_secret_value(SecretId=name)["SecretString"]


@pytest.mark.promise(9)
def test_a_sender_cannot_read_another_secret(
    sender: str, deployment: accounts.LocalDeployment, aws: Aws, in_role: InRole
) -> None:
    name = secret_name(deployment.settings.stage, "foreign")
    aws("secretsmanager").create_secret(Name=name, SecretString="{}")
    try:
        assert refused(in_role(sender, "secretsmanager").get_secret_value, SecretId=name)
    finally:
        aws("secretsmanager").delete_secret(SecretId=name, ForceDeleteWithoutRecovery=True)


@pytest.mark.promise(9)
def test_a_secret_is_read_by_its_sender_and_what_verifies_its_webhooks_by_their_receiver(
    functions: dict[str, dict[str, str]],
    sender: str,
    deployment: accounts.LocalDeployment,
    credential: Credential,
    aws: Aws,
    in_role: InRole,
) -> None:
    def readers(name: str) -> set[str]:
        return {f for f in functions if not refused(in_role(f, "secretsmanager").get_secret_value, SecretId=name)}

    assert readers(secret_name(deployment.settings.stage, credential.id)) == {sender}
    apart = webhook_secret_name(deployment.settings.stage, credential.id)
    assert set(json.loads(aws("secretsmanager").get_secret_value(SecretId=apart)["SecretString"])) == {
        "webhook_public_key"
    }
    (receiver,) = readers(apart)
    assert aws("lambda").get_function_configuration(FunctionName=receiver)["Handler"] == HANDLERS["webhooks"]


@pytest.mark.promise(9)
def test_a_forged_key_is_refused(cloud_port: int, deployment: accounts.LocalDeployment) -> None:
    stranger = emulator.session().client(
        "dynamodb",
        endpoint_url=emulator.url(cloud_port),
        config=emulator.config(),
        aws_access_key_id="ASIASTRANGER00000000",
        aws_secret_access_key="made-up",
        aws_session_token="made-up",
    )
    with pytest.raises(ClientError):
        stranger.describe_table(TableName=deployment.environment[ENV_RECORDS_TABLE])


def test_the_env_file_is_its_owners_alone(cloud: Cloud) -> None:
    assert stat.S_IMODE(cloud.paths.env.stat().st_mode) == 0o600


def test_a_shell_reads_the_env_file_and_hands_it_on(cloud: Cloud) -> None:
    script = 'unset POSTHASTE_URL POSTHASTE_API_KEY; . "$0"; exec printenv POSTHASTE_URL POSTHASTE_API_KEY'
    done = subprocess.run(["sh", "-c", script, str(cloud.paths.env)], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [cloud.api, cloud.env["POSTHASTE_API_KEY"]]
