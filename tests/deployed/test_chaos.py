import pytest

from infra.local import deploy
from infra.local.cloud import Cloud
from simulator.client import ControlClient
from tests.deployed import chaos
from tests.deployed.api import Api
from tests.deployed.inside import Inside

pytestmark = pytest.mark.deployed
MESSAGES = 400
SEED = 11


@pytest.mark.promise(1)
@pytest.mark.promise(3)
def test_every_message_of_a_storm_is_accounted_for(cloud: Cloud, stacks: list[deploy.Stack], cloud_port: int) -> None:
    inside = Inside.of(cloud, stacks, cloud_port)
    api, control = Api(cloud.api, cloud.env["POSTHASTE_API_KEY"]), ControlClient(cloud.env["SIMULATOR_URL"])
    report = chaos.run(inside, api, control, messages=MESSAGES, seed=SEED)
    assert report.wrong == [], report.text()
    assert report.samples > 0
    assert report.accepted > MESSAGES / 2
