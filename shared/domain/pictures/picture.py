"""Pictures that accounts show in their messages, at public addresses."""

import re
from enum import StrEnum
from typing import Final

from shared.domain.namespaces import owner
from shared.domain.times import Millis
from shared.frozen import dataclass

MAX_BYTES: Final = 1_048_576
"""Of a picture: phones load it over a slow network, and some mail programs leave out a larger one."""
MAX_SIDE: Final = 4096
"""Pixels of a side. A recipient's program decodes four bytes for each pixel of a small file as well."""
MAX_ALT: Final = 200
"""Characters of a description."""
ID: Final = re.compile(r"[0-9a-f]{32}")
FILE: Final = re.compile(r"[0-9a-z]{26}\.(?:png|jpg|gif|webp)")
"""The name of a picture's file: 80 random bits behind the time, and its kind."""


class PictureKind(StrEnum):
    """Formats of pictures that all mail programs show, and that hold no script. The value ends the file's name."""

    PNG = "png"
    JPEG = "jpg"
    GIF = "gif"
    WEBP = "webp"

    @property
    def media_type(self) -> str:
        """The media type, as RFC 9110 has it."""
        return "image/jpeg" if self is PictureKind.JPEG else f"image/{self.value}"


BEGINNINGS: Final = {
    PictureKind.PNG: b"\x89PNG\r\n\x1a\n",
    PictureKind.JPEG: b"\xff\xd8\xff",
    PictureKind.GIF: b"GIF8",
    PictureKind.WEBP: b"RIFF",
}
"""The first bytes of each format."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture of an account.

    Attributes:
        namespace: whose keys see it.
        id: the beginning of the SHA-256 of its bytes, hex: the same picture is there once.
        file: the random name of its file, with its kind.
        width: in pixels, like `height`.
        size: in bytes.
        alt: the description for those who do not see it; empty: it has none.
        gone: it is being deleted, and its file may be there no more.
    """

    namespace: str
    id: str
    file: str
    width: int
    height: int
    size: int
    created_at: Millis
    alt: str = ""
    gone: bool = False

    @property
    def kind(self) -> PictureKind:
        """The format."""
        return kind_of(self.file)

    @property
    def path(self) -> str:
        """The path of its address, as in `images/ACCOUNT/FILE`; the bucket has the file under the same name."""
        return f"{folder(self.namespace)}{self.file}"


def folder(namespace: str) -> str:
    """Return the folder of an account's pictures, with a slash at its end."""
    return f"images/{owner(namespace)}/"


def kind_of(file: str) -> PictureKind:
    """Return the kind of a picture by the name of its file. Raises ValueError if it names none."""
    return PictureKind(file.rpartition(".")[2])


@dataclass(frozen=True, slots=True)
class Shelf:
    """How many pictures there are, and their bytes together."""

    count: int = 0
    size: int = 0
