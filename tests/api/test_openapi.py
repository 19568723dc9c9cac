import json
from typing import Any

import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

from functions.api.campaigns.requests import NewCampaign
from functions.api.examples.document import operations
from functions.api.openapi import FILE, text
from functions.api.operations import ROUTES
from shared.contracts import WEBHOOK_PATH
from shared.providers.sendgrid.intake import SendGridMail
from shared.web.problems import CODES, FIELDS
from shared.web.routing import Nothing, Route
from tests.api.conftest import Api

DOCUMENT = json.loads(FILE.read_text(encoding="utf-8"))
OPERATIONS: list[tuple[str, str, Any]] = list(operations(DOCUMENT))


@pytest.mark.slow
def test_the_committed_document_is_current() -> None:
    assert FILE.read_text(encoding="utf-8") == text(), "run: python -m functions.api.openapi"


@pytest.mark.slow
def test_the_document_is_openapi_3_1() -> None:
    assert DOCUMENT["openapi"].startswith("3.1")
    OpenAPIV31SpecValidator(DOCUMENT).validate()


def test_every_route_is_in_the_document() -> None:
    of_other_functions = {("POST", WEBHOOK_PATH)}
    assert {(m, p) for m, p, _ in OPERATIONS} == {(r.method, r.path) for r in ROUTES} | of_other_functions
    names = [operation["operationId"] for *_, operation in OPERATIONS]
    assert len(set(names)) == len(names)


def test_a_route_takes_its_models_from_its_handler_unless_they_are_given() -> None:
    taken = next(r for r in ROUTES if r.name == "createCampaign")
    given = next(r for r in ROUTES if r.name == "sendMailAsSendGrid")
    assert isinstance(taken, Route)
    assert isinstance(given, Route)
    assert (taken.query, taken.body, taken.tag) == (Nothing, NewCampaign, "Campaigns")
    assert (given.query, given.body) == (Nothing, SendGridMail)


def test_a_body_is_needed_if_it_has_a_field_without_a_default_or_the_route_says_so() -> None:
    needs = {r.name: r.needs_body for r in ROUTES if isinstance(r, Route)}
    assert needs["createCampaign"]
    assert not needs["changeCampaign"], "all its fields have defaults"
    assert needs["changeHook"], "likewise, but the route says so"


def test_every_part_of_the_api_is_described() -> None:
    described = {tag["name"]: tag["description"] for tag in DOCUMENT["tags"]}
    assert set(described) == {name for *_, operation in OPERATIONS for name in operation["tags"]}
    assert all(text.endswith(".") for text in described.values())


@pytest.mark.parametrize("method, path, operation", OPERATIONS, ids=[f"{m} {p}" for m, p, _ in OPERATIONS])  # noqa: PT006
def test_an_operation_says_how_it_may_fail(method: str, path: str, operation: Any) -> None:
    if operation["tags"] == ["Webhooks"]:
        assert set(operation["responses"]) == {"200", "400", "401", "403", "503"}
        return
    if path == "/oauth/token":
        assert set(operation["responses"]) == {"200", "400", "401", "429", "500", "503"}
        assert all(list(answer["content"]) == ["application/json"] for answer in operation["responses"].values())
        return
    if operation.get("security") == []:
        pages = {"400", "404", "413", "429", "500", "503"} if operation["tags"] == ["Unsubscribe"] else set()
        assert set(operation["responses"]) - {"409"} == {"200"} | pages
        assert ("409" in operation["responses"]) == (operation["operationId"] == "undoUnsubscription")
        return
    if operation["tags"] == ["Other services"] and path != "/v3/mail/send":
        assert {"default"} < set(operation["responses"]) <= {"default", "200", "204"}
        assert not any("content" in answer for answer in operation["responses"].values()), "its vendor describes them"
        return
    if operation["tags"] == ["Other services"]:
        taken = {x for x in operation["responses"] if x.startswith("2")}
        refused = set(operation["responses"]) - taken
        assert {"202"} <= taken
        assert refused == {"400", "401", "403", "413", "415", "429", "500", "503"}
        assert not any("content" in operation["responses"][x] for x in taken), "the service's own answers are empty"
        assert all(list(operation["responses"][x]["content"]) == ["application/json"] for x in refused)
        return
    scoped = {"403"} if {"key": []} in operation.get("security", DOCUMENT["security"]) else set()
    assert {"401", "429", "500", "503"} | scoped <= set(operation["responses"])
    assert ("404" in operation["responses"]) or "{id}" not in path
    if "requestBody" in operation:
        refused = {"400", "413", "415"} if not scoped else {"400", "413", "415", "422"}
        assert refused <= set(operation["responses"])
    for status, answer in operation["responses"].items():
        if status == "304":
            continue
        kind = "application/json" if status.startswith("2") else "application/problem+json"
        assert list(answer["content"]) == [kind]


def test_every_code_is_in_the_document() -> None:
    everything = FILE.read_text(encoding="utf-8")
    of_router = {"account_moved", "account_moving", "cell_unavailable", "cell_answer_lost"}
    of_no_operation = {"method_not_allowed", *of_router}
    assert {code for code in CODES if f"`{code}`" not in everything} == of_no_operation


def test_nothing_of_what_is_stored_is_in_the_document() -> None:
    everything = FILE.read_text(encoding="utf-8")
    for word in ("open_pk", "mine_pk", "fingerprint", "base_url", "former_until", "secretsmanager"):
        assert word not in everything


def test_every_code_of_a_422_names_a_field() -> None:
    assert set(FIELDS) == {code for code, (status, _) in CODES.items() if status == 422}


WITH_A_BODY = [
    (r.method, r.path)
    for r in ROUTES
    if r.method in {"POST", "PUT", "PATCH"} and getattr(r, "refusal", 0) == "" and getattr(r, "form", 0) is None
]
WITH_A_QUERY = [
    (r.method, r.path)
    for r in ROUTES
    if r.method == "GET" and getattr(r, "query", None) and "Bearer" in getattr(r, "schemes", ())
    if not getattr(r, "form", None)
]


@pytest.mark.parametrize(("method", "path"), WITH_A_BODY, ids=[f"{m} {p}" for m, p in WITH_A_BODY])
def test_a_field_that_is_not_there_is_named_in_errors(calm: Api, method: str, path: str) -> None:
    got = calm.call(method, path.replace("{address}", "ann@example.org"), {"nonsense": 1})
    assert (got.status, got.code) == (422, "validation_failed")
    assert "nonsense" in got.fields


@pytest.mark.parametrize(("method", "path"), WITH_A_QUERY, ids=[f"{m} {p}" for m, p in WITH_A_QUERY])
def test_a_parameter_that_is_not_there_is_named_in_errors(calm: Api, method: str, path: str) -> None:
    got = calm.call(method, path.replace("{address}", "ann@example.org"), query={"nonsense": "1"})
    assert (got.status, got.code) == (422, "validation_failed")
    assert "nonsense" in got.fields
