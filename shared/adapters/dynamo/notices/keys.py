"""Keys of notifiers in the table `records`, and the access patterns they serve.

| pattern | key |
|---|---|
| a notifier; its last calls | `Y#name / NOTIFIER`, `SEEN` |
| how far a notifier's updates are read | `Y#name / UPDATES` |
| counts of a notifier's updates of a UTC day, once it is over | `Y#name / DAY#20261123` |
| a notifier's updates of a UTC day, in order | `Y#name#UPDATES#20261123` / `stamp#uuid[:8]` |
| an account's programs, in the order of their names | `G#account / PROGRAM#name` |
| an account's notifiers, newest first (index `mine`) | `account#notifier` / `created_at#name` |

Items of test keys are under `account#TEST` instead of `account`. A stamp is 15 digits of Unix milliseconds.
"""

from typing import Final

from shared.adapters.dynamo.keys import Key, key

KIND: Final = "notifier"
"""Kind in the index `mine`."""
DAY_PREFIX: Final = "DAY#"


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
