"""Checks of endpoints: the events that one may name, when it may be posted to, and the audit log of its changes."""

from collections.abc import Sequence

from shared.domain.audit import EVERYONE, masked
from shared.domain.hooks.addresses import parse_url
from shared.domain.hooks.endpoint import DEPLOYMENT, EVERY_KIND, Endpoint, EndpointState
from shared.domain.hooks.kinds import ACCOUNT_KINDS, DEPLOYMENT_KINDS
from shared.engine.intake.declined import Decline, invalid


def known_kinds(namespace: str, events: Sequence[str]) -> tuple[str, ...]:
    """Return the kinds that are named, each once. Raises Decline if one of them is none.

    Args:
        events: as its owner named them.
    """
    known = DEPLOYMENT_KINDS if namespace == DEPLOYMENT else ACCOUNT_KINDS
    for i, kind in enumerate(events):
        if kind != EVERY_KIND and kind not in known:
            raise invalid(f"events.{i}", f"There is no such kind. Known: *, {', '.join(sorted(known))}.")
    return tuple(dict.fromkeys(events))


def log_of(namespace: str) -> str:
    """Return whose audit log has what is done to an endpoint."""
    return EVERYONE if namespace == DEPLOYMENT else namespace


def check_enabled(endpoint: Endpoint) -> None:
    """Raise Decline if an endpoint is disabled."""
    if endpoint.disabled_at:
        raise Decline("hook_disabled")


def needs_proof(old: Endpoint, new: Endpoint) -> bool:
    """Tell whether a change of an endpoint calls for another `test` event."""
    return new.state is EndpointState.PROVING and (old.state is not EndpointState.PROVING or new.url != old.url)


def host_of(endpoint: Endpoint, *, local: bool) -> dict[str, str]:
    """Return the host that events are posted to, for the audit log; the rest of a URL may be a secret.

    Args:
        local: whether addresses of the machine itself are allowed.
    """
    return {"host": masked(parse_url(endpoint.url, local=local).host)} if endpoint.url else {}
