"""The door for SendGrid's clients answers in SendGrid's form wherever its path is written another way."""

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
