"""Files that call themselves pictures: pages, scripts and archives in one, sizes that are lies, names that climb.

Then: there were no pictures. What is stored is public at the origin of the API and the console, so that a page among
them could act in the name of a visitor of the console.
"""

import base64
import struct
import time
import zipfile
import zlib
from io import BytesIO
from typing import Any

import pytest

from functions.pictures.serve import serve
from functions.pictures.services import KeptPictures
from tests import budgets
from tests.api.conftest import ADDRESS, Api
from tests.fakes import image_files as made

PAGE = b"<!doctype html><script>fetch('/console')</script>"
SVG = b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>"


def archive() -> bytes:
    """Return a zip file, which is read from its end."""
    data = BytesIO()
    with zipfile.ZipFile(data, "w") as packed:
        packed.writestr("index.html", PAGE)
    return data.getvalue()


POLYGLOTS = {
    "a page behind a PNG": made.png() + PAGE,
    "an archive behind a PNG": made.png() + archive(),
    "a page in a text of a PNG": made.png(2, 3, made.png_chunk(b"tEXt", b"Comment\x00" + PAGE)),
    "a page in an unknown part of a PNG": made.png(2, 3, made.png_chunk(b"evIl", PAGE)),
    "a page in a comment of a JPEG": made.jpeg(2, 3, made.segment(0xFE, PAGE)),
    "a page in EXIF of a JPEG": made.jpeg(2, 3, made.segment(0xE1, b"Exif\x00\x00" + PAGE)),
    "a page in an unknown segment of a JPEG": made.jpeg(2, 3, made.segment(0xE7, PAGE)),
    "a page in the place of a JPEG's profile": made.jpeg(2, 3, made.segment(0xE2, PAGE)),
    "an archive behind a JPEG": made.jpeg() + archive(),
    "a script that a GIF begins": made.gif(2, 3, made.gif_extension(0xFE, PAGE)) + b"*/=1;alert(1)",
    "a page in an application's part of a GIF": made.gif(2, 3, made.gif_extension(0xFF, b"XMP DataXMP", PAGE)),
    "a page in a WebP": made.webp(made.lossless(), made.webp_chunk(b"XMP ", PAGE)),
    "a page behind a WebP": made.webp() + PAGE,
}
LIES = {
    "HTML": PAGE,
    "SVG": SVG,
    "SVG behind a mark of order": b"\xef\xbb\xbf" + SVG,
    "an archive": archive(),
    "a page that begins as a GIF": b"GIF89a=1;" + PAGE,
    "a page that begins as a JPEG": b"\xff\xd8\xff" + PAGE,
    "a sound in RIFF": b"RIFF\x24\x00\x00\x00WAVEfmt " + bytes(28),
    "nothing": b"",
    "a bitmap": b"BM" + bytes(60),
    "a TIFF": b"II*\x00" + bytes(60),
}
HUGE = {
    "PNG of 900 million pixels": made.png_chunk(b"IHDR", struct.pack(">IIBBBBB", 30_000, 30_000, 8, 2, 0, 0, 0)),
    "PNG of more than there are numbers": made.png_chunk(b"IHDR", struct.pack(">IIBBBBB", 2**31, 1, 8, 2, 0, 0, 0)),
}


def sent(api: Api, data: bytes) -> Any:
    return api.call("POST", "/images", {"data": base64.b64encode(data).decode()})


def answered(api: Api, path: str) -> dict[str, Any]:
    event = {"rawPath": path, "headers": {}, "requestContext": {"http": {"method": "GET"}}}
    return serve(event, KeptPictures(api.lists.files))


@pytest.mark.parametrize("data", POLYGLOTS.values(), ids=POLYGLOTS)
def test_nothing_of_a_second_file_is_kept(api: Api, data: bytes) -> None:
    got = sent(api, data)
    assert got.status == 201, got.text
    (kept,) = api.lists.files.items.values()
    for part in (b"<script", b"<!doctype", b"PK\x03\x04", b"alert", b"evIl"):
        assert part not in kept
    shown = answered(api, got.json["url"].removeprefix(ADDRESS))
    assert base64.b64decode(shown["body"]) == kept
    assert shown["headers"]["Content-Type"].startswith("image/")
    assert shown["headers"]["X-Content-Type-Options"] == "nosniff"
    assert "sandbox" in shown["headers"]["Content-Security-Policy"]


@pytest.mark.parametrize("data", LIES.values(), ids=LIES)
def test_what_only_says_that_it_is_a_picture_is_refused(api: Api, data: bytes) -> None:
    assert (sent(api, data).status, api.lists.files.items) == (422, {})


@pytest.mark.parametrize("header", HUGE.values(), ids=HUGE)
def test_a_billion_pixels_in_a_few_bytes_are_refused_by_the_header(api: Api, header: bytes) -> None:
    pixels = made.png_chunk(b"IDAT", zlib.compress(bytes(10_000_000), 9))
    bomb = b"\x89PNG\r\n\x1a\n" + header + pixels + made.png_chunk(b"IEND", b"")
    assert len(bomb) < 20_000
    got = sent(api, bomb)
    assert got.fields == ["data"]
    assert "pixels" in got.text


@pytest.mark.parametrize(
    "data",
    [
        made.png(2, 3, made.png_chunk(b"IHDR", struct.pack(">IIBBBBB", 30_000, 30_000, 8, 2, 0, 0, 0))),
        made.jpeg(2, 3, made.segment(0xC2, struct.pack(">BHHBBBB", 8, 65_535, 65_535, 1, 1, 0x11, 0))),
        made.gif(2, 3, frame=(65_535, 65_535)),
        made.webp(made.extended(2, 3), made.lossless(16_384, 16_384)),
        made.webp(made.extended(2, 3), made.webp_chunk(b"ANMF", bytes(16) + made.lossless(16_384, 16_384))),
    ],
)
def test_a_second_header_that_is_larger_than_the_first_is_refused(api: Api, data: bytes) -> None:
    assert (sent(api, data).status, api.lists.files.items) == (422, {})


@pytest.mark.slow
@pytest.mark.parametrize(
    "part",
    [
        made.png(2, 3, *(made.png_chunk(b"tEXt", b"") for _ in range(80_000))),
        made.jpeg(2, 3, *(made.segment(0xFE, b"") for _ in range(200_000))),
        made.jpeg()[:-2] + b"\xff\x00" * 400_000 + b"\xff\xd9",
        made.gif(2, 3, *(made.gif_extension(0xFE) for _ in range(300_000))),
        made.webp(made.lossless(), *(made.webp_chunk(b"EXIF", b"") for _ in range(100_000))),
    ],
    ids=["png", "jpeg", "coded pixels", "gif", "webp"],
)
def test_a_file_of_nothing_but_tiny_parts_takes_no_time(api: Api, part: bytes) -> None:
    began = time.process_time()
    assert sent(api, part).status == 201
    assert budgets.kept(time.process_time() - began, 3)


@pytest.mark.parametrize(
    "path", ["/images/../uploads/x.csv", "/images/{}/../../uploads/x.png", "/images/{}/%2e%2e.png"]
)
def test_a_path_leads_to_no_other_file(api: Api, path: str) -> None:
    api.lists.files.items |= {"uploads/x.csv": made.png(), "uploads/x.png": made.png()}
    assert answered(api, path.format(api.account))["statusCode"] == 404
