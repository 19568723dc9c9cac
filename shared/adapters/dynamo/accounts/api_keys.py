"""API keys on DynamoDB.

Each is two items: one under the hash of its text, for requests, and one under its account, for lists. Every change of a
key is one transaction with its entry in the account's audit log. When and whence it was last used is an item in
`records`, since the API writes it, which may not write identities. A revoked key leaves that item, with the time of its
revocation. So the same read tells such a key from one that never was.
"""

import logging
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, TypeVar

from shared.adapters.dynamo import audit, keys
from shared.adapters.dynamo.accounts.ending_keys import announcement
from shared.adapters.dynamo.accounts.moving import Mover
from shared.adapters.dynamo.accounts.spending import limit_updates, rules_of
from shared.adapters.dynamo.client import ConditionFailed, Dynamo, Item
from shared.adapters.dynamo.codec import n, number, s, text
from shared.adapters.dynamo.fields import Fields
from shared.adapters.dynamo.homes import IN_RECORDS, Homes
from shared.adapters.dynamo.places import Places
from shared.contracts import AUDIT_DAYS
from shared.domain.access.networks import networks_of, site
from shared.domain.access.proofs import Proof
from shared.domain.access.signed import key_id_of
from shared.domain.accounts import (
    ALL_SCOPES,
    ApiKey,
    KeyRefusal,
    Scope,
    default_scopes,
    id_of_key,
    is_key_text,
    key_digest,
    new_key_text,
)
from shared.domain.audit import SYSTEM, Act, Event, audited
from shared.domain.namespaces import KeyKind, kind_of, owner, team_space
from shared.domain.spending.limits import Rules
from shared.ports import Clock, Retriable

CACHE: Final = 30.0
"""Seconds that a process remembers a key: a revoked key works for up to that much longer."""
MAX_CACHED: Final = 10_000
DAY_S: Final = 86_400
USE_NOTED_MS: Final = 3_600_000
"""A key's last use is noted at most once an hour, so that a busy key costs no write with each request."""
_LOG: Final = logging.getLogger(__name__)
_FIELDS: Final = Fields(
    ApiKey, apart=("id", "scopes", "proof", "used", "site"), always=("account", "test", "name", "created_at")
)
_GONE: Final = {"moved": KeyRefusal.MOVED, "revoked": KeyRefusal.REVOKED}
"""Attribute of the item of a key's last use → why there is no such key."""
N = TypeVar("N", bound=Hashable)
T = TypeVar("T")


class UnknownAccount(LookupError):
    """There is no such account."""


class ApiKeys:
    """The API keys of all accounts.

    Args:
        client: a low-level boto3 DynamoDB client.
        audit_days: for how long an entry of the audit log is kept.
        homes: where identities and the audit log are kept.
    """

    def __init__(
        self, client: Any, table: str, clock: Clock, *, audit_days: int = AUDIT_DAYS, homes: Homes = IN_RECORDS
    ) -> None:
        self._db = Dynamo(client, sleep=clock.sleep, audit_days=audit_days, homes=homes)
        self._table = table
        self._places = Places(self._db, table)
        self._home = self._places.home
        self._clock = clock
        self._keys: dict[str, tuple[float, ApiKey]] = {}

    def create_key(
        self,
        account: str,
        *,
        test: bool = False,
        team: bool = False,
        scopes: Iterable[Scope] | None = None,
        name: str = "",
        expires: int = 0,
        networks: Iterable[str] = (),
        proof: Proof = Proof.KEY,
        public: bytes = b"",
        digest: str = "",
        by: str = SYSTEM,
    ) -> tuple[str, ApiKey]:
        """Create an API key and return its text, which is shown once and not stored, and the key.

        Args:
            test: a `ph_test_…` key, whose jobs never reach a provider.
            team: a `ph_team_…` key, whose messages reach only the account's guests.
            scopes: what it may be used for; None: `default_scopes`.
            expires: Unix milliseconds, 0 for never.
            networks: the only ones that it may be used from; none: it may from everywhere.
            proof: what it asks of each request.
            public: the public key of Ed25519 that signs its requests. Its text is then the `keyid`, and no secret.
            digest: SHA-256 of a text that the caller has made, hex. The text returned is then empty, and a repeat
                returns the key that the first call made.

        Raises:
            UnknownAccount: there is no such account.
            ValueError: a key is either for tests or for the team. Or a network or the public key is not valid.
        """
        if test and team:
            raise ValueError("a key is either for tests or for the team")
        if bool(public) is not (proof is Proof.SIGNATURE):
            raise ValueError("a public key goes with the proof `signature`, and with no other")
        kind = kind_of(team_space(account) if team else account, test=test)
        granted = default_scopes(kind) if scopes is None else frozenset(scopes)
        allowed = networks_of(networks)
        if (made := self._made(account, digest)) is not None:
            return "", made
        secret, digest, key = self._new(account, kind, granted, name, expires, allowed, digest)
        key = replace(key, proof=proof)
        if public:
            secret = digest = self._unused(key_id_of(public))
            key = replace(key, id=id_of_key(digest), public=public)
        event = audited(account, key.created_at, key.id, Act.KEY_CREATED, by, _told(key))
        if not self._together([self._exists(account), *self._puts(digest, key)], event):
            raise UnknownAccount(account)
        return secret, key

    def find_by_key(self, secret: str) -> ApiKey | None:
        """Return the key of that text if there is one and it has not expired; remembered for CACHE seconds."""
        found = self.look_up(secret)
        return found if isinstance(found, ApiKey) else None

    def look_up(self, secret: str) -> ApiKey | KeyRefusal:
        """Return the key of that text, or why there is none that is valid: one read, remembered for CACHE seconds."""
        return self.look_up_digest(key_digest(secret)) if is_key_text(secret) else KeyRefusal.UNREADABLE

    def look_up_digest(self, digest: str) -> ApiKey | KeyRefusal:
        """Do as `look_up`. `digest`: SHA-256 of the text, hex."""
        key = self._recall(self._keys, digest)
        if key is None:
            found, uses = self._places.find([keys.api_key(digest)], [keys.api_key_use(digest)], consistent=False)
            if not found:
                return next((gone for note, gone in _GONE.items() if any(note in x for x in uses)), KeyRefusal.WRONG)
            key = _used(_key(found[0], id_of_key(digest)), uses)
            self._remember(self._keys, digest, key)
        return key if key.valid_at(self._now()) else KeyRefusal.EXPIRED

    def note_use(self, secret: str, key: ApiKey, source: str = "") -> None:
        """Do as `note_use_of`. `secret`: the text of the key."""
        self.note_use_of(key_digest(secret), key, source)

    def expired_key(self, digest: str) -> ApiKey | None:
        """Return a key that has expired, if this process has looked for it within CACHE seconds; no read."""
        key = self._recall(self._keys, digest)
        return key if key is not None and not key.valid_at(self._now()) else None

    def note_use_of(self, digest: str, key: ApiKey, source: str) -> None:
        """Note that a key, as `look_up` returned it, is used now; at most one write per key and hour.

        A fault is logged and fails nothing: the next request within the hour notes it. Of the address only the site is
        kept.
        """
        now = self._now()
        if now - key.used < USE_NOTED_MS:
            return
        try:
            self._db.call(
                "update_item",
                TableName=self._table,
                Key=keys.api_key_use(digest),
                UpdateExpression="SET used = :now, site = :site",
                ConditionExpression="attribute_not_exists(used) OR used <= :before",
                ExpressionAttributeValues={":now": n(now), ":before": n(now - USE_NOTED_MS), ":site": s(site(source))},
            )
        except ConditionFailed:
            pass  # another process has noted it
        except Retriable:
            _LOG.warning("use of a key not noted", extra={"key_id": key.id})
            return
        if digest in self._keys:
            self._keys[digest] = (self._keys[digest][0], replace(key, used=now, site=site(source)))
        self._announce_end(digest, key, now)

    def _announce_end(self, digest: str, key: ApiKey, now: int) -> None:
        """Announce that a key ends soon, once for each number of days: to the audit log and the owner's endpoints."""
        ending = key.ending(now)
        if ending is None:
            return
        told = {"days": ending.days, "expires": ending.expires}
        event = audited(owner(key.account), now, key.id, Act.KEY_EXPIRING, SYSTEM, told)
        try:
            self._db.together([announcement(self._table, digest, ending), *audit.puts(self._db, self._table, event)])
        except Retriable:
            _LOG.warning("end of a key not announced", extra={"key_id": key.id})

    def list_keys(self, account: str) -> list[ApiKey]:
        """Return the account's keys, oldest first, with their last use."""
        found = {x["digest"]["S"]: x for x in self._mirrors(account)}
        items, _ = self._places.find([keys.api_key(digest) for digest in found])
        items += self._db.batch_get(self._table, [keys.api_key_use(digest) for digest in found])
        uses: dict[str, list[Item]] = {}
        for x in items:
            uses.setdefault(x["pk"]["S"].partition("#")[2], []).append(x)
        listed = [_used(_key(x, id_of_key(digest)), uses.get(digest, [])) for digest, x in found.items()]
        return sorted(listed, key=lambda k: (k.created_at, k.id))

    def heirs(self, account: str) -> list[tuple[str, str]]:
        """Return which of the account's keys replaced which: the old and the new id of each rotation."""
        found = self._places.walk(keys.account_pk(account), keys.HEIR_PREFIX)
        return [(x["sk"]["S"].removeprefix(keys.HEIR_PREFIX), heir) for x in found for heir in sorted(x["heirs"]["SS"])]

    def expire_key(self, account: str, key_id: str, at: int, *, by: str = SYSTEM) -> ApiKey | None:
        """Set when a key expires. None: the account has no key of that id.

        A key that has been used within CACHE seconds works for up to that much longer.

        Args:
            at: the first moment at which it is refused, Unix milliseconds; 0 for never.
        """
        found = self._mirror(account, key_id)
        if found is None:
            return None
        digest, key = found
        changed = replace(key, expires=at)
        event = audited(account, self._now(), key.id, Act.KEY_EXPIRES, by, {"expires": at, "before": key.expires})
        return changed if self._together(self._expiry(digest, key, at), event) else None

    def restrict_key(self, account: str, key_id: str, networks: Iterable[str], *, by: str = SYSTEM) -> ApiKey | None:
        """Set the networks that a key may be used from. None: the account has no key of that id.

        A process that has used the key within CACHE seconds takes the old ones for up to that much longer.

        Args:
            networks: the only ones; none: it may be used from everywhere.

        Raises:
            ValueError: a network is not valid.
        """
        wanted = networks_of(networks)
        found = self._mirror(account, key_id)
        if found is None:
            return None
        digest, key = found
        change: Item = {
            "TableName": self._home,
            "UpdateExpression": "SET networks = :networks" if wanted else "REMOVE networks",
            "ConditionExpression": "attribute_exists(pk)",
            **({"ExpressionAttributeValues": {":networks": {"L": [s(x) for x in wanted]}}} if wanted else {}),
        }
        both = keys.account_key(key.account, digest), keys.api_key(digest)
        told = {"networks": " ".join(wanted), "before": " ".join(key.networks)}
        event = audited(account, self._now(), key.id, Act.KEY_RESTRICTED, by, told)
        done = self._together([{"Update": {**change, "Key": place}} for place in both], event)
        return replace(key, networks=wanted) if done else None

    def rotate_key(
        self, account: str, key_id: str, until: int, *, latest: int = 0, digest: str = "", by: str = SYSTEM
    ) -> tuple[str, ApiKey, ApiKey] | None:
        """Create a replacement for a key.

        The new key is valid for as long as the old one was made to be. Of two rotations at once, one succeeds.

        Args:
            until: when the old key ends, Unix milliseconds, unless it ends before.
            latest: when the new key ends at the latest, Unix milliseconds; 0: it ends as the old one would.
            digest: as of `create_key`.

        Returns:
            The new key's text, the new key, and the old key. None if the account has no valid key of that id, or
            another call changed it meanwhile.

        Raises:
            ValueError: the key signs.
        """
        found = self._mirror(account, key_id)
        now = self._now()
        if found is None:
            return None
        before, old = found
        if (made := self._made(account, digest)) is not None:
            return "", made, old
        if not old.valid_at(now):
            return None
        if old.proof is Proof.SIGNATURE:
            raise ValueError("a key that signs has no text to be replaced: create one with another public key")
        ends = min(until, old.expires or until)
        life = now + old.expires - old.created_at if old.expires else latest
        life = min(life, latest) if latest else life
        secret, new_digest, new = self._new(account, old.kind, old.scopes, old.name, life, old.networks, digest)
        new = replace(new, proof=old.proof)
        event = audited(account, now, old.id, Act.KEY_ROTATED, by, {"successor": new.id, "expires": ends})
        limits = self._handed_on(account, old.id, new.id)
        actions = [*self._expiry(before, old, ends), *self._puts(new_digest, new), self._heir(old, new), *limits]
        return (secret, new, replace(old, expires=ends)) if self._together(actions, event) else None

    def revoke_key(self, account: str, key_id: str, *, by: str = SYSTEM) -> bool:
        """Delete a key. False: the account has no key of that id. It works for up to CACHE seconds more."""
        found = self._mirror(account, key_id)
        if found is None:
            return False
        digest, key = found
        there = {"TableName": self._home, "ConditionExpression": "attribute_exists(pk)"}
        both = keys.account_key(account, digest), keys.api_key(digest)
        now = self._now()
        event = audited(account, now, key.id, Act.KEY_REVOKED, by)
        note: Item = {
            "TableName": self._table,
            "Key": keys.api_key_use(digest),
            "UpdateExpression": "SET revoked = :now, #ttl = :ttl",
            "ExpressionAttributeNames": {"#ttl": "ttl"},
            "ExpressionAttributeValues": {":now": n(now), ":ttl": n(now // 1000 + self._db.audit_days * DAY_S)},
        }
        return self._together([*({"Delete": {**there, "Key": key}} for key in both), {"Update": note}], event)

    def _new(
        self,
        account: str,
        kind: KeyKind,
        scopes: frozenset[Scope],
        name: str,
        expires: int,
        networks: tuple[str, ...],
        digest: str = "",
    ) -> tuple[str, str, ApiKey]:
        secret = "" if digest else new_key_text(kind)
        digest = digest or key_digest(secret)
        whose = team_space(account) if kind is KeyKind.TEAM else account
        made = ApiKey(id_of_key(digest), whose, kind is KeyKind.TEST, scopes, name, self._now(), expires, networks)
        return secret, digest, made

    def _made(self, account: str, digest: str) -> ApiKey | None:
        """Return the account's key whose text has a digest; None: there is none, or the digest is empty."""
        found = self._mirror(account, id_of_key(digest)) if digest else None
        return found[1] if found is not None and found[0] == digest else None

    def _unused(self, digest: str) -> str:
        """Return a digest; ValueError if an API key has it."""
        if self._places.find([keys.api_key(digest)])[0]:
            raise ValueError("another API key has this public key")
        return digest

    def _mirrors(self, account: str) -> Iterable[Item]:
        return self._places.walk(keys.account_pk(account), keys.KEY_PREFIX)

    def _mirror(self, account: str, key_id: str) -> tuple[str, ApiKey] | None:
        found, _ = self._places.find([keys.account_key(account, key_id)])
        if not found:
            return None
        digest: str = found[0]["digest"]["S"]
        self._keys.pop(digest, None)
        return digest, _key(found[0], id_of_key(digest))

    def _puts(self, digest: str, key: ApiKey) -> list[Item]:
        fields = key_fields(key)
        mirror = {**keys.account_key(key.account, digest), **fields, "digest": s(digest)}
        return [self._put({**keys.api_key(digest), **fields}), self._put(mirror)]

    def _heir(self, old: ApiKey, new: ApiKey) -> Item:
        """Return the action that notes which key replaced another, for the jobs that the other made."""
        update = {
            "TableName": self._home,
            "Key": keys.heirs(old.account, old.id),
            "UpdateExpression": "ADD heirs :heir",
            "ExpressionAttributeValues": {":heir": {"SS": [new.id]}},
        }
        return {"Update": update}

    def _handed_on(self, account: str, old: str, new: str) -> list[Item]:
        """Return the actions that copy a key's limits of a day to the key that replaces it."""
        found, _ = self._places.find([keys.account(account)])
        rules = rules_of(found[0]) if found else Rules()
        if old not in rules.keys:
            return []
        return limit_updates(self._home, account, rules, replace(rules, keys={**rules.keys, new: rules.keys[old]}))

    def _expiry(self, digest: str, key: ApiKey, at: int) -> list[Item]:
        """Return the actions that set when a key ends, if it is as read."""
        change: Item = {
            "TableName": self._home,
            "UpdateExpression": "SET expires = :at",
            "ConditionExpression": "attribute_exists(pk) AND "
            + ("expires = :before" if key.expires else "(attribute_not_exists(expires) OR expires = :before)"),
            "ExpressionAttributeValues": {":at": n(at), ":before": n(key.expires)},
        }
        both = keys.account_key(key.account, digest), keys.api_key(digest)
        return [{"Update": {**change, "Key": place}} for place in both]

    def _together(self, actions: Sequence[Item], event: Event) -> bool:
        """Write with the entry of the audit log in one transaction; False if a condition does not hold.

        Identities that an older version left in `records` are moved first, and the change is also made there.
        """
        if not self._places.moved():
            Mover(self._db, self._table).move(self._now())
        every = [*actions, *self._places.twins(actions), *audit.puts(self._db, self._table, event)]
        return self._db.together(every)

    def _now(self) -> int:
        return int(self._clock.now() * 1000)

    def _exists(self, account: str) -> Item:
        check = {"TableName": self._home, "Key": keys.account(account), "ConditionExpression": "attribute_exists(pk)"}
        return {"ConditionCheck": check}

    def _put(self, item: Item) -> Item:
        return {"Put": {"TableName": self._home, "Item": item, "ConditionExpression": "attribute_not_exists(pk)"}}

    def _recall(self, cache: Mapping[N, tuple[float, T]], name: N) -> T | None:
        known = cache.get(name)
        return known[1] if known is not None and self._clock.now() < known[0] else None

    def _remember(self, cache: dict[N, tuple[float, T]], name: N, value: T) -> None:
        if len(cache) >= MAX_CACHED:
            cache.clear()
        cache[name] = (self._clock.now() + CACHE, value)


def _told(key: ApiKey) -> dict[str, str | int]:
    """Return what the audit log says of a new key."""
    told: dict[str, str | int] = {
        "kind": key.kind.value,
        "scopes": " ".join(sorted(key.scopes)),
        "expires": key.expires,
    }
    told |= {"networks": " ".join(key.networks)} if key.networks else {}
    return {**told, "proof": key.proof.value} if key.proof is not Proof.KEY else told


def key_fields(key: ApiKey) -> Item:
    """Return the stored attributes of a key, without its place.

    Areas are apart from the wide scopes. Older versions know only those: a key without any opens nothing there.
    """
    wide, areas = key.scopes & ALL_SCOPES, key.scopes - ALL_SCOPES
    names = {"scopes": wide, **({"areas": areas} if areas else {})}
    proof = {"proof": s(key.proof.value)} if key.proof is not Proof.KEY else {}
    return {**_FIELDS.item(key), **proof, **{name: {"L": [s(x) for x in sorted(of)]} for name, of in names.items()}}


def _used(key: ApiKey, uses: Iterable[Item]) -> ApiKey:
    """Return a key with its last use; the version before this one notes it on the key itself."""
    for x in uses:
        key = replace(key, used=max(key.used, number(x, "used")), site=text(x, "site", key.site))
    return key


def _key(item: Item, key_id: str) -> ApiKey:
    return ApiKey(
        id=key_id,
        scopes=frozenset(Scope(x["S"]) for name in ("scopes", "areas") if name in item for x in item[name]["L"]),
        proof=Proof(text(item, "proof", Proof.KEY.value)),
        used=number(item, "used"),
        **_FIELDS.read(item),
    )
