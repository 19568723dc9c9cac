"""The example client as a script, against the local cloud."""

import ast
import os
import subprocess
import sys

import pytest

from infra.local.paths import ROOT
from tests.deployed.api import Api
from tests.deployed.inside import Inside

pytestmark = pytest.mark.deployed


@pytest.mark.promise(7)
def test_the_example_run_twice_at_once_sends_once(inside: Inside, tag: str) -> None:
    names = {"POSTHASTE_URL": inside.cloud.api, "POSTHASTE_API_KEY": inside.cloud.env["POSTHASTE_TEST_KEY"]}
    command = [sys.executable, str(ROOT / "examples" / "client.py"), f"invoice-{tag}", f"{tag}@example.com"]
    runs = [subprocess.Popen(command, env={**os.environ, **names}, stdout=subprocess.PIPE, text=True) for _ in "ab"]
    counts = [ast.literal_eval(run.communicate(timeout=60)[0]) for run in runs]
    assert [c["sent"] + c["delivered"] for c in counts] == [1, 1]
    made = Api(inside.cloud.api, names["POSTHASTE_API_KEY"]).get("/jobs?limit=50")["items"]
    assert [job["total"] for job in made if job["subject"] == f"Your invoice-{tag}"] == [1]
