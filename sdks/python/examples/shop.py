"""Mail of a shop: one confirmation for each order, and the state of each.

POSTHASTE_URL=https://… POSTHASTE_API_KEY=ph_live_… python shop.py confirm 4711 ben@example.org orders@example.com
POSTHASTE_HOOK_SECRET=whsec_… python shop.py listen 8000
"""

import json
import os
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Final

from posthaste_sdk import InvalidRequestError, Posthaste, Webhook, WebhookError, models

STATES: Final = {
    "message.sent": "sent",
    "message.delivered": "delivered",
    "message.skipped": "not sent",
    "message.failed": "failed",
    "message.bounced": "wrong address",
    "message.complained": "unwanted",
}
"""Kind of event → the state that a shop shows. Events come in any order, and the later state in this list wins."""
ORDER: Final = list(STATES.values())


def confirm(order: str, address: str, sender: str) -> dict[str, object]:
    """Send the confirmation of an order, once, however often this is called; return what the shop stores."""
    mail: models.NewBatch = {
        "from": sender,
        "to": [address],
        "subject": f"Your order {order}",
        "html": "<p>Thank you. We have your order.</p>",
        "reference": order,  # events have it, so the shop finds the order
        "tags": ["confirmation"],
    }
    with Posthaste() as api:
        try:
            made = api.create_batch(mail, idempotency_key=f"order-{order}-confirmed")
        except InvalidRequestError as error:  # nothing was sent, and a repeat would not help
            return {"order": order, "error": error.code, "fields": error.fields}
    return {"order": order, "job": made["job_id"]}


class Mails:
    """The state of each order's mail. A shop keeps these two in its database, in one transaction for each event."""

    def __init__(self) -> None:
        self.states: dict[str, str] = {}
        self.seen: set[str] = set()

    def note(self, kind: str, event: str, order: str) -> None:
        """Note an event, once: it comes again if the answer was lost."""
        state = STATES.get(kind)
        if event in self.seen or state is None:
            return
        self.seen.add(event)
        known = self.states.get(order)
        if known is None or ORDER.index(state) > ORDER.index(known):
            self.states[order] = state


class Receiver(BaseHTTPRequestHandler):
    """Takes events of the hook, and believes those that are signed with its secret."""

    webhook: Webhook
    mails = Mails()

    def do_POST(self) -> None:  # noqa: D102 - the server calls it
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        try:
            events = self.webhook.events(body, dict(self.headers))
        except WebhookError:
            self.answer(401)
            return
        for event in events:
            self.mails.note(event["type"], event["id"], str(event["data"].get("reference") or ""))
        print(json.dumps(self.mails.states), flush=True)
        self.answer(204)

    def answer(self, status: int) -> None:
        """Answer without a body: 2xx says that the events are stored."""
        self.send_response(status)
        self.end_headers()


if __name__ == "__main__":
    command, *words = sys.argv[1:]
    if command == "confirm":
        print(json.dumps(confirm(*words)))
    else:
        Receiver.webhook = Webhook(os.environ["POSTHASTE_HOOK_SECRET"])
        server = HTTPServer(("127.0.0.1", int(words[0])), Receiver)
        print(json.dumps({"port": server.server_port}), flush=True)
        server.serve_forever()
