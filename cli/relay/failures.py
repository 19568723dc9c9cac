"""Mails that the API refused after the relay had taken them: kept in a folder for the relay's operator."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from cli.relay.disk import Disk, faults
from shared.domain.mails.queue import ReadMail

BLOCK: Final = 1 << 20


class FailedMails:
    """A folder with two files for each mail: `NAME.eml`, as it came, and `NAME.json`, its envelope and the reason.

    Args:
        folder: made with the first mail.
        disk: another one in tests.
    """

    def __init__(self, folder: Path, disk: Disk | None = None) -> None:
        self.folder = folder
        self._disk = disk or Disk()

    def keep(self, name: str, mail: ReadMail, facts: Mapping[str, Any]) -> Path:
        """Store a mail, durably; a repeat stores it anew.

        Args:
            name: of its files.
            mail: at the content's beginning.
            facts: JSON for people and programs.

        Returns:
            Where its content is.

        Raises:
            Retriable: the disk is full, or fails.
        """
        content = self.folder / f"{name}.eml"
        with faults():
            if not self.folder.is_dir():
                self._disk.make_folder(self.folder)
                self._disk.sync_folder(self.folder.parent)
            self._store(content, mail)
            self._store(self.folder / f"{name}.json", json.dumps(facts, indent=2).encode() + b"\n")
            self._disk.sync_folder(self.folder)
        return content

    def _store(self, file: Path, data: ReadMail | bytes) -> None:
        draft = file.with_name(file.name + ".new")
        self._disk.remove(draft)
        with self._disk.create(draft) as opened:
            if isinstance(data, bytes):
                self._disk.write(opened, data)
            else:
                while block := data.content.read(BLOCK):
                    self._disk.write(opened, block)
            self._disk.sync(opened)
        self._disk.rename(draft, file)
