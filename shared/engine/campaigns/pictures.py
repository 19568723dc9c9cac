"""Adds pictures to accounts and takes them away, so that no file is left to be read that no account has.

A picture is noted before its file is put, and marked as gone before its file is removed. After a file is put, the note
is read again. So a crash leaves a note without a file, which the next try with the same picture completes.
"""

import hashlib
from collections.abc import Callable
from typing import Final

from shared.domain.audit import Act, Event, audited
from shared.domain.ids import new_id
from shared.domain.pictures.parts import CleanPicture
from shared.domain.pictures.picture import ID, Picture, PictureKind, Shelf
from shared.domain.pictures.reading import cleaned
from shared.frozen import dataclass
from shared.ports import Clock, Files, Pictures, Retriable

MEGABYTE: Final = 1_048_576
TRIES: Final = 5
"""Pictures that others add or delete meanwhile."""


def most_of(images: tuple[int, int]) -> Shelf | None:
    """Return the most of a namespace's pictures, as the settings have it; None: they have none."""
    count, megabytes = images
    return Shelf(count, megabytes * MEGABYTE) if count else None


@dataclass(frozen=True, slots=True)
class PictureService:
    """What owners do with pictures.

    Attributes:
        most: the most pictures, and bytes, of a namespace; None: the deployment has no pictures.
        address: of the API, without a slash at its end.
        name: makes the id that a file is named by, of Unix milliseconds.
    """

    pictures: Pictures
    files: Files
    clock: Clock
    most: Shelf | None
    address: str
    name: Callable[[int], str] = new_id

    def url(self, picture: Picture) -> str:
        """Return the address of a picture."""
        return f"{self.address}/{picture.path}"

    def add(self, namespace: str, data: bytes, alt: str = "", *, by: str) -> Picture | None:
        """Add a picture. The same one is there once, and keeps its address and its description. None: there is no room.

        Raises:
            NoPicture: it is none that can be shown.
        """
        kind, clean = cleaned(data)
        digest = hashlib.sha256(clean.data).hexdigest()[:32]
        for _ in range(TRIES):
            found = self._there(namespace, digest)
            if found is None:
                found = self._new(namespace, digest, kind, clean, alt)
                if not self.pictures.add(found, self._most, event=self._event(found, Act.IMAGE_ADDED, by)):
                    if self._full(found) and self.pictures.get(namespace, digest) is None:
                        return None
                    continue
            self.files.put(found.path, clean.data)
            after = self.pictures.get(namespace, digest)
            if after is not None and after.file == found.file and not after.gone:
                return after
            self.files.remove(found.path)  # it was deleted meanwhile
        raise Retriable("picture: busy")

    def _there(self, namespace: str, digest: str) -> Picture | None:
        """Return the picture of a content; one that is marked is removed first."""
        found = self.pictures.get(namespace, digest)
        if found is None or not found.gone:
            return found
        self._finish(found)
        return None

    def delete(self, namespace: str, picture: str, *, by: str) -> bool:
        """Delete the picture of an id, and its file. False: there is no such picture."""
        for _ in range(TRIES):
            found = self.pictures.get(namespace, picture) if ID.fullmatch(picture) else None
            if found is None:
                return False
            if found.gone or self.pictures.mark(found, event=self._event(found, Act.IMAGE_DELETED, by)):
                self._finish(found)
                return True
        raise Retriable("picture: busy")

    def _finish(self, picture: Picture) -> None:
        """Remove the file of a marked picture, then the picture."""
        self.files.remove(picture.path)
        self.pictures.remove(picture)

    @property
    def _most(self) -> Shelf:
        return self.most or Shelf()

    def _full(self, picture: Picture) -> bool:
        """Tell whether there is no room for a picture."""
        there = self.pictures.shelf(picture.namespace)
        return there.count >= self._most.count or there.size + picture.size > self._most.size

    def _new(self, namespace: str, digest: str, kind: PictureKind, clean: CleanPicture, alt: str) -> Picture:
        now = int(self.clock.now() * 1000)
        file = f"{self.name(now)}.{kind}"
        return Picture(namespace, digest, file, clean.width, clean.height, len(clean.data), now, alt)

    def _event(self, picture: Picture, act: Act, by: str) -> Event:
        data: dict[str, str | int] = {"file": picture.file, "size": picture.size}
        return audited(picture.namespace, int(self.clock.now() * 1000), picture.id, act, by, data)
