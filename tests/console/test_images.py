"""Pictures in the console: added by a form with a file, offered in the forms of messages, deleted by admins."""

import html
import json
import re
from dataclasses import replace

import pytest

from functions.console.pages.images.inserting import WIDEST, ShownPicture
from shared.domain.audit import Act, Log
from shared.domain.people import Role
from shared.domain.pictures.picture import Picture
from tests.api.conftest import ADDRESS
from tests.console.console import Console
from tests.fakes.image_files import jpeg, png


def image(console: Console) -> Picture:
    (found,) = console.services.pictures().pictures.all(console.account)
    return found


def test_a_picture_is_added_and_shown_with_what_to_write_into_a_message(console: Console) -> None:
    console.member()
    assert "No picture yet" in console.shown("/images")
    assert "Pictures for messages" in console.shown("/templates")
    got = console.upload(png(), alt='  Ann\'s "shop" <3  ')
    assert (got.status, got.headers["location"]) == (303, f"../{console.account}/images")
    found = image(console)
    assert console.api.lists.files.items[found.path] == png()
    page = console.shown("/images")
    assert f'src="../../{found.path}"' in page
    url = f"{ADDRESS}/{found.path}"
    shown = html.unescape(page)
    assert (
        f'<img src="{url}" alt="Ann&#x27;s &quot;shop&quot; &lt;3" width="2" style="max-width:100%;height:auto">'
        in shown
    )
    assert f'![Ann\'s "shop" \\<3]({url})' in shown
    entries = console.services.use_cases.journal.since(console.account, Log.AUDIT, 0)
    assert [x.actor for x in entries if x.kind == Act.IMAGE_ADDED] == ["user:Ann"]


def test_a_script_gets_what_to_write_and_a_refusal_says_why(console: Console) -> None:
    console.member()
    asked = {"accept": "application/json"}
    got = console.upload(png(), headers=asked, alt="Shop")
    found = image(console)
    assert json.loads(got.text) == {
        "html": ShownPicture(found, f"{ADDRESS}/{found.path}").html,
        "markdown": f"![Shop]({ADDRESS}/{found.path})",
        "path": found.path,
        "alt": "Shop",
        "says": "Shop, 2 by 3 pixels, 0 KB",
    }
    refused = console.upload(b"<svg/>", headers=asked)
    assert refused.status == 422
    assert "It is no PNG, JPEG, GIF or WebP file." in refused.text
    assert console.upload(b"").status == 422
    for height in (4, 5):
        assert console.upload(png(2, height)).status == 303
    full = console.upload(png(2, 6))
    assert full.status == 409
    assert "Delete another one first" in full.text


def test_forms_of_mails_offer_pictures_and_those_of_texts_do_not(console: Console) -> None:
    console.member()
    console.upload(jpeg(900, 20), alt="Shop")
    found = image(console)
    for path in ("/campaigns/new", "/templates/new"):
        page = console.shown(path)
        assert "pictures.js" in page
        assert f'src="../../{console.account}/../../{found.path}"' in page
        assert f"width=&#34;{WIDEST}&#34;" in page
        assert "data-pictures" not in console.shown(f"{path}?channel=sms")


def test_a_deployment_without_pictures_shows_none(console: Console) -> None:
    off = replace(console.services.pictures(), most=None)
    settings = replace(console.services.settings, images=(0, 0))
    console.services = replace(console.services, pictures=lambda: off, settings=settings)
    console.member()
    assert console.get(f"/{console.account}/images").status == 404
    assert "/images" not in console.shown("/templates")
    assert "data-pictures" not in console.shown("/campaigns/new")
    assert console.upload(png()).status in (403, 404)


def test_a_sender_adds_pictures_and_only_an_admin_deletes_them(console: Console) -> None:
    console.member(role=Role.SENDER)
    assert console.upload(png()).status == 303
    name = image(console).id
    there = f"/{console.account}/images/{name}/delete"
    assert "Delete" not in console.shown("/images")
    assert console.get(there).status == 403
    assert console.post(there).status == 403
    console.member(role=Role.VIEWER)
    assert "Add a picture" not in console.shown("/images")
    assert console.upload(png(3, 3)).status == 403
    console.member()
    assert "Delete this picture?" in console.shown(f"/images/{name}/delete")
    assert console.post(there).status == 303
    assert console.api.lists.files.items == {}
    assert console.post(there).status == 404
    for other in ("x", "0" * 32):
        assert console.get(f"/{console.account}/images/{other}/delete").status == 404


def test_a_suspended_account_adds_none_and_deletes(console: Console) -> None:
    console.member()
    console.upload(png())
    console.services.accounts.suspend(console.account, "phishing")
    assert console.upload(png(3, 3)).status == 403
    assert console.post(f"/{console.account}/images/{image(console).id}/delete").status == 303


@pytest.mark.parametrize(
    ("kind", "body", "status"),
    [
        ("application/x-www-form-urlencoded", b"csrf=x", 403),
        ("application/json", b"{}", 415),
        ("multipart/form-data", b"", 400),
        ("multipart/form-data; boundary=edge", b"", 400),
        ("multipart/form-data; boundary=edge", b"--edge\r\n\r\nx\r\n--edge", 400),
        ("multipart/form-data; boundary=edge", b"--edge\r\n\r\nx\r\n--edge--", 400),
        ("multipart/form-data; boundary=edge", b'--edge\r\nContent-Disposition: form-data; name="a"\r\n--edge--', 400),
        (
            "multipart/form-data; boundary=edge",
            b'--edge\r\nContent-Disposition: form-data; name="a"\r\n\r\n\xff\r\n--edge--',
            400,
        ),
        (
            "multipart/form-data; boundary=edge",
            b'--edge\r\nContent-Disposition: form-data; name="a"\r\n\r\nx\r\n' * 200 + b"--edge--",
            400,
        ),
        ("multipart/form-data; boundary=edge", b"--edge--", 403),
    ],
)
def test_a_form_that_is_none_or_is_forged_is_refused(console: Console, kind: str, body: bytes, status: int) -> None:
    console.member()
    assert console.send(f"/{console.account}/images", body, kind).status == status
    assert console.services.pictures().pictures.all(console.account) == []


def test_a_file_with_ends_of_lines_and_edges_of_its_own_arrives_as_it_is(console: Console) -> None:
    console.member()
    odd = png(2, 3, b"\x00\x00\x00\x0agAMA\r\n--edg\r\n\r" + b"\x00" * 4)
    assert console.upload(odd).status == 422, "its checksum is wrong, so it was read to the end"
    assert console.upload(png(13, 10)).status == 303
    assert console.api.lists.files.items[image(console).path] == png(13, 10)


def test_a_page_of_pictures_takes_them_from_its_own_address_alone(console: Console) -> None:
    console.member()
    console.upload(png())
    got = console.get(f"/{console.account}/images")
    policy = got.headers["content-security-policy"]
    assert "img-src 'self';" in policy
    assert all(x.startswith("../../") for x in re.findall(r'<img src="([^"]+)" alt="[^"]+"', got.text))
