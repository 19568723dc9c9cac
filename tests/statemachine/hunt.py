"""Runs the adversary for some time or some runs, with a seed that says all."""

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import boto3
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.fakes.tables import MotoStores, mock_aws
from tests.statemachine.machine import Machine
from tests.statemachine.world import Setting

STEPS: Final = 40
"""Rules in one run, at the most."""


def _settings(runs: int, steps: int, *, shrink: bool) -> settings:
    phases = [Phase.generate, Phase.shrink] if shrink else [Phase.generate]
    return settings(
        max_examples=runs,
        stateful_step_count=steps,
        deadline=None,
        database=None,
        derandomize=False,
        print_blob=True,
        phases=phases,
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
    )


def over_fakes(machine: type[Machine] = Machine) -> type[Machine]:
    """Return a machine over the fakes."""
    return machine


def over_moto(client: Any, machine: type[Machine] = Machine) -> type[Machine]:
    """Return a machine over the real stores, on a DynamoDB client of moto."""

    def clean(stores: MotoStores) -> None:
        client.delete_table(TableName=stores.tables.records)
        client.delete_table(TableName=stores.tables.ops)

    setting = Setting(lambda clock, stage: MotoStores(client, clock, stage), clean)
    return type("Machine", (machine,), {"setting": setting})


def hunt(target: type[Machine], number: int, *, runs: int, steps: int = STEPS, shrink: bool = True) -> None:
    """Make `runs` runs from the seed `number`; raises Violation, with the shortest trace found as its notes."""
    seeded = seed(number)(type("Machine", (target,), {}))
    logging.disable()  # the adversary's faults are no news
    try:
        run_state_machine_as_test(seeded, settings=_settings(runs, steps, shrink=shrink))
    except BaseException as e:
        e.add_note(f"found with seed {number}, {runs} runs of {steps} steps")
        raise
    finally:
        logging.disable(logging.NOTSET)


def hunt_for(target: type[Machine], seconds: float, number: int, *, runs: int = 20) -> int:
    """Hunt from seed after seed, beginning with `number`, until the time is over; returns how many runs were made."""
    end = time.monotonic() + seconds
    made = 0
    while time.monotonic() < end:
        hunt(target, number, runs=runs)
        number += 1
        made += runs
    return made


@contextmanager
def moto() -> Iterator[Any]:
    """Yield a DynamoDB client of moto."""
    with mock_aws():
        yield boto3.client(
            "dynamodb", region_name="us-east-1", aws_access_key_id="testing", aws_secret_access_key="testing"
        )
