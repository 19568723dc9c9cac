"""In the init phase a function makes its clients, and connects to nothing; elsewhere an import makes nothing."""

import json
import subprocess
import sys

import pytest

from benchmarks import starts
from functions.early import ON_LAMBDA
from infra.settings import ROOT
from shared import contracts

PROGRAM = """
import importlib, json, socket, sys
import botocore.session
made = []
create = botocore.session.Session.create_client
def created(self, name, **kwargs):
    made.append(name)
    return create(self, name, **kwargs)
def connects(*_):
    raise AssertionError("connects in the init phase")
botocore.session.Session.create_client = created
socket.socket.connect = connects
importlib.import_module(sys.argv[1])
print(json.dumps(made))
"""
MADE = {
    "send": ["dynamodb", "secretsmanager"],
    "webhooks": ["secretsmanager", "sqs"],
    "pictures": ["s3"],
}
"""Function → clients that its first event needs; of the others, that of DynamoDB."""


def clients(name: str, *, on_lambda: bool) -> list[str]:
    """Return the clients that the import of a function's handler makes."""
    environment = {k: v for k, v in starts.environment().items() if on_lambda or k != ON_LAMBDA}
    module = contracts.HANDLERS[name].rpartition(".")[0]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, module],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    found: list[str] = json.loads(done.stdout.splitlines()[-1])
    return sorted(found)


@pytest.mark.slow
@pytest.mark.parametrize("name", contracts.HANDLERS)
def test_the_init_phase_makes_clients_and_connects_to_nothing(name: str) -> None:
    assert clients(name, on_lambda=True) == MADE.get(name, ["dynamodb"])


@pytest.mark.slow
def test_an_import_elsewhere_makes_nothing() -> None:
    for name in ("send", "api", "webhooks"):
        assert clients(name, on_lambda=False) == []
