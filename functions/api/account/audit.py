"""The account's audit log: who did what."""

from typing import Final

from functions.api.call import Call
from functions.api.requests import AuditQuery
from functions.api.views import AuditEntry, AuditPage
from shared.contracts import AUDIT_DAYS
from shared.domain.accounts import Scope
from shared.domain.namespaces import namespace, team_space
from shared.web import cursors
from shared.web.http import Answer
from shared.web.routing import Nothing, Route, section


def pages(call: Call[AuditQuery, Nothing]) -> Answer:
    """Return a page of the audit log, newest first."""
    query = call.query
    place = cursors.events(call)
    account = team_space(call.key.account) if query.team else call.key.account
    whose = namespace(account, test=call.key.test or query.test)
    found, after = call.services.journal.page(whose, kind=query.action or "", after=place, limit=query.limit)
    return AuditPage(items=[*map(AuditEntry.model_validate, found)], next_cursor=cursors.seal(call, after)).answer()


ROUTES: Final = section(
    "Audit",
    Route(
        method="GET",
        path="/audit",
        name="listAudit",
        summary="Who did what, newest first",
        description="The deployment's setting `retention.audit_days` decides how long entries are kept, by default "
        f"{AUDIT_DAYS} days. They name keys, jobs and campaigns by their ids, and never an address. Test "
        "keys read a log of their own: what was done to their jobs, campaigns, suppressions and templates. A live key "
        "reads that one with `test=true`. So it is with team keys and "
        "`team=true`. With `action` a page may be short, even empty, and still carry a cursor.",
        scope=Scope.ADMIN,
        handler=pages,
        answers={200: AuditPage},
        problems=("bad_cursor",),
    ),
)
