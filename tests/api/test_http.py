import gzip
import hashlib
import json
import logging
import re
from base64 import b64decode, b64encode
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from functions.api import handler as module
from functions.api.docs.page import OF_COMPONENT, OF_OURS, TYPES, text_of, zipped
from functions.api.handler import handler, respond
from shared.adapters.dynamo.accounts.accounts import Accounts
from shared.ports import Retriable
from shared.web import http
from shared.web.problems import CODES
from tests.api.conftest import SENDER, Api, Reply, event
from tests.fakes.clock import FakeClock

SECRETS = ("ann.secret", "Very private subject", "Very private words", "cleo.hidden")


class Context:
    aws_request_id = "lambda-1"


def test_what_needs_no_key_is_answered_without_services() -> None:
    for path in ("/health", "/openapi.json", "/docs", "/errors"):
        got = handler(event("GET", path), Context())
        assert got["statusCode"] == 200, path
    assert json.loads(handler(event("GET", "/health"), Context())["body"]) == {"status": "ok"}
    assert module.services.cache_info().currsize == 0


def test_the_documentation_needs_nothing_from_elsewhere() -> None:
    got = handler(event("GET", "/docs"), Context())
    assert got["headers"]["Content-Type"].startswith("text/html")
    policy = got["headers"]["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self';" in policy
    assert "connect-src 'self';" in policy
    for outside in ("http://", "https://", "@import", "//cdn"):
        assert outside not in got["body"], outside
    loaded = re.findall(r'(?:src|href)="([^"]+)"', got["body"])
    assert sorted(address.partition("?v=")[0] for address in loaded) == [
        *("docs/page.css", "docs/page.js", "docs/samples.js", "docs/swagger-ui-bundle.js", "docs/swagger-ui.css"),
        *("openapi.json", "openapi.json"),
    ]
    assert '<link rel="preload" href="openapi.json" as="fetch" crossorigin>' in got["body"], "no script waits to ask"
    assert "prefers-color-scheme" in text_of("page.css")


@pytest.mark.parametrize("name", [*OF_COMPONENT, *OF_OURS])
def test_a_file_of_the_documentation_is_kept_by_its_content(name: str) -> None:
    page = handler(event("GET", "/docs"), Context())["body"]
    digest = hashlib.sha256(text_of(name).encode()).hexdigest()[:16]
    assert f'"docs/{name}?v={digest}"' in page
    got = handler(event("GET", f"/docs/{name}", query={"v": digest}), Context())
    assert got["body"] == text_of(name)
    assert got["headers"]["Content-Type"] == TYPES[f".{name.rpartition('.')[2]}"]
    assert got["headers"]["Cache-Control"] == "public, max-age=31536000, immutable"


def test_the_component_is_the_package_s_own() -> None:
    package = Path(__file__).parents[2] / "node_modules" / "swagger-ui-dist"
    for name in OF_COMPONENT:
        assert text_of(name) == (package / name).read_text("utf-8"), "run: make setup"


@pytest.mark.parametrize("path", ["/openapi.json", "/docs/swagger-ui-bundle.js"])
def test_a_large_page_is_compressed_for_clients_that_take_it(path: str) -> None:
    plain = handler(event("GET", path), Context())
    got = handler(event("GET", path, headers={"Accept-Encoding": "br, gzip"}), Context())
    assert (plain["isBase64Encoded"], got["isBase64Encoded"]) == (False, True)
    assert got["headers"]["Content-Encoding"] == "gzip"
    assert got["headers"]["Vary"] == plain["headers"]["Vary"] == "Accept-Encoding"
    assert "Content-Encoding" not in plain["headers"]
    body = b64decode(got["body"])
    assert gzip.decompress(body).decode() == plain["body"]
    assert len(body) < len(plain["body"]) / 3


@pytest.mark.parametrize("path", ["/openapi.json", "/docs", "/errors", "/docs/swagger-ui.css"])
@pytest.mark.parametrize("takes", ["gzip", ""])
def test_a_page_that_a_client_has_is_not_sent_again(path: str, takes: str) -> None:
    given = {"Accept-Encoding": takes}
    first = handler(event("GET", path, headers=given), Context())
    tag = first["headers"]["ETag"]
    for known in (tag, tag.removeprefix("W/"), f'"other", {tag}', "*"):
        again = handler(event("GET", path, headers={**given, "If-None-Match": known}), Context())
        assert (again["statusCode"], again["body"]) == (304, "")
        kept = ("ETag", "Cache-Control", *(["Vary"] if "Vary" in first["headers"] else []))
        assert [again["headers"][x] for x in kept] == [first["headers"][x] for x in kept]
        assert "Content-Encoding" not in again["headers"]
    assert handler(event("GET", path, headers={"If-None-Match": 'W/"other"'}), Context())["statusCode"] == 200


def test_health_is_asked_each_time() -> None:
    got = handler(event("GET", "/health", headers={"If-None-Match": "*"}), Context())
    assert (got["statusCode"], "ETag" in got["headers"]) == (200, False)


def test_what_is_stored_compressed_is_served_as_it_is(tmp_path: Path) -> None:
    for name in ("a.js", "b.js"):
        (tmp_path / name).write_text("plain", encoding="utf-8")
    (tmp_path / "b.js.gz").write_bytes(b"stored")
    assert gzip.decompress(zipped(tmp_path / "a.js")) == b"plain"
    assert zipped(tmp_path / "b.js") == b"stored"


@pytest.mark.parametrize("header", ["gzip", "GZIP;q=0.5, br", "br, *", "gzip;q=1.0"])
def test_a_client_that_takes_gzip_says_so(header: str) -> None:
    assert http.takes_gzip({"headers": {"Accept-Encoding": header}})


@pytest.mark.parametrize("header", ["", "br", "gzip;q=0", "gzip;q=0.000", "x-gzip"])
def test_a_client_that_does_not_say_so_gets_a_plain_body(header: str) -> None:
    assert not http.takes_gzip({"headers": {"Accept-Encoding": header}})
    assert not http.takes_gzip({})


def test_every_answer_names_its_request_and_is_not_cached(api: Api) -> None:
    got = api.call("GET", "/jobs")
    assert got.headers["x-request-id"] == "request-1"
    assert got.headers["cache-control"] == "no-store"
    assert got.headers["x-content-type-options"] == "nosniff"
    assert got.headers["strict-transport-security"] == "max-age=31536000"
    assert got.headers["content-security-policy"] == "default-src 'none'; frame-ancestors 'none'"


@pytest.mark.parametrize("path", ["/", "/nothing", "/batches/x/y/z/w", "//", "/jobs/x/nothing", "/jobs//stop"])
def test_an_unknown_path_is_a_problem(calm: Api, path: str) -> None:
    got = calm.call("GET", path)
    assert (got.status, got.code) == (404, "not_found")
    assert calm.call("GET", path, key="").code == "not_found"


@pytest.mark.parametrize(
    ("method", "path", "allow"),
    [
        ("DELETE", "/batches", "GET, POST"),
        ("GET", "/jobs/x/stop", "POST"),
        ("POST", "/suppressions/a@example.org", "DELETE, GET, PUT"),
        ("POST", "/health", "GET"),
        ("PATCH", "/jobs", "GET"),
    ],
)
def test_a_method_that_is_not_there_is_named_with_those_that_are(api: Api, method: str, path: str, allow: str) -> None:
    got = api.call(method, path)
    assert (got.status, got.code) == (405, "method_not_allowed")
    assert got.headers["allow"] == allow


@pytest.mark.parametrize("text", ["", "{", "[1,", "nonsense", '{"a": NaN}', '{"from": "\\ud800"}', "\ud800"])
def test_a_body_that_is_not_json_is_refused(api: Api, text: str) -> None:
    before = api.stored()
    got = api.call("POST", "/batches", text)
    assert got.status in {400, 422}
    assert got.code in {"malformed_json", "validation_failed", "invalid_utf8"}
    assert api.stored() == before


@pytest.mark.parametrize("text", ["[]", "null", "7", '"text"'])
def test_a_body_of_another_kind_is_refused(api: Api, text: str) -> None:
    got = api.call("POST", "/batches", text)
    assert (got.status, got.code, got.fields) == (422, "validation_failed", [""])


@pytest.mark.parametrize("path", ["/jobs/{id}/stop", "/jobs/{id}/resume"])
def test_a_call_without_a_body_takes_an_empty_one_alone(api: Api, path: str) -> None:
    url = path.format(id=api.accepted())
    assert api.call("POST", url, {"more": 1}).code == "validation_failed"
    assert api.call("POST", url, {}).status in {200, 409}
    assert api.call("POST", url).status in {200, 409}


def test_an_event_s_body_has_to_be_what_it_says(api: Api) -> None:
    wrong = event("POST", "/batches", headers={"Authorization": f"Bearer {api.key}"})
    got = api.handle({**wrong, "body": "not base64!", "isBase64Encoded": True})
    assert (got.status, got.code) == (400, "malformed_request")


def as_gateway(
    api: Api,
    raw: bytes,
    *,
    path: str = "/batches",
    kind: str = "application/json",
    query: str = "",
    base64: bool = False,
) -> Reply:
    """Post bytes as API Gateway hands them over: text types decoded, with U+FFFD for what is no UTF-8."""
    headers = {"Authorization": f"Bearer {api.key}", "Content-Type": kind, "Content-Length": str(len(raw))}
    text = b64encode(raw).decode() if base64 else raw.decode(errors="replace")
    method = "PUT" if path.endswith("/recipients") else "POST"
    return api.handle({**event(method, path, headers=headers, query=query), "body": text, "isBase64Encoded": base64})


@pytest.mark.parametrize("base64", [False, True])
@pytest.mark.parametrize("field", ["subject", "text", "to"])
def test_a_body_that_is_not_utf_8_is_refused_and_nothing_is_stored(
    api: Api,
    field: str,
    base64: bool,  # noqa: FBT001 - a row
) -> None:
    before = api.stored()
    values = {"from": SENDER, "to": "a@example.com", "subject": "Hello", "text": "Hello"}
    values[field] = {"to": "zo\xeb@example.com"}.get(field, "Gr\xf6\xdfe")
    raw = json.dumps(values, ensure_ascii=False).encode("latin-1")
    got = as_gateway(api, raw, base64=base64)
    assert (got.status, got.code) == (400, "invalid_utf8")
    assert api.stored() == before
    assert as_gateway(api, json.dumps(values, ensure_ascii=False).encode(), base64=base64).status == 202


def test_a_replacement_character_that_is_meant_is_taken_but_not_in_an_address(api: Api) -> None:
    body = api.body(subject="What is \ufffd?")
    assert as_gateway(api, json.dumps(body, ensure_ascii=False).encode()).status == 202
    wanted = {"Content-Type": "application/json"}
    assert api.call("POST", "/batches", json.dumps(body, ensure_ascii=False), headers=wanted).code == "invalid_utf8"
    for strange in ("zo\ufffd@example.com", "a@ex\uffffample.com"):
        assert api.batch([strange]).code == "no_valid_recipient"


def test_a_list_that_is_not_utf_8_is_refused(api: Api) -> None:
    path = f"/campaigns/{api.campaign()}/recipients"
    raw = "recipient,name\nx@example.com,Gr\xf6\xdfe\n".encode("latin-1")
    for base64 in (False, True):
        assert as_gateway(api, raw, path=path, kind="text/csv", base64=base64).code == "invalid_utf8"


@pytest.mark.parametrize("charset", ["iso-8859-1", "Windows-1252", "utf-16", '"latin1"'])
def test_a_body_in_another_encoding_is_refused_with_the_way_that_reads_bytes(api: Api, charset: str) -> None:
    for path, kind in (("/batches", "application/json"), (f"/campaigns/{api.campaign()}/recipients", "text/csv")):
        for raw, base64 in product((b"{}", "Gr\xf6\xdfe".encode("latin-1")), (False, True)):
            got = as_gateway(api, raw, path=path, kind=f"{kind}; charset={charset}", base64=base64)
            assert (got.status, got.code) == (415, "unsupported_media_type"), "whatever its bytes are"
        assert "application/octet-stream" in got.json["detail"]
        assert "recipients?encoding=" in got.json["detail"]


def test_a_compressed_body_is_refused(api: Api) -> None:
    for encoding in ("gzip", "br", "GZIP"):
        got = api.batch(http={"Content-Encoding": encoding})
        assert (got.status, got.code) == (415, "unsupported_media_type")
        assert "Content-Encoding" in got.json["detail"]
    assert api.batch(http={"Content-Encoding": "identity"}).status == 202


@pytest.mark.parametrize(
    ("raw", "segments"),
    [
        ("/x/a%2541", ("x", "a%41")),  # all but %25 is decoded
        ("/x/a%41", ("x", "a%41")),  # all of it is
        ("/x/100%25", ("x", "100%")),
        ("/x/100%", ("x", "100%")),
        ("/x/a b+c", ("x", "a b+c")),
    ],
)
def test_a_path_is_not_decoded_twice(raw: str, segments: tuple[str, ...]) -> None:
    assert http.read({"rawPath": raw}, "request-1").segments == segments


def test_a_path_or_query_that_is_not_utf_8_is_refused(api: Api) -> None:
    assert api.call("GET", "/jobs/%ff").code == "malformed_request"
    assert api.call("GET", "/jobs", query="cursor=%ff").code == "malformed_request"


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"])
def test_a_body_has_to_be_json_by_its_type(api: Api, kind: str) -> None:
    got = api.batch(http={"Content-Type": kind})
    assert (got.status, got.code) == (415, "unsupported_media_type")
    assert api.batch(http={"Content-Type": "Application/JSON; charset=utf-8"}).status == 202


def test_a_body_is_at_most_5_mb(api: Api) -> None:
    before = api.stored()
    room = 5 * 1024 * 1024
    whole = json.dumps(api.body(name="x"))
    got = api.call("POST", "/batches", whole + " " * (room - len(whole) + 1))
    assert (got.status, got.code) == (413, "too_large")
    assert api.stored() == before
    assert api.call("POST", "/batches", whole + " " * (room - len(whole))).status == 202


@pytest.mark.slow
def test_too_many_requests_are_refused_with_the_time_to_wait(api: Api, clock: FakeClock) -> None:
    accounts = Accounts(api.client, api.tables.records, clock, rate=1, burst=10)
    object.__setattr__(api.services, "accounts", accounts)
    statuses = [api.call("GET", "/jobs").status for _ in range(20)]
    reads = 6  # a key has eight of ten, of which two are for calls that send
    assert statuses == [200] * reads + [429] * (20 - reads)
    got = api.call("GET", "/jobs")
    assert got.code == "rate_limited"
    clock.advance(int(got.headers["retry-after"]))
    assert api.call("GET", "/jobs").status == 200


class Broken:
    """A listing that fails with a message that quotes what it was given."""

    def __init__(self, fault: Exception) -> None:
        self._fault = fault

    def page(self, *_: Any, **__: Any) -> Any:
        raise self._fault


def test_a_fault_gives_the_request_s_id_and_nothing_else(api: Api) -> None:
    object.__setattr__(api.services, "listing", Broken(ValueError("ann.secret@example.org")))
    got = api.call("GET", "/jobs")
    assert (got.status, got.code) == (500, "internal_error")
    assert got.json["request_id"] == "request-1"
    assert "ann.secret" not in got.text


def test_what_may_be_repeated_says_so(api: Api) -> None:
    object.__setattr__(api.services, "listing", Broken(Retriable("busy")))
    got = api.call("GET", "/jobs")
    assert (got.status, got.code, got.headers["retry-after"]) == (503, "try_again", "1")


def test_services_that_cannot_be_built_are_a_fault() -> None:
    def broken() -> Any:
        raise KeyError("POSTHASTE_SETTINGS")

    got = respond(event("GET", "/jobs"), "request-1", broken)
    assert got["statusCode"] == 500


@pytest.mark.parametrize("what", [{}, {"rawPath": None}, {"requestContext": {}}, {"headers": None, "body": None}])
def test_an_event_with_holes_is_answered(what: dict[str, Any]) -> None:
    got = handler(what, Context())
    assert got["statusCode"] in {404, 401}
    assert got["headers"]["X-Request-Id"] == "lambda-1"


def test_a_stage_s_name_is_no_part_of_the_path(api: Api) -> None:
    what = event("GET", "/prod/jobs", headers={"Authorization": f"Bearer {api.key}"})
    what["requestContext"]["stage"] = "prod"
    assert api.handle(what).status == 200


@pytest.mark.slow
@pytest.mark.promise(9)
def test_no_address_key_or_body_is_in_any_log_line(
    api: Api, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.INFO)
    to = ["ann.secret@example.org", "ann.secret nonsense"]
    private = {"subject": "Very private subject", "text": "Very private words"}
    job = api.logged(to, **private)
    assert api.batch(to, from_="cleo.hidden@bank.example", **private).status == 422
    assert api.batch(to, cc="cleo.hidden@example.org", **private).status == 422
    assert api.batch(to, scheduled_at="Very private words", **private).status == 422
    for method in ("PUT", "GET", "DELETE", "POST"):
        api.call(method, "/suppressions/ann.secret@example.org", {} if method == "PUT" else None)
    api.call("GET", "/suppressions/ann.secret nonsense")
    api.call("GET", f"/batches/{job}/logs", query={"recipient": "ann.secret@example.org"})
    api.call("GET", f"/batches/{job}/logs/0.0")
    api.call("GET", "/ann.secret@example.org")
    object.__setattr__(api.services, "listing", Broken(ValueError("ann.secret@example.org " + api.key)))
    assert api.call("GET", "/jobs").status == 500
    object.__setattr__(api.services, "suppressions", Broken(Retriable("ann.secret@example.org")))
    api.batch(to, **private)
    api.call("GET", "/jobs", key="ph_live_" + "S" * 43)
    api.call("GET", "/suppressions/ann.secret@example.org")
    out, err = capfd.readouterr()
    logged = "\n".join([out, err, caplog.text, *(repr(vars(r)) for r in caplog.records if r.name == "api")])
    assert "answered" in logged
    assert "internal_error" in logged
    for secret in (*SECRETS, api.key, api.key[8:], "S" * 43, SENDER):
        assert secret not in logged, secret


def test_a_line_leads_from_the_request_to_the_job(api: Api, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    job = api.accepted(["ann@example.org"])
    api.call("GET", f"/batches/{job}/logs/0.0")
    api.call("GET", "/suppressions/ann@example.org")
    assert [vars(r)["about"] for r in caplog.records if r.name == "api"] == [[job], [job], []]
    assert all(vars(r)["request_id"] for r in caplog.records if r.name == "api")


def test_every_code_has_a_status_and_a_sentence() -> None:
    for code, (status, sentence) in CODES.items():
        assert code == code.lower()
        assert 400 <= status < 600
        assert sentence.endswith(".")
