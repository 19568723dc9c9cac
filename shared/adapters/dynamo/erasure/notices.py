"""A person's notices are found by their number in each account, and blanked."""

from collections.abc import Iterable

from shared.adapters.dynamo.client import Dynamo
from shared.adapters.dynamo.notices.notices import DynamoNotices
from shared.domain.notices.actions import erased

TRIES = 5


def erase_notices(
    dynamo: Dynamo, table: str, accounts: Iterable[str], number: str, *, now: int, dry: bool
) -> list[str]:
    """Blank all notices to a number, and cancel those that have not ended.

    Args:
        dynamo: the DynamoDB client.
        table: the name of `records`.
        accounts: the accounts that are looked through.
        number: the normalised number.
        now: Unix milliseconds.
        dry: look, and write nothing.

    Returns:
        The account of each notice that was found. One that kept changing is found again by the next erasure.
    """
    store = DynamoNotices(dynamo, records=table)
    there = ((account, uuid) for account in accounts for uuid in list(store.of_number(account, number)))
    return [account for account, uuid in there if dry or _erase(store, uuid, now)]


def _erase(store: DynamoNotices, uuid: str, now: int) -> bool:
    for _ in range(TRIES):
        notice = store.read([uuid]).get(uuid)
        if notice is None:
            return False
        if store.write(notice, erased(notice, now)):
            return True
    return False
