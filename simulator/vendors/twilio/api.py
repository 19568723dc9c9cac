"""Shared by Twilio's resources: the account, the ref's place, and errors.

Source: twilio.com/docs/usage/twilios-response.
"""

import re
from typing import Any, Final

from simulator.model import Reply
from simulator.vendors._vendor import Refused, reply

API: Final = "2010-04-01"
ACCOUNT: Final = "AC" + "5" * 32
REF_QUERY: Final = "ref"
E164: Final = re.compile(r"\+[1-9]\d{6,14}", re.ASCII)


class Wrong(Refused):
    """A request that Twilio refuses."""

    def __init__(self, code: int, message: str, status: int = 400) -> None:
        super().__init__(message, error(status, code, message))


def error(status: int, code: int, message: str) -> Reply:
    """Return Twilio's answer to a request that it refuses."""
    more = f"https://www.twilio.com/docs/errors/{code}"
    body = {"code": code, "message": message, "more_info": more, "status": status}
    return shown(status, body)


def shown(status: int, body: Any) -> Reply:
    """Return an answer in JSON, as Twilio writes it."""
    return reply(status, body, "application/json;charset=utf-8", spaced=True)
