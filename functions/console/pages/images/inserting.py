"""The text that shows a picture in a message."""

import re
from html import escape
from typing import Final

from functions.console.call import ConsoleCall
from shared.domain.pictures.picture import Picture
from shared.frozen import dataclass

WIDEST: Final = 600
"""Pixels: the width of most mails."""
_MARKS: Final = re.compile(r"([\\\[\]`*_<>])")


@dataclass(frozen=True, slots=True)
class ShownPicture:
    """A picture with its address."""

    picture: Picture
    url: str

    @property
    def html(self) -> str:
        """The picture in HTML: no wider than a mail, and on a phone no wider than its screen."""
        width = min(self.picture.width, WIDEST)
        alt = escape(self.picture.alt)
        return f'<img src="{self.url}" alt="{alt}" width="{width}" style="max-width:100%;height:auto">'

    @property
    def markdown(self) -> str:
        """The picture in Markdown."""
        alt = _MARKS.sub(r"\\\1", self.picture.alt)
        return f"![{alt}]({self.url})"

    @property
    def says(self) -> str:
        """The picture in words, for people."""
        size = f"{self.picture.width} by {self.picture.height} pixels, {self.picture.size / 1024:,.0f} KB"
        return f"{self.picture.alt}, {size}" if self.picture.alt else size


def shown_pictures(call: ConsoleCall) -> list[ShownPicture]:
    """Return the account's pictures, newest first; none where the deployment has none."""
    pictures = call.services.pictures()
    found = pictures.pictures.all(call.account) if pictures.most is not None else []
    return [ShownPicture(x, pictures.url(x)) for x in found]
