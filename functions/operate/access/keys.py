"""API keys of accounts: made, listed, ended, replaced, revoked.

A key's text is in the answer that makes it, and nowhere else. Its hash is stored, and no line of the log has a body.
"""

from typing import Annotated, Any, Final

from pydantic import AfterValidator, Field

from functions.operate.access.traces import KeyTrail, disable, traces_of
from functions.operate.accounts import AccountBody, AccountQuery, Name, owner_of, resolve
from functions.operate.call import Call, OperateView, route
from shared.domain.access.networks import MAX_NETWORKS, network_of
from shared.domain.access.proofs import Proof
from shared.domain.access.signed import public_key_of
from shared.domain.accounts import ApiKey, Scope, is_key_id
from shared.domain.namespaces import KeyKind, owner
from shared.domain.times import DAY_MS
from shared.web.http import Answer
from shared.web.problems import Problem, invalid
from shared.web.routing import Nothing

NetworkText = Annotated[str, AfterValidator(network_of)]
"""A network in a request."""
SLACK_MS: Final = 3_600_000
"""By so much the clock of an operator's machine may be ahead where it says when a key ends."""


Digest = Annotated[str, Field(pattern="^([0-9a-f]{64})?$")]
"""SHA-256 of a key's text, hex; or empty."""


class NewKey(AccountBody):
    """A key.

    Attributes:
        scopes: None for those of its kind.
        expires: Unix milliseconds, 0 for never; None for what the settings say.
        networks: the only ones that it may be used from; none: it may from everywhere.
        proof: what it asks of each request.
        public_key: base64 of the key of Ed25519 that signs its requests.
        digest: of a text that the caller has made; empty: it is made here.
    """

    kind: KeyKind = KeyKind.LIVE
    name: Name = ""
    scopes: list[Scope] | None = None
    expires: int | None = Field(None, ge=0)
    networks: list[NetworkText] = Field([], max_length=MAX_NETWORKS)
    proof: Proof = Proof.KEY
    public_key: str = Field("", max_length=200)
    digest: Digest = ""


class KeyNetworks(AccountBody):
    """The only networks that a key may be used from; none: it may from everywhere."""

    networks: list[NetworkText] = Field(max_length=MAX_NETWORKS)


class KeyEnd(AccountBody):
    """When a key ends: Unix milliseconds, 0 for never."""

    until: int = Field(ge=0)


class KeyRotation(KeyEnd):
    """When the old key ends. `digest`: as of `NewKey`."""

    digest: Digest = ""


Place = Annotated[str, Field(max_length=400, pattern=r"^([0-9]:.+)?$")]
"""Where logs are read on, of the answer before; empty: from their newest entries on."""


class TracesQuery(AccountQuery):
    """Whose key it is."""

    place: Place = ""


class TracesBody(AccountBody):
    """Whose key it is."""

    place: Place = ""


class OperatedKey(OperateView):
    """A key without its text."""

    key_id: str
    account_id: str
    kind: KeyKind
    test: bool
    name: str
    scopes: list[Scope]
    created_at: int
    expires_at: int
    networks: list[str]
    proof: Proof
    last_used_at: int
    last_used_from: str


class OperatedKeys(OperateView):
    """All keys of an account, oldest first."""

    items: list[OperatedKey]


class CreatedKey(OperateView):
    """A new key. `key`: its text, which only this answer has; empty: the caller has made it."""

    key: str
    made: OperatedKey


class RotatedKey(CreatedKey):
    """A new key and the one that it replaces."""

    replaces: OperatedKey


class RevokedKey(OperateView):
    """A key that does not exist. `revoked`: this request has removed it."""

    account_id: str
    key_id: str
    revoked: bool


class TouchedHook(OperateView):
    """An endpoint that a key has made or changed."""

    id: str
    url: str


class KeyTraces(OperateView):
    """What a key has done. `actions`: action → what it was done to; of requests that were accepted, the hours.

    `endpoints`, `notifiers`: those that it has made or changed, and that were not disabled. `place`: there is more.
    """

    account_id: str
    key_id: str
    endpoints: list[TouchedHook]
    notifiers: list[str]
    actions: dict[str, list[str]]
    place: str


def list_keys(call: Call[AccountQuery, Nothing]) -> Answer:
    """Return an account's keys, without their texts."""
    whose = resolve(call.services, call.query.account)
    return OperatedKeys(items=[_row(x) for x in call.services.accounts.list_keys(whose)]).answer()


def create_key(call: Call[Nothing, NewKey]) -> Answer:
    """Create a key. A repeat makes another one, unless it has the digest of its text."""
    body = call.body
    whose, ends = owner_of(call), _end_of(call, body.expires)
    try:
        text, made = call.services.accounts.create_key(
            whose,
            test=body.kind is KeyKind.TEST,
            team=body.kind is KeyKind.TEAM,
            scopes=body.scopes or None,
            name=body.name,
            expires=ends,
            networks=body.networks,
            proof=body.proof,
            public=public_key_of(body.public_key) if body.public_key else b"",
            digest=body.digest,
            by=call.key.id,
        )
    except ValueError as fault:
        raise invalid("public_key", str(fault)) from None
    return CreatedKey(key=text, made=_row(made)).answer()


def expire_key(call: Call[Nothing, KeyEnd]) -> Answer:
    """Set when a key ends."""
    whose, name = owner_of(call), _key_id(call)
    changed = call.services.accounts.expire_key(whose, name, _end_of(call, call.body.until), by=call.key.id)
    return _changed(whose, name, changed)


def restrict_key(call: Call[Nothing, KeyNetworks]) -> Answer:
    """Set the networks that a key may be used from. Processes take the old ones for up to 30 seconds more."""
    whose, name = owner_of(call), _key_id(call)
    changed = call.services.accounts.restrict_key(whose, name, call.body.networks, by=call.key.id)
    return _changed(whose, name, changed)


def _changed(whose: str, name: str, key: ApiKey | None) -> Answer:
    if key is None:
        raise Problem("not_found", f"{whose} has no key {name}: see `posthaste key list {whose}`.")
    return _row(key).answer()


def _end_of(call: Call[Any, Any], wanted: int | None) -> int:
    """Return when a key ends: as wanted, or as the settings say. Unix milliseconds, 0 for never.

    Raises:
        Problem: validation_failed: the settings allow no such end.
    """
    latest = _latest(call)
    if wanted is None or not latest:
        return wanted or latest
    if wanted == 0 or wanted > latest + SLACK_MS:
        days = call.services.settings.max_key_days
        raise invalid("expires", f"A key ends within {days} days, as the setting `max_key_days` says.")
    return wanted


def _latest(call: Call[Any, Any]) -> int:
    """Return when a key that is made now ends at the latest, Unix milliseconds; 0 if it need not end."""
    days = call.services.settings.max_key_days
    return int(call.services.clock.now() * 1000) + days * DAY_MS if days else 0


def rotate_key(call: Call[Nothing, KeyRotation]) -> Answer:
    """Replace a key, which ends later. A repeat replaces it once more, unless it has the digest of its text."""
    whose, name, body = owner_of(call), _key_id(call), call.body
    latest = _latest(call)
    try:
        made = call.services.accounts.rotate_key(
            whose, name, body.until, latest=latest, digest=body.digest, by=call.key.id
        )
    except ValueError as fault:
        raise invalid("key", str(fault)) from None
    if made is None:
        raise Problem(
            "not_found", f"{whose} has no valid key {name}, or it was just changed: `posthaste key list {whose}`."
        )
    text, new, old = made
    return RotatedKey(key=text, made=_row(new), replaces=_row(old)).answer()


def revoke_key(call: Call[Nothing, AccountBody]) -> Answer:
    """Revoke a key. Processes take it for up to 30 seconds more."""
    whose, name = owner_of(call), _key_id(call)
    revoked = call.services.accounts.revoke_key(whose, name, by=call.key.id)
    return RevokedKey(account_id=whose, key_id=name, revoked=revoked).answer()


def key_traces(call: Call[TracesQuery, Nothing]) -> Answer:
    """Return what a key has done, as far back as the account's audit logs go."""
    whose, name = resolve(call.services, call.query.account), _key_id(call)
    return _told(whose, name, traces_of(call.services, whose, name, call.query.place))


def disable_touched(call: Call[Nothing, TracesBody]) -> Answer:
    """Disable the endpoints and notifiers that a key has made or changed, and return them. A repeat does the rest."""
    whose, name = owner_of(call), _key_id(call)
    found = traces_of(call.services, whose, name, call.body.place)
    disable(call.services, found, by=call.key.id)
    return _told(whose, name, found)


def _told(whose: str, name: str, found: KeyTrail) -> Answer:
    return KeyTraces(
        account_id=whose,
        key_id=name,
        endpoints=[TouchedHook(id=x.id, url=x.url) for x in found.endpoints],
        notifiers=[x.name for x in found.notifiers],
        actions=dict(found.acts),
        place=found.place,
    ).answer()


def _key_id(call: Call[Any, Any]) -> str:
    """Return the key that the path names. A path may hold a key's text by mistake: it is not repeated."""
    name = call.path["key"]
    if not is_key_id(name):
        raise Problem("not_found", "A key id is 16 hexadecimal digits, as `posthaste key list` shows it.")
    return name


def _row(key: ApiKey) -> OperatedKey:
    return OperatedKey(
        key_id=key.id,
        account_id=owner(key.account),
        kind=key.kind,
        test=key.test,
        name=key.name,
        scopes=sorted(key.scopes),
        created_at=key.created_at,
        expires_at=key.expires,
        networks=list(key.networks),
        proof=key.proof,
        last_used_at=key.used,
        last_used_from=key.site,
    )


ROUTES: Final = (
    route("GET", "/keys", "Keys of an account", list_keys, OperatedKeys, "not_found"),
    route("POST", "/keys/create", "Create a key", create_key, CreatedKey, "not_found"),
    route("POST", "/keys/{key}/expire", "Set when a key ends", expire_key, OperatedKey, "not_found"),
    route("POST", "/keys/{key}/networks", "Set a key's networks", restrict_key, OperatedKey, "not_found"),
    route("POST", "/keys/{key}/rotate", "Replace a key", rotate_key, RotatedKey, "not_found"),
    route("POST", "/keys/{key}/revoke", "Revoke a key", revoke_key, RevokedKey, "not_found"),
    route("GET", "/keys/{key}/traces", "What a key has done", key_traces, KeyTraces, "not_found"),
    route("POST", "/keys/{key}/disable", "Disable what a key has made", disable_touched, KeyTraces, "not_found"),
)
