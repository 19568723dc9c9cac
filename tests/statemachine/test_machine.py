"""The adversary finds nothing; and each named sabotage of the engine, it finds."""

from typing import Any

import pytest

from tests.statemachine.campaigns import CampaignMachine
from tests.statemachine.hunt import hunt, over_fakes, over_moto
from tests.statemachine.machine import Machine
from tests.statemachine.operators import OperatorMachine
from tests.statemachine.sabotage import OF_CAMPAIGNS, SABOTAGES
from tests.statemachine.watch import Violation
from tests.tiers import examples

pytestmark = pytest.mark.hypothesis
SEED = 20_261_121
"""The hunt of CI goes over the same ground each time; `make soak` takes a fresh seed, and hours."""
SEEDS = 100
"""A sabotage is found within the first few; ids are random, so no number of them is certain."""
RUNS = 25


@pytest.mark.promise(1)
@pytest.mark.promise(3)
@pytest.mark.promise(4)
@pytest.mark.promise(5)
@pytest.mark.promise(7)
@pytest.mark.promise(8)
@pytest.mark.timeout(1200)  # what is found is also made short
def test_no_adversary_breaks_a_promise_over_the_fakes() -> None:
    hunt(over_fakes(), SEED, runs=examples(100))


@pytest.mark.promise(1)
@pytest.mark.promise(3)
@pytest.mark.promise(4)
@pytest.mark.promise(7)
@pytest.mark.promise(8)
@pytest.mark.slow
@pytest.mark.timeout(1200)  # what is found is also made short
def test_no_adversary_breaks_a_promise_over_dynamodb(moto_dynamo: Any) -> None:
    for number in range(2):
        hunt(over_moto(moto_dynamo), SEED + number, runs=5)


@pytest.mark.promise(3)
@pytest.mark.timeout(1200)  # what is found is also made short
def test_campaigns_that_share_a_credential_take_turns() -> None:
    for number in range(2):
        hunt(over_fakes(CampaignMachine), SEED + number, runs=examples(10))


@pytest.mark.promise(3)
@pytest.mark.timeout(1200)  # what is found is also made short
def test_what_operators_hold_back_is_neither_lost_nor_sent_twice() -> None:
    for number in range(3):
        hunt(over_fakes(OperatorMachine), SEED + number, runs=examples(8))


RARE = {
    "takeover_sends_again",
    "no_epoch",
    "retry_takes_unknown",
    "own_claim_unknown",
    "words_without_attempt",
    "youngest_first",
}
"""Sabotages that take the adversary minutes to find; `make mutants` shows that plain tests notice them too."""


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(set(SABOTAGES) - RARE))
def test_the_machine_finds_a_broken_rule(name: str) -> None:
    with SABOTAGES[name](), pytest.raises(Violation):
        _hunt_shortly()


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(set(OF_CAMPAIGNS) - RARE))
def test_the_machine_of_campaigns_finds_a_broken_rule(name: str) -> None:
    with OF_CAMPAIGNS[name](), pytest.raises(Violation):
        _hunt_shortly(CampaignMachine)


def _hunt_shortly(machine: type[Machine] = Machine) -> None:
    for number in range(SEEDS):
        hunt(over_fakes(machine), number, runs=RUNS, shrink=False)
