"""Did Ann get it? Her messages of all jobs, newest first, and why one did not arrive.

POSTHASTE_URL=https://… POSTHASTE_API_KEY=ph_live_… python find.py ann@example.org
POSTHASTE_URL=https://… POSTHASTE_API_KEY=ph_live_… python find.py ann@example.org failed,unknown
"""

import json
import sys
from itertools import islice
from typing import Final, get_args

from posthaste_sdk import Posthaste, models

MOST: Final = 20
"""Messages that are shown; each further page is another request."""
STATES: Final = {str(state): state for state in get_args(models.MessageState)}


def found(recipient: str, states: list[models.MessageState]) -> list[dict[str, str | None]]:
    """Return the newest messages to a person."""
    with Posthaste() as api:
        messages = islice(api.iter_messages(recipient=recipient, state=states or None, limit=MOST), MOST)
        return [
            {
                "accepted": message["accepted_at"],
                "subject": message["subject"],
                "state": message["state"],
                "why": message["error_meaning"] or message["error"],
                "log": f"/jobs/{message['job_id']}/logs/{message['message']}",
            }
            for message in messages
        ]


if __name__ == "__main__":
    wanted = [STATES[name] for name in "".join(sys.argv[2:3]).split(",") if name]
    print(json.dumps(found(sys.argv[1], wanted)))
