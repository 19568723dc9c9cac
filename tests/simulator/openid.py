"""Signing in by the simulated OpenID provider, in tests."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from shared.adapters.clock import SystemClock
from shared.adapters.http.transport import HttpClient
from shared.adapters.sign_in.openid import OpenIdSignIn
from shared.contracts.console import ConsoleSettings
from simulator import Simulator
from tests.simulator.test_github_api import CALLBACK

SECRET = "s"
VERIFIER = "v" * 64
WANTED = ("group:posthaste", "@posthaste.example")


class Later(SystemClock):
    """The system's clock, some seconds ahead."""

    ahead = 0.0

    def now(self) -> float:
        return super().now() + self.ahead


def issue(sim: Simulator, **changes: Any) -> None:
    """Have the provider behave in a way, and in no other."""
    sim.control.json(
        "PUT", "/_control/openid", {"client_id": "client", "client_secret": SECRET, "callback": CALLBACK, **changes}
    )


def asked(sim: Simulator, path: str) -> int:
    """Return how often a path of the provider was asked for."""
    return int(sim.control.json("GET", "/_control/openid")["asked"].get(path, 0))


def settings(sim: Simulator, **changes: Any) -> ConsoleSettings:
    """Return the settings of a console that trusts the provider."""
    told: dict[str, Any] = {"organizations": WANTED, "issuer": f"{sim.url}/openid", "name": "Acme", **changes}
    return ConsoleSettings("openid", "client", **told)


@contextmanager
def signing_in(
    sim: Simulator, clock: SystemClock, known: str = SECRET, back: str = CALLBACK, **changes: Any
) -> Iterator[OpenIdSignIn]:
    """Yield a client of the provider, whose connections are closed afterwards.

    Args:
        sim: plays the provider.
        clock: the client's.
        known: the secret that the client has.
        back: the address that a browser comes back to.
        changes: of the settings.
    """
    http = HttpClient(clock)
    try:
        yield OpenIdSignIn(settings(sim, **changes), lambda: known, http, clock, back)
    finally:
        http.close()
