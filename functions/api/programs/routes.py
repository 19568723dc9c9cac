"""Programs: schedules of notices that an account recommends, and that its notifiers copy."""

from dataclasses import replace
from typing import Any, Final
from urllib.parse import quote

from functions.api.call import Call, now_of, zone_of
from functions.api.campaigns.rules import owned_template
from functions.api.campaigns.views import Deleted
from functions.api.programs.requests import NewProgram, ProgramVersion
from functions.api.programs.views import ProgramPage, ProgramView
from shared.domain.accounts import Scope
from shared.domain.audit import Act, Event, audited
from shared.domain.notices.notifier import METHODS
from shared.domain.notices.programs import MAX_PROGRAMS, Program, ProgramStep, is_program_name
from shared.ports import Mismatch, Replay, Retriable
from shared.web.etags import tagged
from shared.web.http import Answer
from shared.web.idempotency import earlier, record_of, repeated
from shared.web.problems import Problem, invalid, missing
from shared.web.routing import Nothing, Route, Scheme, section

TRIES: Final = 5
"""Versions that others make meanwhile."""


def create(call: Call[Nothing, NewProgram]) -> Answer:
    """Store a program."""
    before = earlier(call, 201)
    if before is not None:
        return before
    store, name, now = call.services.notices().programs, call.body.name, now_of(call)
    there = [x.name for x in store.all(call.key.namespace)]
    if name in there:
        raise Problem("program_exists")
    if len(there) >= MAX_PROGRAMS:
        raise Problem("too_many_programs")
    made = Program(call.key.namespace, name, _steps(call), now, now, call.body.metadata or {})
    answer = ProgramView.model_validate(made).model_dump_json()
    found = store.save(None, made, record_of(call, answer), event=_event(call, made, Act.PROGRAM_CREATED))
    if isinstance(found, Replay | Mismatch):
        return repeated(found, 201)
    if found is None:
        raise Problem("program_exists")
    return Answer(201, answer, {"Location": f"/programs/{quote(name)}"})


def put(call: Call[Nothing, ProgramVersion]) -> Answer:
    """Store the next version of a program."""
    before = earlier(call, 200)
    if before is not None:
        return before
    for _ in range(TRIES):
        old = _owned(call)
        changes: dict[str, Any] = {
            "steps": _steps(call),
            "metadata": call.body.metadata or {},
            "saved_at": now_of(call),
        }
        new = replace(old, version=old.version + 1, **changes)
        answer = ProgramView.model_validate(new).model_dump_json()
        event = _event(call, new, Act.PROGRAM_CHANGED)
        found = call.services.notices().programs.save(old, new, record_of(call, answer), event=event)
        if isinstance(found, Replay | Mismatch):
            return repeated(found, 200)
        if found is not None:
            return Answer(200, answer)
    raise Retriable("program: busy")


def pages(call: Call[Nothing, Nothing]) -> Answer:
    """Return all programs, sorted by their names."""
    found = call.services.notices().programs.all(call.key.namespace)
    page = ProgramPage(items=[ProgramView.model_validate(x) for x in found], next_cursor=None)
    answer = page.answer(zone=zone_of(call))
    return tagged(call, answer, answer.body)


def read(call: Call[Nothing, Nothing]) -> Answer:
    """Return a program."""
    return ProgramView.model_validate(_owned(call)).answer()


def delete(call: Call[Nothing, Nothing]) -> Answer:
    """Delete a program; notifiers that have copied it keep their copies."""
    for _ in range(TRIES):
        found = _owned(call)
        event = _event(call, replace(found, saved_at=now_of(call)), Act.PROGRAM_DELETED)
        if call.services.notices().programs.delete(found, event=event):
            return Deleted(deleted=True).answer()
    raise Retriable("program: busy")


def _owned(call: Call[Any, Any]) -> Program:
    name = call.path["program"]
    found = call.services.notices().programs.get(call.key.namespace, name) if is_program_name(name) else None
    if found is None:
        raise missing("program", name)
    return found


def _steps(call: Call[Any, Any]) -> tuple[ProgramStep, ...]:
    """Return the steps; Problem if one names a template that says nothing by its delivery method."""
    methods: dict[str, set[str]] = {}
    for i, step in enumerate(call.body.steps):
        name = step.template_id
        if name not in methods:
            methods[name] = _methods(call, name, i)
        if not methods[name] or (step.delivery_method and step.delivery_method not in methods[name]):
            raise invalid(f"steps.{i}.template_id", "The template has no text for this delivery method.")
    return tuple(
        ProgramStep(x.template_id, x.offset_days, x.preferred_time or "", x.delivery_method or "")
        for x in call.body.steps
    )


def _methods(call: Call[Any, Any], name: str, i: int) -> set[str]:
    """Return the delivery methods that step `i`'s template has texts for."""
    try:
        return {METHODS[x] for x in owned_template(call, name).texts if x in METHODS}
    except Problem:
        raise invalid(f"steps.{i}.template_id", "There is no such template.") from None


def _event(call: Call[Any, Any], program: Program, act: Act) -> Event:
    return audited(program.namespace, program.saved_at, program.name, act, call.key.id, {"version": program.version})


ROUTES: Final = section(
    "Programs",
    Route(
        method="POST",
        path="/programs",
        name="createProgram",
        summary="Recommend a schedule of notices",
        scope=Scope.ADMIN,
        handler=create,
        answers={201: ProgramView},
        problems=("program_exists", "too_many_programs"),
        idempotent=True,
    ),
    Route(
        method="GET",
        path="/programs",
        name="listPrograms",
        summary="All programs, sorted",
        scope=Scope.READ,
        handler=pages,
        answers={200: ProgramPage},
        schemes=(Scheme.KEY, Scheme.BASIC),
        tagged=True,
    ),
    Route(
        method="GET",
        path="/programs/{program}",
        name="getProgram",
        summary="A program",
        scope=Scope.READ,
        handler=read,
        answers={200: ProgramView},
        problems=("not_found",),
    ),
    Route(
        method="PUT",
        path="/programs/{program}",
        name="putProgram",
        summary="The next version of a program",
        description="It replaces the program as a whole. Notifiers see it at their next read.",
        scope=Scope.ADMIN,
        handler=put,
        answers={200: ProgramView},
        problems=("not_found",),
        idempotent=True,
    ),
    Route(
        method="DELETE",
        path="/programs/{program}",
        name="deleteProgram",
        summary="Delete a program",
        description="Notifiers that have copied it keep their copies.",
        scope=Scope.ADMIN,
        handler=delete,
        answers={200: Deleted},
        problems=("not_found",),
    ),
)
