"""Tests in this folder marked `deployed` talk to the running local cloud; without one they fail."""

from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from infra.local import cloud as local_cloud
from infra.local import deploy, emulator
from infra.local.console import LocalCloudError
from infra.local.paths import paths


@pytest.fixture(scope="session")
def cloud() -> local_cloud.Cloud:
    """The running local cloud, as its `env` file describes it."""
    try:
        return local_cloud.current(paths())
    except LocalCloudError as error:
        pytest.fail(str(error), pytrace=False)


@pytest.fixture(scope="session")
def cloud_port(cloud: local_cloud.Cloud) -> int:
    return int(cloud.env["AWS_ENDPOINT_URL"].rpartition(":")[2])


@pytest.fixture(scope="session")
def aws(cloud_port: int) -> Callable[[str], Any]:
    """Clients of the emulator's root user, by service."""
    return lambda service: deploy.client(service, cloud_port)


@pytest.fixture(scope="session")
def stacks(cloud: local_cloud.Cloud, cloud_port: int) -> list[deploy.Stack]:
    return deploy.stacks(cloud.paths, cloud_port)


@pytest.fixture(scope="session")
def in_role(aws: Callable[[str], Any], cloud_port: int) -> Callable[[str, str], Any]:
    """Clients that act in the role of a deployed function: `in_role(function_name, service)`."""

    @cache
    def client(function: str, service: str) -> Any:
        role = aws("lambda").get_function_configuration(FunctionName=function)["Role"]
        found = aws("sts").assume_role(RoleArn=role, RoleSessionName="test")["Credentials"]
        session: Any = emulator.session()
        return session.client(
            service,
            endpoint_url=emulator.url(cloud_port),
            config=emulator.config(),
            aws_access_key_id=found["AccessKeyId"],
            aws_secret_access_key=found["SecretAccessKey"],
            aws_session_token=found["SessionToken"],
        )

    return client
