"""Accounts, allowed senders and request allowances on DynamoDB; their API keys: `api_keys`.

A request needs at most two reads. The first reads its key. If the request sends, the second (one BatchGetItem) reads
whether the account is suspended and may use the sender. The process remembers both for CACHE seconds, so a revoked key
or sender works for at most that much longer. A process never remembers that a key is missing, so a new key works at
once.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from shared.adapters.dynamo import keys
from shared.adapters.dynamo.accounts.allowances import Allowances
from shared.adapters.dynamo.accounts.api_keys import CACHE, MAX_CACHED, ApiKeys, UnknownAccount
from shared.adapters.dynamo.accounts.moving import Mover
from shared.adapters.dynamo.accounts.profiles import account_of
from shared.adapters.dynamo.accounts.spending import KnownRules, limit_updates, rules_of
from shared.adapters.dynamo.client import Item
from shared.adapters.dynamo.codec import n, quiet_name, s
from shared.adapters.dynamo.homes import IN_RECORDS, Homes
from shared.adapters.dynamo.indices import KnownUnlisting
from shared.contracts import AUDIT_DAYS
from shared.domain.accounts import (
    REQUEST_BURST,
    REQUEST_RATE,
    TEST_SHARE,
    Account,
    Excess,
    SenderCheck,
    Taker,
    new_account_id,
    sender_of,
)
from shared.domain.audit import SYSTEM, Act, Event, audited, masked
from shared.domain.namespaces import is_team, namespace, owner
from shared.domain.spending.limits import Rules
from shared.ports import Clock, Retriable

__all__ = ["CACHE", "MAX_CACHED", "Accounts", "UnknownAccount"]


SETTLED_MS: Final = 60_000
"""After so long no process goes by what was set before."""
TRIES: Final = 5
"""Changes of an account's limits that others make at the same time."""


class Accounts(ApiKeys):
    """Accounts by id and by API key.

    Args:
        client: a low-level boto3 DynamoDB client.
        rate: requests per second and account, of live keys; test keys have an allowance of their own (TEST_SHARE).
        burst: requests at once after a pause.
        audit_days: for how long an entry of the audit log is kept.
        homes: where identities and the audit log are kept.
        rules: what the process knows of accounts' limits; None: only this object knows it.
        unlisting: what the process knows of how small jobs are stored; None: it makes none.
    """

    def __init__(
        self,
        client: Any,
        table: str,
        clock: Clock,
        *,
        rate: float = REQUEST_RATE,
        burst: int = REQUEST_BURST,
        audit_days: int = AUDIT_DAYS,
        homes: Homes = IN_RECORDS,
        rules: KnownRules | None = None,
        unlisting: KnownUnlisting | None = None,
    ) -> None:
        super().__init__(client, table, clock, audit_days=audit_days, homes=homes)
        self._allowances = Allowances(self._db, table, clock, rate=rate, burst=burst)
        self._test_allowances = Allowances(
            self._db, table, clock, rate=rate / TEST_SHARE, burst=max(1, burst // TEST_SHARE), key=_test_bucket
        )
        self._rules = rules or KnownRules(self._db, table, clock)
        self._unlisting = unlisting or KnownUnlisting(self._db, table)
        self._senders: dict[tuple[str, str], tuple[float, SenderCheck]] = {}
        self._opened: dict[tuple[str, str], tuple[float, bool]] = {}

    # Accounts

    def create_account(self, name: str, senders: Iterable[str] = (), *, account: str = "", by: str = SYSTEM) -> str:
        """Create an account and return its id, `acc_…`.

        Args:
            senders: addresses or domains it may send from; a domain does not cover its subdomains.
            account: its id, which the caller has drawn, so that a repeat makes no second one; empty: it is drawn here.

        Raises:
            ValueError: a sender is neither an address nor a domain; nothing is stored.
        """
        allowed = sorted({sender_of(x) for x in senders})
        account = account or new_account_id()
        now = self._now()
        entry = {"name": s(name), "created_at": n(now)}
        puts = [self._put({**keys.account(account), **entry}), self._put({**keys.accounts(account), **entry})]
        self._together(puts, audited(account, now, account, Act.ACCOUNT_CREATED, by))
        for value in allowed:
            self.add_sender(account, value, by=by)
        return account

    def get(self, account: str) -> Account | None:
        """Return an account, consistent; None if there is none."""
        found, controls = self._places.find([keys.account(account)], [keys.account_control(account)])
        return account_of(account, found[0], *controls) if found else None

    def list_accounts(self) -> list[Account]:
        """Return all accounts by id: for operators."""
        found = sorted(self._places.walk(keys.accounts("")["pk"]["S"]), key=lambda x: str(x["sk"]["S"]))
        controls = self._db.batch_get(self._table, [keys.account_control(x["sk"]["S"]) for x in found])
        held = {x["pk"]["S"]: x for x in controls}
        return [account_of(x["sk"]["S"], x, held.get(keys.account_pk(x["sk"]["S"]), {})) for x in found]

    def set_region(self, account: str, region: str, *, by: str = SYSTEM) -> None:
        """Set the country of telephone numbers without a country code.

        Args:
            region: the country (ISO 3166, as in `DE`); empty if numbers need a country code.

        Raises:
            UnknownAccount: there is no such account.
        """
        there: Item = {
            "TableName": self._home,
            "UpdateExpression": "SET #region = :region" if region else "REMOVE #region",
            "ConditionExpression": "attribute_exists(pk)",
            "ExpressionAttributeNames": {"#region": "region"},
            **({"ExpressionAttributeValues": {":region": s(region)}} if region else {}),
        }
        both = keys.account(account), keys.accounts(account)
        event = audited(account, self._now(), account, Act.REGION_SET, by, {"region": region})
        if not self._together([{"Update": {**there, "Key": key}} for key in both], event):
            raise UnknownAccount(account)

    def set_search(self, account: str, *, on: bool, by: str = SYSTEM) -> None:
        """Set whether an account keeps pages for searches of its messages. Without them, searches read its jobs.

        Processes go by what was before for up to CACHE seconds more, so pages count from somewhat later on.

        Raises:
            UnknownAccount: there is no such account.
        """
        change, value = "SET unsearched = :value REMOVE searched_from", s("yes")
        if on:
            change, value = "SET searched_from = :value REMOVE unsearched", n(self._now() + SETTLED_MS)
        there: Item = {
            "TableName": self._home,
            "UpdateExpression": change,
            "ConditionExpression": "attribute_exists(pk)",
            "ExpressionAttributeValues": {":value": value},
        }
        both = keys.account(account), keys.accounts(account)
        event = audited(account, self._now(), account, Act.SEARCH_SET, by, {"search": "on" if on else "off"})
        if not self._together([{"Update": {**there, "Key": key}} for key in both], event):
            raise UnknownAccount(account)

    def set_quiet(self, account: str, channel: str, quiet: str, *, by: str = SYSTEM) -> None:
        """Set an account's quiet hours of a channel. Senders apply them with their next window.

        Args:
            quiet: as `openings.quiet` reads them; empty: none.

        Raises:
            UnknownAccount: there is no such account.
        """
        update: Item = {
            "TableName": self._table,
            "Key": keys.account_control(account),
            "UpdateExpression": "SET #quiet = :quiet" if quiet else "REMOVE #quiet",
            "ExpressionAttributeNames": {"#quiet": quiet_name(channel)},
            **({"ExpressionAttributeValues": {":quiet": s(quiet)}} if quiet else {}),
        }
        event = audited(account, self._now(), account, Act.QUIET_SET, by, {"channel": channel, "quiet": quiet})
        if not self._together([self._exists(account), {"Update": update}], event):
            raise UnknownAccount(account)

    def open_channel(self, account: str, channel: str, *, by: str = SYSTEM) -> None:
        """Let an account that a person made for themselves send by a channel whose messages name no sender.

        Raises:
            UnknownAccount: there is no such account.
        """
        self._change_channel("ADD", account, channel, Act.CHANNEL_OPENED, by)

    def close_channel(self, account: str, channel: str, *, by: str = SYSTEM) -> None:
        """Undo `open_channel`. Processes use the channel for up to CACHE seconds more. Accepted jobs are not affected.

        Raises:
            UnknownAccount: there is no such account.
        """
        self._opened.clear()
        self._change_channel("DELETE", account, channel, Act.CHANNEL_CLOSED, by)

    def _change_channel(self, verb: str, account: str, channel: str, act: Act, by: str) -> None:
        there: Item = {
            "TableName": self._home,
            "UpdateExpression": f"{verb} channels :channel",
            "ConditionExpression": "attribute_exists(pk)",
            "ExpressionAttributeValues": {":channel": {"SS": [channel]}},
        }
        both = keys.account(account), keys.accounts(account)
        event = audited(account, self._now(), account, act, by, {"channel": channel})
        if not self._together([{"Update": {**there, "Key": key}} for key in both], event):
            raise UnknownAccount(account)

    def suspend(self, account: str, reason: str = "operator", *, by: str = SYSTEM) -> bool:
        """Suspend an account: senders start no further window for it, and requests that would send are refused.

        Its accepted jobs wait. A process that remembers the account refuses its requests up to CACHE seconds later.

        Args:
            reason: why; free text without addresses.

        Returns:
            False if it is already suspended; its reason stays.

        Raises:
            UnknownAccount: there is no such account.
            ValueError: the reason contains an address.
        """
        now = self._now()
        event = audited(account, now, account, Act.ACCOUNT_SUSPENDED, by, {"reason": reason})
        update = self._control(account, "SET suspended = :reason, suspended_at = :now", "attribute_not_exists")
        update["Update"]["ExpressionAttributeValues"] = {":reason": s(reason), ":now": n(now)}
        if self._together([self._exists(account), update], event):
            return True
        self._require(account)
        return False

    def unsuspend(self, account: str, *, by: str = SYSTEM) -> bool:
        """End a suspension, so that waiting jobs continue; False if there was none.

        Raises:
            UnknownAccount: there is no such account.
        """
        now = self._now()
        event = audited(account, now, account, Act.ACCOUNT_UNSUSPENDED, by)
        update = self._control(account, "SET resumed_at = :now REMOVE suspended, suspended_at", "attribute_exists")
        update["Update"]["ExpressionAttributeValues"] = {":now": n(now)}
        if self._together([self._exists(account), update], event):
            return True
        self._require(account)
        return False

    def plan_leaving(self, account: str, at: int, *, by: str = SYSTEM) -> bool:
        """Note from when on an account may be deleted; False if its deletion has begun.

        Args:
            at: Unix milliseconds.

        Raises:
            UnknownAccount: there is no such account.
        """
        event = audited(account, self._now(), account, Act.LEAVING_PLANNED, by, {"at": at})
        set_at: Item = {"ExpressionAttributeValues": {":at": n(at)}, "UpdateExpression": "SET leaves_at = :at"}
        return self._leave(account, "attribute_exists(pk) AND attribute_not_exists(leaving)", set_at, event)

    def cancel_leaving(self, account: str, *, by: str = SYSTEM) -> bool:
        """Forget from when on an account may be deleted; False if that is not planned, or its deletion has begun.

        Raises:
            UnknownAccount: there is no such account.
        """
        event = audited(account, self._now(), account, Act.LEAVING_CANCELLED, by)
        condition = "attribute_exists(leaves_at) AND attribute_not_exists(leaving)"
        return self._leave(account, condition, {"UpdateExpression": "REMOVE leaves_at"}, event)

    def begin_leaving(self, account: str, at: int, *, by: str = SYSTEM) -> bool:
        """Note that an account's deletion begins, which is not cancelled any more; False if the plan is another.

        Args:
            at: for when it was planned.

        Raises:
            UnknownAccount: there is no such account.
        """
        event = audited(account, self._now(), account, Act.ACCOUNT_LEAVING, by)
        values = {":at": n(at), ":yes": {"BOOL": True}}
        begin: Item = {"UpdateExpression": "SET leaving = :yes", "ExpressionAttributeValues": values}
        return self._leave(account, "leaves_at = :at AND attribute_not_exists(leaving)", begin, event)

    def end_leaving(self, account: str, *, by: str = SYSTEM) -> bool:
        """Forget an account's name and take it off the list. Its id stays, for its audit log; False: it was so.

        Raises:
            UnknownAccount: there is no such account.
        """
        now = self._now()
        profile: Item = {
            "TableName": self._home,
            "Key": keys.account(account),
            "UpdateExpression": "SET deleted_at = :now, #name = :none",
            "ConditionExpression": "attribute_exists(leaving) AND attribute_not_exists(deleted_at)",
            "ExpressionAttributeNames": {"#name": "name"},
            "ExpressionAttributeValues": {":now": n(now), ":none": s("")},
        }
        listed = {"TableName": self._home, "Key": keys.accounts(account)}
        event = audited(account, now, account, Act.ACCOUNT_DELETED, by)
        if self._together([{"Update": profile}, {"Delete": listed}], event):
            return True
        self._require(account)
        return False

    def _leave(self, account: str, condition: str, change: Item, event: Event) -> bool:
        """Change the profile and its entry in the list."""
        both = keys.account(account), keys.accounts(account)
        there = {"TableName": self._home, "ConditionExpression": condition, **change}
        if self._together([{"Update": {**there, "Key": key}} for key in both], event):
            return True
        self._require(account)
        return False

    def _control(self, account: str, change: str, condition: str) -> Item:
        """Return an update of an account's control, whose other attributes (a pause) stay as they are."""
        return {
            "Update": {
                "TableName": self._table,
                "Key": keys.account_control(account),
                "UpdateExpression": change,
                "ConditionExpression": f"{condition}(suspended)",
            }
        }

    # Senders

    def add_sender(self, account: str, value: str, *, by: str = SYSTEM) -> str:
        """Allow a sender and return its stored form. Raises ValueError if it is no sender, or UnknownAccount.

        Args:
            value: an e-mail address or a domain.
        """
        sender = sender_of(value)
        now = self._now()
        put = {"Put": {"TableName": self._home, "Item": {**keys.sender(account, sender), "created_at": n(now)}}}
        event = audited(account, now, masked(sender), Act.SENDER_ADDED, by, _domain(sender))
        if not self._together([self._exists(account), put], event):
            raise UnknownAccount(account)
        return sender

    def remove_sender(self, account: str, value: str, *, by: str = SYSTEM) -> bool:
        """Disallow a sender. False: it was not allowed. Processes use it for up to CACHE seconds more.

        Args:
            value: an e-mail address or a domain.
        """
        sender = sender_of(value)
        self._senders.clear()
        there = {"TableName": self._home, "ConditionExpression": "attribute_exists(pk)"}
        event = audited(account, self._now(), masked(sender), Act.SENDER_REMOVED, by, _domain(sender))
        return self._together([{"Delete": {**there, "Key": keys.sender(account, sender)}}], event)

    def list_senders(self, account: str) -> list[str]:
        """Return the account's allowed senders in text order."""
        found = self._places.walk(keys.account_pk(owner(account)), keys.SENDER_PREFIX)
        return sorted(x["sk"]["S"][len(keys.SENDER_PREFIX) :] for x in found)

    def check_sender(self, account: str, address_key: str) -> SenderCheck:
        """Tell whether the account may send from an address, given as its normalised key; one call, remembered.

        Only a yes is remembered, so a new sender works at once.
        """
        name = (account, address_key)
        known = self._recall(self._senders, name)
        if known is not None:
            return known
        domain = address_key.rpartition("@")[2]
        wanted = [keys.sender(account, address_key), keys.sender(account, domain), keys.account(account)]
        beside = [keys.account_control(account), *self._unlisting.wanted]
        read, controls = self._places.find(wanted, beside, consistent=False)
        self._unlisting.learn(controls)
        profiles = [x for x in read if x["sk"]["S"] == keys.PROFILE]
        self._rules.learn(owner(account), *profiles)
        check = SenderCheck(any("suspended" in x for x in controls), len(read) > len(profiles))
        if check.allowed and not check.suspended:
            self._remember(self._senders, name, check)
        return check

    def allowed(self, account: str, address_key: str) -> bool:
        """Tell whether the address or its domain is on the account's senders list."""
        return self.check_sender(account, address_key).allowed

    def suspended(self, account: str) -> bool:
        """Tell whether an operator has suspended the account."""
        return "suspended" in (self._db.get(self._table, keys.account_control(account)) or {})

    def opened(self, account: str, channel: str) -> bool:
        """Tell whether the account may send by a channel whose messages name no sender; a yes is remembered."""
        name = (account, channel)
        if self._recall(self._opened, name) is not None:
            return True
        found, beside = self._places.find([keys.account(account)], self._unlisting.wanted, consistent=False)
        self._unlisting.learn(beside)
        self._rules.learn(owner(account), *found)
        opens = all(account_of(account, x).opens(channel) for x in found)
        if opens:
            self._remember(self._opened, name, opens)
        return opens

    # Limits of a day

    def rules(self, account: str) -> Rules:
        """Return what operators have set for what an account may spend, consistent.

        Raises:
            UnknownAccount: there is no such account.
        """
        return rules_of(self._profile(account))

    def set_limits(
        self,
        account: str,
        changes: Mapping[str, int | None],
        *,
        key: str = "",
        countries: Iterable[str] | None = None,
        by: str = SYSTEM,
    ) -> bool:
        """Set limits of an account or one of its keys. False: it has no such key.

        Processes go by those of before for up to CACHE seconds more.

        Args:
            changes: measure → the most of a day, UNLIMITED, or None for the deployment's default (a key has none).
            key: the id of the key; empty for the account.
            countries: those (ISO 3166) to whose numbers the account may send, empty for all. None: as they are.

        Raises:
            UnknownAccount: there is no such account.
        """
        if key and self._mirror(account, key) is None:
            return False
        for _ in range(TRIES):
            before = rules_of(self._profile(account))
            rules = before.changed(changes, key, countries)
            told: dict[str, str | int] = {name: "default" if most is None else most for name, most in changes.items()}
            more = {} if countries is None else {"countries": " ".join(sorted(rules.countries)) or "all"}
            event = audited(account, self._now(), key or account, Act.LIMITS_SET, by, {**told, **more})
            if self._together(limit_updates(self._home, account, before, rules), event):
                return True
        raise Retriable("limits: busy")

    def _profile(self, account: str) -> Item:
        found, _ = self._places.find([keys.account(account)])
        if not found:
            raise UnknownAccount(account)
        return found[0]

    # Requests

    def take(self, account: str, taker: Taker, *, test: bool = False) -> Excess | None:
        """Take a token for a request of a live, team or test key: each kind has an allowance of its own.

        Returns:
            None: there was one.
        """
        return (self._test_allowances if test or is_team(account) else self._allowances).take(account, taker)

    def _require(self, account: str) -> None:
        self._profile(account)

    # Moving

    def move(self) -> int:
        """Move items that an older version left in `records` to their own tables; return how many items were new.

        Every change of an account does so first. So a command is needed only for a deployment without changes.
        """
        return Mover(self._db, self._table).move(self._now())

    def moved(self) -> bool:
        """Tell whether the move is done, so that the old place no longer counts."""
        return self._places.moved()


def _test_bucket(account: str) -> keys.Key:
    return keys.bucket(namespace(account, test=True))


def _domain(sender: str) -> dict[str, str | int]:
    """Return a sender's data for the audit log: of an address only its domain and its hash."""
    return {"domain": sender.rpartition("@")[2]}
