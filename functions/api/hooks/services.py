"""Services of endpoints' routes, built when the first of them is called."""

from shared.bootstrap import Deployment
from shared.bootstrap.hooking import Hooking
from shared.engine.hooks.listening import ListenerService
from shared.engine.hooks.service import HookService
from shared.frozen import dataclass


@dataclass(frozen=True, slots=True)
class HookServices:
    """Use cases."""

    service: HookService
    listeners: ListenerService


def build(deployment: Deployment) -> HookServices:
    """Build the services of a deployment."""
    hooking = Hooking(deployment)
    return HookServices(hooking.service, hooking.listeners)
