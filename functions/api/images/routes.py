"""Pictures that messages show, at public addresses."""

import base64
import binascii
from typing import TYPE_CHECKING, Annotated, Any, Final

from pydantic import ConfigDict, Field

from functions.api.call import Call
from functions.api.campaigns.views import Deleted
from shared.domain.accounts import Scope
from shared.domain.pictures.parts import NoPicture
from shared.domain.pictures.picture import MAX_ALT, MAX_BYTES, Picture
from shared.web.http import Answer
from shared.web.inputs import LINE, Input
from shared.web.problems import Problem, invalid, missing
from shared.web.routing import Nothing, Route, section
from shared.web.views import Stamp, View

if TYPE_CHECKING:
    from shared.engine.campaigns.pictures import PictureService

MAX_TEXT: Final = (MAX_BYTES + 2) // 3 * 4
"""Characters of the largest picture in base64."""


class NewImage(Input):
    """A picture."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"data": "R0lGODlhAQABAAAAACwAAAAAAQABAAACAkwBADs=", "alt": "Our shop"}]}
    )

    data: Annotated[str, Field(max_length=MAX_TEXT)] = Field(description="The file in base64.")
    alt: Annotated[str, Field(max_length=MAX_ALT, pattern=LINE)] | None = None


class ImageView(View):
    """A picture. `url` is public."""

    id: str
    url: str
    media_type: str
    width: int
    height: int
    size: int
    alt: str
    created_at: Stamp


class ImageList(View):
    """All pictures, newest first."""

    items: list[ImageView]
    next_cursor: None = None


def create(call: Call[Nothing, NewImage]) -> Answer:
    """Add a picture; the same one is there once."""
    pictures = _open(call)
    try:
        data = base64.b64decode(call.body.data, validate=True)
    except (binascii.Error, ValueError):
        raise invalid("data", "Send the file in base64 (RFC 4648, section 4).") from None
    try:
        added = pictures.add(call.key.namespace, data, call.body.alt or "", by=call.key.id)
    except NoPicture as reason:
        raise invalid("data", str(reason)) from None
    if added is None:
        raise Problem("images_full")
    return _view(pictures, added).answer(201)


def pages(call: Call[Nothing, Nothing]) -> Answer:
    """Return all pictures, newest first."""
    pictures = _open(call)
    found = pictures.pictures.all(call.key.namespace)
    return ImageList(items=[_view(pictures, x) for x in found], next_cursor=None).answer()


def delete(call: Call[Nothing, Nothing]) -> Answer:
    """Delete a picture; messages that show it show it no more."""
    name = call.path["id"]
    if not _open(call).delete(call.key.namespace, name, by=call.key.id):
        raise missing("image", name)
    return Deleted(deleted=True).answer()


def _open(call: Call[Any, Any]) -> "PictureService":
    pictures = call.services.pictures()
    if pictures.most is None:
        raise Problem("images_off")
    return pictures


def _view(pictures: "PictureService", x: Picture) -> ImageView:
    return ImageView(
        id=x.id,
        url=pictures.url(x),
        media_type=x.kind.media_type,
        width=x.width,
        height=x.height,
        size=x.size,
        alt=x.alt,
        created_at=x.created_at,
    )


ROUTES: Final = section(
    "Templates",
    Route(
        method="POST",
        path="/images",
        name="createImage",
        summary="Add a picture, once for each content",
        description="PNG, JPEG, GIF or WebP, up to 1 MB.",
        scope=Scope.ADMIN,
        handler=create,
        answers={201: ImageView},
        problems=("images_off", "images_full"),
    ),
    Route(
        method="GET",
        path="/images",
        name="listImages",
        summary="All pictures, newest first",
        scope=Scope.READ,
        handler=pages,
        answers={200: ImageList},
        problems=("images_off",),
    ),
    Route(
        method="DELETE",
        path="/images/{id}",
        name="deleteImage",
        summary="Delete a picture: messages show it no more",
        scope=Scope.ADMIN,
        handler=delete,
        answers={200: Deleted},
        problems=("not_found", "images_off"),
    ),
)
