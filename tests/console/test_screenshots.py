"""The pictures of the console in the README: there, of one size, and small."""

import struct
import zlib

import pytest

from infra.local.paths import ROOT
from tests.console.examples import pages
from tests.console.screenshots import IMAGES, LARGEST, README, README_SIZE, WAYS
from tests.fakes.pictures import SIGNATURE, packed, size_of


@pytest.mark.parametrize("name", README.values())
def test_a_picture_of_the_readme_is_there_and_fits(name: str) -> None:
    data = (IMAGES / f"{name}.png").read_bytes()
    assert size_of(data) == README_SIZE
    assert len(data) <= LARGEST
    assert f"(docs/images/{name}.png)" in (ROOT / "README.md").read_text("utf-8")


def test_the_readme_shows_pages_that_exist() -> None:
    assert {page for page, _ in README} <= set(pages())
    assert {way for _, way in README} <= {way for way, _, _ in WAYS}
    shown = {path.stem for path in IMAGES.glob("console-*.png")}
    assert shown == set(README.values()), "no picture is left over"


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def test_a_picture_is_packed_without_a_loss() -> None:
    rows = (b"\0" + b"\x11\x22\x33" * 64) * 48
    drawn = zlib.compress(rows, 0)
    parts = (drawn[:1000], drawn[1000:])
    begun = SIGNATURE + chunk(b"IHDR", struct.pack(">IIBBBBB", 64, 48, 8, 2, 0, 0, 0))
    end = chunk(b"IEND", b"")
    small = packed(begun + b"".join(chunk(b"IDAT", part) for part in parts) + end)
    assert size_of(small) == (64, 48)
    assert small.startswith(begun)
    assert small.endswith(end)
    (length,) = struct.unpack(">I", small[len(begun) : len(begun) + 4])
    data = small[len(begun) + 8 : len(begun) + 8 + length]
    assert zlib.decompress(data) == rows
    assert small == begun + chunk(b"IDAT", data) + end
    assert length < len(drawn) // 10
    assert packed(small) == small
