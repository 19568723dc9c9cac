"""In the init phase a function makes its clients, and connects to nothing; elsewhere an import makes nothing."""

import json
import subprocess
import sys

import pytest

from benchmarks import starts
from infra.settings import ROOT
from shared import contracts

PROGRAM = """
import importlib, json, socket, sys
from shared.adapters.http.direct import DirectClient
made = []
create = DirectClient.__init__
def created(self, service, *args, **kwargs):
    made.append(service.name)
    create(self, service, *args, **kwargs)
def connects(*_):
    raise AssertionError("connects in the init phase")
DirectClient.__init__ = created
socket.socket.connect = connects
importlib.import_module(sys.argv[1])
print(json.dumps([made, "botocore.session" in sys.modules]))
"""
MADE = {
    **dict.fromkeys(("api", "send", "call_hooks", "console"), ("dynamodb", "secretsmanager", "sqs")),
    **dict.fromkeys(("join", "operate", "buttons"), ("dynamodb",)),
    "webhooks": ("secretsmanager", "sqs"),
    "pictures": (),
}
"""Function → clients that it makes; of the others, those of DynamoDB and SQS."""


def clients(name: str, *, on_lambda: bool) -> list[str]:
    """Return the clients that the import of a function's handler makes."""
    environment = {k: v for k, v in starts.environment().items() if on_lambda or k != contracts.ON_LAMBDA}
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
    found, loaded = json.loads(done.stdout.splitlines()[-1])
    assert not loaded, "botocore's session takes 80 ms"
    return sorted(found)


@pytest.mark.slow
@pytest.mark.parametrize("name", contracts.HANDLERS)
def test_the_init_phase_makes_clients_and_connects_to_nothing(name: str) -> None:
    assert tuple(sorted({*clients(name, on_lambda=True)})) == MADE.get(name, ("dynamodb", "sqs"))


@pytest.mark.slow
def test_an_import_elsewhere_makes_nothing() -> None:
    for name in ("send", "api", "webhooks"):
        assert clients(name, on_lambda=False) == []
