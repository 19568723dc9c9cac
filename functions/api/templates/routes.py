"""Stored templates, which keep their versions."""

from dataclasses import replace
from typing import Any, Final

from functions.api.call import Call, now_of, zone_of
from functions.api.campaigns.requests import NewTemplate, TemplateVersion, VersionQuery
from functions.api.campaigns.rules import message_of, owned_template, variants_of
from functions.api.campaigns.views import Deleted, TemplateItem, TemplatePage, TemplateView, template_view
from shared.domain.accounts import Scope
from shared.domain.audit import Act, Event, audited
from shared.domain.campaigns.campaign import MAX_VERSIONS, StoredTemplate
from shared.domain.ids import new_id
from shared.ports import Mismatch, Replay, Retriable
from shared.web import cursors
from shared.web.etags import tagged
from shared.web.http import Answer
from shared.web.idempotency import record_of, repeat_or_raise, repeated
from shared.web.inputs import Paging
from shared.web.problems import Problem
from shared.web.routing import Nothing, Route, Scheme, section

TRIES: Final = 5
"""Versions that others make meanwhile."""


def create(call: Call[Nothing, NewTemplate]) -> Answer:
    """Store a template."""
    body = call.body
    try:
        channel = body.channel
        message = message_of(call, channel, body)
        variants = variants_of(call, channel, body)
    except Problem as problem:
        return repeat_or_raise(call, 201, problem)
    now = now_of(call)
    made = StoredTemplate(
        new_id(now),
        call.key.account,
        body.name,
        channel,
        message,
        now,
        now,
        test=call.key.test,
        variants=variants,
    )
    answer = template_view(made).model_dump_json()
    found = call.services.campaigns().templates.create(
        made, record_of(call, answer), event=_event(call, made, Act.TEMPLATE_CREATED)
    )
    if isinstance(found, Replay | Mismatch):
        return repeated(found, 201)
    return Answer(201, answer, {"Location": f"/templates/{made.id}"})


def put(call: Call[Nothing, TemplateVersion]) -> Answer:
    """Store the next version of a template."""
    store = call.services.campaigns().templates
    for _ in range(TRIES):
        old = owned_template(call, call.path["id"])
        try:
            new = _next(call, old)
        except Problem as problem:
            return repeat_or_raise(call, 200, problem)
        answer = template_view(new).model_dump_json()
        event = _event(call, new, Act.TEMPLATE_CHANGED)
        found = store.put(old, new, record_of(call, answer), event=event)
        if isinstance(found, Replay | Mismatch):
            return repeated(found, 200)
        if found is not None:
            return Answer(200, answer)
    raise Retriable("template: busy")


def _next(call: Call[Nothing, TemplateVersion], old: StoredTemplate) -> StoredTemplate:
    if old.version >= MAX_VERSIONS:
        raise Problem("too_many_versions")
    message = message_of(call, old.channel, call.body)
    variants = variants_of(call, old.channel, call.body)
    name = call.body.name or old.name
    return replace(old, name=name, message=message, saved_at=now_of(call), version=old.version + 1, variants=variants)


def read(call: Call[VersionQuery, Nothing]) -> Answer:
    """Return a version of a template."""
    return template_view(owned_template(call, call.path["id"], call.query.version)).answer()


def pages(call: Call[Paging, Nothing]) -> Answer:
    """Return a page of templates, newest first."""
    place = cursors.jobs(call)
    store = call.services.campaigns().templates
    found, after = store.page(call.key.namespace, after=place, limit=call.query.limit)
    items = TemplatePage(items=[*map(TemplateItem.model_validate, found)], next_cursor=after)
    page = items.model_copy(update={"next_cursor": cursors.seal(call, after)})
    zone = zone_of(call)
    return tagged(call, page.answer(zone=zone), items.answer(zone=zone).body)


def versions(call: Call[Paging, Nothing]) -> Answer:
    """Return a page of a template's versions, newest first."""
    latest = owned_template(call, call.path["id"])
    before = cursors.number(call.query.cursor)
    found = call.services.campaigns().templates.versions(latest.id, before=before, limit=call.query.limit)
    more = found and found[-1].version > 1
    cursor = cursors.write(str(found[-1].version)) if more else None
    return TemplatePage(items=[*map(TemplateItem.model_validate, found)], next_cursor=cursor).answer()


def delete(call: Call[Nothing, Nothing]) -> Answer:
    """Delete a template with its versions; campaigns have copies."""
    for _ in range(TRIES):
        found = owned_template(call, call.path["id"])
        event = _event(call, replace(found, saved_at=now_of(call)), Act.TEMPLATE_DELETED)
        if call.services.campaigns().templates.delete(found, event=event):
            return Deleted(deleted=True).answer()
    raise Retriable("template: busy")


def _event(call: Call[Any, Any], template: StoredTemplate, act: Act) -> Event:
    """Return what the audit log says of a version of a template: what was done at its `saved_at`, not what it says."""
    data: dict[str, str | int] = {"channel": template.channel, "version": template.version}
    return audited(template.namespace, template.saved_at, template.id, act, call.key.id, data)


_SAID: Final = ("account_suspended", "from_not_allowed", "invalid_template")

ROUTES: Final = section(
    "Templates",
    Route(
        method="POST",
        path="/templates",
        name="createTemplate",
        summary="Keep a template for many campaigns",
        scope=Scope.ADMIN,
        handler=create,
        answers={201: TemplateView},
        problems=_SAID,
        idempotent=True,
    ),
    Route(
        method="GET",
        path="/templates",
        name="listTemplates",
        summary="Stored templates, newest first",
        scope=Scope.READ,
        handler=pages,
        answers={200: TemplatePage},
        problems=("bad_cursor",),
        schemes=(Scheme.KEY, Scheme.BASIC),
        tagged=True,
    ),
    Route(
        method="GET",
        path="/templates/{id}",
        name="getTemplate",
        summary="A stored template, by default its latest version",
        scope=Scope.READ,
        handler=read,
        answers={200: TemplateView},
        problems=("not_found",),
    ),
    Route(
        method="GET",
        path="/templates/{id}/versions",
        name="listTemplateVersions",
        summary="Versions of a stored template, newest first",
        scope=Scope.READ,
        handler=versions,
        answers={200: TemplatePage},
        problems=("not_found", "bad_cursor"),
    ),
    Route(
        method="PUT",
        path="/templates/{id}",
        name="putTemplate",
        summary="The next version of a stored template",
        description="Earlier versions stay, and campaigns keep the one that they were made with.",
        scope=Scope.ADMIN,
        handler=put,
        answers={200: TemplateView},
        problems=("not_found", *_SAID, "too_many_versions"),
        idempotent=True,
    ),
    Route(
        method="DELETE",
        path="/templates/{id}",
        name="deleteTemplate",
        summary="Delete a stored template with its versions",
        description="Campaigns have copies of what they say.",
        scope=Scope.ADMIN,
        handler=delete,
        answers={200: Deleted},
        problems=("not_found",),
    ),
)
