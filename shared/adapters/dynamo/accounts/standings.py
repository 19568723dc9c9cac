"""`ports.AccountStatuses` on DynamoDB: API keys and senders in `identities`, which functions only read."""

from collections.abc import Iterable
from itertools import chain

from shared.adapters.dynamo import keys
from shared.adapters.dynamo.accounts.profiles import account_of
from shared.adapters.dynamo.client import Dynamo, Item
from shared.adapters.dynamo.places import Places
from shared.domain.accounts import AccountStatus, sender_of


class DynamoAccountStatuses:
    """`ports.AccountStatuses`. `table`: the name of `records`, where an older version also has identities."""

    def __init__(self, dynamo: Dynamo, table: str) -> None:
        self._places = Places(dynamo, table)

    def read(self, account: str, key: str, sender: str) -> AccountStatus:
        wanted = _names(account, [key] if key else [])
        if sender:
            address = sender_of(sender)
            wanted += [keys.sender(account, x) for x in (address, address.rpartition("@")[2])]
        found, _ = self._places.find(wanted)
        allowed = any(x["sk"]["S"].startswith(keys.SENDER_PREFIX) for x in found)
        return AccountStatus(key=not key or self._lives(account, key, found), sender=allowed or not sender)

    def opened(self, account: str, channel: str) -> bool:
        found, _ = self._places.find([keys.account(account)])
        return all(account_of(account, x).opens(channel) for x in found)

    def _lives(self, account: str, key: str, found: Iterable[Item]) -> bool:
        """Tell whether a key or one of its successors exists. `found`: the items of the key and its heirs."""
        asked = {key}
        items = list(found)
        while not any(x["sk"]["S"].startswith(keys.KEY_PREFIX) for x in items):
            heirs = set(chain.from_iterable(x["heirs"]["SS"] for x in items if "heirs" in x)) - asked
            if not heirs:
                return False
            asked |= heirs
            items, _ = self._places.find(_names(account, sorted(heirs)))
        return True


def _names(account: str, key_ids: Iterable[str]) -> list[keys.Key]:
    return [name for x in key_ids for name in (keys.account_key(account, x), keys.heirs(account, x))]
