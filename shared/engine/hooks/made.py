"""Endpoints as they are created: with their secret, and once for each idempotency key."""

from collections.abc import Callable

from shared.domain.hooks.endpoint import Endpoint
from shared.frozen import dataclass
from shared.ports import Idempotency, Mismatch, Replay


@dataclass(frozen=True, slots=True)
class CreatedHook:
    """An endpoint with a new secret, which is shown once."""

    endpoint: Endpoint
    secret: str


Record = Callable[[Endpoint], Idempotency | None]
"""Makes the record of a request's idempotency key, with the answer about the endpoint; None without a key."""


def no_record(_endpoint: Endpoint) -> None:
    """Make no record: the request has no key."""


def new_hook(made: CreatedHook | Replay | Mismatch) -> CreatedHook:
    """Return what was made for a request without a key."""
    if not isinstance(made, CreatedHook):
        raise TypeError("a request without a key was made before")
    return made
