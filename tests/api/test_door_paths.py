"""A door answers in its vendor's form wherever its path is written another way, and no other path does."""

import pytest

from tests.api.conftest import Api, event
from tests.api.test_doors import PATH, errors


@pytest.mark.parametrize("path", [f"/{PATH}", f"{PATH}/"])
def test_slashes_around_the_path_change_nothing(api: Api, path: str) -> None:
    assert errors(api.call("POST", path))


def test_below_a_stage_it_is_answered_alike(api: Api) -> None:
    made = event("POST", f"/prod{PATH}", body="{")
    made["requestContext"]["stage"] = "prod"
    assert errors(api.handle(made))


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        ("/email/batch/", {"ErrorCode", "Message"}),
        ("//emails", {"statusCode", "name", "message"}),
        ("/v3/suppression/bounces/ann@example.org", {"errors"}),
        ("/v3/asm/suppressions/global/ann/x@example.org", {"errors"}),
    ],
)
def test_each_door_has_its_own_form(api: Api, path: str, fields: set[str]) -> None:
    got = api.call("PATCH", path, {})
    assert (got.status, got.of_door, got.json.keys()) == (405, True, fields)


@pytest.mark.parametrize("path", ["/email/withTemplate", "/emails/x", "/v3/suppression", "/v3/suppression/blocks"])
def test_what_is_no_door_has_our_own_form(api: Api, path: str) -> None:
    assert api.call("POST", path, {}).headers["content-type"] == "application/problem+json"
