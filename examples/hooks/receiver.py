"""A receiver of webhooks: POSTHASTE_HOOK_SECRET=whsec_… python3 receiver.py 8000. It needs only Python."""

import base64
import hashlib
import hmac
import json
import os
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SECRET = base64.b64decode(os.environ["POSTHASTE_HOOK_SECRET"].removeprefix("whsec_"))
seen: set[str] = set()  # ids of events: yours belong in a table, with what the event changed
one_at_a_time = threading.Lock()


class Receiver(BaseHTTPRequestHandler):  # noqa: D101
    def valid(self, body: bytes) -> bool:
        """Check a request: one of its signatures is made with the secret, and it is not old."""
        at, given = self.headers.get("webhook-timestamp", ""), self.headers.get("webhook-signature", "")
        fresh = at.isdecimal() and len(at) < 12 and abs(time.time() - int(at)) <= 300  # noqa: PLR2004 - seconds
        wanted = hmac.new(SECRET, f"{self.headers.get('webhook-id')}.{at}.".encode() + body, hashlib.sha256).digest()
        return fresh and any(hmac.compare_digest(b"v1," + base64.b64encode(wanted), x.encode()) for x in given.split())

    def do_POST(self) -> None:  # noqa: D102
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        if taken := self.valid(body):
            event = json.loads(body)
            with one_at_a_time:  # an event comes again when an answer was lost, perhaps at the same moment
                for one in event["data"] if event["type"] == "batch" else [{**event, "id": self.headers["webhook-id"]}]:
                    if one["id"] not in seen:
                        print(one["type"], json.dumps(one["data"]), flush=True)
                        seen.add(one["id"])
        self.send_response(204 if taken else 401)
        self.end_headers()


ThreadingHTTPServer.request_queue_size = 128  # connections of a burst that wait to be accepted
ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Receiver).serve_forever()
