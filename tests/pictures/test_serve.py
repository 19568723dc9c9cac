"""The function that serves pictures: what it answers, and what it never answers."""

import base64
from typing import Any

import pytest

from functions.pictures.serve import FOREVER, serve
from functions.pictures.services import KEPT_BYTES, KEPT_SECONDS, KeptPictures
from shared.ports import Retriable
from tests.fakes.files import FakeFiles
from tests.fakes.image_files import gif, jpeg, png, webp

ACCOUNT = "acc_000000000001"
NAME = "01m3250v00n197k5j0fjpyam13"
FILES = {"png": png(), "jpg": jpeg(), "gif": gif(), "webp": webp()}
MEDIA = {"png": "image/png", "jpg": "image/jpeg", "gif": "image/gif", "webp": "image/webp"}


class Seconds:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def files() -> FakeFiles:
    found = FakeFiles()
    found.items = {f"images/{ACCOUNT}/{NAME}.{kind}": data for kind, data in FILES.items()}
    return found


@pytest.fixture
def seconds() -> Seconds:
    return Seconds()


@pytest.fixture
def pictures(files: FakeFiles, seconds: Seconds) -> KeptPictures:
    return KeptPictures(files, seconds)


def asked(path: str, method: str = "GET", **headers: str) -> dict[str, Any]:
    return {"rawPath": path, "headers": headers, "requestContext": {"http": {"method": method}}}


@pytest.mark.parametrize("kind", FILES)
def test_a_picture_is_answered_with_its_type_and_kept_for_a_year(pictures: KeptPictures, kind: str) -> None:
    got = serve(asked(f"/images/{ACCOUNT}/{NAME}.{kind}"), pictures)
    assert got["statusCode"] == 200
    assert base64.b64decode(got["body"]) == FILES[kind]
    assert got["isBase64Encoded"]
    assert got["headers"] == {
        "Content-Type": MEDIA[kind],
        "Cache-Control": FOREVER,
        "ETag": f'"{NAME}.{kind}"',
        "X-Content-Type-Options": "nosniff",
        "Content-Security-Policy": "default-src 'none'; sandbox; frame-ancestors 'none'",
        "Content-Disposition": "inline",
        "Cross-Origin-Resource-Policy": "cross-origin",
        "Strict-Transport-Security": "max-age=31536000",
        "X-Robots-Tag": "noindex",
    }


def test_a_browser_that_has_it_gets_no_bytes_and_head_gets_none(pictures: KeptPictures) -> None:
    path = f"/images/{ACCOUNT}/{NAME}.png"
    tag = serve(asked(path), pictures)["headers"]["ETag"]
    had = serve(asked(path, **{"If-None-Match": f'"x", {tag}'}), pictures)
    assert (had["statusCode"], had["body"]) == (304, "")
    head = serve(asked(path, "HEAD"), pictures)
    assert (head["statusCode"], head["body"]) == (200, "")


@pytest.mark.parametrize(
    "path",
    [
        f"/images/{ACCOUNT}/{NAME}.svg",
        f"/images/{ACCOUNT}/{NAME}.png/",
        f"/images/{ACCOUNT}/../{ACCOUNT}/{NAME}.png",
        f"/images/../images/{ACCOUNT}/{NAME}.png",
        f"/images/{ACCOUNT}/{NAME.upper()}.png",
        f"/images/{ACCOUNT}/{NAME}.png\n",
        f"/images/acc_x/{NAME}.png",
        f"/images/{ACCOUNT}/0{NAME[1:]}x.png",
        "/images/uploads/secret.csv",
        f"//images/{ACCOUNT}/{NAME}.png",
        "/images//",
        "",
    ],
)
def test_another_name_than_a_picture_s_is_not_even_looked_up(
    pictures: KeptPictures, files: FakeFiles, path: str
) -> None:
    files.items |= {"uploads/secret.csv": png(), "images/uploads/secret.csv": png()}
    before = len(files._tap.calls)
    got = serve(asked(path), pictures)
    assert got["statusCode"] == 404
    assert got["headers"]["Cache-Control"] == "no-store"
    assert len(files._tap.calls) == before


def test_a_file_whose_bytes_are_of_another_kind_is_none(pictures: KeptPictures, files: FakeFiles) -> None:
    files.items[f"images/{ACCOUNT}/{NAME}.png"] = b"<script>alert(1)</script>"
    assert serve(asked(f"/images/{ACCOUNT}/{NAME}.png"), pictures)["statusCode"] == 404


def test_a_deleted_picture_is_gone_within_a_minute(pictures: KeptPictures, files: FakeFiles, seconds: Seconds) -> None:
    path = f"/images/{ACCOUNT}/{NAME}.png"
    assert serve(asked(path), pictures)["statusCode"] == 200
    files.items.clear()
    seconds.now = KEPT_SECONDS - 1
    assert serve(asked(path), pictures)["statusCode"] == 200
    seconds.now = KEPT_SECONDS
    assert serve(asked(path), pictures)["statusCode"] == 404


def test_a_picture_that_is_asked_for_often_is_read_once_a_minute(pictures: KeptPictures, files: FakeFiles) -> None:
    for _ in range(5):
        serve(asked(f"/images/{ACCOUNT}/{NAME}.png"), pictures)
        serve(asked(f"/images/{ACCOUNT}/{NAME}.bmp"), pictures)
    assert files._tap.calls == ["files.get"]


def test_a_process_keeps_no_more_than_its_room(files: FakeFiles, seconds: Seconds) -> None:
    large = bytes(KEPT_BYTES // 4)
    names = [f"images/{ACCOUNT}/{i}" for i in range(6)]
    files.items = dict.fromkeys(names, large)
    kept = KeptPictures(files, seconds)
    for name in (*names, *names[-3:]):
        assert kept.get(name) == large
    assert len(files._tap.calls) == len(names)
    assert kept._size <= KEPT_BYTES
    for i in range(KEPT_BYTES // 200 + 1000):
        kept.get(f"images/{ACCOUNT}/{i}-absent")
    assert kept._size <= KEPT_BYTES


def test_a_fault_of_the_store_is_asked_for_again_and_not_kept(pictures: KeptPictures, files: FakeFiles) -> None:
    files._tap.arm_at("files.get", error=lambda: Retriable("busy"))
    got = serve(asked(f"/images/{ACCOUNT}/{NAME}.png"), pictures)
    assert got["statusCode"] == 503
    assert got["headers"]["Retry-After"] == "5"
    assert got["headers"]["Cache-Control"] == "no-store"
    assert serve(asked(f"/images/{ACCOUNT}/{NAME}.png"), pictures)["statusCode"] == 200
