"""The doctor on the local cloud: it looks at what is really there, and says of the rest that it cannot."""

import json

import pytest
from typer.testing import CliRunner

from cli.main import app
from infra.local.paths import ENV_LOCAL
from tests.deployed.inside import Inside

pytestmark = pytest.mark.deployed

BLIND = {"bootstrap", "concurrency", "names", "tables", "single messages", "alarms"}
BLIND |= {"edge", "webhooks", "ses", "ses events", "aws-sms", "aws-sms trial"}
"""What a local cloud does not have, and `names`, which matter before a first deploy alone."""


def test_the_doctor_finds_nothing_but_what_a_local_cloud_cannot_know(inside: Inside) -> None:
    done = CliRunner().invoke(app, ["doctor", "--json"], env={ENV_LOCAL: str(inside.cloud.paths.home)})
    found = json.loads(done.stdout)
    levels = {x["check"]: x["level"] for x in found["items"]}
    assert (done.exit_code, found["errors"]) == (0, 0), found
    assert {check for check, level in levels.items() if level == "skipped"} == BLIND
    assert levels["address"] == levels["stack"] == levels["settings"] == "ok"
    declared = [c.id for c in inside.deployment.settings.credentials]
    assert {f"secret {name}" for name in declared} <= levels.keys()
