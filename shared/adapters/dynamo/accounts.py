"""Accounts, API keys, allowed senders and request buckets on DynamoDB.

A request needs at most two reads: its key, and, when it sends, whether the account is suspended and may use the sender
(one BatchGetItem). Both are remembered in the process for CACHE seconds, so a revoked key or sender works that much
longer at most; what is *not* there is never remembered, so a new key works at once.
"""

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from shared.adapters.dynamo import keys
from shared.adapters.dynamo.buckets import BURST, RATE, Buckets
from shared.adapters.dynamo.client import Cancelled, Dynamo, Item
from shared.adapters.dynamo.codec import n, number, s, text
from shared.domain.accounts import (
    ALL_SCOPES,
    Account,
    ApiKey,
    Scope,
    is_key_text,
    key_digest,
    new_account_id,
    new_key_text,
    sender_of,
)
from shared.ports import Clock

CACHE: Final = 30.0
MAX_CACHED: Final = 10_000
N = TypeVar("N", bound=Hashable)
T = TypeVar("T")


class UnknownAccount(LookupError):
    """There is no such account."""


@dataclass(frozen=True, slots=True)
class SenderCheck:
    """Whether an account may send now, and under that address."""

    suspended: bool
    allowed: bool


class Accounts:
    """Accounts by id and by API key.

    Args:
        client: a low-level boto3 DynamoDB client.
        table: the name of the table `records`.
        clock: the time.
        rate: requests per second and account.
        burst: requests at once after a pause.
    """

    def __init__(self, client: Any, table: str, clock: Clock, *, rate: float = RATE, burst: int = BURST) -> None:
        self._db = Dynamo(client, sleep=clock.sleep)
        self._table = table
        self._clock = clock
        self._buckets = Buckets(self._db, table, clock, rate=rate, burst=burst)
        self._keys: dict[str, tuple[float, ApiKey]] = {}
        self._senders: dict[tuple[str, str], tuple[float, SenderCheck]] = {}

    # Accounts

    def create_account(self, name: str, senders: Iterable[str] = ()) -> str:
        """Create an account and return its id, `acc_…`.

        Args:
            name: for people.
            senders: addresses or domains it may send from; a domain does not cover its subdomains.

        Raises:
            ValueError: a sender is neither an address nor a domain; nothing is stored.
        """
        allowed = sorted({sender_of(x) for x in senders})
        account = new_account_id()
        entry = {"name": s(name), "created_at": n(self._now())}
        self._db.call(
            "transact_write_items",
            TransactItems=[
                self._put({**keys.account(account), **entry}),
                self._put({**keys.accounts(account), **entry}),
            ],
        )
        for value in allowed:
            self.add_sender(account, value)
        return account

    def get(self, account: str) -> Account | None:
        """Return an account, consistent; None if there is none."""
        found = {
            x["sk"]["S"]: x
            for x in self._db.batch_get(self._table, [keys.account(account), keys.account_control(account)])
        }
        profile = found.get("PROFILE")
        if profile is None:
            return None
        suspended = "paused" in found.get("CONTROL", {})
        return Account(account, text(profile, "name"), number(profile, "created_at"), suspended)

    def list_accounts(self) -> list[Account]:
        """Return all accounts by id, without whether they are suspended: for operators."""
        return [
            Account(x["sk"]["S"], text(x, "name"), number(x, "created_at"))
            for x in self._db.query(
                self._table,
                KeyConditionExpression="pk = :pk",
                ExpressionAttributeValues={":pk": keys.accounts("")["pk"]},
            )
        ]

    def suspend(self, account: str, reason: str = "operator") -> None:
        """Pause an account: senders start no further call for it, and its new batches are refused."""
        self._require(account)
        self._db.call(
            "put_item",
            TableName=self._table,
            Item={**keys.account_control(account), "paused": s(reason), "at": n(self._now())},
        )

    def unsuspend(self, account: str) -> None:
        """End a suspension; the sweeper goes on with what waits."""
        self._db.call("delete_item", TableName=self._table, Key=keys.account_control(account))

    # API keys

    def create_key(
        self,
        account: str,
        *,
        test: bool = False,
        scopes: Iterable[Scope] = ALL_SCOPES,
        name: str = "",
        expires: int = 0,
    ) -> tuple[str, ApiKey]:
        """Create an API key and return its text, which is shown once and not stored, and the key.

        Args:
            account: whose key.
            test: a `ph_test_…` key, whose jobs never reach a provider.
            scopes: what it may be used for.
            name: for people.
            expires: Unix milliseconds, 0 for never.

        Raises:
            UnknownAccount: there is no such account.
        """
        secret = new_key_text(test=test)
        digest = key_digest(secret)
        key = ApiKey(digest[:16], account, test, frozenset(scopes), name, self._now(), expires)
        fields = _key_fields(key)
        try:
            self._db.call(
                "transact_write_items",
                TransactItems=[
                    self._exists(account),
                    self._put({**keys.api_key(digest), **fields}),
                    self._put({**keys.account_key(account, digest), **fields, "digest": s(digest)}),
                ],
            )
        except Cancelled as lost:
            if lost.codes[0] == "ConditionalCheckFailed":
                raise UnknownAccount(account) from None
            raise
        return secret, key

    def find_by_key(self, secret: str) -> ApiKey | None:
        """Return the key of that text if there is one and it has not expired; remembered for CACHE seconds."""
        if not is_key_text(secret):
            return None
        digest = key_digest(secret)
        key = self._recall(self._keys, digest)
        if key is None:
            item = self._db.get(self._table, keys.api_key(digest), consistent=False)
            if item is None:
                return None
            key = _key(item, digest[:16])
            self._remember(self._keys, digest, key)
        return key if key.valid_at(self._now()) else None

    def list_keys(self, account: str) -> list[ApiKey]:
        """Return the account's keys, oldest first."""
        found = self._db.partition(self._table, keys.account_pk(account), keys.KEY_PREFIX)
        return sorted((_key(x, x["digest"]["S"][:16]) for x in found), key=lambda k: (k.created_at, k.id))

    def revoke_key(self, account: str, key_id: str) -> bool:
        """Delete a key; False if the account has none of that id. It works for up to CACHE seconds more."""
        mirror = keys.account_key(account, key_id)
        item = self._db.get(self._table, mirror)
        if item is None:
            return False
        digest = item["digest"]["S"]
        self._keys.pop(digest, None)
        self._db.call(
            "transact_write_items",
            TransactItems=[
                {"Delete": {"TableName": self._table, "Key": keys.api_key(digest)}},
                {"Delete": {"TableName": self._table, "Key": mirror}},
            ],
        )
        return True

    # Senders

    def add_sender(self, account: str, value: str) -> str:
        """Allow an address or a domain and return its stored form; ValueError if it is neither, or UnknownAccount."""
        sender = sender_of(value)
        self._require(account)
        self._db.call(
            "put_item", TableName=self._table, Item={**keys.sender(account, sender), "created_at": n(self._now())}
        )
        return sender

    def remove_sender(self, account: str, value: str) -> bool:
        """Disallow an address or a domain; False if it was not allowed. It is for up to CACHE seconds more."""
        sender = sender_of(value)
        self._senders.clear()
        gone = self._db.call(
            "delete_item", TableName=self._table, Key=keys.sender(account, sender), ReturnValues="ALL_OLD"
        )
        return "Attributes" in gone

    def list_senders(self, account: str) -> list[str]:
        """Return the account's allowed senders in text order."""
        found = self._db.partition(self._table, keys.account_pk(account), keys.SENDER_PREFIX)
        return [x["sk"]["S"][len(keys.SENDER_PREFIX) :] for x in found]

    def check_sender(self, account: str, address_key: str) -> SenderCheck:
        """Tell whether the account may send from an address, given as its normalised key; one call, remembered.

        Only a yes is remembered: a sender just added works at once.
        """
        name = (account, address_key)
        known = self._recall(self._senders, name)
        if known is not None:
            return known
        domain = address_key.rpartition("@")[2]
        wanted = [keys.sender(account, address_key), keys.sender(account, domain), keys.account_control(account)]
        found = self._db.batch_get(self._table, wanted, consistent=False)
        suspended = any("paused" in x for x in found)
        check = SenderCheck(suspended, any(x["sk"]["S"].startswith(keys.SENDER_PREFIX) for x in found))
        if check.allowed and not check.suspended:
            self._remember(self._senders, name, check)
        return check

    def allowed(self, account: str, address_key: str) -> bool:
        """Tell whether the address or its domain is on the account's senders list."""
        return self.check_sender(account, address_key).allowed

    def suspended(self, account: str) -> bool:
        """Tell whether an operator has suspended the account."""
        return self._db.get(self._table, keys.account_control(account)) is not None

    # Requests

    def take(self, account: str) -> float | None:
        """Take a token from the account's request bucket; None, or the seconds to wait (see `buckets`)."""
        return self._buckets.take(account)

    def _now(self) -> int:
        return int(self._clock.now() * 1000)

    def _require(self, account: str) -> None:
        if self._db.get(self._table, keys.account(account)) is None:
            raise UnknownAccount(account)

    def _exists(self, account: str) -> Item:
        check = {"TableName": self._table, "Key": keys.account(account), "ConditionExpression": "attribute_exists(pk)"}
        return {"ConditionCheck": check}

    def _put(self, item: Item) -> Item:
        return {"Put": {"TableName": self._table, "Item": item, "ConditionExpression": "attribute_not_exists(pk)"}}

    def _recall(self, cache: Mapping[N, tuple[float, T]], name: N) -> T | None:
        known = cache.get(name)
        return known[1] if known is not None and self._clock.now() < known[0] else None

    def _remember(self, cache: dict[N, tuple[float, T]], name: N, value: T) -> None:
        if len(cache) >= MAX_CACHED:
            cache.clear()
        cache[name] = (self._clock.now() + CACHE, value)


def _key_fields(key: ApiKey) -> Item:
    fields: Item = {
        "account": s(key.account),
        "test": {"BOOL": key.test},
        "scopes": {"L": [s(x) for x in sorted(key.scopes)]},
        "name": s(key.name),
        "created_at": n(key.created_at),
    }
    if key.expires:
        fields["expires"] = n(key.expires)
    return fields


def _key(item: Item, key_id: str) -> ApiKey:
    return ApiKey(
        id=key_id,
        account=text(item, "account"),
        test=item["test"]["BOOL"],
        scopes=frozenset(Scope(x["S"]) for x in item["scopes"]["L"]),
        name=text(item, "name"),
        created_at=number(item, "created_at"),
        expires=number(item, "expires"),
    )
