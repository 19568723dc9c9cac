"""A deployment in which something happened, and addresses of every page: what browser tests and pictures show.

A new page whose path names more than the account needs a line in `EXAMPLES`; a test fails without. Ids, names and times
are the same in each run.
"""

import secrets
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import date
from random import Random
from typing import Any, Final
from unittest.mock import patch
from urllib.parse import quote

from functions.console.pages.campaigns.samples import LETTER
from functions.console.screen import PageRoute
from functions.console.screens import ROUTES
from shared.contracts import CredentialQuota, Per, ProviderEvent, Warmup
from shared.domain.audit import SYSTEM
from shared.domain.campaigns.approval import ApprovalLimit, Who
from shared.domain.hooks.delivery import DeliveryState
from shared.domain.jobs.outcomes import Rejected
from shared.domain.notices.notice import DeliveryMethod, Notice, NoticeChange, NoticeData
from shared.domain.people import Identity, Role
from shared.engine.campaigns.campaigns import WaitsForApproval
from shared.engine.lists.list_jobs import Order
from shared.engine.reports.message_log import Filter, LogLine
from tests.console.campaigns import made, saved, sent, stored, with_list
from tests.console.console import Console, build_console
from tests.console.team import GUEST, TeamThings, teamed
from tests.fakes.clock import FakeClock
from tests.fakes.image_files import png

NO_PAGES: Final = frozenset(
    {"file", "begin a sign-in", "end a sign-in"}
    | {"sample list", "bad rows", "preview of a campaign", "preview of a template"}
)
"""What is asked for by GET and is no page, or sends the browser on, or runs nothing in a frame of its own."""
FIRST: Final = ("Ada", "Ben", "Chloé", "Deniz", "Elif", "Farah", "Goran", "Hana", "Ivo", "Jun", "Kofi", "Lena")
LAST: Final = ("Adler", "Brandt", "Costa", "Dubois", "Eriksen", "Fischer", "García", "Horvat", "Ito", "Jansen")
DAYS: Final = (31, 36, 12, 9, 34, 40, 38, 35, 37, 11, 8, 41, 44)
"""Messages of the days before today, oldest first."""
WARM_FROM: Final = date(2026, 9, 18)
WARM_DAYS: Final = (50, 100, 200, 500, 1000, 2000, 5000, 10_000, 15_000, 20_000, 30_000, 40_000)
LETTERS: Final = {
    "queue": "feedback",
    "count": 3,
    "held": 1,
    "items": [
        {
            "message_id": f"0000000{n}-1b1c-4f0e-9f6e-2f1d5c0b7a3e",
            "since": 1_790_000_000_000 + n * 60_000,
            "deliveries": 5,
            "redrives": n % 2,
            "what": what,
            "state": "job LOGGED",
            "error": "Retriable at dynamo/client.py:210",
        }
        for n, what in enumerate(("2 words from one", "1 words from two", None))
    ],
}
"""What is dead in a queue."""
LONG: Final = "A reminder with a name that takes more than one line of every table, and onewordthatdoesnotendatall"


@dataclass(frozen=True)
class Example:
    """The deployment.

    Attributes:
        sent: a newsletter that failed over from its first credential to the second.
        moved: a message of it that did.
        waiting: a job of which nothing has been sent.
        stopped: a job that was stopped.
        hook: an endpoint of webhooks with deliveries.
        delivery: the name of one that failed.
        window: an open window of events.
        mail: a finished message with two destinations.
        notice: a notice that waits.
        draft: a campaign without a list.
        campaign: one whose list is read.
        template: with two versions.
        team: what team keys made.
        asked: a campaign that waits for approval.
        posted: one whose list was sent.
        scheduled: a job that waits for its time.
    """

    console: Console
    sent: str
    moved: str
    waiting: str
    stopped: str
    hook: str
    delivery: str
    window: str
    mail: str
    notice: str
    draft: str
    campaign: str
    template: str
    team: TeamThings
    asked: str
    posted: str
    scheduled: str

    @property
    def account(self) -> str:
        return self.console.account

    @property
    def image(self) -> str:
        """The id of the picture."""
        (found,) = self.console.services.pictures().pictures.all(self.account)
        return found.id

    @property
    def member(self) -> str:
        """The id of a member."""
        (found, _), *_ = self.console.services.people.members(self.account)
        return found.id

    @property
    def key(self) -> str:
        """The id of an API key."""
        found, *_ = self.console.services.accounts.list_keys(self.account)
        return found.id


OLGA: Final = Identity("github", "2", "Olga", "Olga Keeper")


def person(n: int) -> str:
    """Return an address; that of one number is always the same."""
    first, last = FIRST[n % len(FIRST)], LAST[n // len(FIRST) % len(LAST)]
    plain = f"{first}.{last}".lower().translate(str.maketrans("éí", "ei"))
    return f"{first} {last} <{plain}{n}@example.org>"


def people(count: int, start: int = 0) -> tuple[str, ...]:
    """Return some addresses."""
    return tuple(person(n) for n in range(start, start + count))


@contextmanager
def repeatable() -> Iterator[None]:
    """Make ids and keys from a series that is always the same."""
    series = Random(1843)  # noqa: S311 - pictures are no secret

    def token(size: int) -> str:
        return urlsafe_b64encode(series.randbytes(size)).rstrip(b"=").decode()

    with (
        patch.object(secrets, "randbits", series.getrandbits),
        patch.object(secrets, "choice", series.choice),
        patch.object(secrets, "token_hex", lambda size: series.randbytes(size).hex()),
        patch.object(secrets, "token_urlsafe", token),
        patch.object(secrets, "token_bytes", series.randbytes),
    ):
        yield


def build_example(client: Any, days: Sequence[int] = DAYS) -> Example:
    """Return the deployment after some days, with an operator signed in.

    Args:
        client: of DynamoDB.
        days: messages of the days before today, oldest first.
    """
    console = build_console(client, FakeClock())
    api, clock = console.api, console.api.world.clock
    console.member()
    console.services.people.invite("github", "ben", console.account, Role.SENDER)
    for day, count in enumerate(days):
        job = api.logged(people(count, day * 7), subject=f"The Daily Planet, no. {1204 + day}")
        heard(console, job, bounced=day % 4)
        api.world.jobs.clear()
        clock.advance(86_400)
    stopped = api.accepted(people(24, 40), subject=LONG)
    assert api.call("POST", f"/jobs/{stopped}/stop").status < 300
    api.world.settle()
    team = teamed(console)
    sent = _failed_over(console)
    clock.advance(600)
    roles = {**console.services.console.roles, "olga": "key-admin"}
    console.services = replace(console.services, console=replace(console.services.console, roles=roles))
    for queue in ("feedback", "lane-one"):
        console.buttons.canned[f"/queues/{queue}/letters"] = {**LETTERS, "queue": queue}
    quota = CredentialQuota(50_000, Per.DAY, "UTC", Warmup(WARM_FROM, WARM_DAYS))
    settings = console.services.settings
    declared = tuple(replace(c, quotas=(quota,)) if c.id == "texts" else c for c in settings.credentials)
    console.services = replace(console.services, settings=replace(settings, credentials=declared))
    console.sign_in(OLGA)
    posted = _posted(console)
    waiting = api.accepted(people(60, 30), subject="Your invoice of September")
    suppressed = {"address": "live@example.org", "list": "all", "sure": "1"}
    assert console.post(f"/{console.account}/suppressions/add", **suppressed).status == 303
    assert console.post(f"/{console.account}/senders/add", domain="news.example.net").status == 303
    moved = next(line.message for line in _lines(console, sent) if len(line.attempts) > 1)
    hook, delivery = _hooked(console)
    found = Example(
        console,
        sent,
        moved,
        waiting,
        stopped,
        hook,
        delivery,
        _collected(console),
        _handed_over(console),
        _noticed(console),
        *_drafted(console),
        team,
        _asked(console),
        posted,
        api.accepted(subject="Season's greetings", scheduled_at="2026-12-24T08:00:00Z"),
    )
    logo = png(640, 240, colour=b"\x0f\x76\x6e")
    assert console.services.pictures().add(console.account, logo, "The logo of The Daily Planet", by=SYSTEM)
    return found


def _hooked(console: Console) -> tuple[str, str]:
    """Create an endpoint that has answered, and has failed since; return its id and the name of a delivery."""
    body = {"url": "https://shop.example.com/events", "events": ["*"], "description": "The shop"}
    name: str = console.api.call("POST", "/hooks", body).json["id"]
    room = console.api.hooks
    room.prove(name)
    room.over(name, "evt_1", DeliveryState.DELIVERED)
    return name, room.over(name, "evt_2").name


def _collected(console: Console) -> str:
    """Collect two events in a window, and return its id."""
    api = console.api
    assert api.call("PUT", "/digest-policies/acme/", {"from": "news@example.com"}).status < 300
    event = {"event_type": "task.failed", "batch_key": "acme/production", "recipients": ["ann@example.org"]}
    posted = [{**event, "timestamp": "2026-11-20T09:00:00Z", "data": {"task": f"t{n}"}} for n in range(2)]
    window: str = api.call("POST", "/events", posted).json["items"][0]["window_id"]
    return window


def _handed_over(console: Console) -> str:
    """Hand a finished message over, and return its id."""
    body = {
        "mail_from": "news@example.com",
        "destinations": [{"address": "ann@example.org"}, {"address": "bob@example.net"}],
        "content": "From: news@example.com\r\n\r\nHello!\r\n",
    }
    name: str = console.api.call("POST", "/mails", body).json["mail_id"]
    return name


def _noticed(console: Console) -> str:
    """Make a notifier with a notice that waits, and return the notice's key."""
    console.api.notifier()
    room, clock = console.services.use_cases.notices(), console.api.world.clock
    clinic = room.notifiers.get("clinic")
    assert clinic is not None
    name, now = clinic.notice_id("A/1"), int(clock.now() * 1000)
    data = NoticeData("Ann", "+61491570156", "t" * 26, DeliveryMethod.SMS, date(2026, 9, 22), date(2026, 9, 29))
    made = Notice(name, "clinic", console.account, "A/1", data, now, now + 3_600_000, now + 86_400_000)
    assert room.notices.write(None, NoticeChange(made))
    return name


def _drafted(console: Console) -> tuple[str, str, str]:
    """Return a campaign without a list, one with a list that is read, and a template with two versions."""
    letter = {"channel": "email", "from": "letter@example.com", "subject": LETTER.subject, "body": LETTER.body}
    campaign = made(console, **letter, name=LETTER.name)
    assert console.post(f"/{console.account}/campaigns/{campaign}/sample").status == 303
    console.api.lists.read()
    template = stored(console, **letter, name="Garden letters")
    later = {**letter, "name": "Garden letters, with a longer name", "body": f"{LETTER.body}<p>Until June!</p>"}
    saved(console, template, **later)
    return made(console, name=LONG), campaign, template


def _asked(console: Console) -> str:
    """Have a list wait for approval, and a looser limit; return the campaign."""
    approvals = console.services.campaigns().campaigns.approvals
    ann, account = Who("user:Ann", "0" * 26), console.account
    approvals.limit(account, ApprovalLimit(True, 1), ann)
    campaign = made(console, name="Winter letter")
    rows = "recipient,name\r\nada@example.org,Ada\r\nben@example.org,Ben\r\n"
    assert console.post(f"/{account}/campaigns/{campaign}/paste", rows=rows).status == 303
    console.api.lists.read()
    found = console.services.campaigns().campaigns.campaigns.get(campaign)
    assert found is not None
    asked = console.services.campaigns().campaigns.control.send(found, Order(by=ann.actor, person=ann.person))
    assert isinstance(asked, WaitsForApproval)
    approvals.limit(account, ApprovalLimit(True, 100_000), ann, operator=True)
    approvals.limit(account, ApprovalLimit(), ann)
    return campaign


def _posted(console: Console) -> str:
    """Send a campaign whose list has recipients that fail, and return it."""
    campaign = with_list(console, name="Autumn letter")
    job = sent(console, campaign)
    console.api.world.settle()
    heard(console, job, bounced=1)
    return campaign


def _failed_over(console: Console) -> str:
    """Have a newsletter sent whose first credential refuses for a while."""
    api, world = console.api, console.api.world
    readers = people(48, 200)
    for reader in readers:
        world.providers["one"].script(reader.partition("<")[2][:-1], [Rejected("mailbox_busy", permanent=False)])
    job = api.logged(readers, subject="October newsletter", retry_on=[])
    heard(console, job, bounced=2, blocked=3)
    return job


def heard(console: Console, job: str, *, bounced: int, blocked: int = 0) -> None:
    """Have the providers say that messages arrived, but for the last ones, and the first ones that are blocked."""
    world = console.api.world
    world.clock.advance(4)
    found = [line for line in _lines(console, job) if line.attempts]
    words: dict[str, list[ProviderEvent]] = {}
    for place, line in enumerate(found):
        last = line.attempts[-1]
        chunk, _, index = line.message.partition(".")
        fate, code = ("bounced", "5.1.1") if place >= len(found) - bounced else ("delivered", "")
        fate, code = ("blocked", "5.7.1") if place < blocked else (fate, code)
        word = world.word(job, int(index), fate, attempt=last.n, chunk=int(chunk), code=code)
        words.setdefault(last.credential_id, []).append(word)
    for credential, said in words.items():
        world.track(credential, *said)
    world.settle()


def _lines(console: Console, job: str) -> list[LogLine]:
    """Return what is known of each message of a job."""
    return console.services.logs.lines(console.api.world.job(job), Filter(), start=(0, 0), limit=500)[0]


Addresses = Callable[[Example], tuple[str, ...]]


def pages() -> list[str]:
    """Return the names of all pages."""
    return [route.name for route in _routes()]


def _routes() -> list[PageRoute]:
    return [route for route in ROUTES if route.method == "GET" and route.name not in NO_PAGES]


def _plain(path: str) -> Addresses:
    """Return the address of a page whose path names the account at most."""
    return lambda x: (path.removeprefix("/console").removeprefix("/").replace("{account}", x.account),)


EXAMPLES: Final[Mapping[str, Addresses]] = {
    **{x.name: _plain(x.path) for x in _routes() if "{" not in x.path.replace("{account}", "")},
    "jobs": lambda x: (f"{x.account}/jobs", f"{x.account}/jobs?kind=digest", f"{x.account}/jobs?keys=team"),
    "job": lambda x: tuple(f"{x.account}/jobs/{job}" for job in (x.sent, x.waiting, x.stopped, x.team.job)),
    "results of a job": lambda x: (f"{x.account}/jobs/{x.sent}/results",),
    "results of a campaign": lambda x: (f"{x.account}/campaigns/{x.posted}/results",),
    "ask to stop": lambda x: (f"{x.account}/jobs/{x.waiting}/stop",),
    "ask to send now": lambda x: (f"{x.account}/jobs/{x.scheduled}/now",),
    "ask for another time": lambda x: tuple(
        f"{x.account}/jobs/{x.scheduled}/time{q}" for q in ("", "?at=2026-12-27T09:00&zone=Europe/Paris")
    ),
    "ask to resume": lambda x: (f"{x.account}/jobs/{x.stopped}/resume",),
    "ask to retry": lambda x: (f"{x.account}/jobs/{x.sent}/retry",),
    "messages of a job": lambda x: tuple(f"{x.account}/jobs/{job}/messages" for job in (x.sent, x.team.job)),
    "message": lambda x: (f"{x.account}/jobs/{x.sent}/messages/{x.moved}",),
    "messages": lambda x: (
        f"{x.account}/messages",
        f"{x.account}/messages?recipient=ada.adler0%40example.org",
        f"{x.account}/messages?recipient={quote(GUEST)}&keys=team",
        f"{x.account}/messages?reference=none&state=failed&since=2026-01-01",
    ),
    "campaigns": lambda x: (f"{x.account}/campaigns", f"{x.account}/campaigns?state=sent"),
    "write a campaign": lambda x: tuple(
        f"{x.account}/campaigns/new?{q}" for q in ("sample=1", "channel=sms", f"campaign={x.posted}")
    ),
    "campaign": lambda x: tuple(f"{x.account}/campaigns/{campaign}" for campaign in (x.campaign, x.draft, x.posted)),
    "recipients": lambda x: tuple(
        f"{x.account}/campaigns/{x.campaign}/recipients{q}" for q in ("", "?shown=will+be+sent")
    ),
    "change a campaign": lambda x: (f"{x.account}/campaigns/{x.campaign}/edit",),
    "ask to delete a campaign": lambda x: (f"{x.account}/campaigns/{x.draft}/delete",),
    "choose the row and column of a list": lambda x: (f"{x.account}/campaigns/{x.campaign}/header",),
    "ask to withdraw a list": lambda x: (f"{x.account}/campaigns/{x.campaign}/withdraw",),
    "approvals": lambda x: (f"{x.account}/approvals", f"{x.account}/approvals?state=lapsed"),
    "ask to approve a list": lambda x: (f"{x.account}/campaigns/{x.asked}/approve",),
    "ask to refuse a list": lambda x: (f"{x.account}/campaigns/{x.asked}/refuse",),
    "ask for a limit": lambda x: tuple(f"{x.account}/approvals/limit?which={q}" for q in ("every", "some&above=9999")),
    "ask to send a campaign": lambda x: (f"{x.account}/campaigns/{x.campaign}/send",),
    "templates": lambda x: (f"{x.account}/templates", f"{x.account}/templates?channel=sms"),
    "write a template": lambda x: (f"{x.account}/templates/new?sample=1",),
    "template": lambda x: (f"{x.account}/templates/{x.template}",),
    "versions compared": lambda x: (f"{x.account}/templates/{x.template}/compare",),
    "change a template": lambda x: (f"{x.account}/templates/{x.template}/edit",),
    "ask to delete a template": lambda x: (f"{x.account}/templates/{x.template}/delete",),
    "ask to delete an image": lambda x: (f"{x.account}/images/{x.image}/delete",),
    "members": lambda x: (f"{x.account}/members", f"{x.account}/members?role=viewer"),
    "ask to change a member's role": lambda x: (f"{x.account}/members/role?user={quote(x.member)}&role=admin",),
    "ask to remove a member": lambda x: (f"{x.account}/members/remove?user={quote(x.member)}",),
    "ask to withdraw an invitation": lambda x: (f"{x.account}/members/withdraw?login=ben",),
    "senders": lambda x: (f"{x.account}/senders", f"{x.account}/senders?state=proven"),
    "sender": lambda x: tuple(f"{x.account}/senders/{domain}" for domain in ("news.example.net", "example.com")),
    "ask to give up a domain": lambda x: (f"{x.account}/senders/news.example.net/give-up",),
    "suppressions": lambda x: (f"{x.account}/suppressions", f"{x.account}/suppressions?list=campaigns"),
    "ask to lift a suppression": lambda x: (f"{x.account}/suppressions/lift?address=live%40example.org&list=all",),
    "digests": lambda x: tuple(f"{x.account}/digests{q}" for q in ("", "?state=cancelled", "?keys=team")),
    "ask to close a window": lambda x: (f"{x.account}/digests/{x.window}/close",),
    "ask to cancel a window": lambda x: (f"{x.account}/digests/{x.window}/cancel",),
    "notices": lambda x: tuple(f"{x.account}/notices{q}" for q in ("", "?search=%2B61491570156", "?waiting=clinic")),
    "notice": lambda x: tuple(f"{x.account}/notices/{notice}" for notice in (x.notice, x.team.notice)),
    "mails": lambda x: (f"{x.account}/mails", f"{x.account}/mails?keys=team"),
    "mail": lambda x: tuple(f"{x.account}/mails/{mail}" for mail in (x.mail, x.team.mail)),
    "ask to hurry a destination": lambda x: (f"{x.account}/mails/{x.mail}/hurry?address=ann%40example.org",),
    "ask to drop a destination": lambda x: (f"{x.account}/mails/{x.mail}/drop?address=ann%40example.org",),
    "keys": lambda x: (f"{x.account}/keys", f"{x.account}/keys?keys=test"),
    "warm-up": lambda _: ("credentials/texts/warmup",),
    "ask to rotate a key": lambda x: (f"{x.account}/keys/{x.key}/rotate",),
    "ask to change a key": lambda x: (f"{x.account}/keys/{x.key}/change",),
    "ask to revoke a key": lambda x: (f"{x.account}/keys/{x.key}/revoke",),
    "ask to redrive a queue": lambda _: ("dead-letters/feedback",),
    "credentials": lambda _: ("credentials", "credentials?state=avoided"),
    "ask to pause a credential": lambda _: ("credentials/one/pause",),
    "ask to resume a credential": lambda _: ("credentials/one/resume",),
    "ask to close a breaker": lambda _: ("credentials/one/close",),
    "ask for a rate": lambda _: ("credentials/one/rate",),
    "webhooks": lambda x: tuple(f"{x.account}/hooks{q}" for q in ("", "?keys=test", "?keys=team")),
    "webhook": lambda x: (f"{x.account}/hooks/{x.hook}",),
    "delivery": lambda x: (
        f"{x.account}/hooks/{x.hook}/deliveries/{x.delivery}",
        f"{x.account}/hooks/{x.team.hook}/deliveries/{x.team.delivery}",
    ),
    "ask to pause a webhook": lambda x: (f"{x.account}/hooks/{x.hook}/pause",),
    "ask to enable a webhook": lambda x: (f"{x.account}/hooks/{x.hook}/enable",),
    "ask to delete a webhook": lambda x: (f"{x.account}/hooks/{x.hook}/delete",),
    "ask to replay a webhook": lambda x: (
        f"{x.account}/hooks/{x.hook}/replay",
        f"{x.account}/hooks/{x.hook}/replay?span=the+last+day",
    ),
    "audit log": lambda x: (f"{x.account}/audit", f"{x.account}/audit?keys=team"),
}
"""Of each page (the name of its route) addresses below the console; the first is the page's picture."""
