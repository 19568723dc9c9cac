"""The modules and clients in a function's memory before its first event; see `starts`. Imports nothing by itself."""

from collections.abc import Callable
from typing import Any, Final


class _Secret:
    """A secret that need not be fetched."""

    def get(self, _credential: str) -> dict[str, str]:
        return {"api_key": "SG.bench"}


def _bare() -> None:
    import boto3  # noqa: PLC0415

    boto3.client("dynamodb")


def _dispatch(name: str) -> Any:
    from importlib import import_module  # noqa: PLC0415

    import_module(f"functions.dispatch.{name}")
    from functions.dispatch import services  # noqa: PLC0415

    return services


def _send(lane: str = "") -> None:
    import os  # noqa: PLC0415

    if lane:
        os.environ["POSTHASTE_LANE"] = lane
    deployment = _dispatch("send").deployment()
    _ = deployment.secrets  # its client is made
    deployment.__dict__["secrets"] = _Secret()
    deployment.lane.sender(10.0)


def _made(name: str, *parts: str) -> None:
    """Make a function's use cases."""
    deployment = _dispatch(name).deployment()
    for part in parts:
        getattr(deployment, part)


def _noticing(name: str, part: str) -> None:
    getattr(_dispatch(name).deployment().noticing, part)


def _webhooks(provider: str = "sendgrid", credential: str = "sendgrid-main") -> None:
    from functions.webhooks import receive  # noqa: PLC0415

    receive.services().reader_of(provider, credential)


def _api() -> None:
    from importlib import import_module  # noqa: PLC0415

    import_module("functions.api.handler").services()


CASES: Final[dict[str, Callable[[], None]]] = {
    "bare": _bare,
    "send": _send,
    "log": lambda: _made("log", "logger"),
    "track": lambda: _made("track", "tracker", "feedback"),
    "plan": lambda: _made("plan", "planner"),
    "sweep": lambda: _made("sweep", "sweeper"),
    "due": lambda: _made("due", "due"),
    "export": lambda: _made("export", "exporter"),
    "take": lambda: _noticing("take", "taker"),
    "notices": lambda: _noticing("notices", "sweeper"),
    "send texts": lambda: _send("texts-main"),
    "send calls": lambda: _send("calls-main"),
    "webhooks": _webhooks,
    "webhooks calls": lambda: _webhooks("twilio", "calls-main"),
    "api": _api,
}
