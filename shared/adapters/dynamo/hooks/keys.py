"""Keys of webhooks to accounts in the table `records`, and the access patterns they serve.

| pattern | key |
|---|---|
| an endpoint | `HE#endpoint / ENDPOINT` |
| which endpoints has a namespace? | `HN#namespace / LIST` |
| which namespaces have endpoints? by hash | `HS#00 / HOOKS` to `HS#15 / HOOKS` |
| work of an endpoint: lease, breaker, order to replay | `HW#endpoint / WORK` |
| deliveries that wait, those due soonest first | `HQ#endpoint / due#id` |
| deliveries that have ended, oldest first | `HL#endpoint / created_at#id` |
| endpoints to look at, by when (index `open`) | `hooks#0-15` / `at#endpoint` |

A namespace is an account's, for its live or its test keys, or `deployment`.
"""

from shared.adapters.dynamo.keys import Key, aged, key


def endpoint(name: str) -> Key:
    return key(f"HE#{name}", "ENDPOINT")


def endpoints(namespace: str) -> Key:
    return key(f"HN#{namespace}", "LIST")


def work(name: str) -> Key:
    return key(f"HW#{name}", "WORK")


def pending_pk(name: str) -> str:
    return f"HQ#{name}"


def pending(name: str, due: int, delivery: str) -> Key:
    """A delivery that waits.

    Args:
        due: when it is due, Unix milliseconds.
    """
    return key(pending_pk(name), aged(due, delivery))


def ended_pk(name: str) -> str:
    return f"HL#{name}"


def ended(name: str, created_at: int, delivery: str) -> Key:
    """A delivery that has ended.

    Args:
        created_at: when it was created, Unix milliseconds.
    """
    return key(ended_pk(name), aged(created_at, delivery))


def slot(shard: int) -> str:
    return f"hooks#{shard}"
