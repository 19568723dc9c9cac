"""Keys of notifiers, notices and inboxes in the table `records`, and the access patterns they serve.

| pattern | key |
|---|---|
| a notifier; its last calls | `Y#name / NOTIFIER`, `SEEN` |
| how far a notifier's updates are read | `Y#name / UPDATES` |
| counts of a notifier's updates of a UTC day, once it is over | `Y#name / DAY#20261123` |
| a notifier's updates of a UTC day, in order | `Y#name#UPDATES#20261123` / `stamp#uuid[:8]` |
| a notice | `N#uuid / NOTICE` |
| notices with something to do, oldest first (index `open`) | `due#0-15` / `next_at#uuid` |
| an account's notices to a number, newest first (index `mine`) | `account#phone#sha256[:16]` / `created_at#uuid` |
| how far a notifier's inbox is; one of its payloads | `Y#name / INBOX`; `Y#name / P#0000000012` |
| inboxes that hold payloads, oldest first (index `open`) | `inbox#0-15` / `since#name` |
| notifiers whose updates are to be walked, oldest first (index `open`) | `purge#0-15` / `next_walk#name` |
| an account's programs, in the order of their names | `G#account / PROGRAM#name` |
| an account's notifiers, newest first (index `mine`) | `account#notifier` / `created_at#name` |

Items of test keys are under `account#TEST` instead of `account`. A stamp is 15 digits of Unix milliseconds, as
times are. A notice's shard is its notifier's, so that a notifier's notices gather in few jobs.
"""

import hashlib
import zlib
from typing import Final

from shared.adapters.dynamo.codec import s
from shared.adapters.dynamo.keys import Key, aged, key
from shared.domain.notices.notice import SHARDS

KIND: Final = "notifier"
"""Kind in the index `mine`."""
DAY_PREFIX: Final = "DAY#"
PAYLOAD_PREFIX: Final = "P#"


def notifier_pk(name: str) -> str:
    return f"Y#{name}"


def notifier(name: str) -> Key:
    return key(notifier_pk(name), "NOTIFIER")


def contact(name: str) -> Key:
    return key(notifier_pk(name), "SEEN")


def marks(name: str) -> Key:
    return key(notifier_pk(name), "UPDATES")


def updates_pk(name: str, day: str) -> str:
    """Partition of a notifier's updates of a UTC day, `YYYYMMDD`."""
    return f"{notifier_pk(name)}#UPDATES#{day}"


def day(name: str, day: str) -> Key:
    """The counts of a notifier's updates of a UTC day, `YYYYMMDD`."""
    return key(notifier_pk(name), f"{DAY_PREFIX}{day}")


def programs_pk(namespace: str) -> str:
    return f"G#{namespace}"


def program(namespace: str, name: str) -> Key:
    return key(programs_pk(namespace), f"PROGRAM#{name}")


def shard_of(notifier: str) -> int:
    """Return the shard of a notifier's notices and inbox."""
    return zlib.crc32(notifier.encode()) % SHARDS


def notice(uuid: str) -> Key:
    return key(f"N#{uuid}", "NOTICE")


def due_slot(shard: int) -> str:
    return f"due#{shard}"


def inbox_slot(shard: int) -> str:
    return f"inbox#{shard}"


def purge_slot(shard: int) -> str:
    return f"purge#{shard}"


def purge_place(name: str, at: int) -> Key:
    """Attributes that place a notifier's marks in the index `open`; `at`: when its updates are walked next, Unix ms."""
    return {"open_pk": s(purge_slot(shard_of(name))), "open_sk": s(aged(at, name))}


def number_pk(account: str, phone: str) -> str:
    return f"{account}#phone#{hashlib.sha256(phone.encode()).hexdigest()[:16]}"


def inbox(name: str) -> Key:
    return key(notifier_pk(name), "INBOX")


def payload(name: str, number: int) -> Key:
    return key(notifier_pk(name), f"{PAYLOAD_PREFIX}{number:010d}")
