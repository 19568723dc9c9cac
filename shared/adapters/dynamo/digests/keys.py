"""Keys of digests in the table `records`, and the access patterns they serve.

| pattern | key |
|---|---|
| a window; the last window of a batch key | `Q#place / W#0000000012` |
| an urgent event's window | `Q#place / U#at…` |
| ids of a window's events | `Q#place / I#0000000012` |
| was this urgent event posted lately? | `Q#place / E#event` |
| a part | `R#part / PART` |
| windows that are not processed, by when they are due (index `open`) | `digest#0-15` / `due_at#id` |
| windows that may be removed, by when (index `open`) | `digestend#0-15` / `due_at#id` |
| an account's windows, newest first (index `mine`) | `account#window` / `opened_at#id` |
| the policy with the longest prefix of a batch key | `B#account / POLICY#prefix` |
| a version of a policy | `B#account / V#prefix#00003` |

A place is a hash of account and batch key, and the first part of a window's id. Items of test keys are under
`account#TEST` instead of `account`. Times are 15 digits of Unix milliseconds.
"""

from typing import Final

from shared.adapters.dynamo.keys import Key, key
from shared.domain.digests.window import place, place_of

KIND: Final = "window"
"""Kind in the index `mine`. No job has it: the jobs that windows become are of kind `digest`."""
WINDOW_PREFIX: Final = "W#"
URGENT_PREFIX: Final = "U#"
POLICY_PREFIX: Final = "POLICY#"
PART: Final = "PART"
_URGENT: Final = "u"


def windows_pk(namespace: str, batch_key: str) -> str:
    return f"Q#{place(namespace, batch_key)}"


def same_key_pk(window_id: str) -> str:
    return f"Q#{place_of(window_id)}"


def window(window_id: str) -> Key:
    """A window, by an id as `window.is_window_id` accepts it."""
    name = window_id.partition("-")[2]
    if name.startswith(_URGENT):
        return key(same_key_pk(window_id), f"{URGENT_PREFIX}{name.removeprefix(_URGENT)}")
    return key(same_key_pk(window_id), numbered(int(name)))


def window_id(item_key: Key) -> str:
    """Return the id of the window that has a key."""
    name = item_key["sk"]["S"]
    place = item_key["pk"]["S"].partition("#")[2]
    if name.startswith(URGENT_PREFIX):
        return f"{place}-{_URGENT}{name.removeprefix(URGENT_PREFIX)}"
    return f"{place}-{int(name.removeprefix(WINDOW_PREFIX))}"


def numbered(number: int) -> str:
    return f"{WINDOW_PREFIX}{number:010d}"


def ids(window_id: str) -> Key:
    return key(same_key_pk(window_id), f"I#{window(window_id)['sk']['S'].partition('#')[2]}")


def urgent_event(window_id: str, event: str) -> Key:
    return key(same_key_pk(window_id), f"E#{event}")


def part(part_id: str) -> Key:
    return key(f"R#{part_id}", PART)


def due_slot(shard: int) -> str:
    return f"digest#{shard}"


def end_slot(shard: int) -> str:
    return f"digestend#{shard}"


def policies_pk(namespace: str) -> str:
    return f"B#{namespace}"


def policy(namespace: str, prefix: str) -> Key:
    return key(policies_pk(namespace), f"{POLICY_PREFIX}{prefix}")


def policy_version(namespace: str, prefix: str, version: int) -> Key:
    """One version of a policy.

    Args:
        version: from 1.
    """
    return key(policies_pk(namespace), f"V#{prefix}#{version:05d}")
