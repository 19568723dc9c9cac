"""The pictures of the console in the README: there, of one size, and small."""

import struct

import pytest

from infra.local.paths import ROOT
from tests.console.examples import pages
from tests.console.screenshots import IMAGES, LARGEST, README, README_SIZE, WAYS


@pytest.mark.parametrize("name", README.values())
def test_a_picture_of_the_readme_is_there_and_fits(name: str) -> None:
    data = (IMAGES / f"{name}.png").read_bytes()
    assert struct.unpack(">II", data[16:24]) == README_SIZE
    assert len(data) <= LARGEST
    assert f"(docs/images/{name}.png)" in (ROOT / "README.md").read_text("utf-8")


def test_the_readme_shows_pages_that_exist() -> None:
    assert {page for page, _ in README} <= set(pages())
    assert {way for _, way in README} <= {way for way, _, _ in WAYS}
    shown = {path.stem for path in IMAGES.glob("console-*.png")}
    assert shown == set(README.values()), "no picture is left over"
