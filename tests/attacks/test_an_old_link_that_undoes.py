"""The holder of an old link undoes an opt-out that its owner made otherwise.

Then: `POST /unsubscribe/{token}/undo` took away any unsubscription of the address, at any time, and left no trace.
"""

import pytest

from shared.domain.audit import Act
from shared.domain.content.unsubscribe import Unsubscription
from shared.domain.recipients.suppressions import Reach, Suppression
from tests.api.conftest import Api, Reply
from tests.fakes.links import FakeLinks

ANN = "ann@example.org"
DAY = 24 * 3600
OLD, NEW = "01k9zq3v5n8e7r2t4y6w1x0abc", "01k9zq3v5n8e7r2t4y6w1x0abd"
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


def follow(api: Api, end: str = "", *, job: str = OLD) -> Reply:
    """Post to a link of Ann's, as anybody may who has the mail."""
    token = FakeLinks().sign(Unsubscription(api.account, ANN, job))
    body = "List-Unsubscribe=One-Click"
    return api.call("POST", f"/unsubscribe/{token}{end}", body, key="", headers=FORM, encoded=True)


def entry(api: Api) -> Suppression | None:
    return api.services.suppressions.get(api.account, ANN, reach=Reach.CAMPAIGNS)


def undone(api: Api) -> list[dict[str, object]]:
    """Return what the audit log says of undone unsubscriptions."""
    items: list[dict[str, object]] = api.call("GET", "/audit", query={"action": Act.UNDONE.value}).json["items"]
    return items


@pytest.mark.promise(11)
def test_a_link_does_not_undo_what_was_asked_by_telephone(api: Api) -> None:
    api.call("PUT", f"/suppressions/{ANN}", {"reason": "asked by phone"}, query={"scope": "campaigns"})
    before = entry(api)
    got = follow(api, "/undo")
    assert (got.status, "ask the sender" in got.text) == (409, True)
    assert entry(api) == before is not None
    assert undone(api) == []


@pytest.mark.promise(11)
def test_a_link_does_not_undo_what_was_asked_by_telephone_after_its_click(api: Api) -> None:
    follow(api)
    api.call("PUT", f"/suppressions/{ANN}", {"reason": "asked by phone"}, query={"scope": "campaigns"})
    assert follow(api, "/undo").status == 409
    assert entry(api) is not None


@pytest.mark.promise(11)
@pytest.mark.parametrize(("link", "later"), [(NEW, 0), (OLD, DAY + 1)], ids=["of another mail", "after a day"])
def test_a_link_undoes_only_its_own_click_of_the_last_day(api: Api, link: str, later: int) -> None:
    follow(api)
    api.world.clock.advance(later)
    assert follow(api, "/undo", job=link).status == 409
    assert entry(api) is not None
    token = FakeLinks().sign(Unsubscription(api.account, ANN, link))
    assert "Undo" not in api.call("GET", f"/unsubscribe/{token}", key="").text


def test_an_undo_within_a_day_works_and_is_in_the_audit_log(api: Api) -> None:
    follow(api)
    api.world.clock.advance(DAY - 1)
    assert follow(api, "/undo").status == 200
    assert entry(api) is None
    (said,) = undone(api)
    assert (said["actor"], said["data"]) == ("recipient", {"job": OLD})
    assert ANN not in str(said)
    assert follow(api, "/undo").status == 200, "repeating it changes nothing"
    assert len(undone(api)) == 1


def test_an_undo_never_takes_an_entry_that_was_changed_meanwhile(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    follow(api)
    store = api.services.suppressions
    check = store.undoable

    def then_telephoned(wanted: Unsubscription, found: Suppression) -> bool:
        allowed = check(wanted, found)
        if found.reason != "asked by phone":
            store.put(api.account, ANN, "asked by phone", reach=Reach.CAMPAIGNS)
        return allowed

    monkeypatch.setattr(store, "undoable", then_telephoned)
    assert follow(api, "/undo").status == 409
    left = entry(api)
    assert left is not None
    assert left.reason == "asked by phone"
