"""Makes the first account of a person, with one key: called by the console, which may not.

The event names the person and the hash of the key. The text of the key is never here.
"""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from functions.dispatch import services
from functions.early import early
from shared.adapters import logs
from shared.domain.accounts import id_of_key
from shared.domain.people import Newcomer

logger = logs.lines()
early(lambda: services.deployment().first_accounts)


def handler(event: Mapping[str, Any], context: Any) -> dict[str, Any]:
    """Return the person's account, the id of its first key, and when it was made.

    Raises:
        ValueError: the event does not describe a person.
        Retriable: it may have been made or not; the caller repeats it.
    """
    logs.begin(logger, logs.invocation(context))
    newcomer = Newcomer(event["user"], event["name"], event["actor"], event["digest"])
    made = services.deployment().first_accounts.make(newcomer)
    logger.info("joined", user=newcomer.user, account=made.account, new=made.key == id_of_key(newcomer.digest))
    return asdict(made)
