"""Finds and blanks a person's notices, by their number in each account, and their uploaded records."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import field

from shared.adapters.dynamo.client import Dynamo, Item
from shared.adapters.dynamo.codec import binary
from shared.adapters.dynamo.notices.keys import notifier_pk
from shared.adapters.dynamo.notices.notices import DynamoNotices
from shared.adapters.dynamo.notices.notifiers import DynamoNotifiers
from shared.domain.notices.actions import erased
from shared.domain.notices.inbox import pack, unpack
from shared.domain.notices.notice import NoticeRun
from shared.domain.notices.notifier import Notifier
from shared.domain.notices.records import blanked
from shared.domain.recipients.phones import Phone, PhoneReader
from shared.domain.times import Millis
from shared.frozen import dataclass

TRIES = 5


@dataclass(frozen=True, slots=True)
class ErasedNotice:
    """A notice that was found.

    Attributes:
        account: its account.
        run: its run under way, whose message may still wait; None if there is none.
        done: False if the notice kept changing, and is as it was.
    """

    account: str
    run: NoticeRun | None
    done: bool


def erase_notices(
    dynamo: Dynamo, table: str, accounts: Iterable[str], number: str, *, now: Millis, dry: bool
) -> Iterator[ErasedNotice]:
    """Blank all notices to a number, and cancel those that have not ended; yield each.

    Args:
        number: the normalised number.
    """
    store = DynamoNotices(dynamo, records=table)
    for account in accounts:
        for uuid in list(store.of_number(account, number)):
            found = _erase(store, account, uuid, now, dry=dry)
            if found is not None:
                yield found


def _erase(store: DynamoNotices, account: str, uuid: str, now: int, *, dry: bool) -> ErasedNotice | None:
    """Blank one notice; None if it no longer exists."""
    run = None
    for _ in range(TRIES):
        notice = store.read([uuid]).get(uuid)
        if notice is None:
            return None
        run = notice.run
        if dry or store.write(notice, erased(notice, now)):
            return ErasedNotice(account, run, done=True)
    return ErasedNotice(account, run, done=False)


@dataclass(frozen=True, slots=True)
class UploadedRecords:
    """Finds a person in the payloads that notifiers have uploaded.

    Attributes:
        dynamo: the DynamoDB client.
        table: the name of `records`.
        number: the normalised number.
        blob: returns a file of the bucket, None if it no longer exists.
    """

    dynamo: Dynamo
    table: str
    number: str
    blob: Callable[[str], bytes | None]
    _notifiers: dict[str, Notifier | None] = field(default_factory=dict)

    def without(self, item: Item) -> tuple[str, bytes, int]:
        """Return whose a payload is (an account), its bytes without the person, and how many records were theirs.

        Args:
            item: of the payload: `pk`, and `body` or `blob`.
        """
        notifier = self._notifier(item["pk"]["S"].removeprefix(notifier_pk("")))
        body = binary(item, "body") if "body" in item else self.blob(item["blob"]["S"])
        if notifier is None or body is None:
            return "", b"", 0
        reader = PhoneReader(notifier.country)
        left, found = blanked(unpack(body), lambda text: reader.read(text) == Phone(self.number))
        return notifier.account, pack(left) if found else body, found

    def _notifier(self, name: str) -> Notifier | None:
        if name not in self._notifiers:
            self._notifiers[name] = DynamoNotifiers(self.dynamo, records=self.table).get(name)
        return self._notifiers[name]
