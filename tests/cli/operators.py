"""The operators' function behind a loopback server, which does what API Gateway does: it identifies the caller."""

import os
import threading
import uuid
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from functions.operate.handler import respond
from functions.operate.services import OperateServices
from shared import contracts
from shared.contracts import Settings
from shared.ports import Clock
from tests.cli.fakes import FakeClock

ARN: Final = "arn:aws:sts::123456789012:user/moto"
REGION: Final = "us-east-1"


class OperatorsFunction:
    """Serves the stage that the environment names, from what is stored on moto."""

    def __init__(self) -> None:
        self.clock: Clock = FakeClock()
        self.settings: Settings | None = None
        self.variables: Mapping[str, str] = {}
        """Variables that differ from those of a stage of moto."""
        self.arn = ARN
        """The caller, whatever keys have signed."""
        self.asked: list[tuple[str, str]] = []
        """Method and path of each request, in their order."""
        function = self

        class Handler(BaseHTTPRequestHandler):
            def handle_any(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                status, headers, text = function.answer(self.command, self.path, dict(self.headers), body)
                self.send_response(status)
                for name, value in {**headers, "Content-Length": str(len(text))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(text)

            do_GET = do_POST = do_PUT = do_DELETE = handle_any  # noqa: N815

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def begin(self, clock: Clock) -> None:
        """Forget what another test has left."""
        self.clock, self.settings, self.variables, self.arn, self.asked = clock, None, {}, ARN, []

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def answer(
        self, method: str, target: str, headers: dict[str, str], body: bytes
    ) -> tuple[int, dict[str, str], bytes]:
        """Answer one request: status, headers, body."""
        parts = urlsplit(target)
        self.asked.append((method, parts.path))
        if not signed(method, self.url + _canonical(target), headers, body):
            return 403, {"Content-Type": "application/json"}, b'{"message":"Forbidden"}'
        event = {
            "rawPath": parts.path,
            "rawQueryString": parts.query,
            "headers": {name.lower(): value for name, value in headers.items()},
            "requestContext": {
                "http": {"method": method},
                "authorizer": {"iam": {"userArn": self.arn}},
            },
            "body": body.decode(),
        }
        reply = respond(event, uuid.uuid4().hex, self.services)
        return reply["statusCode"], reply["headers"], reply["body"].encode()

    def services(self) -> OperateServices:
        """Return the function's services."""
        return OperateServices(self.environment(), self.clock)

    def environment(self) -> dict[str, str]:
        """Return the function's variables."""
        stage = os.environ.get("POSTHASTE_STAGE", "dev")
        settings = self.settings or Settings(stage, (), {})
        account = f"https://sqs.{REGION}.amazonaws.com/123456789012"
        return {
            contracts.ENV_SETTINGS: settings.dumps(),
            contracts.ENV_RECORDS_TABLE: f"{stage}-records",
            contracts.ENV_OPS_TABLE: f"{stage}-ops",
            contracts.ENV_LANE_URL_PREFIX: f"{account}/{contracts.lane_queue_name(stage, '')}",
            **self.variables,
        }


def _canonical(target: str) -> str:
    """Return a target as AWS does before it checks a signature: decoded, and encoded in its own way."""
    path, mark, query = target.partition("?")
    pairs = parse_qsl(query.replace("+", "%2B"), keep_blank_values=True)
    return path + mark + urlencode(pairs, quote_via=quote, safe="")


def signed(method: str, url: str, headers: dict[str, str], body: bytes) -> bool:
    """Tell whether a request is signed for API Gateway with the keys of the environment."""
    given = headers.get("Authorization", "")
    covered = given.partition("SignedHeaders=")[2].partition(",")[0].split(";")
    request = AWSRequest(method, url, data=body, headers={x: v for x, v in headers.items() if x.lower() in covered})
    request.context["timestamp"] = headers.get("X-Amz-Date", "")
    keys = Credentials(os.environ["AWS_ACCESS_KEY_ID"], os.environ["AWS_SECRET_ACCESS_KEY"])
    signer = SigV4Auth(keys, "execute-api", REGION)
    text = signer.string_to_sign(request, signer.canonical_request(request))
    return {"host", "x-amz-date"} <= set(covered) and given.endswith(f"Signature={signer.signature(text, request)}")
