import base64
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any
from urllib.parse import unquote, urlencode

import pytest

from functions.api.digests.services import DigestServices
from functions.api.handler import respond
from functions.api.mails.services import MailServices
from functions.api.notices.services import NoticeServices
from functions.api.services import ApiServices, visits
from shared.adapters.dynamo.accounts.accounts import Accounts
from shared.adapters.dynamo.accounts.spending import DynamoSpending, KnownRules
from shared.adapters.dynamo.accounts.stats import Stats
from shared.adapters.dynamo.campaigns.pictures import DynamoPictures
from shared.adapters.dynamo.client import Dynamo
from shared.adapters.dynamo.credentials.credentials import CredentialStates
from shared.adapters.dynamo.digests.keeping import DynamoWindowRetention
from shared.adapters.dynamo.digests.pages import DynamoWindowPages
from shared.adapters.dynamo.digests.policies import DynamoDigestPolicies
from shared.adapters.dynamo.digests.windows import DynamoWindows
from shared.adapters.dynamo.idempotent_replies import IdempotentReplies
from shared.adapters.dynamo.listing import Listing
from shared.adapters.dynamo.mails.mails import DynamoMails
from shared.adapters.dynamo.notices.inboxes import DynamoInboxes
from shared.adapters.dynamo.notices.logins import Logins
from shared.adapters.dynamo.notices.notices import DynamoNotices
from shared.adapters.dynamo.notices.notifiers import DynamoNotifiers
from shared.adapters.dynamo.notices.programs import DynamoPrograms
from shared.adapters.dynamo.notices.updates import DynamoUpdates
from shared.adapters.dynamo.notices.waiting import DynamoWaiting
from shared.adapters.dynamo.open_places import DynamoOpenPlaces
from shared.adapters.dynamo.recipients.stored_names import KeyedNames
from shared.adapters.dynamo.recipients.suppressions import Suppressions
from shared.contracts import Credential
from shared.domain.accounts import Scope
from shared.domain.pictures.picture import Shelf
from shared.domain.recipients.address_names import Names
from shared.engine.campaigns.pictures import PictureService
from shared.engine.digests.add import DigestAdder
from shared.engine.digests.policies import PolicyService
from shared.engine.digests.service import WindowService
from shared.engine.mails.moves import MailMoves
from shared.engine.mails.queueing import MailQueuer
from shared.engine.mails.service import MailService, RawRules
from shared.engine.notices.days import NotifierDays
from shared.engine.notices.notifiers import NotifierService
from shared.engine.notices.take import NoticeService
from shared.engine.notices.updates import UpdateReader
from shared.engine.reports.candidates import Candidates
from shared.engine.reports.search import MessageSearch
from shared.engine.spender import Spender
from shared.providers.instructing import INSTRUCTING
from tests.api.hooks import HookRoom, build_hooks
from tests.api.lists import Lists, as_body, build_lists
from tests.api.senders import account_parts, build_intake, proven
from tests.api.watched import Watched
from tests.fakes.clock import FakeClock, FakePool
from tests.fakes.digests.windows import FakeDigestHints
from tests.fakes.held import items_of
from tests.fakes.keyed_names import Keyring
from tests.fakes.mails.files import FakeMailFiles
from tests.fakes.progress import reader as progress_reader
from tests.fakes.queues import FakeQueue
from tests.fakes.tables import MotoStores, Tables, create_tables
from tests.fakes.world import World

SENDER = "news@example.com"
ADDRESS = "https://mail.example.com"
CREDENTIALS = (
    Credential("one", "sendgrid", "email", 100),
    Credential("two", "mailgun", "email", 50),
    Credential("theirs", "sendgrid", "email", 10, accounts=("acc_somebodyelse",)),
    Credential("texts", "sms", "sms", 10),
)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def tables(moto_dynamo: Any) -> Tables:
    return create_tables(moto_dynamo)


@dataclass(frozen=True)
class Reply:
    """An answer of the API. `headers`: names in lower case."""

    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def json(self) -> Any:
        return json.loads(self.text)

    @property
    def code(self) -> str:
        """The problem's code; checks that it is one, of that status. A door's own form of it names the code's page."""
        if self.of_door:
            assert self.headers["content-type"] == "application/json"
            assert self.status >= 400
            return self.headers["link"].removeprefix("</errors#").removesuffix('>; rel="help"')
        assert self.headers["content-type"] == "application/problem+json"
        assert self.json["status"] == self.status
        assert self.json["type"] == f"/errors#{self.json['code']}"
        assert self.json["title"]
        assert self.json["detail"]
        code: str = self.json["code"]
        return code

    @property
    def of_door(self) -> bool:
        """Whether it is a problem in another service's form."""
        return self.headers.get("link", "").startswith("</errors#")

    @property
    def fields(self) -> list[str]:
        """The fields that the problem names."""
        return [e["field"] for e in self.json.get("errors", [])]


def arrived(path: str) -> str:
    """Return a path as an HTTP API hands it over: decoded but for `%25`; what is no UTF-8 is replaced."""
    return re.sub(r"(?:%(?!25)[0-9A-Fa-f]{2})+", lambda run: unquote(run[0]), path)


def event(
    method: str,
    path: str,
    *,
    body: Any = None,
    headers: Mapping[str, str] | None = None,
    query: Mapping[str, Any] | str | None = None,
    encoded: bool = False,
) -> dict[str, Any]:
    """Return an event as API Gateway sends it (payload 2.0). `body`: JSON's values, or text as it is."""
    text = body if isinstance(body, str) or body is None else json.dumps(body)
    out: dict[str, Any] = {
        "version": "2.0",
        "routeKey": "ANY /{proxy+}",
        "rawPath": arrived(path),
        "rawQueryString": query if isinstance(query, str) else urlencode(query or {}),
        "headers": {"content-type": "application/json", **{k.lower(): v for k, v in (headers or {}).items()}},
        "requestContext": {
            "http": {"method": method, "path": arrived(path), "protocol": "HTTP/1.1", "sourceIp": "192.0.2.1"},
            "requestId": "request-1",
            "stage": "$default",
        },
        "isBase64Encoded": encoded,
    }
    if text is not None:
        out["body"] = base64.b64encode(text.encode()).decode() if encoded else text
    return out


@dataclass
class Api:
    """The API over moto, with an engine behind it that moves when told to."""

    world: World
    services: ApiServices
    client: Watched
    tables: Tables
    account: str
    key: str
    lists: Lists
    inbox_queue: FakeQueue
    """Hints to inboxes that hold payloads."""
    digest_hints: FakeDigestHints
    """Hints to the function that makes digests."""
    mail_files: FakeMailFiles
    """The bucket of mails."""
    hooks: HookRoom
    """Endpoints of webhooks."""
    keys: dict[str, str] = field(default_factory=dict)

    def handle(self, what: Mapping[str, Any]) -> Reply:
        """Answer an event."""
        got = respond(what, "request-1", lambda: self.services)
        reply = Reply(got["statusCode"], {k.lower(): v for k, v in got["headers"].items()}, got["body"])
        if reply.status == HTTPStatus.UNPROCESSABLE_ENTITY and not reply.of_door:
            assert all({"field", "message"} <= set(e) for e in reply.json["errors"]), reply.text
            assert reply.json["errors"], "every 422 says what is not valid"
        return reply

    def call(
        self, method: str, path: str, body: Any = None, *, key: str | None = None, headers: Any = None, **more: Any
    ) -> Reply:
        """Make a call. `key`: by default the account's live key; empty for none."""
        secret = self.key if key is None else key
        bearer = {"Authorization": f"Bearer {secret}"} if secret else {}
        return self.handle(event(method, path, body=body, headers={**bearer, **(headers or {})}, **more))

    def notifier(self, name: str = "clinic", **changes: Any) -> tuple[str, str]:
        """Make a notifier, and return its name and password."""
        got = self.call("POST", "/notifiers", {"name": name, "timezone": "Australia/Sydney", **changes})
        assert got.status == 201, got.text
        return name, got.json["password"]

    def basic(self, method: str, path: str, login: tuple[str, str], body: Any = None, **more: Any) -> Reply:
        """Make a call as a notifier. `login`: its name and password."""
        pair = base64.b64encode(":".join(login).encode()).decode()
        headers = {"Authorization": f"Basic {pair}", **(more.pop("headers", None) or {})}
        return self.call(method, path, body, key="", headers=headers, **more)

    def batch(self, to: Any = ("a@example.org",), *, key: str | None = None, http: Any = None, **changes: Any) -> Reply:
        """Post a small batch. `http`: headers of the request; `changes`: of its body."""
        return self.call("POST", "/batches", self.body(to, **changes), key=key, headers=http)

    def body(self, to: Any = ("a@example.org",), **changes: Any) -> dict[str, Any]:
        """Return a small batch's body; fields given as None are left out."""
        to = list(to) if isinstance(to, tuple) else to
        given = {name.rstrip("_"): value for name, value in changes.items()}
        whole = {"from": SENDER, "to": to, "subject": "Hello", "text": "Hello!", **given}
        return {name: value for name, value in whole.items() if value is not None}

    def accepted(self, to: Any = ("a@example.org",), **changes: Any) -> str:
        """Post a batch that is accepted, and return its id."""
        got = self.batch(to, **changes)
        assert got.status == 202, got.text
        job: str = got.json["job_id"]
        self.world.jobs.append(job)
        return job

    def logged(self, to: Any = ("a@example.org",), **changes: Any) -> str:
        """Post a batch, have it sent, and return its id."""
        job = self.accepted(to, **changes)
        self.world.settle()
        return job

    def campaign(self, *, key: str | None = None, **changes: Any) -> str:
        """Make a campaign, and return its id. `changes`: of the body; fields given as None are left out."""
        said = {"from": SENDER, "subject": "Hello {{ name }}", "body": "<p>Dear {{ name }}</p>"}
        whole = {"name": "October", "channel": "email", "template": said, **changes}
        got = self.call("POST", "/campaigns", {k: v for k, v in whole.items() if v is not None}, key=key)
        assert got.status == 201, got.text
        name: str = got.json["campaign_id"]
        return name

    def listed(self, campaign: str, *rows: dict[str, Any], key: str | None = None) -> str:
        """Give a campaign a list, have it read, and return the upload's id."""
        people = rows or ({"recipient": "a@example.org", "name": "Ann"}, {"recipient": "b@example.org", "name": "Ben"})
        got = self.call("PUT", f"/campaigns/{campaign}/recipients", as_body([*people]), key=key)
        assert got.status == 202, got.text
        self.lists.read()
        upload: str = got.json["upload_id"]
        return upload

    def sent(self, campaign: str, *, key: str | None = None, **order: Any) -> str:
        """Send a campaign's list, and return the job's id."""
        got = self.call("POST", f"/campaigns/{campaign}/send", order, key=key)
        assert got.status == 202, got.text
        job: str = got.json["job_id"]
        self.world.jobs.append(job)
        return job

    def other(self) -> str:
        """Return the live key of another account, which may use the same sender."""
        if "other" not in self.keys:
            account = self.services.accounts.create_account("Other", ["example.com"])
            self.keys["other"], _ = self.services.accounts.create_key(account)
        return self.keys["other"]

    def test_key(self) -> str:
        """Return a test key of the account."""
        if "test" not in self.keys:
            self.keys["test"], _ = self.services.accounts.create_key(self.account, test=True)
        return self.keys["test"]

    def scoped(self, *scopes: Scope) -> str:
        """Return a key with those scopes alone."""
        return self.services.accounts.create_key(self.account, scopes=scopes)[0]

    def stored(self) -> list[dict[str, Any]]:
        """Return every item of all tables but what every call may move: request buckets, and when keys were used."""
        homes = self.tables.homes
        found = items_of((self.tables.records, self.tables.ops, homes.identities, homes.audit))
        unnoted = ({"S": "BUCKET"}, {"S": "SEEN"})
        kept = [x for x in found if x["sk"] not in unnoted and not x["pk"]["S"].startswith("USE#")]
        return sorted(kept, key=lambda x: (x["pk"]["S"], x["sk"]["S"]))


def build_api(client: Any, clock: FakeClock, *, keyed: bool = False) -> Api:
    """Return an API with tables, an account and a live key of its own.

    Args:
        keyed: whether hashes of addresses have a key.
    """
    client = Watched(client)
    made: list[MotoStores] = []

    def stores(time: FakeClock) -> MotoStores:
        made.append(MotoStores(client, time))
        return made[-1]

    world = World(*CREDENTIALS, stores=stores, clock=clock)
    tables = made[0].tables
    names = Keyring(tables, clock).names(client) if keyed else Names()
    if isinstance(names, KeyedNames):
        assert names.begin(empty=lambda: True)
    made[0].dynamo.names = names
    functions = Dynamo(client, sleep=clock.sleep, homes=tables.alone, names=names)
    rules = KnownRules(functions, tables.records, clock)
    store = DynamoSpending(functions, tables.records, clock)
    world.spender = Spender(store=store, rules=rules.of, settings=world.settings, clock=clock)
    world.reboot()
    world.settings.routes["email"] = ("one", "two", "theirs")
    records = tables.records
    lists = build_lists(world, made[0])
    pictures = PictureService(DynamoPictures(functions, records=records), lists.files, clock, Shelf(3, 10_000), ADDRESS)
    accounts = Accounts(client, records, clock, homes=tables.homes, rules=rules)
    suppressions = Suppressions(client, records, clock, homes=tables.alone, names=names)
    parts = account_parts(functions, records, clock)
    senders = proven(accounts, parts, clock)
    notifiers = DynamoNotifiers(functions, records=records)
    inbox_queue = FakeQueue(clock)
    notices = NoticeServices(
        notifiers=notifiers,
        service=NotifierService(store=notifiers, senders=senders, settings=world.settings, clock=clock),
        updates=UpdateReader(log=DynamoUpdates(functions, records=records), clock=clock),
        programs=DynamoPrograms(functions, records=records),
        intake=NoticeService(
            inboxes=DynamoInboxes(functions, records=records, files=made[0].blobs),
            queue=inbox_queue,
            clock=clock,
            acceptances=made[0].acceptances,
        ),
        notices=DynamoNotices(functions, records=records),
        waiting=DynamoWaiting(functions, records=records),
        days=NotifierDays(log=DynamoUpdates(functions, records=records), clock=clock),
    )
    hints = FakeDigestHints()
    windows = DynamoWindows(functions, records=records)
    policies = DynamoDigestPolicies(functions, records=records)
    digests = DigestServices(
        adder=DigestAdder(
            windows=windows,
            keeping=DynamoWindowRetention(functions, records=records),
            policies=policies,
            hints=hints,
            clock=clock,
            pool=FakePool,
        ),
        service=WindowService(windows=windows, hints=hints, clock=clock),
        pages=DynamoWindowPages(functions, records=records),
        policies=policies,
        policy_service=PolicyService(policies=policies, senders=senders, settings=world.settings, clock=clock),
    )
    mail_files = FakeMailFiles()
    mails = DynamoMails(functions, records=records, ops=tables.ops, blobs=made[0].blobs)
    mail_service = MailService(
        mails=mails,
        files=mail_files,
        places=DynamoOpenPlaces(functions, records=records, clock=clock),
        queuer=MailQueuer(
            mails=mails, acceptor=world.acceptor, lanes=world.lanes, clock=clock, acceptances=made[0].acceptances
        ),
        senders=senders,
        unwanted=suppressions,
        settings=world.settings,
        rules=RawRules(lambda name: {"one": 40_000_000, "test": 40_000_000}.get(name, 0), INSTRUCTING),
        clock=clock,
    )
    moves = MailMoves(world.records, world.ledgers, world.recovery, world.logs, made[0].journal, clock)
    mail_services = MailServices(mails, mail_service, moves)
    hooks = build_hooks(functions, records, world.records, clock)
    credentials = CredentialStates(client, tables.ops, clock)
    listing = Listing(client, records, clock)
    made[0].search_pages.begin(0)
    services = ApiServices(
        settings=world.settings,
        clock=clock,
        accounts=accounts,
        suppressions=suppressions,
        **parts,
        visits=visits(Dynamo(client, sleep=clock.sleep), records, clock),
        address=ADDRESS,
        journal=made[0].journal,
        stats=Stats(client, records, clock),
        listing=listing,
        search=MessageSearch(Candidates(listing, made[0].search_pages, lambda: clock.ms), world.logs),
        answers=IdempotentReplies(client, records, clock),
        credentials=credentials,
        records=world.records,
        intake=build_intake(world.settings, senders, suppressions, clock, ADDRESS),
        acceptor=world.acceptor,
        spender=world.spender,
        acceptances=made[0].acceptances,
        control=world.control,
        rescheduler=world.rescheduler_of(lists.services.campaigns.get),
        schedules=world.schedules,
        logs=world.logs,
        progress=progress_reader(world, credentials),
        pictures=lambda: pictures,
        logins=Logins(functions, records, clock),
        campaigns=lambda: lists.services,
        notices=lambda: notices,
        digests=lambda: digests,
        mails=lambda: mail_services,
        hooks=lambda: hooks.services,
        exports=lists.service,
        files=lists.files,
    )
    account = services.accounts.create_account("Mine", ["example.com"])
    key, _ = services.accounts.create_key(account)
    return Api(world, services, client, tables, account, key, lists, inbox_queue, hints, mail_files, hooks)


@pytest.fixture(scope="module")
def calm(moto_dynamo: Any) -> Api:
    """An API that a module's tests share, for those that change nothing that is stored."""
    return build_api(moto_dynamo, FakeClock())


@pytest.fixture
def api(moto_dynamo: Any, clock: FakeClock) -> Api:
    return build_api(moto_dynamo, clock)
