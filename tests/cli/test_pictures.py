"""`posthaste image add | list | delete`, and `posthaste account images`, by which operators take pictures away."""

import base64
from collections.abc import Iterator
from pathlib import Path

import boto3
import pytest

from shared.adapters.dynamo.campaigns.pictures import DynamoPictures
from shared.adapters.dynamo.client import Dynamo
from shared.domain.audit import SYSTEM, Act, audited
from shared.domain.namespaces import namespace
from shared.domain.pictures.picture import Picture, Shelf
from tests.cli import honest
from tests.cli.conftest import TABLE
from tests.cli.fakes import Answer, FakeApi, Run
from tests.cli.operators import OperatorsFunction
from tests.cli.scripts import problem
from tests.fakes.image_files import png

BUCKET = "pictures-of-operators"
IMAGE = "3c6e0b8a9c15224a8228b9a98ca1531d"
URL = "https://mail.example.com/images/acc_000000000001/01m3250v00n197k5j0fjpyam13.png"
SHOWN = {
    "id": IMAGE,
    "url": URL,
    "media_type": "image/png",
    "width": 2,
    "height": 3,
    "size": 80,
    "alt": "Shop",
    "created_at": "2026-11-30T09:00:00.000Z",
}


@pytest.fixture
def logo(folder: Path) -> Path:
    (folder / "logo.png").write_bytes(png())
    return folder / "logo.png"


@pytest.fixture
def checked(api: FakeApi) -> Iterator[None]:
    """Afterwards the scripted API must have been one that there could be."""
    yield
    honest.check(api)


@pytest.mark.usefixtures("checked")
def test_pictures_are_added_and_their_addresses_printed(run: Run, api: FakeApi, logo: Path) -> None:
    api.answers(Answer(SHOWN, 201), Answer({**SHOWN, "alt": ""}, 201))
    done = run("image", "add", logo.name, logo.name, "--alt", "Shop")
    assert done.out == f"{URL}\n{URL}\n"
    sent = {"data": base64.b64encode(png()).decode(), "alt": "Shop"}
    assert [(x.method, x.path, x.json) for x in api.asked] == [("POST", "/images", sent)] * 2
    api.answers(Answer(SHOWN, 201))
    assert run("image", "add", logo.name, "--json").json == SHOWN


@pytest.mark.usefixtures("checked")
def test_a_file_that_is_missing_or_too_large_is_not_sent(run: Run, api: FakeApi, logo: Path) -> None:
    large = logo.with_name("large.png")
    large.write_bytes(bytes(1_048_577))
    assert run("image", "add", logo.name, "none.png").code == 2
    refused = run("image", "add", logo.name, large.name)
    assert (refused.code, "a picture has at most 1,048,576" in refused.err) == (2, True)
    assert api.asked == []


@pytest.mark.usefixtures("checked")
def test_a_picture_that_the_api_refuses_says_why(run: Run, api: FakeApi, logo: Path) -> None:
    api.answers(problem(409, "images_full", "The account has no room for the picture. Delete another one first."))
    refused = run("image", "add", logo.name)
    assert refused.code != 0
    assert "no room" in refused.err


@pytest.mark.usefixtures("checked")
def test_pictures_are_listed_and_deleted(run: Run, api: FakeApi) -> None:
    api.answers(Answer({"items": [SHOWN], "next_cursor": None}))
    lines = run("image", "list").out.splitlines()
    assert lines[1].split("  ")[0] == IMAGE
    assert "2 x 3" in lines[1]
    api.answers(Answer({"items": [], "next_cursor": None}))
    assert run("image", "list").err == "no pictures\n"
    api.answers(Answer({"deleted": True}))
    assert run("image", "delete", IMAGE).out == f"image {IMAGE} is deleted\n"


@pytest.fixture
def account(run: Run, aws: None, operators: OperatorsFunction) -> str:
    """An account with a picture of a live key and one of a test key."""
    boto3.client("s3", region_name="us-east-1").create_bucket(Bucket=BUCKET)
    operators.variables = {"POSTHASTE_BUCKET": BUCKET, "POSTHASTE_API_URL": "https://mail.example.com"}
    name = str(run("account", "create", "Ann & Co", "--json").json["account_id"])
    store = DynamoPictures(Dynamo(boto3.client("dynamodb", region_name="us-east-1")), records=TABLE)
    for letter, test in (("a", False), ("b", True)):
        picture = Picture(namespace(name, test=test), letter * 32, f"{letter * 26}.png", 2, 3, 80, 1_790_000_000_000)
        event = audited(picture.namespace, picture.created_at, picture.id, Act.IMAGE_ADDED, SYSTEM)
        assert store.add(picture, Shelf(9, 9999), event=event)
        boto3.client("s3", region_name="us-east-1").put_object(Bucket=BUCKET, Key=picture.path, Body=png())
    return name


def keys() -> list[str]:
    found = boto3.client("s3", region_name="us-east-1").list_objects_v2(Bucket=BUCKET)
    return [x["Key"] for x in found.get("Contents", ())]


def test_operators_see_and_delete_pictures_of_an_account(run: Run, account: str) -> None:
    listed = run("account", "images", account, "--json").lines
    assert [x["file"][0] for x in listed] == ["a", "b"]
    assert listed[0]["url"] == f"https://mail.example.com/images/{account}/{'a' * 26}.png"
    assert "a" * 26 in run("account", "images", account).out
    done = run("account", "images", account, "--delete", listed[0]["url"] + "?x=1", "--delete", f"{'z' * 26}.png")
    assert done.out == f"{'a' * 26}.png is deleted\n{'z' * 26}.png is no picture of {account}\n"
    assert keys() == [f"images/{account}/{'b' * 26}.png"]
    acts = run("audit", account, "--json").lines
    assert [x["subject"] for x in acts if x["action"] == Act.IMAGE_DELETED] == ["a" * 32]
    done = run("account", "images", account, "--delete", f"{'b' * 26}.png", "--json")
    assert done.json == {"account_id": account, "deleted": [f"{'b' * 26}.png"], "missing": []}
    assert keys() == []
    assert run("account", "images", account).err == "no pictures\n"


def test_a_name_that_is_no_picture_s_deletes_nothing(run: Run, account: str) -> None:
    assert run("account", "images", account, "--delete", "../uploads/x.csv").code == 2
    assert run("account", "images", "acc_000000000000", "--delete", f"{'b' * 26}.png").code == 3
    assert len(keys()) == 2
