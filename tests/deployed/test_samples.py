"""The samples of the documentation, run against the deployed API; Go and PHP: `make samples`."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from infra.local.cloud import Cloud
from simulator.client import ControlClient
from tests.deployed.api import Api
from tests.deployed.sample_props import Props
from tests.deployed.samples import Sample, run, samples

pytestmark = pytest.mark.deployed

HERE: Final = ("curl", "Python", "TypeScript")
SAMPLES: Final[dict[str, list[Sample]]] = {sample.operation: [] for sample in samples(HERE)}
for found in samples(HERE):
    SAMPLES[found.operation].append(found)


@pytest.fixture(scope="module")
def props(cloud: Cloud, api: Api, control: ControlClient) -> Iterator[Props]:
    made = Props(cloud, api, control, os.urandom(4).hex())
    yield made
    made.clean()


@pytest.mark.parametrize("operation", SAMPLES)
def test_the_samples_of_an_operation_run(
    cloud: Cloud, props: Props, programs: dict[str, list[str]], tmp_path: Path, operation: str
) -> None:
    assert [sample.label for sample in SAMPLES[operation]] == list(HERE)
    environment = {**os.environ, **cloud.env}
    own = {"Python": programs["python"]}
    for sample in SAMPLES[operation]:
        assert run(sample, props.values(operation), environment, tmp_path, own) == ""
