"""What tests of several packages share."""

import os
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from hypothesis import HealthCheck, settings

from tests.fakes.tables import mock_aws

# As the Makefile does: workers and commands that tests start would each compile every package anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# As it is here or in CI, but for the time of examples, which on a machine with other work says nothing.
patient = {*settings().suppress_health_check, HealthCheck.too_slow}
settings.register_profile("unhurried", settings(), deadline=None, suppress_health_check=patient)
settings.load_profile("unhurried")


@pytest.fixture(scope="module")
def moto_dynamo() -> Iterator[Any]:
    """A low-level DynamoDB client on moto; each test makes tables of its own with `create_tables`."""
    os.environ["AWS_ACCESS_KEY_ID"] = os.environ["AWS_SECRET_ACCESS_KEY"] = "testing"
    with mock_aws():
        yield boto3.client("dynamodb", region_name="us-east-1")
