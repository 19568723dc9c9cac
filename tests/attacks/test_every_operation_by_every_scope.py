"""Every operation by a key with each scope alone: the table says which of them open it.

Then: a program that only read figures needed `read`, with which a thief reads all addresses. One that uploads lists
needed `send`, with which a thief sends. An operation that is not in the table fails until its scopes are decided.
"""

from collections.abc import Mapping
from typing import Final

import pytest

from functions.api.openapi import COMMON
from shared.domain.accounts import ALL_SCOPES, Scope
from tests.api.conftest import Api, build_api
from tests.api.test_apart import BODIES
from tests.attacks.test_every_operation_by_both_kinds_of_key import OPERATIONS, TABLE, Kind
from tests.fakes.clock import FakeClock

AREAS: Final[Mapping[str, str]] = {
    "getStats": "stats",
    "getCampaignStats": "stats approve",
    "getNotifierStats": "stats",
    "listCredentials": "stats",
    **dict.fromkeys(
        ("createUpload", "completeUpload", "getUpload", "deleteUpload", "putRecipients", "useList"), "recipients"
    ),
    **dict.fromkeys(("listGuests", "getGuest", "putGuest", "deleteGuest"), "recipients"),
    **dict.fromkeys(("listSuppressions", "getSuppression", "putSuppression", "deleteSuppression"), "suppressions"),
    **dict.fromkeys(("listBouncesAsSendGrid", "deleteBounceAsSendGrid"), "suppressions"),
    **dict.fromkeys(("listUnsubscribesAsSendGrid", "deleteUnsubscribeAsSendGrid"), "suppressions"),
    **dict.fromkeys(("createTemplate", "listTemplates", "getTemplate", "listTemplateVersions"), "templates"),
    **dict.fromkeys(("putTemplate", "deleteTemplate"), "templates"),
    **dict.fromkeys(("createImage", "listImages", "deleteImage"), "templates"),
    **dict.fromkeys(("createProgram", "listPrograms", "getProgram", "putProgram", "deleteProgram"), "templates"),
    **dict.fromkeys(("listCampaigns", "getCampaign", "previewCampaign"), "approve"),
    **dict.fromkeys(("sendCampaign", "stopCampaign", "overrideBounceGuard"), "approve"),
}
"""Operation → the narrow scopes that open it. None opens any other."""

KEYED: Final = [name for name, kind in TABLE.items() if kind not in (Kind.OPEN, Kind.NOTIFIER)]


def opens(name: str) -> frozenset[Scope]:
    """Return the scopes of which one opens an operation."""
    method, path, _ = OPERATIONS[name]
    if method == "GET":
        wide = Scope.ADMIN if path == "/audit" else Scope.READ
    else:
        wide = Scope(OPERATIONS[name][2]["x-scope"])
    return frozenset({wide, *map(Scope, AREAS.get(name, "").split())})


@pytest.fixture(scope="module")
def api(moto_dynamo: object) -> Api:
    return build_api(moto_dynamo, FakeClock())


@pytest.fixture(scope="module")
def keys(api: Api) -> Mapping[Scope, str]:
    """Return a key with each scope alone."""
    return {scope: api.scoped(scope) for scope in Scope}


def test_the_table_names_operations_that_there_are() -> None:
    assert set(AREAS) <= set(KEYED)
    assert {x for names in AREAS.values() for x in names.split()} == {
        x.value for x in set(Scope) - ALL_SCOPES - {Scope.URGENT}
    }, "urgent opens no operation by itself"
    assert "missing_scope" in COMMON


@pytest.mark.promise(9)
@pytest.mark.parametrize("name", KEYED)
def test_an_operation_opens_to_its_scopes_and_to_no_other(api: Api, keys: Mapping[Scope, str], name: str) -> None:
    method, path, operation = OPERATIONS[name]
    assert sorted(operation.get("x-areas", ())) == sorted(x.value for x in opens(name) - ALL_SCOPES)
    for scope, key in keys.items():
        api.world.clock.advance(1)
        url = path.replace("{address}", "ann@example.org").replace("{domain}", "example.com")
        got = api.call(method, url, BODIES.get((method, path)), key=key)
        refused = got.status == 403 and got.code == "missing_scope"
        assert refused is (scope not in opens(name)), scope


@pytest.mark.promise(9)
def test_a_key_of_no_area_is_wide_enough_to_read_addresses_but_read(api: Api, keys: Mapping[Scope, str]) -> None:
    for scope in (Scope.STATS, Scope.TEMPLATES, Scope.APPROVE):
        for path in ("/suppressions", "/jobs", "/guests", "/texts"):
            assert api.call("GET", path, key=keys[scope]).code == "missing_scope", (scope, path)
    for scope in set(Scope) - {Scope.SEND}:
        assert api.batch(key=keys[scope]).code == "missing_scope", scope
