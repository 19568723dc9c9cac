"""`posthaste logs` on the local cloud: what each function said of a job."""

import json

import pytest
from typer.testing import CliRunner

from cli.main import app
from infra.local.paths import ENV_LOCAL
from tests.deployed.api import Api
from tests.deployed.inside import Inside

pytestmark = pytest.mark.deployed


def test_the_lines_of_a_job_are_found_by_its_id_and_by_function(inside: Inside, api: Api, tag: str) -> None:
    job = api.post([f"ann+{tag}@example.com"], "sendgrid-main")
    api.finished(job)
    home = {ENV_LOCAL: str(inside.cloud.paths.home)}
    done = CliRunner().invoke(app, ["logs", "--job", job, "--json"], env=home)
    assert done.exit_code == 0, done.output
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [line["@at"] for line in lines] == sorted(line["@at"] for line in lines)
    senders = {line["service"] for line in lines if str(line.get("service", "")).startswith("send-")}
    assert len(senders) == 1, lines
    (sender,) = senders
    done = CliRunner().invoke(app, ["logs", "--job", job, "--service", sender, "--json"], env=home)
    assert {json.loads(line)["service"] for line in done.stdout.splitlines()} == {sender}
