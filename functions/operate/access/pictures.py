"""Pictures of accounts: operators look at those of an account, and take away the ones of a fraud."""

from typing import Annotated, Final

from pydantic import Field

from functions.operate.accounts import AccountBody, AccountQuery, owner_of, resolve
from functions.operate.call import Call, OperateView, route
from functions.operate.services import OperateServices
from shared.domain.namespaces import namespaces_of
from shared.domain.pictures.picture import FILE, Picture
from shared.web.http import Answer
from shared.web.routing import Nothing

MOST: Final = 100
"""Pictures that one request deletes."""


class Takedown(AccountBody):
    """Files of an account's pictures, as the last part of their addresses."""

    files: list[Annotated[str, Field(pattern=f"^{FILE.pattern}$")]] = Field(min_length=1, max_length=MOST)


class PictureRow(OperateView):
    """A picture. `file`: its name; `url`: its public address."""

    file: str
    url: str
    width: int
    height: int
    size: int
    alt: str
    created_at: int


class PictureRows(OperateView):
    """All pictures of an account, those of its test and team keys included."""

    items: list[PictureRow]


class TakenDown(OperateView):
    """Files that are read no more, and files that the account did not have."""

    account_id: str
    deleted: list[str]
    missing: list[str]


def list_pictures(call: Call[AccountQuery, Nothing]) -> Answer:
    """Return all pictures of an account."""
    services = call.services
    rows = [
        PictureRow(
            file=x.file,
            url=services.pictures.url(x),
            width=x.width,
            height=x.height,
            size=x.size,
            alt=x.alt,
            created_at=x.created_at,
        )
        for x in _all(services, resolve(services, call.query.account))
    ]
    return PictureRows(items=rows).answer()


def delete_pictures(call: Call[Nothing, Takedown]) -> Answer:
    """Delete pictures of an account; messages that were sent show them no more."""
    services, whose = call.services, owner_of(call)
    there = {x.file: x for x in _all(services, whose)}
    found = [there[name] for name in call.body.files if name in there]
    for picture in found:
        services.pictures.delete(picture.namespace, picture.id, by=call.key.id)
    missing = [name for name in call.body.files if name not in there]
    return TakenDown(account_id=whose, deleted=[x.file for x in found], missing=missing).answer()


def _all(services: OperateServices, account: str) -> list[Picture]:
    return [x for space in namespaces_of(account) for x in services.pictures.pictures.all(space)]


ROUTES: Final = (
    route("GET", "/accounts/images", "Its pictures", list_pictures, PictureRows, "not_found"),
    route("POST", "/accounts/images/delete", "Delete pictures of it", delete_pictures, TakenDown, "not_found"),
)
