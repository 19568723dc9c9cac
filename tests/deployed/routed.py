"""The deployed API with other routes: its own code in this process, on the cloud's tables, bucket and queues.

A deployment with other settings would take a minute, and the emulator's function seconds to start again.
"""

import base64
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from functions.api.handler import respond
from functions.api.services import ApiServices, build
from shared.bootstrap import Deployment
from shared.contracts import ENV_SETTINGS
from tests.api.conftest import event
from tests.deployed.api import Answer, Api
from tests.deployed.inside import Inside


@dataclass(frozen=True, slots=True)
class RoutedApi(Api):
    """Answers as the API does. `services`: made of its own settings."""

    services: ApiServices

    def call(self, method: str, path: str, body: Any = None, *, raw: bytes | None = None, **headers: str) -> Answer:
        """Make a request as API Gateway hands it over."""
        place, _, query = path.partition("?")
        named = {"authorization": f"Bearer {self.key}", **{k.replace("_", "-"): v for k, v in headers.items()}}
        made = event(method, place, body=body, headers=named, query=query)
        if raw is not None:
            made |= {"body": base64.b64encode(raw).decode(), "isBase64Encoded": True}
        answer = respond(made, "routed", lambda: self.services)
        return Answer(answer["statusCode"], answer["headers"], json.loads(answer["body"]))


def routed(inside: Inside, api: Api, name: str, route: Sequence[str]) -> RoutedApi:
    """Return the API of a cloud with another route; the environment names the cloud's endpoint.

    Args:
        inside: the cloud.
        api: its API.
        name: of the route.
        route: credentials of this cloud.
    """
    settings = inside.deployment.settings
    changed = replace(settings, routes={**settings.routes, name: tuple(route)})
    env = {**inside.environment("api"), ENV_SETTINGS: changed.dumps()}
    return RoutedApi(api.url, api.key, build(Deployment(env)))
