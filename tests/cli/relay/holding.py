"""A relay's queue before an API that answers as a test says."""

import errno
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

from cli.relay.api import MailAnswer, PostFate
from cli.relay.delivering import HeldMail
from cli.relay.disk import Disk
from cli.relay.failures import FailedMails
from cli.relay.mail import RelayMail
from cli.relay.spool import FileQueue
from cli.relay.taking import MailIntake
from tests.fakes.clock import FakeClock


def letter(text: str) -> bytes:
    return f"From: a@b.example\r\n\r\n{text}\r\n".encode()


ONE, TWO, THREE, BAD, GOOD = map(letter, ("1", "2", "3", "bad", "good"))
TAKEN = MailAnswer(PostFate.TAKEN, "m1")
UNREADY = MailAnswer(PostFate.UNREADY, "cannot reach the API")
LATER = MailAnswer(PostFate.LATER, "HTTP 500")
REFUSED = MailAnswer(PostFate.REFUSED, "The sender ü is not allowed.", "from_not_allowed")
TOO_LARGE = MailAnswer(PostFate.TOO_LARGE, "The mail is too large.", "too_large")


class ScriptedApi:
    """Answers each post by the content's answer, else by `answer`.

    `posts`: key and content of each. `during`: takes the content in the middle of each post.
    """

    def __init__(self) -> None:
        self.answer = TAKEN
        self.answers: dict[bytes, MailAnswer] = {}
        self.posts: list[tuple[str, bytes]] = []
        self.during: Callable[[bytes], object] = lambda _: None

    def post(self, mail: RelayMail) -> MailAnswer:
        mail.content.seek(0)
        content = mail.content.read()
        assert len(content) == mail.size
        self.posts.append((mail.key, content))
        self.during(content)
        return self.answers.get(content, self.answer)

    @property
    def contents(self) -> list[bytes]:
        return [content for _, content in self.posts]


class FailingDisk(Disk):
    """A disk that is full while `full`."""

    full = False

    def create(self, file: Path) -> Any:
        if self.full:
            raise OSError(errno.ENOSPC, "No space left on device")
        return super().create(file)


class Held:
    """A relay with a queue, and an API that answers as it is told."""

    def __init__(self, folder: Path, at_once: int = 1) -> None:
        self.api, self.clock, self.disk = ScriptedApi(), FakeClock(), FailingDisk()
        self.told: list[str] = []
        self.lines: list[str] = []
        self.folder = folder
        self.queue = FileQueue(folder, self.disk)
        failed = FailedMails(folder / "failed", self.disk)
        client: Any = self.api
        self.mail = HeldMail(self.queue, failed, client, self.clock, self.told.append, at_once)
        self.intake = MailIntake(client, self.mail, clock=self.clock, tell=self.lines.append)
        self.direct = MailIntake(client, None, clock=self.clock, tell=self.lines.append)

    def take(self, content: bytes = ONE, *, sender: str = "a@b.example") -> str:
        return self.intake.take(sender, ["c@d.example", "e@d.example"], BytesIO(content))

    def hold(self, *contents: bytes) -> None:
        """Take mails while the API is out of reach, one a second."""
        before, self.api.answer = self.api.answer, UNREADY
        for content in contents:
            assert self.take(content).startswith("250 ")
            self.clock.advance(1)
        self.api.answer = before
        self.api.posts.clear()

    @property
    def waiting(self) -> int:
        return len(list(self.queue.list_queue()))

    @property
    def is_empty(self) -> bool:
        return not any(list((self.folder / x).iterdir()) for x in ("data", "queue", "inflight", "cleanup"))
