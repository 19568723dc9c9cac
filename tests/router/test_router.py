"""The router before two cells: who goes where, and what it does when a cell does not answer or an account has moved."""

import base64
import logging
from urllib.parse import urlencode

import pytest

from functions.router.caller import KEY_HEADERS, caller_of
from functions.router.directory import ASKS_AT_ONCE, KEPT, REFUSED
from shared.domain.access.proofs import token_text
from shared.domain.accounts import id_of_key, key_digest, new_key_text
from shared.domain.namespaces import KeyKind
from shared.domain.notices.notifier import new_password, password_digest
from shared.ports import AnswerLost, NotSent
from shared.providers.doors import doors
from shared.web import http
from tests.api.conftest import event
from tests.router.conftest import A, B, Routed, asked_of, said

MOVED = said(421, {"code": "account_moved"}, x_posthaste_account="moved")


def basic(user: str, secret: str) -> dict[str, str]:
    return {"Authorization": f"Basic {base64.b64encode(f'{user}:{secret}'.encode()).decode()}"}


def route_of(method: str, path: str, headers: dict[str, str], body: str = "") -> str | None:
    found = caller_of(http.read(event(method, path, body=body, headers=headers), "r"))
    return found.route if found else None


def test_a_request_goes_to_the_cell_of_its_key_once_and_as_it_is(routed: Routed, key: str) -> None:
    got = routed.post(key, Idempotency_Key="order-7", Connection="X-Hop", X_Hop="1", X_Forwarded_For="10.0.0.1")
    assert (got["status"], got["body"]) == (202, {"job_id": "j"})
    assert got["headers"]["x-request-id"] == "of-the-cell"
    assert routed.passed(A) == []
    [sent] = routed.passed(B)
    assert (sent.method, sent.path, sent.body) == ("POST", "/batches", b'{"to": "ann@example.org"}')
    assert sent.headers["authorization"] == f"Bearer {key}"
    assert sent.headers["idempotency-key"] == "order-7"
    assert not {"connection", "x-hop", "x-forwarded-for", "host"} & set(sent.headers)


def test_paths_and_queries_arrive_as_the_client_wrote_them(routed: Routed, key: str) -> None:
    raw = event("GET", "/suppressions/a%2Bb c@example.com", headers={"Authorization": f"Bearer {key}"})
    routed.send({**raw, "rawPath": "/suppressions/ä b+c@example.com", "rawQueryString": "limit=2&cursor=a%2Fb"})
    [sent] = routed.passed(B)
    assert sent.path == "/suppressions/%C3%A4%20b+c@example.com?limit=2&cursor=a%2Fb"


def test_a_key_is_asked_for_once_and_then_known_to_each_process(routed: Routed, key: str) -> None:
    routed.post(key)
    assert routed.asked() == 2
    routed.post(key)
    assert routed.routes.reads == 1
    routed.again()
    routed.clock.advance(KEPT)
    assert routed.post(key)["status"] == 202
    assert (routed.asked(), routed.routes.reads) == (2, 2)
    assert routed.routes.notes == {f"K#{id_of_key(key_digest(key))}": "b"}


def test_no_cell_sees_the_text_of_a_key_that_is_not_its_own(routed: Routed, key: str) -> None:
    routed.post(key)
    for address, sent in routed.http.sent:
        assert address == B or key not in repr(sent)


def test_a_question_names_a_hash_and_nothing_else(routed: Routed, key: str) -> None:
    routed.post(key)
    questions = [sent for _, sent in routed.http.sent if sent.path.startswith("/cells")]
    assert [(x.method, x.path, dict(x.headers), x.body) for x in questions] == [("GET", asked_of(key), {}, b"")] * 2


def test_an_unknown_key_is_refused_and_asked_for_once_in_a_while(routed: Routed) -> None:
    stranger = new_key_text(KeyKind.LIVE)
    for _ in range(10):
        got = routed.post(stranger)
        assert (got["status"], got["code"]) == (401, "unauthorized")
    assert (routed.asked(), routed.routes.reads) == (2, 1)
    assert "invalid_token" in got["headers"]["www-authenticate"]
    routed.clock.advance(REFUSED)
    routed.post(stranger)
    assert routed.asked() == 4


def test_random_keys_ask_the_cells_seldom_and_keep_no_known_key_out(routed: Routed, key: str) -> None:
    routed.post(key)
    before = routed.asked()
    codes = [routed.post(new_key_text(KeyKind.LIVE))["code"] for _ in range(200)]
    assert routed.asked() - before == 2 * (ASKS_AT_ONCE - 1)
    assert codes.count("try_again") == 200 - (ASKS_AT_ONCE - 1)
    assert routed.post(key)["status"] == 202


def test_what_names_no_caller_costs_no_question(routed: Routed) -> None:
    for headers in ({}, {"Authorization": "Bearer nonsense"}, {"Authorization": "Digest x"}, basic("ann", "secret")):
        assert routed.send(event("POST", "/batches", body="{}", headers=headers))["code"] == "unauthorized"
    assert (routed.http.sent, routed.routes.reads) == ([], 0)
    assert routed.send(event("GET", "/health"))["status"] == 200


def test_every_way_to_name_a_key_leads_to_the_same_cell(key: str) -> None:
    digest = key_digest(key)
    named = f"K#{id_of_key(digest)}"
    signed = {
        "Signature-Input": f'sig=("@method");created=1790000000;keyid="{digest}"',
        "Signature": "sig=:AAAA:",
    }
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    posted = urlencode({"grant_type": "client_credentials", "client_id": id_of_key(digest), "client_secret": key})
    assert route_of("GET", "/jobs", {"authorization": f"bearer {key}"}) == named
    assert route_of("GET", "/jobs", {"Authorization": f"Bearer {token_text(id_of_key(digest), 'sealed')}"}) == named
    assert route_of("POST", "/email", {"X-Postmark-Server-Token": key}) == named
    assert route_of("POST", "/batches", signed) == named
    assert route_of("POST", "/oauth/token", basic(id_of_key(digest), key)) == named
    assert route_of("POST", "/oauth/token", form, posted) == named
    assert route_of("POST", "/batches", form, posted) is None


def test_a_door_with_a_header_of_its_own_is_known_to_the_router() -> None:
    assert set(KEY_HEADERS) == {door.key_header for door in doors() if door.key_header}


def test_a_notifier_goes_to_its_cell(routed: Routed) -> None:
    secret = new_password()
    routed.cells[A].callers.add(f"/cells/callers/{password_digest(secret)}?notifier=clinic")
    got = routed.send(event("POST", "/notices", body="[]", headers=basic("clinic", secret)))
    assert got["status"] == 202
    assert len(routed.passed(A)) == 1
    assert routed.routes.notes == {"N#clinic": "a"}


@pytest.mark.parametrize("method", ["POST", "GET"])
def test_a_cell_that_does_not_answer_gets_each_request_once(routed: Routed, key: str, method: str) -> None:
    routed.post(key)
    before = len(routed.http.sent)
    headers = {"Authorization": f"Bearer {key}", "Idempotency-Key": "k"}
    for fault, status, code in (
        (NotSent("refused"), 503, "cell_unavailable"),
        (AnswerLost("timeout"), 504, "cell_answer_lost"),
    ):
        routed.cells[B].down = fault
        got = routed.send(event(method, "/batches", body="{}", headers=headers))
        assert (got["status"], got["code"], got["headers"]["retry-after"]) == (status, code, "5")
    assert len(routed.http.sent) == before + 2


def test_an_unknown_key_is_not_refused_while_a_cell_is_silent(routed: Routed, key: str) -> None:
    routed.cells[B].down = NotSent("refused")
    got = routed.post(key)
    assert (got["status"], got["code"]) == (503, "cell_unavailable")
    routed.cells[B].down = None
    assert routed.post(key)["status"] == 202


def test_a_silent_cell_keeps_no_other_cells_accounts_out(routed: Routed, key: str) -> None:
    routed.post(key)
    routed.again()
    routed.cells[A].down = NotSent("refused")
    assert routed.post(key)["status"] == 202
    new = new_key_text(KeyKind.LIVE)
    routed.cells[B].callers.add(asked_of(new))
    assert routed.post(new)["status"] == 202


def test_an_account_that_moved_is_found_by_the_next_request(routed: Routed, key: str) -> None:
    routed.post(key)
    routed.cells[B].callers.clear()
    routed.cells[B].answer = lambda _: MOVED
    routed.cells[A].callers.add(asked_of(key))
    got = routed.post(key)
    assert got["status"] == 202
    assert (len(routed.passed(A)), len(routed.passed(B))) == (1, 2)
    routed.post(key)
    assert (len(routed.passed(A)), len(routed.passed(B))) == (2, 2)


def test_an_account_that_no_cell_has_yet_is_told_to_wait(routed: Routed, key: str) -> None:
    routed.post(key)
    routed.cells[B].callers.clear()
    routed.cells[B].answer = lambda _: MOVED
    got = routed.post(key)
    assert (got["status"], got["code"], got["headers"]["retry-after"]) == (503, "account_moving", "5")
    routed.cells[A].callers.add(asked_of(key))
    routed.cells[A].answer = lambda _: MOVED
    assert routed.post(key)["code"] == "account_moving"
    assert len(routed.passed(A)) == 1


def test_another_misdirection_is_the_answer(routed: Routed, key: str) -> None:
    routed.cells[B].answer = lambda _: said(421, ["no", "problem"])
    assert respond_status(routed, key) == 421
    assert len(routed.passed(B)) == 1


def respond_status(routed: Routed, key: str) -> int:
    from functions.router.handler import respond  # noqa: PLC0415 - its answer has no object as its body

    raw = event("GET", "/jobs", headers={"Authorization": f"Bearer {key}"})
    return int(respond(raw, "r", routed.services, routed.directory)["statusCode"])


def test_a_cell_that_left_the_settings_is_no_ones(routed: Routed, key: str) -> None:
    routed.routes.notes[f"K#{id_of_key(key_digest(key))}"] = "gone"
    assert routed.post(key)["status"] == 202
    assert routed.routes.notes == {f"K#{id_of_key(key_digest(key))}": "b"}


def test_lines_have_no_key_no_path_and_no_body(
    routed: Routed, key: str, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.INFO)
    routed.post(key)
    routed.cells[B].down = AnswerLost("timeout")
    routed.post(key)
    lines = [vars(record) for record in caplog.records if record.name == "router"]
    assert [(x["status"], x["cell"]) for x in lines] == [(202, "b"), (504, "b")]
    told = "\n".join([*capfd.readouterr(), caplog.text, *map(repr, lines)])
    assert not any(text in told for text in (key, key_digest(key), "ann@example.org", "/batches"))
