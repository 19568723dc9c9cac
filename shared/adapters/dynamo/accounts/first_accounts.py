"""`ports.FirstAccounts` on DynamoDB: items of `identities` that are all new, in one transaction.

A note under a person's id names the account and the key that they have made. One transaction writes it with both, on
the condition that there is no note yet. So one person has one account and one key, even if calls are repeated, run at
the same time or are interrupted. This module never changes a stored item, and reads no key.
"""

from typing import Final

from shared.adapters.dynamo import audit, keys
from shared.adapters.dynamo.accounts.api_keys import key_fields
from shared.adapters.dynamo.accounts.profiles import OWN
from shared.adapters.dynamo.accounts.spending import limits_of
from shared.adapters.dynamo.client import Dynamo, Item
from shared.adapters.dynamo.codec import n, number, s, text
from shared.contracts import NEWCOMER_MESSAGES
from shared.domain.accounts import ALL_SCOPES, ApiKey, id_of_key, new_account_id
from shared.domain.audit import Act, audited
from shared.domain.people import FirstAccount, Newcomer, first_key_name
from shared.domain.spending.limits import MESSAGES, Rules
from shared.domain.times import DAY_MS
from shared.ports import Clock, Retriable

NOTE: Final = "N#"
"""The beginning of a note's partition key."""


def _note(user: str) -> keys.Key:
    """Return the key of the note of what a person has made: `N#user / FIRST`."""
    return keys.key(f"{NOTE}{user}", "FIRST")


def made_by_people(dynamo: Dynamo, pages: int) -> tuple[set[str], bool]:
    """Return the accounts that people made themselves, and whether all of the table was read: for operators.

    Args:
        dynamo: knows the table of identities.
        pages: the most megabytes of the table that are read.
    """
    request: Item = {
        "FilterExpression": "begins_with(pk, :note)",
        "ExpressionAttributeValues": {":note": s(NOTE)},
        "ProjectionExpression": "account",
    }
    found: set[str] = set()
    for _ in range(pages):
        page = dynamo.call("scan", TableName=dynamo.homes.identities, **request)
        found |= {text(item, "account") for item in page["Items"]}
        if "LastEvaluatedKey" not in page:
            return found, True
        request["ExclusiveStartKey"] = page["LastEvaluatedKey"]
    return found, False


class DynamoFirstAccounts:
    """Makes people's first accounts.

    Args:
        dynamo: knows the tables of identities and of the audit log.
        key_days: for how many days a key is valid; 0: for ever.
        messages: that such an account sends a day until an operator sets another limit; 0: no limit is set.
    """

    def __init__(self, dynamo: Dynamo, clock: Clock, key_days: int = 0, *, messages: int = NEWCOMER_MESSAGES) -> None:
        self._db = dynamo
        self._table = dynamo.homes.identities
        self._clock = clock
        self._key_ms = key_days * DAY_MS
        self._messages = messages

    def make(self, newcomer: Newcomer) -> FirstAccount:
        known = self._known(newcomer.user)
        if known is not None:
            return known
        now = int(self._clock.now() * 1000)
        made = FirstAccount(new_account_id(), id_of_key(newcomer.digest), now)
        if self._db.together(self._actions(newcomer, made)):
            return made
        known = self._known(newcomer.user)
        if known is None:
            raise Retriable("the account or the key is there already")
        return known

    def _known(self, user: str) -> FirstAccount | None:
        item = self._db.get(self._table, _note(user))
        return None if item is None else FirstAccount(text(item, "account"), text(item, "key"), number(item, "at"))

    def _actions(self, newcomer: Newcomer, made: FirstAccount) -> list[Item]:
        account, digest = made.account, newcomer.digest
        entry = {"name": s(newcomer.name), "created_at": n(made.at), **OWN}
        if self._messages:
            entry |= {"limits": limits_of(Rules({MESSAGES: self._messages}))}
        name = first_key_name(newcomer.actor)
        ends = made.at + self._key_ms if self._key_ms else 0
        key = ApiKey(made.key, account, test=False, scopes=ALL_SCOPES, name=name, created_at=made.at, expires=ends)
        fields = key_fields(key)
        events = (
            audited(account, made.at, account, Act.ACCOUNT_CREATED, newcomer.actor),
            audited(account, made.at, key.id, Act.KEY_CREATED, newcomer.actor, {"kind": key.kind.value}),
        )
        new = [
            {**_note(newcomer.user), "account": s(account), "key": s(key.id), "at": n(made.at)},
            {**keys.account(account), **entry},
            {**keys.accounts(account), **entry},
            {**keys.api_key(digest), **fields},
            {**keys.account_key(account, digest), **fields, "digest": s(digest)},
        ]
        puts: list[Item] = [
            {"Put": {"TableName": self._table, "Item": item, "ConditionExpression": "attribute_not_exists(pk)"}}
            for item in new
        ]
        return puts + [action for event in events for action in audit.puts(self._db, self._table, event)]
