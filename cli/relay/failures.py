"""Mails that the API refused after the relay had taken them: kept in a folder for the relay's operator."""

import json
from collections.abc import Mapping
from pathlib import Path
from threading import Lock
from typing import Any

from cli.relay.disk import Disk, faults
from cli.relay.mail import blocks
from shared.domain.mails.queue import ReadMail


class FailedMails:
    """A folder with two files for each mail: `NAME.eml`, as it came, and `NAME.json`, its envelope and the reason.

    Threads may share it.

    Args:
        folder: made with the first mail.
    """

    def __init__(self, folder: Path, disk: Disk | None = None) -> None:
        self.folder = folder
        self._disk = disk or Disk()
        self._making = Lock()

    def keep(self, name: str, mail: ReadMail, facts: Mapping[str, Any]) -> Path:
        """Store a mail, durably; a repeat stores it anew.

        Args:
            facts: JSON for people and programs.

        Returns:
            Where its content is.

        Raises:
            Retriable: the disk is full, or fails.
        """
        content = self.folder / f"{name}.eml"
        with faults():
            with self._making:
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
                for block in blocks(data.content):
                    self._disk.write(opened, block)
            self._disk.sync(opened)
        self._disk.rename(draft, file)
