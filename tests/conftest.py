"""What tests of several packages share."""

import gc
import os
from collections.abc import Iterator
from typing import Any, Final

import boto3
import pytest

from tests import tiers
from tests.fakes.tables import mock_aws
from tests.shell import Shell

# As the Makefile does: workers and commands that tests start would each compile every package anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

GARBAGE: Final = 50_000
"""Objects after which Python looks for garbage: what it finds there is seldom worth a twentieth of the tests' time."""

gc.disable()
tiers.register()
_SHELL: Final = pytest.StashKey[Shell]()


def pytest_configure(config: pytest.Config) -> None:
    """Take out the settings of the shell, but where pytest-xdist only starts processes: these inherit them."""
    if not config.getoption("numprocesses", None):
        config.stash[_SHELL] = Shell(os.environ)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> None:
    """Let deployed tests see the settings of the shell, and no others."""
    deployed = any(item.iter_markers("deployed")) or any(item.iter_markers("browser"))
    item.config.stash[_SHELL].turn(deployed=deployed)


def pytest_collection_finish() -> None:
    """Look for no garbage while tests are collected, nor ever among them: they stay. Look for other garbage seldom."""
    gc.freeze()
    gc.enable()
    gc.set_threshold(GARBAGE)


@pytest.fixture(scope="module")
def moto_dynamo() -> Iterator[Any]:
    """A low-level DynamoDB client on moto; each test makes tables of its own with `create_tables`."""
    os.environ["AWS_ACCESS_KEY_ID"] = os.environ["AWS_SECRET_ACCESS_KEY"] = "testing"
    with mock_aws():
        yield boto3.client("dynamodb", region_name="us-east-1")
