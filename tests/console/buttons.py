"""What the console calls when an operator presses a button: the real function's code, over the tables of a test."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from functions.operate.access.pressed import respond
from functions.operate.services import PressedServices
from shared import contracts
from shared.ports.people import Pressed


@dataclass
class PressedButtons:
    """The function.

    Attributes:
        services: what the function has.
        asked: method and path of each call, in their order.
        canned: path → what is answered without the function's code, for pages that are only looked at.
    """

    services: PressedServices
    asked: list[tuple[str, str]] = field(default_factory=list)
    canned: dict[str, Mapping[str, Any]] = field(default_factory=dict)

    def press(self, session: str, method: str, path: str, body: Mapping[str, Any]) -> Pressed:
        """Do as `ports.Buttons.press`."""
        self.asked.append((method, path))
        if path in self.canned:
            return Pressed(200, self.canned[path])
        event = json.loads(json.dumps({"session": session, "method": method, "path": path, "body": body}))
        found = json.loads(json.dumps(respond(event, "press-1", lambda: self.services)))
        return Pressed(found["status"], found["body"])


def environment(settings: contracts.Settings, console: str, names: Mapping[str, str]) -> dict[str, str]:
    """Return the function's variables.

    Args:
        console: who may sign in.
        names: variable → the name of a table.
    """
    lanes = f"https://sqs.us-east-1.amazonaws.com/123456789012/{contracts.lane_queue_name(settings.stage, '')}"
    return {
        contracts.ENV_SETTINGS: settings.dumps(),
        contracts.ENV_CONSOLE: console,
        contracts.ENV_LANE_URL_PREFIX: lanes,
        **names,
    }
