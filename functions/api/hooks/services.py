"""Services of endpoints' routes, built when the first of them is called."""

from dataclasses import dataclass

from shared.bootstrap import Deployment
from shared.bootstrap.hooking import Hooking
from shared.engine.hooks.desk import HookDesk
from shared.engine.hooks.listening import ListenerDesk


@dataclass(frozen=True, slots=True)
class HookServices:
    """Use cases."""

    desk: HookDesk
    listeners: ListenerDesk


def build(deployment: Deployment) -> HookServices:
    """Build the services of a deployment."""
    hooking = Hooking(deployment)
    return HookServices(hooking.desk, hooking.listeners)
