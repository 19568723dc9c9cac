"""Programs on DynamoDB."""

from dataclasses import replace
from typing import Any

import pytest

from shared.adapters.dynamo.notices.programs import DynamoPrograms
from shared.domain.audit import Act, Event, Log, audited
from shared.domain.notices.programs import Program, ProgramStep
from shared.ports import Mismatch, Replay, Stored
from tests.contracts.conftest import ACCOUNT, key
from tests.fakes.clock import FakeClock
from tests.fakes.faults import When
from tests.fakes.tables import MotoStores


@pytest.fixture
def stores(moto_dynamo: Any, clock: FakeClock) -> MotoStores:
    return MotoStores(moto_dynamo, clock)


@pytest.fixture
def programs(stores: MotoStores) -> DynamoPrograms:
    return DynamoPrograms(stores.dynamo, records=stores.tables.records)


def made(clock: FakeClock, name: str = "course", **changes: Any) -> Program:
    steps = (ProgramStep("t" * 26, 0), ProgramStep("u" * 26, 28, "9-12", "IVR"))
    return replace(Program(ACCOUNT, name, steps, clock.ms, clock.ms, {"title": "Für Kinder"}), **changes)


def event(program: Program, act: Act = Act.PROGRAM_CREATED) -> Event:
    return audited(program.namespace, program.saved_at, program.name, act, "0123456789abcdef", {"n": program.version})


@pytest.mark.parametrize("when", [None, When.REPEATED])
def test_versions_replace_each_other_and_are_told(
    programs: DynamoPrograms, stores: MotoStores, clock: FakeClock, when: When | None
) -> None:
    if when is not None:
        stores.tap.arm(0, when, where=lambda name: name.endswith("transact_write_items"))
    first = made(clock)
    second = replace(first, version=2, steps=first.steps[:1], metadata={})
    assert programs.save(None, first, None, event=event(first)) == Stored()
    assert programs.save(None, replace(first, saved_at=clock.ms + 1), None, event=event(first)) is None
    assert programs.save(first, second, None, event=event(second, Act.PROGRAM_CHANGED)) == Stored()
    late = replace(first, version=2, steps=first.steps[1:])
    assert programs.save(first, late, None, event=event(late, Act.PROGRAM_CHANGED)) is None
    assert programs.get(ACCOUNT, "course") == second
    assert not programs.delete(first, event=event(first, Act.PROGRAM_DELETED))
    assert programs.delete(second, event=event(second, Act.PROGRAM_DELETED))
    assert programs.get(ACCOUNT, "course") is None
    kinds = [x.kind for x in stores.journal.since(ACCOUNT, Log.AUDIT, 0)]
    assert sorted(kinds) == ["program.changed", "program.created", "program.deleted"]


def test_programs_are_read_by_name_and_namespace(programs: DynamoPrograms, clock: FakeClock) -> None:
    for name, namespace in (("b", ACCOUNT), ("a", ACCOUNT), ("c", f"{ACCOUNT}#TEST")):
        program = made(clock, name, namespace=namespace)
        assert programs.save(None, program, None, event=event(program)) == Stored()
    assert [x.name for x in programs.all(ACCOUNT)] == ["a", "b"]
    assert programs.all(f"{ACCOUNT}#TEST") == [made(clock, "c", namespace=f"{ACCOUNT}#TEST")]
    assert programs.get(ACCOUNT, "c") is None


def test_a_repeated_request_gets_the_first_answer(programs: DynamoPrograms, clock: FakeClock) -> None:
    program = made(clock)
    assert programs.save(None, program, key(clock), event=event(program)) == Stored()
    again = programs.save(None, program, key(clock, answer="second"), event=event(program))
    assert again == Replay("first")
    assert isinstance(programs.save(None, program, key(clock, "other"), event=event(program)), Mismatch)
