import pytest

from simulator.client import ControlClient
from simulator.registry import providers
from tests.deployed import chaos
from tests.deployed.api import Api
from tests.deployed.inside import Inside

pytestmark = pytest.mark.deployed
MESSAGES = 400
SEED = 11


@pytest.mark.promise(1)
@pytest.mark.promise(3)
def test_every_message_of_a_storm_is_accounted_for(inside: Inside, api: Api, control: ControlClient) -> None:
    report = chaos.run(inside, api, control, messages=MESSAGES, seed=SEED)
    assert report.wrong == [], report.text()
    assert report.samples > 0
    assert report.accepted > MESSAGES / 2
    assert {vendor for vendor, _ in report.broken} == set(providers())
