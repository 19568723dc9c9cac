"""Disks that die: one kills its process at a step, the other is cut off from power and loses what is not durable."""

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Final

from cli.relay.disk import Disk

KILLED: Final = 73
"""Exit status of a process that died at its step."""


class TappedDisk(Disk):
    """Calls `point` before each step. The methods that change the disk are found, not listed."""

    def __init__(self, point: Callable[[str], None]) -> None:
        self._point = point

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        if name.startswith("_") or name == "names":
            return found

        def tapped(*args: Any) -> Any:
            self._point(name)
            return found(*args)

        return tapped


def dying(kill_at: int) -> Callable[[str], None]:
    """Return a `point` that ends the process at the `kill_at`-th call; the first is 1."""
    count = 0

    def point(_name: str) -> None:
        nonlocal count
        count += 1
        if count == kill_at:
            os._exit(KILLED)

    return point


@dataclass
class Node:
    """A folder with entries, a file with content, or a link with a target."""

    kind: str
    target: str = ""
    entries: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Change:
    """One step: entries that change together, a content that grew, or what became durable.

    Attributes:
        entries: (folder, name, node or None).
        content: a file and what it holds now.
        durable: a folder, or a file.
        event: what the queue's user was answered.
    """

    entries: tuple[tuple[int, str, int | None], ...] = ()
    content: tuple[int, bytes] | None = None
    durable: int | None = None
    event: tuple[str, Any] | None = None


class RecordingDisk(Disk):
    """Records each step, so that `image` can build what a power cut leaves."""

    def __init__(self, root: Path) -> None:
        self.changes: list[Change] = []
        self._root = root
        self._nodes = [Node("folder")]
        self._contents: dict[int, bytes] = {}
        self._open: dict[int, int] = {}

    def note(self, kind: str, about: Any) -> None:
        """Record what the queue's user was answered."""
        self.changes.append(Change(event=(kind, about)))

    def _find(self, path: Path) -> int:
        found = 0
        for part in path.relative_to(self._root).parts:
            found = self._nodes[found].entries[part]
        return found

    def _enter(self, *entries: tuple[Path, int | None]) -> None:
        """Record entries that change together: each path with its node, None if it goes."""
        found = tuple((self._find(path.parent), path.name, node) for path, node in entries)
        for folder, name, node in found:
            if node is None:
                self._nodes[folder].entries.pop(name, None)
            else:
                self._nodes[folder].entries[name] = node
        self.changes.append(Change(entries=found))

    def _add(self, node: Node) -> int:
        self._nodes.append(node)
        return len(self._nodes) - 1

    def make_folder(self, folder: Path) -> None:
        super().make_folder(folder)
        self._enter((folder, self._add(Node("folder"))))

    def create(self, file: Path) -> BinaryIO:
        opened = super().create(file)
        node = self._add(Node("file"))
        self._open[id(opened)] = node
        self._contents[node] = b""
        self._enter((file, node))
        return opened

    def write(self, file: BinaryIO, block: bytes) -> None:
        super().write(file, block)
        node = self._open[id(file)]
        self._contents[node] += block
        self.changes.append(Change(content=(node, self._contents[node])))

    def sync(self, file: BinaryIO) -> None:
        super().sync(file)
        self.changes.append(Change(durable=self._open[id(file)]))

    def sync_folder(self, folder: Path) -> None:
        super().sync_folder(folder)
        self.changes.append(Change(durable=self._find(folder)))

    def link(self, link: Path, target: str) -> None:
        super().link(link, target)
        self._enter((link, self._add(Node("link", target))))

    def rename(self, old: Path, new: Path) -> None:
        super().rename(old, new)
        self._enter((old, None), (new, self._find(old)))

    def remove(self, file: Path) -> None:
        super().remove(file)
        self._enter((file, None))

    def remove_folder(self, folder: Path) -> None:
        super().remove_folder(folder)
        self._enter((folder, None))

    def image(self, count: int, survives: Callable[[], bool], place: Path) -> None:
        """Build what is on the disk after a power cut.

        Args:
            count: steps that were made.
            survives: asked about each change that is not durable.
            place: a folder to make.
        """
        kept = [Node(x.kind, x.target) for x in self._nodes]
        contents: dict[int, bytes] = dict.fromkeys(self._contents, b"")
        for index, change in enumerate(self.changes[:count]):
            touched = {folder for folder, _, _ in change.entries} | ({change.content[0]} if change.content else set())
            later = {x.durable for x in self.changes[index:count]}
            if not (touched <= later or survives()):
                continue
            for folder, name, node in change.entries:
                if node is None:
                    kept[folder].entries.pop(name, None)
                else:
                    kept[folder].entries[name] = node
            if change.content:
                contents[change.content[0]] = change.content[1]
        self._build(kept, contents, 0, place)

    def _build(self, nodes: list[Node], contents: dict[int, bytes], at: int, place: Path) -> None:
        node = nodes[at]
        if node.kind == "folder":
            place.mkdir()
            for name, child in node.entries.items():
                self._build(nodes, contents, child, place / name)
        elif node.kind == "link":
            place.symlink_to(node.target)
        else:
            place.write_bytes(contents[at])
