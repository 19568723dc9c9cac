"""The dictionaries of the stores in memory that find a part of what they hold without looking at the rest."""

from dataclasses import replace

import pytest

from shared.domain.jobs.states import JobState
from tests.fakes.grouped import Grouped
from tests.fakes.transitions import slot_of
from tests.fakes.world import World


def test_a_group_is_found_in_order_whatever_was_added_and_removed() -> None:
    held: Grouped[tuple[str, int], str] = Grouped(1)
    held["b", 2], held["a", 2], held["a", 1] = "x", "y", "z"
    assert held.setdefault(("a", 1), "other") == "z"
    assert held.setdefault(("a", 3), "new") == "new"
    del held["a", 2]
    assert held.of("a") == [("a", 1), ("a", 3)]
    held.clear()
    assert held.of("a") == held.of("b") == []
    with pytest.raises(TypeError):
        held.update({("a", 1): "x"})


def test_a_job_is_in_the_partition_of_its_state_alone() -> None:
    world = World()
    job = world.accept(1)
    jobs = world.records.jobs  # type: ignore[attr-defined]
    jobs[job.id] = ready = replace(jobs[job.id], state=JobState.READY)
    assert jobs.open(slot_of(ready)) == [ready]
    jobs[job.id] = sending = replace(jobs[job.id], state=JobState.SENDING)
    assert jobs.open(slot_of(ready)) == []
    assert jobs.open(slot_of(sending)) == [sending]
    jobs[job.id] = replace(sending, state=JobState.LOGGED)
    assert jobs.open(slot_of(sending)) == []
    jobs[job.id] = sending
    del jobs[job.id]
    assert jobs.open(slot_of(sending)) == []
    with pytest.raises(TypeError):
        jobs.clear()
