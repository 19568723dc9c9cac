"""A receiver of webhooks: POSTHASTE_HOOK_SECRET=whsec_… python3 receiver.py 8000. It needs only Python."""

import base64
import hashlib
import hmac
import json
import os
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SECRET = base64.b64decode(os.environ["POSTHASTE_HOOK_SECRET"].removeprefix("whsec_"))
seen: set[str] = set()  # ids of events: yours belong in a table, with what the event changed


def valid(headers: dict[str, str], body: bytes) -> bool:
    """Check a request: one of its signatures is made with the secret, and it is not old."""
    at = headers.get("webhook-timestamp", "")
    if not at.isdecimal() or abs(time.time() - int(at)) > 300:  # noqa: PLR2004 - seconds
        return False
    signed = f"{headers.get('webhook-id')}.{at}.".encode() + body
    wanted = "v1," + base64.b64encode(hmac.new(SECRET, signed, hashlib.sha256).digest()).decode()
    return any(hmac.compare_digest(wanted.encode(), x.encode()) for x in headers.get("webhook-signature", "").split())


class Receiver(BaseHTTPRequestHandler):  # noqa: D101
    def do_POST(self) -> None:  # noqa: D102
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        if taken := valid(headers, body):
            event = json.loads(body)
            for one in event["data"] if event["type"] == "batch" else [{**event, "id": headers["webhook-id"]}]:
                if one["id"] not in seen:  # an event comes again when an answer was lost
                    print(one["type"], json.dumps(one["data"]), flush=True)
                    seen.add(one["id"])
        self.send_response(204 if taken else 401)
        self.end_headers()


ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Receiver).serve_forever()
