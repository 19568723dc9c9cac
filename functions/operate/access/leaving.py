"""Accounts that leave: the plan with its delay, and then the deletion, request after request, each for some seconds.

The audit log stays, and so does the account's id. A repeat after a lost answer finds only what is left.
"""

from enum import StrEnum
from typing import Final

from pydantic import Field

from functions.operate.access.members import withdraw_all
from functions.operate.access.notifiers import notifiers_of
from functions.operate.accounts import AccountBody, AccountChanged, owner_of
from functions.operate.call import Call, OperateView, route
from functions.operate.declined import accepted
from functions.operate.services import OperateServices
from shared.domain.accounts import Account
from shared.domain.jobs.job import Job
from shared.domain.namespaces import namespaces_of, owner
from shared.domain.times import DAY_MS
from shared.web.http import Answer
from shared.web.problems import Problem, invalid
from shared.web.routing import Nothing

MOST_DAYS: Final = 366
SLACK_MS: Final = 3_600_000
"""By so much the clock of an operator's machine may be behind."""
WORK_SECONDS: Final = 10
"""For so long one request begins to read further pages of the table; the client asks again while there is more."""
REASON: Final = "deleted"


class LeavingStep(StrEnum):
    """The steps of a deletion, in their order."""

    CLOSE = "close"
    """Nothing is sent any more, and no key or member gets in."""
    ROWS = "rows"
    """It reads the table."""
    FILES = "files"
    DONE = ""


class LeavingPlan(AccountBody):
    """From when on an account may be deleted: Unix milliseconds."""

    at: int = Field(ge=0)


class LeavingRequest(AccountBody):
    """How a deletion continues. `step` and `after`: of the answer before."""

    step: LeavingStep = LeavingStep.CLOSE
    after: str = Field("", max_length=4000)


class LeavingState(OperateView):
    """An account that leaves. `leaves_at`: from when on it may be deleted; 0: it stays."""

    account_id: str
    name: str
    leaves_at: int


class LeavingResult(OperateView):
    """The report of one request. `step` and `after`: of the next one; no step: the account is deleted.

    `read` counts rows of the table, `deleted` rows and files of the account, `stopped` its jobs.
    """

    account_id: str
    step: LeavingStep
    after: str
    stopped: int
    read: int
    deleted: int


def plan_leaving(call: Call[Nothing, LeavingPlan]) -> Answer:
    """Plan that an account is deleted, from a time on; a repeat sets another time."""
    services, at = call.services, call.body.at
    found = _account(services, owner_of(call))
    now = int(services.clock.now() * 1000)
    if not now + DAY_MS - SLACK_MS <= at <= now + MOST_DAYS * DAY_MS:
        raise invalid("at", f"An account leaves after a day at the earliest, and within {MOST_DAYS} days.")
    if not services.accounts.plan_leaving(found.id, at, by=call.key.id):
        raise invalid("account", "Its deletion has begun.")
    return LeavingState(account_id=found.id, name=found.name, leaves_at=at).answer()


def cancel_leaving(call: Call[Nothing, AccountBody]) -> Answer:
    """Let an account stay whose deletion was planned, and has not begun."""
    found = _account(call.services, owner_of(call))
    if found.leaving:
        raise invalid("account", "Its deletion has begun.")
    changed = call.services.accounts.cancel_leaving(found.id, by=call.key.id)
    return AccountChanged(account_id=found.id, changed=changed).answer()


def delete_account(call: Call[Nothing, LeavingRequest]) -> Answer:
    """Delete an account whose time has come, for some seconds."""
    services, body, by = call.services, call.body, call.key.id
    found = _account(services, owner_of(call))
    _check_due(services, found, body)
    if not found.leaving:
        if body.step is not LeavingStep.CLOSE:
            raise Problem("bad_cursor")
        if not services.accounts.begin_leaving(found.id, found.leaves_at, by=by):
            raise invalid("account", "The plan has just changed: see `posthaste account list`.")
    stopped = read = deleted = 0
    step, after = body.step, ""
    if step is LeavingStep.CLOSE:
        stopped, step = _close(services, found.id, by), LeavingStep.ROWS
    elif step is LeavingStep.ROWS:
        until = services.clock.now() + WORK_SECONDS
        rows = services.leaving_rows(found.id)
        after = rows.erase(body.after, lambda: services.clock.now() >= until)
        read, deleted = rows.read, rows.deleted
        step = step if after else LeavingStep.FILES
    else:
        deleted, step = services.delete_files(found.id), LeavingStep.DONE
        services.accounts.end_leaving(found.id, by=by)
    return LeavingResult(
        account_id=found.id, step=step, after=after, stopped=stopped, read=read, deleted=deleted
    ).answer()


def _account(services: OperateServices, name: str) -> Account:
    found = services.accounts.get(name)
    if found is None:
        raise Problem("not_found", f"No account {name}: see `posthaste account list`.")
    if found.deleted_at:
        raise invalid("account", "It is deleted.")
    return found


def _check_due(services: OperateServices, found: Account, body: LeavingRequest) -> None:
    """Refuse a deletion that was not planned, or before its time, and a place that no request has answered with."""
    if not found.leaves_at:
        raise invalid("account", f"Plan it first: posthaste account delete {found.id} --after 7d")
    if int(services.clock.now() * 1000) < found.leaves_at:
        raise invalid("account", "The time that was planned has not come: see `posthaste account list`.")
    if body.step is LeavingStep.DONE:
        raise Problem("bad_cursor")
    try:
        if body.after:
            OperateServices.check_place(body.after, archived=False)
    except (ValueError, TypeError):
        raise Problem("bad_cursor") from None


def _close(services: OperateServices, account: str, by: str) -> int:
    """Have an account send nothing and admit none; return how many of its jobs were stopped. A repeat does the rest.

    It is suspended first, so that nothing begins meanwhile.
    """
    accounts = services.accounts
    accounts.suspend(account, REASON, by=by)
    for key in accounts.list_keys(account):
        accounts.revoke_key(account, key.id, by=by)

    def mine(job: Job) -> bool:
        return owner(job.account) == account

    stopped = sum(len(services.open_work.stop(page.jobs, by=by)) for page in services.open_work.pages(mine))
    for space in namespaces_of(account):
        for endpoint in services.hooking.service.every(space):
            services.hooking.service.delete(endpoint, by=by)
        for notifier in notifiers_of(services, space):
            if not (notifier.disabled or notifier.deleted):
                accepted(services.notifier_service.switch(notifier, disabled=True, by=by))
    for sender in accounts.list_senders(account):
        accounts.remove_sender(account, sender, by=by)
    withdraw_all(services, account, by=by)
    return stopped


ROUTES: Final = (
    route("POST", "/erase/accounts/plan", "Plan that an account is deleted", plan_leaving, LeavingState, "not_found"),
    route("POST", "/erase/accounts/cancel", "Let it stay", cancel_leaving, AccountChanged, "not_found"),
    route("POST", "/erase/accounts/run", "Delete it", delete_account, LeavingResult, "not_found", "bad_cursor"),
)
