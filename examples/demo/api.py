"""Calls of the HTTP API and of the simulator, and a wait for a good end: the stories of the demo share them."""

import json
import time
import urllib.error
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

from infra.local.cloud import Cloud
from infra.local.console import LocalCloudError, Patience
from infra.local.emulator import direct
from simulator.client import ControlClient

API_SECONDS: Final = 35.0
"""A little more than the HTTP API's own limit."""
PAUSE_SECONDS: Final = 0.5
T = TypeVar("T")


def call(cloud: Cloud, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None) -> Any:
    """Call the HTTP API, with the demo account's live key unless a header names another, and return its JSON.

    Args:
        cloud: the local cloud's address and environment.
        path: the path, with its query.
        body: sent as JSON; None for no body.

    Raises:
        LocalCloudError: an answer that is not 2xx, with the problem's text.
    """
    wanted = {"Authorization": f"Bearer {cloud.env['POSTHASTE_API_KEY']}", **(headers or {})}
    try:
        with direct(f"{cloud.api}{path}", timeout=API_SECONDS, body=body, method=method, headers=wanted) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        raise LocalCloudError(f"{method} {path}: {error.code} {error.read().decode(errors='replace')[:500]}") from error


def simulator(cloud: Cloud) -> ControlClient:
    """Return the control of the cloud's simulated providers."""
    return ControlClient(cloud.env["SIMULATOR_URL"])


def wait(look: Callable[[], Sequence[T]], faults: Callable[[Sequence[T]], Sequence[str]], subject: str) -> Sequence[T]:
    """Look again and again until nothing is wrong with what is there, and return it.

    Args:
        look: returns what is there; each look may do a step.
        faults: returns what is wrong, in words.
        subject: begins the error, as in "the digests are not as they should be".

    Raises:
        LocalCloudError: nothing new has come for `PATIENCE_SECONDS`.
    """
    patience = Patience()
    while True:
        found = look()
        wrong = faults(found)
        if not wrong:
            return found
        if patience.over(len(found)):
            raise LocalCloudError("\n  ".join([f"{subject}:", *wrong]))
        time.sleep(PAUSE_SECONDS)
