"""Promise 10: bad input is a clear 4xx and stores nothing. The inputs are made from the document itself."""

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_schema_conformance,
    status_code_conformance,
)

from functions.api.openapi import FILE
from tests.api.conftest import Api, event

Environ = dict[str, Any]
Start = Callable[[str, list[tuple[str, str]]], object]
EXAMPLES = 30
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
    negative_data_rejection,
]


class Gateway:
    """API Gateway as a WSGI application: each request becomes an event."""

    def __init__(self) -> None:
        self.api: Api | None = None

    def __call__(self, environ: Environ, start: Start) -> Iterable[bytes]:
        api = self.api
        assert api is not None
        length = int(environ.get("CONTENT_LENGTH") or 0)
        headers = {k[5:].replace("_", "-").lower(): v for k, v in environ.items() if k.startswith("HTTP_")}
        headers["content-type"] = environ.get("CONTENT_TYPE", "")
        body = environ["wsgi.input"].read(length)
        what = event(
            environ["REQUEST_METHOD"],
            # WSGI gives the path decoded as Latin-1 (PEP 3333); what is "%" in it, API Gateway leaves escaped.
            environ["PATH_INFO"].encode("latin-1").decode("utf-8", "replace").replace("%", "%25"),
            body=body.decode("utf-8", "surrogateescape") if body else None,
            headers=headers,
            query=environ.get("QUERY_STRING", ""),
        )
        got = api.handle(what)
        start(f"{got.status} {got.status}", [(k, v) for k, v in got.headers.items()])
        return [got.text.encode()]


gateway = Gateway()
schema = schemathesis.openapi.from_dict(json.loads(FILE.read_text(encoding="utf-8")))
schema.app = gateway


@pytest.fixture(scope="module")
def api(calm: Api) -> Iterator[Api]:
    calm.services.accounts.create_account("Bystander")
    calm.accepted()
    calm.call("PUT", "/suppressions/ann@example.com")
    gateway.api = calm
    yield calm
    gateway.api = None


@pytest.mark.promise(10)
@schema.parametrize()
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    database=None,
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
def test_what_the_document_allows_and_what_it_does_not(case: schemathesis.Case[Any], api: Api) -> None:
    before = len(api.client.writes)
    response = case.call(headers={"Authorization": f"Bearer {api.key}"})
    case.validate_response(response, checks=CHECKS)
    if response.status_code >= 400:
        assert api.client.writes[before:] == []
