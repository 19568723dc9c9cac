"""The control API under `/_control`, and the inbox.

| | |
|---|---|
| GET `/_control` | credentials with their URLs, faults, webhook settings and counters |
| GET, PUT `/_control/{provider}/{credential}/faults` | see `faults.py` |
| GET, PUT `/_control/{provider}/{credential}/webhooks` | see `webhooks.py`; PUT changes the fields it names |
| GET, PUT `/_control/{provider}/{credential}/keys` | `{"keys": ["…"]}`: the API keys that are accepted |
| POST `/_control/{provider}/{credential}/texts` | `{"from": "+1…", "text": "STOP", "to": ""}`: a phone writes a text |
| POST `/_control/{provider}/{credential}/listener` | give it a port of its own → `{"base_url"}` |
| GET, PUT `/_control/github` | the OAuth app, see `github.py`: `client_id`, `client_secret`, `callback` |
| GET, PUT `/_control/openid` | the client of the OpenID provider, see `openid.py`, and how its tokens are wrong |
| GET, PUT `/_control/relays/{name}` | an SMTP relay, see `relay.py` → its settings and `base_url` |
| GET `/_control/log` | accepted recipients as JSON lines; `provider, credential, since, cursor, limit` (≤ 10,000) |
| GET `/_control/calls` | calls, likewise; the header `x-next-cursor` is the `cursor` of the next page |
| DELETE `/_control/log` | forget both, and the inbox |
| GET `/_control/stats` | counts, histogram, worst second; `provider, credential, since` |
| GET `/_control/keys` | provider → accepted keys, and what verifies its webhooks |
| POST `/_control/flush` | `{"now": true, "timeout_s": 30}` → `{"delivered", "total", "failed", "pending"}` |
| POST `/_control/reset` | forget log, faults and undelivered webhooks |
| GET `/`, `/inbox.json`, `/inbox/{seq}.json` | the inbox, see `inbox/serving.py` |

Errors are `{"error": text}`: 400, 404, or 421 for a Host that is not this machine. So a web page elsewhere that
resolves to loopback cannot read mails.
"""

import json
from dataclasses import asdict
from typing import Any, Final
from urllib.parse import parse_qsl

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from uvicorn import Config

from simulator.dice import token
from simulator.faults import Faults
from simulator.github import ROOT, GitHub, GitHubApp
from simulator.inbox.serving import InboxViews
from simulator.log import Filter
from simulator.model import RECEIVED, BadRequest, Reply, Writing
from simulator.openid import OPENID_ROOT, OpenIdClient, OpenIdIssuer
from simulator.servers.listener import Listener
from simulator.servers.relay import RelaySettings
from simulator.webhooks import Webhooks
from simulator.world import Credential, World

LOCAL_HOSTS: Final = frozenset({"127.0.0.1", "localhost"})
MAX_LINES: Final = 10_000


class Keys(BaseModel):
    """Body of PUT keys."""

    model_config = ConfigDict(extra="forbid")
    keys: list[str] = Field(min_length=1, max_length=100)


class Flush(BaseModel):
    """Body of POST flush. `now`: without waiting for the delays of events and retries."""

    model_config = ConfigDict(extra="forbid")
    now: bool = False
    timeout_s: float = Field(default=30, ge=0, le=600)


class Written(BaseModel):
    """Body of POST texts. `to`: empty: the provider's usual number."""

    model_config = ConfigDict(extra="forbid")
    sender: str = Field(alias="from", pattern=r"^\+[1-9][0-9]{6,14}$")
    text: str = Field(max_length=1600)
    to: str = ""


class Page(BaseModel):
    """Query of log, calls and stats."""

    model_config = ConfigDict(extra="forbid")
    provider: str = ""
    credential: str = ""
    since: float = 0
    cursor: int = 0
    limit: int = Field(default=1000, ge=1, le=MAX_LINES)

    def filter(self) -> Filter:
        """Return the log's filter."""
        return Filter(self.provider, self.credential, self.since, self.cursor)


class Control:
    """Serves everything that is not a provider's call."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._github = GitHub()
        self._openid = OpenIdIssuer(now=world.clock.now)
        self._inbox = InboxViews(world.log, lambda name: isinstance(world.providers.get(name), Writing))
        self.config: Config | None = None
        """The server's configuration, known only after the app: for listeners that are made later."""

    async def serve(self, scope: Any, body: bytes) -> Reply:
        """Answer one request."""
        hosts = [v.decode("latin-1").partition(":")[0] for k, v in scope["headers"] if k == b"host"]
        if not LOCAL_HOSTS.issuperset(hosts):
            return _json({"error": "this is a local service"}, 421)
        try:
            if scope["path"].startswith(f"/{ROOT}/"):
                return self._github.serve(scope, body)
            if scope["path"].startswith(f"/{OPENID_ROOT}/"):
                return self._openid.serve(scope, body)
            return await self._route(scope["method"], scope["path"], scope["query_string"], body)
        except BadRequest as e:
            return _json({"error": str(e)}, 400)
        except ValidationError as e:
            return _json({"error": e.errors(include_url=False, include_context=False, include_input=False)}, 400)

    async def _route(self, method: str, path: str, query: bytes, body: bytes) -> Reply:  # noqa: C901 - a table of routes
        parts = path.strip("/").split("/")
        if parts[0] != "_control":
            return self._inbox.serve(method, path, query)
        if len(parts) == 4:  # noqa: PLR2004 - _control, provider, credential, what
            return await self._credential(method, self._world.credential(parts[1], parts[2]), parts[3], body)
        if parts[1:2] == ["relays"]:
            return await self._relay(method, "".join(parts[2:]), body)
        page = Page.model_validate(dict(parse_qsl(query.decode())))
        world = self._world
        match method, "/".join(parts[1:]):
            case "GET", "":
                return _json(self._overview())
            case "GET" | "PUT", "github" | "openid" as name:
                return self._oauth_app(method, name, body)
            case "GET", "log":
                return _lines(*world.log.lines(page.filter(), page.limit))
            case "GET", "calls":
                return _lines(*world.log.call_lines(page.filter(), page.limit))
            case "DELETE", "log":
                world.log.clear()
                return Reply(204)
            case "GET", "stats":
                return _json(world.log.stats(page.filter()))
            case "GET", "keys":
                return _json({name: self._keys(name) for name in world.providers})
            case "POST", "flush":
                flush = Flush.model_validate_json(body or b"{}")
                return _json(await world.flush(now=flush.now, patience=flush.timeout_s))
            case "POST", "reset":
                await world.reset()
                return Reply(204)
        return _json({"error": "no such control; see simulator/control.py"}, 404)

    def _oauth_app(self, method: str, name: str, body: bytes) -> Reply:
        """Return the OAuth app of the simulated GitHub or the client of the OpenID provider, or replace it.

        Args:
            name: `github` or `openid`.
            body: the new one.
        """
        if name == OPENID_ROOT:
            if method == "PUT":
                self._openid.client = OpenIdClient.model_validate_json(body or b"{}")
            return _json({**self._openid.client.model_dump(), "asked": self._openid.asked})
        if method == "PUT":
            self._github.app = GitHubApp.model_validate_json(body or b"{}")
        return _json(self._github.app.model_dump())

    async def _relay(self, method: str, name: str, body: bytes) -> Reply:
        """Return a relay's settings, or replace them."""
        relay = self._world.relay(name)
        if method == "PUT":
            relay.change(RelaySettings.model_validate_json(body or b"{}"))
        return _json({**relay.settings.model_dump(mode="json"), "base_url": await relay.open()})

    async def _credential(self, method: str, credential: Credential, what: str, body: bytes) -> Reply:
        courier = credential.courier
        match method, what:
            case "PUT", "faults":
                await self._world.set_faults(credential, Faults.model_validate_json(body))
            case "PUT", "webhooks":
                changes = Webhooks.model_validate_json(body).model_dump(exclude_unset=True)
                _known_behaviours(
                    credential, {**changes.get("behaviours", {}), **{b: b for b in changes.get("mix", {})}}
                )
                courier.configure(Webhooks.model_validate({**courier.settings.model_dump(), **changes}))
            case "PUT", "keys":
                credential.keys = frozenset(Keys.model_validate_json(body).keys)
            case "POST", "texts":
                return _json(self._write(credential, Written.model_validate_json(body)))
            case "POST", "listener":
                return _json({"base_url": await self.listen(credential)})
            case "GET", "faults" | "webhooks" | "keys":
                pass
            case _:
                return _json({"error": "no such control; see simulator/control.py"}, 404)
        return _json(self._describe(credential)[what])

    def _write(self, credential: Credential, text: Written) -> dict[str, str]:
        """Have a phone write a text to a number of a credential."""
        provider, courier = credential.provider, credential.courier
        if not isinstance(provider, Writing):
            raise BadRequest(f"{provider.name} has no numbers that can be written to")
        fresh = token(self._world.options.seed, provider.name, credential.id, "text", courier.counters.planned)
        message = provider.wrote(text.sender, text.to, text.text, fresh)
        courier.report(message, RECEIVED)
        return {"message_id": message.id}

    async def listen(self, credential: Credential, port: int = 0) -> str:
        """Give a credential a port of its own, if it has none, and return its base URL there."""
        if credential.listener is None:
            if self.config is None:
                raise BadRequest("the simulator is not running")
            credential.listener = Listener(self.config, port)
            await credential.listener.open()
        return f"{credential.listener.url}/{credential.provider.name}/{credential.id}"

    def _overview(self) -> dict[str, Any]:
        return {
            "seed": self._world.options.seed,
            "credentials": {f"{p}/{c}": self._describe(x) for (p, c), x in self._world.credentials.items()},
        }

    def _describe(self, credential: Credential) -> dict[str, Any]:
        faults, courier = credential.faults, credential.courier
        base = f"{credential.listener.url}/{credential.provider.name}/{credential.id}" if credential.listener else None
        return {
            "base_url": base,
            "faults": {**faults.faults.model_dump(mode="json"), "hits": faults.hits},
            "webhooks": {
                **courier.settings.model_dump(mode="json"),
                "counters": asdict(courier.counters),
                "pending": courier.pending,
            },
            "keys": {"keys": sorted(credential.keys), **credential.provider.describe()},
        }

    def _keys(self, name: str) -> dict[str, Any]:
        provider = self._world.providers[name]
        keys = (self._world.options.keys or {}).get(name, {provider.default_key})
        return {"keys": sorted(keys), **provider.describe()}


def _known_behaviours(credential: Credential, behaviours: dict[str, str]) -> None:
    for behaviour in behaviours.values():
        try:
            credential.provider.words(behaviour)
        except KeyError:
            raise BadRequest(f"{credential.provider.name} has no behaviour {behaviour}") from None


def _json(value: Any, status: int = 200) -> Reply:
    return Reply(status, [(b"content-type", b"application/json")], json.dumps(value, ensure_ascii=False).encode())


def _lines(lines: list[dict[str, Any]], cursor: int) -> Reply:
    body = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    headers = [(b"content-type", b"application/jsonl"), (b"x-next-cursor", str(cursor).encode())]
    return Reply(200, headers, body.encode())
