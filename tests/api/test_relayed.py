"""The relay's client and the API itself understand each other."""

import base64
import io
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl
from wsgiref.simple_server import make_server

import pytest

from cli.environment import Destination
from cli.relay.api import MailAnswer, MailApi, PostFate
from cli.relay.mail import relay_mail
from tests.api.conftest import SENDER, Api, event
from tests.api.site import Quiet, Threaded
from tests.fakes.clock import FakeClock

BYTES = b"From: news@example.com\r\n\r\nHello \xff!\r\n.\r\n"
ANN = "ann@example.org"


@pytest.fixture
def client(api: Api) -> Iterator[MailApi]:
    def serve(environ: dict[str, Any], start: Callable[[str, list[tuple[str, str]]], object]) -> Iterable[bytes]:
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        names = {"authorization": "HTTP_AUTHORIZATION", "idempotency-key": "HTTP_IDEMPOTENCY_KEY"}
        headers = {name: environ[x] for name, x in names.items() if x in environ}
        made = event("POST", environ["PATH_INFO"], headers={"content-type": environ["CONTENT_TYPE"], **headers})
        query: dict[str, str] = {}
        for name, value in parse_qsl(environ["QUERY_STRING"], keep_blank_values=True):
            query[name] = f"{query[name]},{value}" if name in query else value  # as API Gateway does
        made |= {"rawQueryString": environ["QUERY_STRING"], "queryStringParameters": query}
        made |= {"isBase64Encoded": True, "body": base64.b64encode(body).decode()}
        got = api.handle(made)
        start(f"{got.status} X", list(got.headers.items()))
        return [got.text.encode()]

    with make_server("127.0.0.1", 0, serve, server_class=Threaded, handler_class=Quiet) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        made = MailApi(Destination(f"http://127.0.0.1:{server.server_port}", api.key), FakeClock(), "1", 1)
        yield made
        made.close()
        server.shutdown()


def posted(client: MailApi, sender: str = SENDER, data: bytes = BYTES, *to: str) -> MailAnswer:
    return client.post(relay_mail(sender, to or (ANN, "bob+x@example.net"), io.BytesIO(data)))


@pytest.mark.slow
@pytest.mark.parametrize("sender", [SENDER, ""])
def test_a_mail_is_taken_once_byte_for_byte(api: Api, client: MailApi, sender: str) -> None:
    first = posted(client, sender)
    assert first.fate is PostFate.TAKEN, first
    assert posted(client, sender) == replace(first, is_replayed=True)
    assert list(api.mail_files.items.values()) == [BYTES]
    mail = api.call("GET", f"/mails/{first.says}").json
    assert mail["mail_from"] == sender
    assert [x["address"] for x in mail["destinations"]] == [ANN, "bob+x@example.net"]


def test_a_refusal_has_its_reason(client: MailApi) -> None:
    answer = posted(client, SENDER, b"From: news@example.com\r\n\r\none\ntwo\r\n")
    assert (answer.fate, answer.code) == (PostFate.REFUSED, "bare_lf")
    assert "line 3" in answer.says
    assert posted(client, SENDER, b"From: other@elsewhere.example\r\n\r\n").fate is PostFate.REFUSED
