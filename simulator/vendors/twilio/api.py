"""What Twilio's resources have in common: the account, the ref's place, and errors.

Source: twilio.com/docs/usage/twilios-response.
"""

import json
import re
from typing import Final

from simulator.model import Reply

JSON_TYPE: Final = [(b"content-type", b"application/json;charset=utf-8")]
API: Final = "2010-04-01"
ACCOUNT: Final = "AC" + "5" * 32
REF_QUERY: Final = "ref"
E164: Final = re.compile(r"\+[1-9]\d{6,14}", re.ASCII)


class Wrong(Exception):
    """A request that Twilio refuses."""

    def __init__(self, code: int, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.reply = error(status, code, message)


def error(status: int, code: int, message: str) -> Reply:
    """Return Twilio's answer to a request that it refuses."""
    more = f"https://www.twilio.com/docs/errors/{code}"
    body = {"code": code, "message": message, "more_info": more, "status": status}
    return Reply(status, list(JSON_TYPE), json.dumps(body).encode())
