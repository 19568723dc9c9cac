"""The samples of the documentation, run against the deployed API."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from infra.local.cloud import Cloud
from simulator.client import ControlClient
from tests.deployed.api import Api
from tests.deployed.inside import Inside
from tests.deployed.sample_props import Props
from tests.deployed.samples import OUT_OF_REACH, run
from tools.samples import Sample, samples
from tools.sdks import __main__ as sdks

pytestmark = pytest.mark.deployed

SAMPLES: Final[dict[str, list[Sample]]] = {}
for found in samples():
    if found.operation not in OUT_OF_REACH:
        SAMPLES.setdefault(found.operation, []).append(found)


@pytest.fixture(scope="module", autouse=True)
def made() -> None:
    sdks.sources()


@pytest.fixture(scope="module")
def props(cloud: Cloud, inside: Inside, api: Api, control: ControlClient) -> Iterator[Props]:
    made = Props(cloud, inside, api, control, os.urandom(4).hex())
    yield made
    made.clean()


@pytest.mark.parametrize("operation", SAMPLES)
def test_the_samples_of_an_operation_run(cloud: Cloud, props: Props, tmp_path: Path, operation: str) -> None:
    for sample in SAMPLES[operation]:
        environment = {**cloud.env, **props.environment(operation)}
        assert run(sample, props.values(operation), environment, tmp_path) == ""
