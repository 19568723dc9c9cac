"""A request is rehearsed with `sandbox_mode`, by a live or a team key, and then sent with the same Idempotency-Key."""

from typing import Any

import pytest

from shared.domain.namespaces import team_space
from tests.api.conftest import Api, Reply
from tests.api.team import team_key
from tests.api.test_doors import mail, post

ANN, EVE = "ann@example.org", "eve@example.net"
SAME = {"Idempotency-Key": "order-4711"}
KINDS = ["live", "team"]


@pytest.fixture
def team(api: Api) -> str:
    return team_key(api, ANN)


def request(api: Api, key: str, *, rehearsed: bool, to: tuple[str, ...] = (ANN,)) -> Reply:
    boxes = [{"email": address} for address in to]
    settings: dict[str, Any] = {"mail_settings": {"sandbox_mode": {"enable": True}}} if rehearsed else {}
    return post(api, mail({"to": boxes}, **settings), key=key, headers=SAME)


def key_of(api: Api, team: str, kind: str) -> str:
    return team if kind == "team" else api.key


@pytest.mark.promise(13)
@pytest.mark.parametrize("kind", KINDS)
def test_a_rehearsal_does_not_block_the_real_request(api: Api, team: str, kind: str) -> None:
    key = key_of(api, team, kind)
    rehearsals = [request(api, key, rehearsed=True) for _ in range(2)]
    assert [x.status for x in rehearsals] == [200, 200]
    assert [x.headers.get("idempotency-replayed") for x in rehearsals] == [None, "true"]
    real = [request(api, key, rehearsed=False) for _ in range(2)]
    assert [x.status for x in real] == [202, 202]
    names = {x.headers["x-message-id"] for x in real}
    assert len(names) == 1
    assert rehearsals[0].headers["x-message-id"] == rehearsals[1].headers["x-message-id"] not in names
    while api.world.step():
        pass
    assert [t.address for t in api.world.oracle.taken] == [ANN]


@pytest.mark.promise(13)
@pytest.mark.parametrize("first", KINDS)
def test_a_rehearsal_of_one_kind_of_key_blocks_no_request_of_the_other(api: Api, team: str, first: str) -> None:
    assert request(api, key_of(api, team, first), rehearsed=True).status == 200
    for kind in KINDS:
        assert request(api, key_of(api, team, kind), rehearsed=False).status == 202


@pytest.mark.slow
@pytest.mark.promise(13)
def test_a_rehearsal_of_a_team_key_is_seen_by_team_keys_alone(api: Api, team: str) -> None:
    job = request(api, team, rehearsed=True).headers["x-message-id"]
    found = api.world.job(job)
    assert (found.account, found.test, found.route) == (team_space(api.account), True, ("test",))
    for key, seen in ((team, True), (api.key, False), (api.test_key(), False)):
        assert [x["batch_id"] for x in api.call("GET", "/batches", key=key).json["items"]] == ([job] if seen else [])
        for path in (f"/batches/{job}", f"/jobs/{job}", f"/batches/{job}/logs"):
            assert api.call("GET", path, key=key).status == (200 if seen else 404)


@pytest.mark.promise(13)
def test_a_team_key_lists_what_it_rehearsed_and_what_it_sent_once_each(api: Api, team: str) -> None:
    made = [request(api, team, rehearsed=x).headers["x-message-id"] for x in (True, False)]
    assert sorted(x["batch_id"] for x in api.call("GET", "/batches", key=team).json["items"]) == sorted(made)


@pytest.mark.promise(13)
def test_a_rehearsal_of_a_team_key_leaves_strangers_out_as_the_real_request_does(api: Api, team: str) -> None:
    said = []
    for rehearsed in (True, False):
        job = request(api, team, rehearsed=rehearsed, to=(ANN, EVE)).headers["x-message-id"]
        items = api.call("GET", f"/batches/{job}/logs", key=team).json["items"]
        said.append([(x["recipient"], x["error"]) for x in items])
    assert said[0] == said[1]
    assert (EVE, "not_a_guest") in said[0]


@pytest.mark.parametrize("rehearsed", [True, False])
def test_an_answer_is_repeated_when_the_request_is_no_longer_valid(api: Api, team: str, rehearsed: bool) -> None:  # noqa: FBT001
    first = request(api, team, rehearsed=rehearsed)
    assert api.call("DELETE", f"/guests/{ANN}").status == 200
    again = request(api, team, rehearsed=rehearsed)
    assert (again.status, again.headers["idempotency-replayed"]) == (first.status, "true")
    assert again.headers["x-message-id"] == first.headers["x-message-id"]
