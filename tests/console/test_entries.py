"""Every route of the console that changes something leaves exactly one entry in the audit log: by whom, of what, where.

A new route fails until it is in `DEEDS`, or in `NO_ENTRY` with its reason.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

import pytest

from functions.console.screens import ROUTES
from shared.adapters.dynamo.client import Dynamo
from shared.adapters.dynamo.credentials.breakers import DynamoBreakers
from shared.domain.audit import EVERYONE, Act, Event, Log
from shared.domain.campaigns.approval import ApprovalLimit, Who
from shared.domain.hooks.draft import HookDraft
from shared.domain.lanes.breaker import BreakerState
from shared.domain.lanes.switches import EVERYTHING, Switch
from shared.domain.namespaces import namespaces_of
from shared.domain.people import Identity, Role
from shared.domain.recipients.address_names import person
from shared.domain.recipients.addresses import address_hash
from shared.engine.campaigns.campaigns import WaitsForApproval
from shared.engine.lists.list_jobs import Order
from tests.api.senders import claimed
from tests.console.campaigns import SAID, fields, made, stored, with_list
from tests.console.console import Console
from tests.console.test_hooks import URL
from tests.console.test_hooks import made as hooked
from tests.console.test_queues import collected, handed_over
from tests.fakes.image_files import png

OLGA: Final = Identity("github", "3", "Olga")
KIRA: Final = Identity("github", "4", "Kira")
CHANGING: Final = {route.name: route for route in ROUTES if route.method not in ("GET", "HEAD")}
NO_ENTRY: Final = {
    "sign out": "it ends the visitor's own session, and concerns no account",
    "sign out everywhere": "it ends the visitor's own sessions, and concerns no account",
    "make an account": "it has one entry for the account, one for its key and one for its first member",
    "approve a list": "it has one entry for the approval, and one for the job by the one who asked",
    "preview of a form": "it changes nothing",
    "preview of a change": "it changes nothing",
    "create a key": "its form is sealed for its visitor: test_buttons.py has the entry",
    "create an account": "its form is sealed for its visitor: test_manage.py has the entry",
    "rotate a key": "its form is sealed for its visitor: test_buttons.py has the entry",
    "redrive a queue": "it has one entry for its begin, and one for its end",
    "add an image": "its form has a file: test_images.py has the entry",
    "begin an upload": "it gives a place for a file; the list has its entry when its file is there",
}
"""Names of routes that leave no entry, or several → why."""


@dataclass(frozen=True)
class Deed:
    """What is done by a route.

    Attributes:
        path: the address below the console, or below the account if it begins with no slash.
        act: the kind of the entry.
        subject: of the entry; empty: the id that the answer leads to.
        form: what is posted.
        log: whose log has the entry; empty: the account's.
    """

    path: str
    act: Act
    subject: str = ""
    form: Mapping[str, str] = field(default_factory=dict)
    log: str = ""


def _campaign(act: Act, action: str, form: Mapping[str, str] | None = None) -> Callable[[Console], Deed]:
    """Return a deed at a draft without a list."""

    def deed(console: Console) -> Deed:
        name = made(console)
        return Deed(f"campaigns/{name}/{action}", act, name, form or {})

    return deed


def _edited(console: Console) -> Deed:
    name = made(console)
    form = {**SAID, **fields(console.shown(f"/campaigns/{name}/edit")), "name": "Another"}
    return Deed(f"campaigns/{name}/edit", Act.CAMPAIGN_CHANGED, name, form)


def _uploaded(console: Console) -> Deed:
    name = made(console)
    place = json.loads(console.post(f"/{console.account}/campaigns/{name}/uploads", file="list.csv").text)
    console.api.lists.files.put(
        f"uploads/{console.account}/{name}/{place['upload']}", b"recipient\r\na@example.org\r\n"
    )
    return Deed(f"campaigns/{name}/uploads/{place['upload']}/complete", Act.LIST_ADDED, name)


def _read_again(console: Console) -> Deed:
    name = with_list(console)
    return Deed(f"campaigns/{name}/header", Act.LIST_ADDED, name, {"row": "1", "column": "recipient"})


def _used(console: Console) -> Deed:
    other, name = with_list(console), made(console)
    return Deed(f"campaigns/{name}/list-of", Act.LIST_ADDED, name, {"list_of": other})


def _withdrawn(console: Console) -> Deed:
    name = with_list(console)
    form = fields(console.shown(f"/campaigns/{name}/withdraw"))
    return Deed(f"campaigns/{name}/withdraw", Act.LIST_WITHDRAWN, name, form)


def _sent(console: Console) -> Deed:
    name = with_list(console)
    form = fields(console.shown(f"/campaigns/{name}/send"))
    return Deed(f"campaigns/{name}/send", Act.JOB_CREATED, form["upload"], form)


def _version(console: Console) -> Deed:
    name = stored(console)
    form = {**SAID, **fields(console.shown(f"/templates/{name}/edit")), "subject": "Another"}
    return Deed(f"templates/{name}/edit", Act.TEMPLATE_CHANGED, name, form)


def _template_deleted(console: Console) -> Deed:
    name = stored(console)
    form = fields(console.shown(f"/templates/{name}/delete"))
    return Deed(f"templates/{name}/delete", Act.TEMPLATE_DELETED, name, form)


def _image_deleted(console: Console) -> Deed:
    assert console.upload(png()).status == 303
    (found,) = console.services.pictures().pictures.all(console.account)
    return Deed(f"images/{found.id}/delete", Act.IMAGE_DELETED, found.id)


def _stopped(console: Console) -> Deed:
    job = console.api.accepted()
    return Deed(f"jobs/{job}/stop", Act.JOB_STOPPED, job)


def _resumed(console: Console) -> Deed:
    job = console.api.accepted()
    assert console.api.call("POST", f"/jobs/{job}/stop").status == 200
    console.api.world.settle()
    return Deed(f"jobs/{job}/resume", Act.JOB_RESUMED, job)


def _retried(console: Console) -> Deed:
    job = console.api.accepted()
    assert console.api.call("POST", f"/jobs/{job}/stop").status == 200
    console.api.world.settle()
    return Deed(f"jobs/{job}/retry", Act.JOB_RETRIED, job)


def _moved(action: str) -> Callable[[Console], Deed]:
    def deed(console: Console) -> Deed:
        job = console.api.accepted(scheduled_at="2026-12-01T00:00:00Z")
        query = "?at=2026-12-02T09:00&zone=Europe/Paris" if action == "time" else ""
        form = fields(console.shown(f"/jobs/{job}/{action}{query}"))
        return Deed(f"jobs/{job}/{action}", Act.JOB_RESCHEDULED, job, form)

    return deed


def _invited(console: Console) -> Deed:
    console.services.people.invite("github", "zoe", console.account, Role.VIEWER)
    return Deed("members/withdraw", Act.MEMBER_REMOVED, "user:zoe", {"login": "zoe"})


def _removed(console: Console) -> Deed:
    console.member(Identity("github", "2", "ben"), Role.VIEWER)
    (ben,) = (user for user, _ in console.services.people.members(console.account) if user.login == "ben")
    console.cookies.clear()
    console.sign_in()
    return Deed("members/remove", Act.MEMBER_REMOVED, ben.id, {"user": ben.id})


def _changed_role(console: Console) -> Deed:
    console.member(Identity("github", "2", "ben"), Role.VIEWER)
    (ben,) = (user for user, _ in console.services.people.members(console.account) if user.login == "ben")
    console.cookies.clear()
    console.sign_in()
    return Deed("members/role", Act.MEMBER_CHANGED, ben.id, {"user": ben.id, "role": "admin"})


def _proven(console: Console) -> Deed:
    (domain,) = claimed(console.api)
    return Deed(f"senders/{domain}/verify", Act.SENDER_PROVEN, domain)


def _given_up(console: Console) -> Deed:
    (domain,) = claimed(console.api)
    return Deed(f"senders/{domain}/give-up", Act.SENDER_GIVEN_UP, domain)


def _lifted(console: Console) -> Deed:
    console.services.use_cases.suppressions.put(console.account, "a@example.org", "manual")
    form = {"address": "a@example.org", "list": "all"}
    return Deed("suppressions/lift", Act.SUPPRESSION_REMOVED, person(address_hash("a@example.org")), form)


def _window(act: Act, action: str) -> Callable[[Console], Deed]:
    def deed(console: Console) -> Deed:
        name = collected(console)
        return Deed(f"digests/{name}/{action}", act, name)

    return deed


def _mail(act: Act, action: str) -> Callable[[Console], Deed]:
    def deed(console: Console) -> Deed:
        name = handed_over(console)
        console.api.world.clock.advance(1)
        return Deed(f"mails/{name}/{action}", act, name, {"address": "ann@example.org"})

    return deed


def _hook(act: Act, action: str, form: Mapping[str, str] | None = None) -> Callable[[Console], Deed]:
    """Return a deed at an endpoint that is proven."""

    def deed(console: Console) -> Deed:
        name = hooked(console)
        console.api.hooks.prove(name)
        return Deed(f"hooks/{name}/{action}", act, name, form or {})

    return deed


def _enabled(console: Console) -> Deed:
    deed = _hook(Act.HOOK_ENABLED, "enable")(console)
    service = console.services.use_cases.hooks()
    service.change(console.api.hooks.endpoint(deed.subject), HookDraft(disabled=True), by="somebody")
    return deed


def _delivered_again(console: Console) -> Deed:
    deed = _hook(Act.HOOK_RETRIED, "")(console)
    tried = console.api.hooks.over(deed.subject)
    return Deed(f"hooks/{deed.subject}/deliveries/{tried.name}/retry", Act.HOOK_RETRIED, deed.subject)


def _switch(act: Act, path: str, subject: str, paused: Switch | None = None) -> Callable[[Console], Deed]:
    """Return a deed of operators. `paused`: what is paused before."""

    def deed(console: Console) -> Deed:
        if paused is not None:
            console.services.use_cases.switches.pause(paused, by="somebody", reason="before")
        return Deed(path, act, subject, {"rate": "20"}, EVERYONE)

    return deed


def _breaker(console: Console) -> Deed:
    breakers = DynamoBreakers(Dynamo(console.api.client), console.api.tables.ops)
    closed = breakers.read(["one"])["one"]
    breakers.swap(closed, replace(closed, state=BreakerState.OPEN, reason="provider_error", since=1, version=1))
    return Deed("/credentials/one/close", Act.BREAKER_CLOSED, "one", log=EVERYONE)


BEA: Final = Who("user:bea", "0" * 26)


def _refused(console: Console) -> Deed:
    service = console.services.campaigns().campaigns
    service.approvals.limit(console.account, ApprovalLimit(True, 0), BEA)
    name = with_list(console)
    found = service.campaigns.get(name)
    assert found is not None
    assert isinstance(service.control.send(found, Order(by=BEA.actor, person=BEA.person)), WaitsForApproval)
    return Deed(
        f"campaigns/{name}/refuse",
        Act.APPROVAL_REFUSED,
        name,
        fields(console.shown(f"/campaigns/{name}/refuse")),
    )


def _proposed(act: Act, action: str) -> Callable[[Console], Deed]:
    """Return a deed at a looser limit that somebody else has proposed."""

    def deed(console: Console) -> Deed:
        approvals = console.services.campaigns().campaigns.approvals
        for above in (1, 2):
            approvals.limit(console.account, ApprovalLimit(True, above), BEA)
        form = fields(console.shown(f"/approvals/{action}"))
        return Deed(f"approvals/{action}", act, console.account, form)

    return deed


def _key(act: Act, action: str, form: Mapping[str, str] | None = None) -> Callable[[Console], Deed]:
    """Return a deed at an API key."""

    def deed(console: Console) -> Deed:
        _, key = console.services.accounts.create_key(console.account)
        return Deed(f"keys/{key.id}/{action}", act, key.id, form or {})

    return deed


def _leaving(act: Act, action: str, form: Mapping[str, str]) -> Callable[[Console], Deed]:
    """Return a deed at an account whose deletion is planned if it is to be kept."""

    def deed(console: Console) -> Deed:
        if action == "keep":
            console.services.accounts.plan_leaving(console.account, 1)
        return Deed(action, act, console.account, form)

    return deed


def _account(act: Act, action: str) -> Callable[[Console], Deed]:
    def deed(console: Console) -> Deed:
        if action == "resume":
            console.services.use_cases.switches.pause(Switch(account=console.account), by="somebody", reason="before")
        if action == "unsuspend":
            console.services.accounts.suspend(console.account)
        return Deed(action, act, console.account)

    return deed


DEEDS: Final[Mapping[str, Callable[[Console], Deed]]] = {
    "make a campaign": lambda _: Deed("campaigns/new", Act.CAMPAIGN_CREATED, form=SAID),
    "store a campaign": _edited,
    "delete a campaign": _campaign(Act.CAMPAIGN_DELETED, "delete"),
    "end an upload": _uploaded,
    "take the sample list": _campaign(Act.LIST_ADDED, "sample"),
    "take a pasted list": _campaign(Act.LIST_ADDED, "paste", {"rows": "recipient\r\na@example.org\r\n"}),
    "withdraw a list": _withdrawn,
    "read a list by a row and column": _read_again,
    "use the list of a campaign": _used,
    "send a campaign": _sent,
    "send now": _moved("now"),
    "send at another time": _moved("time"),
    "refuse a list": _refused,
    "set a limit": lambda console: Deed("approvals/limit", Act.LIMIT_SET, console.account, {"which": "every"}),
    "approve a limit": _proposed(Act.LIMIT_SET, "agree"),
    "drop a limit": _proposed(Act.LIMIT_REFUSED, "disagree"),
    "send a test": _campaign(Act.CAMPAIGN_TESTED, "test", {"to": "me@example.org", "v.name": "Me"}),
    "store a template": lambda _: Deed("templates/new", Act.TEMPLATE_CREATED, form=SAID),
    "store a version": _version,
    "delete a template": _template_deleted,
    "delete an image": _image_deleted,
    "stop": _stopped,
    "resume": _resumed,
    "retry": _retried,
    "invite a member": lambda _: Deed(
        "members/invite", Act.MEMBER_INVITED, "user:zoe", {"login": "zoe", "role": "viewer"}
    ),
    "withdraw an invitation": _invited,
    "change a member's role": _changed_role,
    "remove a member": _removed,
    "claim a domain": lambda _: Deed(
        "senders/add", Act.SENDER_CLAIMED, "news.example.net", {"domain": "news.example.net"}
    ),
    "look for a domain's record": _proven,
    "give up a domain": _given_up,
    "suppress an address": lambda _: Deed(
        "suppressions/add",
        Act.SUPPRESSION_ADDED,
        person(address_hash("a@example.org")),
        {"address": "a@example.org", "list": "all", "sure": "1"},
    ),
    "lift a suppression": _lifted,
    "close a window": _window(Act.WINDOW_CLOSED, "close"),
    "cancel a window": _window(Act.WINDOW_CANCELLED, "cancel"),
    "drop a destination": _mail(Act.MAIL_DROPPED, "drop"),
    "hurry a destination": _mail(Act.MAIL_HURRIED, "hurry"),
    "create a webhook": lambda _: Deed("hooks/add", Act.HOOK_CREATED, form={"url": URL, "every": "1"}),
    "pause a webhook": _hook(Act.HOOK_DISABLED, "pause"),
    "enable a webhook": _enabled,
    "delete a webhook": _hook(Act.HOOK_DELETED, "delete"),
    "test a webhook": _hook(Act.HOOK_TESTED, "test"),
    "replay a webhook": _hook(Act.HOOK_REPLAYED, "replay", {"since": "1", "state": ""}),
    "retry a delivery": _delivered_again,
    "pause an account": _account(Act.ACCOUNT_PAUSED, "pause"),
    "resume an account": _account(Act.ACCOUNT_RESUMED, "resume"),
    "pause all": _switch(Act.ALL_PAUSED, "/credentials/all/pause", EVERYONE),
    "resume all": _switch(Act.ALL_RESUMED, "/credentials/all/resume", EVERYONE, EVERYTHING),
    "pause a credential": _switch(Act.CREDENTIAL_PAUSED, "/credentials/one/pause", "one"),
    "resume a credential": _switch(Act.CREDENTIAL_RESUMED, "/credentials/one/resume", "one", Switch(credential="one")),
    "set a rate": _switch(Act.RATE_SET, "/credentials/one/rate", "one"),
    "close a breaker": _breaker,
    "plan a deletion": _leaving(Act.LEAVING_PLANNED, "leave", {"days": "7"}),
    "keep an account": _leaving(Act.LEAVING_CANCELLED, "keep", {}),
    "set limits of an account": lambda x: Deed("manage", Act.LIMITS_SET, x.account, {"limit email": "5"}),
    "suspend an account": _account(Act.ACCOUNT_SUSPENDED, "suspend"),
    "end a suspension": _account(Act.ACCOUNT_UNSUSPENDED, "unsuspend"),
    "change a key": _key(Act.KEY_RESTRICTED, "change", {"networks": "192.0.2.0/24"}),
    "revoke a key": _key(Act.KEY_REVOKED, "revoke"),
}
"""Names of routes → what makes ready what one of them is to be done to."""


def entries(console: Console) -> list[Event]:
    """Return all entries of the account's logs and of the deployment's."""
    owners = (*namespaces_of(console.account), EVERYONE)
    return [x for owner in owners for x in console.services.use_cases.journal.since(owner, Log.AUDIT, 0)]


def test_each_route_is_decided_on() -> None:
    assert set(CHANGING) == {*DEEDS, *NO_ENTRY}
    assert not set(DEEDS) & set(NO_ENTRY)


@pytest.mark.slow
@pytest.mark.promise(7)
@pytest.mark.parametrize("name", DEEDS)
def test_a_change_leaves_one_entry(console: Console, name: str) -> None:
    route = CHANGING[name]
    console.member()
    deed = DEEDS[name](console)
    who = "user:Ann"
    if route.operators:
        console.cookies.clear()
        console.sign_in(KIRA if route.key_admins else OLGA)
        who = "user:Kira" if route.key_admins else "user:Olga"
    console.api.world.clock.advance(1)
    before = entries(console)
    path = deed.path if deed.path.startswith("/") else f"/{console.account}/{deed.path}"
    got = console.post(path, **deed.form)
    assert got.status in (200, 303), got.text
    (entry,) = [x for x in entries(console) if x not in before]
    subject = deed.subject or got.headers["location"].rpartition("/")[2]
    assert (entry.kind, entry.actor, entry.id, entry.account) == (deed.act, who, subject, deed.log or console.account)
