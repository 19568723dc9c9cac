"""`GET /cells/callers/{digest}`: whether a key or a notifier is in this deployment, for the router before several.

A question names the SHA-256 of a secret with 256 random bits. So without the secret it shows nothing. The answer
has no body. It is no operation of the API's document: no client needs it.
"""

import re
from typing import Final

from functions.api.services import ApiServices
from shared.contracts import CALLER_PATH
from shared.domain.accounts import KeyRefusal
from shared.web.http import Answer
from shared.web.routing import Public, PublicRequest

_DIGEST: Final = re.compile(r"[0-9a-f]{64}")


def is_here(call: PublicRequest[ApiServices]) -> Answer:
    """Answer 204 if the caller is here, and 404 if not. One read; a key that was used lately costs none."""
    digest, notifier = call.path["digest"], call.request.query.get("notifier", "")
    if not _DIGEST.fullmatch(digest):
        return Answer(404, "")
    if notifier:
        here = call.services.keeper.logins.knows(notifier, digest)
    else:
        here = call.services.accounts.look_up_digest(digest) not in (KeyRefusal.WRONG, KeyRefusal.MOVED)
    return Answer(204 if here else 404, "")


ASKED: Final = (
    Public("GET", CALLER_PATH, "findCaller", "Whether a caller is in this deployment", is_here, answers=()),
)
