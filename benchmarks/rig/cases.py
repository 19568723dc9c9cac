"""What each function has in memory before it handles its first event; see `starts`. Imports nothing by itself."""

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


def _log() -> None:
    _ = _dispatch("log").deployment().logger


def _track() -> None:
    deployment = _dispatch("track").deployment()
    _ = deployment.tracker, deployment.feedback


def _plan() -> None:
    _ = _dispatch("plan").deployment().planner


def _sweep() -> None:
    _ = _dispatch("sweep").deployment().sweeper


def _due() -> None:
    _ = _dispatch("due").deployment().due


def _export() -> None:
    _ = _dispatch("export").deployment().exporter


def _take() -> None:
    _ = _dispatch("take").deployment().noticing.taker


def _notices() -> None:
    _ = _dispatch("notices").deployment().noticing.sweeper


def _webhooks(provider: str = "sendgrid", credential: str = "sendgrid-main") -> None:
    from functions.webhooks import receive  # noqa: PLC0415

    receive.services().reader_of(provider, credential)


def _api() -> None:
    from importlib import import_module  # noqa: PLC0415

    import_module("functions.api.handler").services()


CASES: Final[dict[str, Callable[[], None]]] = {
    "bare": _bare,
    "send": _send,
    "log": _log,
    "track": _track,
    "plan": _plan,
    "sweep": _sweep,
    "due": _due,
    "export": _export,
    "take": _take,
    "notices": _notices,
    "send texts": lambda: _send("texts-main"),
    "send calls": lambda: _send("calls-main"),
    "webhooks": _webhooks,
    "webhooks calls": lambda: _webhooks("twilio", "calls-main"),
    "api": _api,
}
