"""Moving stored hashes of addresses to the deployment's key: request after request, each for some seconds."""

from enum import StrEnum
from typing import Final

from functions.operate.call import Call, OperateView, route
from functions.operate.services import OperateServices
from shared.domain.recipients.address_names import MOVE_MS, PLAIN, NamesState
from shared.ports import MalformedSecret
from shared.web.http import Answer
from shared.web.problems import invalid
from shared.web.routing import Nothing

WORK_SECONDS: Final = 12
"""For so long one request begins further work; the client asks again while there is more."""


class HashesPhase(StrEnum):
    """How far the move is."""

    PLAIN = "plain"
    """No hash has a key: the move was never announced."""
    ANNOUNCED = "announced"
    """Functions learn of the key; the move begins later."""
    MOVING = "moving"
    KEYED = "keyed"


class HashesState(OperateView):
    """Which hashes of addresses are stored.

    `generation` is the number of the key of the oldest ones, 0 for none, and `target` of those that they are moved to.
    `keys` are those of the secret. The move begins at `begins_at`, and ended at `ended_at`; 0: it has not.
    """

    phase: HashesPhase
    generation: int
    target: int
    keys: int
    announced_at: int
    begins_at: int
    moved: int
    ended_at: int


def look_at_hashes(call: Call[Nothing, Nothing]) -> Answer:
    """Return how far the move is."""
    return _state(call.services, call.services.names.read())


def move_hashes(call: Call[Nothing, Nothing]) -> Answer:
    """Announce the secret's latest key, or move hashes to it for some seconds."""
    services = call.services
    until = services.clock.now() + WORK_SECONDS
    try:
        services.names.announce(call.key.id)
        mover = services.names_mover(call.key.id, lambda: services.clock.now() >= until)
        state = mover.move(lambda: [x.id for x in services.accounts.list_accounts()])
    except MalformedSecret as wrong:
        raise invalid("secret", f"Nothing was moved: {wrong}.") from None
    return _state(services, state)


def _state(services: OperateServices, state: NamesState) -> Answer:
    begins = 0 if state.settled else state.at + MOVE_MS
    if state.settled:
        phase = HashesPhase.PLAIN if state.floor == PLAIN else HashesPhase.KEYED
    else:
        phase = HashesPhase.ANNOUNCED if services.names.now() < begins else HashesPhase.MOVING
    return HashesState(
        phase=phase,
        generation=state.floor,
        target=state.target,
        keys=len(services.names.every_key().keys),
        announced_at=state.at,
        begins_at=begins,
        moved=state.moved,
        ended_at=state.ended,
    ).answer()


ROUTES: Final = (
    route("GET", "/hashes", "How far hashes were moved", look_at_hashes, HashesState),
    route("POST", "/hashes/move", "Move hashes of addresses to the latest key", move_hashes, HashesState),
)
