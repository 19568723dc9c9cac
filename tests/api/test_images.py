"""Pictures by the API: added once, listed, deleted, and never more than there is room for."""

import base64
from dataclasses import replace
from typing import Any

import pytest

from shared.domain.audit import Act, Log
from shared.domain.pictures.picture import MAX_BYTES
from tests.api.conftest import ADDRESS, Api
from tests.fakes.image_files import exif, gif, jpeg, png, webp


def body(data: bytes, **more: Any) -> dict[str, Any]:
    return {"data": base64.b64encode(data).decode(), **more}


def added(api: Api, data: bytes, **more: Any) -> dict[str, Any]:
    got = api.call("POST", "/images", body(data, **more))
    assert got.status == 201, got.text
    found: dict[str, Any] = got.json
    return found


@pytest.mark.parametrize(
    ("data", "media", "ending"),
    [
        (png(), "image/png", ".png"),
        (jpeg(), "image/jpeg", ".jpg"),
        (gif(), "image/gif", ".gif"),
        (webp(), "image/webp", ".webp"),
    ],
)
def test_a_picture_has_an_address_of_its_account_and_a_random_name(
    api: Api, data: bytes, media: str, ending: str
) -> None:
    found = added(api, data, alt="Our shop")
    assert {name: found[name] for name in ("media_type", "width", "height", "size", "alt")} == {
        "media_type": media,
        "width": 2,
        "height": 3,
        "size": len(data),
        "alt": "Our shop",
    }
    path = found["url"].removeprefix(f"{ADDRESS}/")
    assert path.startswith(f"images/{api.account}/")
    assert path.endswith(ending)
    assert found["id"] not in path
    assert api.lists.files.items[path] == data


def test_the_same_picture_is_there_once_and_keeps_its_address(api: Api) -> None:
    first = added(api, png(), alt="A shop")
    api.world.clock.advance(1)
    assert added(api, png(), alt="Another") == first
    assert added(api, jpeg()) == added(api, jpeg(2, 3, exif(1)))
    assert [x["id"] for x in api.call("GET", "/images").json["items"]][-1] == first["id"]
    kinds = [x.kind for x in api.services.journal.since(api.account, Log.AUDIT, 0)]
    assert kinds.count(Act.IMAGE_ADDED) == 2


def test_pictures_are_listed_newest_first(api: Api) -> None:
    names = []
    for height in (1, 2, 3):
        api.world.clock.advance(1)
        names.append(added(api, png(2, height))["id"])
    got = api.call("GET", "/images").json
    assert [x["id"] for x in got["items"]] == names[::-1]
    assert got["next_cursor"] is None


def test_a_deleted_picture_is_read_no_more_and_gets_another_address(api: Api) -> None:
    first = added(api, png())
    assert api.call("DELETE", f"/images/{first['id']}").json == {"deleted": True}
    assert not [x for x in api.lists.files.items if x.startswith("images/")]
    assert api.call("GET", "/images").json["items"] == []
    assert api.call("DELETE", f"/images/{first['id']}").code == "not_found"
    assert added(api, png())["url"] != first["url"]


def test_there_is_room_for_so_many_and_for_so_many_bytes(api: Api) -> None:
    names = [added(api, png(2, height))["id"] for height in (1, 2, 3)]
    stored = api.stored()
    assert api.call("POST", "/images", body(png(2, 4))).code == "images_full"
    assert api.stored() == stored
    assert len(api.lists.files.items) == 3
    assert added(api, png(2, 1))["id"] == names[0]
    api.call("DELETE", f"/images/{names[0]}")
    assert added(api, png(2, 4))


def test_the_bytes_of_all_are_counted(api: Api) -> None:
    noise = gif(2, 3, b"\x21\xf9" + b"\x04\x00\x00\x00\x00" * 1000 + b"\x00")
    assert 5_000 < len(noise) < 10_000
    added(api, noise)
    more = gif(3, 3, b"\x21\xf9" + b"\x04\x00\x00\x00\x00" * 1000 + b"\x00")
    assert api.call("POST", "/images", body(more)).code == "images_full"
    api.call("DELETE", f"/images/{added(api, noise)['id']}")
    assert added(api, more)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ("x", "base64"),
        ("é===", "base64"),
        (base64.b64encode(b"<svg onload=alert(1)>").decode(), "no PNG, JPEG, GIF or WebP"),
        (base64.b64encode(png(5000, 1)).decode(), "5,000 by 1 pixels"),
        ("A" * (MAX_BYTES * 2), "data"),
    ],
)
def test_what_is_no_picture_is_refused_and_stores_nothing(api: Api, data: str, says: str) -> None:
    before = api.stored()
    got = api.call("POST", "/images", {"data": data})
    assert (got.status, got.fields) == (422, ["data"])
    assert says in got.text
    assert api.stored() == before
    assert api.lists.files.items == {}


def test_a_description_is_one_short_line(api: Api) -> None:
    assert api.call("POST", "/images", body(png(), alt="two\nlines")).fields == ["alt"]
    assert api.call("POST", "/images", body(png(), alt="x" * 201)).fields == ["alt"]


def test_a_suspended_account_adds_nothing_and_deletes(api: Api) -> None:
    name = added(api, png())["id"]
    api.services.accounts.suspend(api.account, "phishing")
    assert api.call("POST", "/images", body(png(3, 3))).code == "account_suspended"
    assert len(api.call("GET", "/images").json["items"]) == 1
    assert api.call("DELETE", f"/images/{name}").status == 200


def test_a_deployment_without_pictures_says_so(api: Api) -> None:
    off = replace(api.services.pictures(), most=None)
    api.services = replace(api.services, pictures=lambda: off)
    for method, path in (("POST", "/images"), ("GET", "/images"), ("DELETE", f"/images/{'0' * 32}")):
        assert api.call(method, path, body(png()) if method == "POST" else None).code == "images_off"


@pytest.mark.parametrize("name", ["x", "0" * 31, "G" * 32, "%2e%2e", "0" * 33])
def test_a_name_that_is_none_is_not_found(api: Api, name: str) -> None:
    assert api.call("DELETE", f"/images/{name}").code == "not_found"
