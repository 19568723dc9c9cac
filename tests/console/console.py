"""The console over moto, beside an API, and a browser without pages, which keeps cookies."""

import base64
import html
import re
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from functions.console.assets import Assets
from functions.console.handler import respond
from functions.console.rendering import Pages
from functions.console.services import ConsoleServices, sign_in_limits
from functions.console.use_cases import (
    ConsoleUseCases,
    DigestUseCases,
    MailUseCases,
    NoticeUseCases,
    ResultUseCases,
    SenderUseCases,
)
from functions.operate.services import PressedServices
from shared import contracts
from shared.adapters.alarms import RaisedAlarms
from shared.adapters.dynamo.accounts.first_accounts import DynamoFirstAccounts
from shared.adapters.dynamo.client import Dynamo
from shared.adapters.dynamo.credentials.known import KnownCredentials, OpenSlots
from shared.adapters.dynamo.credentials.switchboard import Switchboard
from shared.adapters.dynamo.people.people import DynamoPeople
from shared.bootstrap.campaigning import CampaignService, known_senders
from shared.contracts.console import ConsoleSettings
from shared.domain.audit import SYSTEM
from shared.domain.people import Identity, Role
from shared.domain.sealing import Keys
from shared.engine.campaigns.trials import Trials
from shared.ports.people import NotSignedIn
from shared.web.sessions import Sessions
from tests.api.conftest import Api, Reply, build_api, event
from tests.console.buttons import PressedButtons, environment
from tests.fakes.clock import FakeClock
from tests.fakes.keyed_names import Keyring
from tests.fakes.people import create_people

SETTINGS = ConsoleSettings(
    "github",
    "client",
    users=("ann", "ben"),
    organizations=("acme",),
    roles={"olga": "operator", "keepers": "operator", "kira": "key-admin"},
    buttons=True,
)
ANN = Identity("github", "1", "Ann", "Ann Example")
KEYS = Keys("k" * 40, ("p" * 40,))


class FakeSignIn:
    """A provider of identities. It confirms each person whom a test names as the next one."""

    def __init__(self) -> None:
        self.next: Identity | None = ANN
        self.verifiers: list[str] = []

    def address(self, state: str, verifier: str) -> str:
        self.verifiers.append(verifier)
        return f"https://provider.example/authorize?{urlencode({'state': state})}"

    def identity(self, code: str, verifier: str, issuer: str = "") -> Identity:
        if self.next is None or code != "good" or verifier not in self.verifiers:
            raise NotSignedIn("bad_verification_code")
        return self.next


@dataclass
class Console:
    """The console over moto, beside an API, and a browser that keeps cookies."""

    api: Api
    services: ConsoleServices
    provider: FakeSignIn
    client: Any
    people_table: str
    buttons: PressedButtons
    cookies: dict[str, str] = field(default_factory=dict)
    address: str = "192.0.2.1"

    @property
    def account(self) -> str:
        return self.api.account

    def ask(self, method: str, path: str, *, form: Mapping[str, str] | None = None, **more: Any) -> Reply:
        """Make a request with the browser's cookies, which it keeps up to date."""
        headers = {"content-type": "application/x-www-form-urlencoded", **more.pop("headers", {})}
        where, _, query = path.partition("?")
        body = urlencode(form) if form is not None else None
        asked = event(method, f"/console{where}", body=body, headers=headers, query=query)
        asked["requestContext"]["http"]["sourceIp"] = self.address
        asked["cookies"] = [f"{name}={value}" for name, value in self.cookies.items()]
        got = respond(asked, "request-1", lambda: self.services)
        for cookie in got.get("cookies", ()):
            name, _, rest = cookie.partition("=")
            self.cookies[name] = rest.partition(";")[0]
        return Reply(got["statusCode"], {k.lower(): v for k, v in got["headers"].items()}, got["body"])

    def get(self, path: str = "", **more: Any) -> Reply:
        """Open a page."""
        return self.ask("GET", path, **more)

    def shown(self, path: str = "") -> str:
        """Open a page of the account that is there, and return its HTML."""
        got = self.get(f"/{self.account}{path}")
        assert got.status == 200, got.text
        return got.text

    def post(self, path: str, **fields: str) -> Reply:
        """Press a button, with the token of a form of this session."""
        page = self.get(f"/{self.account}").text or self.get("").text
        found = re.search(r'name="csrf" value="([^"]+)"', page) or re.search(
            r'name="csrf" value="([^"]+)"', self.get("").text
        )
        assert found is not None
        return self.ask("POST", path, form={"csrf": html.unescape(found[1]), **fields})

    def upload(self, file: bytes, *, headers: Mapping[str, str] | None = None, **fields: str) -> Reply:
        """Add a picture by its page's form, as a browser posts it."""
        token = re.search(r'name="csrf" value="([^"]+)"', self.get(f"/{self.account}/images").text)
        values = {"csrf": html.unescape(token[1]) if token else "", **fields}
        parts = [f'name="{name}"\r\n\r\n{value}'.encode() for name, value in values.items()]
        parts.append(b'name="file"; filename="a.png"\r\nContent-Type: image/png\r\n\r\n' + file)
        body = b"".join(b"--edge\r\nContent-Disposition: form-data; " + x + b"\r\n" for x in parts) + b"--edge--\r\n"
        return self.send(f"/{self.account}/images", body, 'multipart/form-data; boundary="edge"', headers)

    def send(self, path: str, body: bytes, kind: str, headers: Mapping[str, str] | None = None) -> Reply:
        """Post bytes of some type, with the browser's cookies."""
        asked = event("POST", f"/console{path}", headers={"content-type": kind, **(headers or {})})
        asked |= {"body": base64.b64encode(body).decode(), "isBase64Encoded": True}
        asked["cookies"] = [f"{name}={value}" for name, value in self.cookies.items()]
        got = respond(asked, "request-1", lambda: self.services)
        return Reply(got["statusCode"], {k.lower(): v for k, v in got["headers"].items()}, got["body"])

    def begin(self, back: str = "") -> str:
        """Be sent to the provider; return the state that it repeats."""
        got = self.get(f"/begin?{urlencode({'back': back})}")
        assert got.status == 303
        return parse_qs(urlsplit(got.headers["location"]).query)["state"][0]

    def sign_in(self, identity: Identity | None = ANN, back: str = "") -> Reply:
        """Sign in as somebody."""
        self.provider.next = identity
        return self.get(f"/signed-in?{urlencode({'code': 'good', 'state': self.begin(back)})}")

    def member(self, identity: Identity = ANN, role: Role = Role.ADMIN) -> Reply:
        """Sign in as a member of the account, with this role from now on."""
        people = self.services.people
        known = {user.id: mine.role for user, mine in people.members(self.account) if user.subject == identity.subject}
        for user in (user for user, had in known.items() if had is not role):
            people.change(user, self.account, role, by=SYSTEM)
        if not known:
            people.invite("github", identity.login, self.account, role)
        return self.sign_in(identity)


def build_use_cases(api: Api) -> ConsoleUseCases:
    """Return the use cases of an API for its console."""
    of = api.services
    digests, mails, notices = of.digests(), of.mails(), of.notices()
    return ConsoleUseCases(
        suppressions=of.suppressions,
        journal=of.journal,
        acceptances=of.acceptances,
        hooks=lambda: api.hooks.services.service,
        digests=lambda: DigestUseCases(digests.service, digests.pages),
        mails=lambda: MailUseCases(mails.mails, mails.moves),
        notices=lambda: NoticeUseCases(notices.notices, notices.notifiers, notices.waiting),
        switches=Switchboard(
            api.client,
            records=api.tables.records,
            ops=api.tables.ops,
            clock=api.world.clock,
            homes=api.tables.alone,
        ),
        alarms=RaisedAlarms(None, "posthaste-dev-", api.world.clock),
        slots=OpenSlots(
            KnownCredentials(Dynamo(api.client, sleep=api.world.clock.sleep), api.tables.ops),
            [c.id for c in of.settings.credentials],
        ),
        dead_letters=lambda name: {"feedback": 3, "lane-one": 1}.get(name, 0),
        senders=lambda: SenderUseCases(of.claims, of.dns, api.services.identities),
        results=lambda: ResultUseCases(of.exports, of.files),
        spender=of.spender,
    )


def build_console(client: Any, clock: FakeClock) -> Console:
    """Return a console with an account and tables of its own."""
    api = build_api(client, clock)
    table = api.tables.records.replace("records", "people")
    create_people(client, table)
    assets = Assets()
    provider = FakeSignIn()
    of = api.services
    functions = Dynamo(client, sleep=clock.sleep, homes=api.tables.alone)
    ring = Keyring(api.tables, clock)
    names = {
        contracts.ENV_RECORDS_TABLE: api.tables.records,
        contracts.ENV_OPS_TABLE: api.tables.ops,
        contracts.ENV_IDENTITIES_TABLE: api.tables.alone.identities,
        contracts.ENV_AUDIT_TABLE: api.tables.alone.audit,
        contracts.ENV_PEOPLE_TABLE: table,
    }
    pressed = PressedServices(environment(of.settings, SETTINGS.dumps(), names), clock)
    vars(pressed)["dynamo_client"] = client
    buttons = PressedButtons(pressed)
    services = ConsoleServices(
        settings=of.settings,
        console=SETTINGS,
        clock=clock,
        pages=Pages(assets),
        assets=assets,
        people=DynamoPeople(functions, table, clock),
        sign_in=provider,
        sessions=Sessions(lambda: KEYS),
        accounts=of.accounts,
        records=of.records,
        logs=of.logs,
        listing=of.listing,
        search=of.search,
        stats=of.stats,
        credentials=of.credentials,
        progress=of.progress,
        control=of.control,
        rescheduler=of.rescheduler,
        first_accounts=DynamoFirstAccounts(functions, clock),
        names=ring.names(client),
        buttons=buttons,
        use_cases=build_use_cases(api),
        links=of.links,
        limits=sign_in_limits(functions, table, clock, lambda: KEYS),
        reads=ThreadPoolExecutor(4),
        pictures=of.pictures,
        campaigns=lambda: CampaignService(
            campaigns=of.campaigns(),
            intake=of.intake,
            acceptor=of.acceptor,
            trials=Trials(intake=of.intake, previews=of.campaigns().previews),
            files=of.files,
            senders=lambda account: known_senders(of.accounts, of.claims, account),
            samples=True,
        ),
    )
    return Console(api, services, provider, client, table, buttons)
