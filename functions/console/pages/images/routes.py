"""Pictures of messages: a list with what to write into a message, another picture, and the end of one."""

import json
from typing import Final

from functions.console.call import ConsoleCall
from functions.console.pages.images.inserting import ShownPicture, shown_pictures
from functions.console.screen import Denial, PageRoute, absent, leave_for
from shared.domain.accounts import Scope
from shared.domain.pictures.parts import NoPicture
from shared.domain.pictures.picture import ID, MAX_ALT
from shared.engine.campaigns.pictures import PictureService
from shared.web.http import Answer
from shared.web.problems import CODES

JSON: Final = "application/json"
NO_FILE: Final = Denial(422, "No picture was chosen", "Choose a PNG, JPEG, GIF or WebP file, and send it again.")
FULL: Final = Denial(409, "There is no room", CODES["images_full"][1])


def pages(call: ConsoleCall) -> Answer:
    """Show the account's pictures, newest first."""
    context = {"most": _open(call).most, "pictures": shown_pictures(call)}
    return call.services.pages.page(call, "images/images.html", context)


def add(call: ConsoleCall) -> Answer:
    """Add a picture; a script gets what to write into a message, a browser the list."""
    if not call.file:
        raise NO_FILE
    pictures = _open(call)
    alt = " ".join(call.form.get("alt", "").split())[:MAX_ALT]
    try:
        added = pictures.add(call.account, call.file, alt, by=call.actor)
    except NoPicture as reason:
        raise Denial(422, "This picture cannot be shown in a message", str(reason)) from None
    if added is None:
        raise FULL
    if JSON not in call.request.headers.get("accept", ""):
        return leave_for(call, "images")
    shown = ShownPicture(added, pictures.url(added))
    said = {"html": shown.html, "markdown": shown.markdown, "path": added.path, "alt": added.alt, "says": shown.says}
    return Answer(200, json.dumps(said), content_type=JSON)


def ask(call: ConsoleCall) -> Answer:
    """Ask whether a picture is to be deleted."""
    name = call.path["image"]
    found = _open(call).pictures.get(call.account, name) if ID.fullmatch(name) else None
    if found is None:
        raise absent("picture")
    return call.services.pages.page(call, "images/delete.html", {"picture": found})


def delete(call: ConsoleCall) -> Answer:
    """Delete a picture."""
    if not _open(call).delete(call.account, call.path["image"], by=call.actor):
        raise absent("picture")
    return leave_for(call, "images")


def _open(call: ConsoleCall) -> PictureService:
    pictures = call.services.pictures()
    if pictures.most is None:
        raise absent("page")
    return pictures


_PATH: Final = "/console/{account}/images"
_ONE: Final = f"{_PATH}/{{image}}/delete"
ROUTES: Final = (
    PageRoute("GET", _PATH, "images", pages),
    PageRoute("POST", _PATH, "add an image", add, Scope.SEND, file=True),
    PageRoute("GET", _ONE, "ask to delete an image", ask, Scope.ADMIN),
    PageRoute("POST", _ONE, "delete an image", delete, Scope.ADMIN, ends=True),
)
