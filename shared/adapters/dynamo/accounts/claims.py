"""Domains that accounts claim, in `records`: one item a claim, under its account.

| pattern | key |
|---|---|
| an account's claims; one of them | `A#account#CLAIMS / example.com` |

A claim grants nothing (`shared.engine.intake.proven`), so functions may write it.
"""

from shared.adapters.dynamo import audit, keys
from shared.adapters.dynamo.client import Dynamo, Item
from shared.adapters.dynamo.codec import n, number
from shared.domain.audit import SYSTEM, Act, audited, masked
from shared.domain.namespaces import owner
from shared.domain.senders import MAX_CLAIMS, SenderClaim
from shared.ports import Clock


class DynamoClaims:
    """`ports.Claims`, and their changes. `table`: the name of `records`."""

    def __init__(self, dynamo: Dynamo, table: str, clock: Clock) -> None:
        self._db = dynamo
        self._table = table
        self._clock = clock

    def get(self, account: str, domain: str) -> SenderClaim | None:
        item = self._db.get(self._table, _key(account, domain))
        return _claim(item) if item else None

    def list(self, account: str) -> list[SenderClaim]:
        """Return an account's claims in the order of their domains."""
        return [_claim(x) for x in self._db.partition(self._table, _key(account, "")["pk"]["S"])]

    def add(self, account: str, domain: str, *, by: str = SYSTEM) -> SenderClaim | None:
        """Claim a domain; an existing claim stays as it is. None: the account has as many as it may.

        Args:
            domain: lower-case ASCII.
        """
        known = self.get(account, domain)
        if known is not None:
            return known
        if len(self.list(account)) >= MAX_CLAIMS:
            return None
        made = SenderClaim(domain, int(self._clock.now() * 1000))
        put: Item = {"Item": {**_key(account, domain), "created_at": n(made.created_at)}}
        put |= {"ConditionExpression": "attribute_not_exists(pk)"}
        if self._change({"Put": put}, account, domain, Act.SENDER_CLAIMED, by):
            return made
        return self.get(account, domain) or made

    def prove(self, account: str, claim: SenderClaim, *, by: str = SYSTEM) -> SenderClaim:
        """Note that the record of a claim was found now."""
        now = int(self._clock.now() * 1000)
        update = {
            "Key": _key(account, claim.domain),
            "UpdateExpression": "SET proven_at = :now",
            "ConditionExpression": "attribute_exists(pk)",
            "ExpressionAttributeValues": {":now": n(now)},
        }
        self._change({"Update": update}, account, claim.domain, Act.SENDER_PROVEN, by)
        return SenderClaim(claim.domain, claim.created_at, now)

    def remove(self, account: str, domain: str, *, by: str = SYSTEM) -> bool:
        """Give up a claim. False: there was none.

        Args:
            domain: lower-case ASCII.
        """
        delete = {"Key": _key(account, domain), "ConditionExpression": "attribute_exists(pk)"}
        return self._change({"Delete": delete}, account, domain, Act.SENDER_GIVEN_UP, by)

    def _change(self, action: Item, account: str, domain: str, act: Act, by: str) -> bool:
        """Write with the entry of the audit log; False if the condition does not hold."""
        (kind, what) = next(iter(action.items()))
        entry = audited(owner(account), int(self._clock.now() * 1000), masked(domain), act, by, {"domain": domain})
        actions = [{kind: {"TableName": self._table, **what}}, *audit.puts(self._db, self._table, entry)]
        return self._db.together(actions)


def _key(account: str, domain: str) -> keys.Key:
    return keys.key(claims_pk(account), domain)


def _claim(item: Item) -> SenderClaim:
    return SenderClaim(item["sk"]["S"], number(item, "created_at"), number(item, "proven_at"))


def claims_pk(account: str) -> str:
    """Return the partition of an account's claims."""
    return f"{keys.account_pk(owner(account))}#CLAIMS"
