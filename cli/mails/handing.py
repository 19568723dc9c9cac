"""Hand a finished message to the API: a small one in one call, a larger one by an upload and its commit."""

import json as codec
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO, Final
from urllib.parse import urlencode

from cli.client import ApiClient, path_of
from cli.errors import Failed, Misused
from cli.output import Surroundings
from cli.progress.meters import meter, size_of
from cli.progress.transfer import BLOCK, measured, upload
from shared.domain.mails.message import MAX_BYTES, normalised

MEDIA: Final = "message/rfc822"
AT_ONCE: Final = 4_000_000
"""Bytes of a message that is handed in with one call."""
QUERY: Final = 4_000
"""Bytes of its query: API Gateway takes about 10 KB of head."""
WHAT: Final = "mail"


@dataclass(frozen=True, slots=True)
class MailPlan:
    """A message and its envelope.

    Attributes:
        file: the message.
        sender: of the envelope.
        to: destinations.
        options: of each destination: `schedule_at`, `metadata`.
        expires_at: RFC 3339; empty: as late as it may.
        labels: its `reference` and `tags`.
    """

    file: Path
    sender: str
    to: tuple[str, ...]
    options: Mapping[str, Any]
    expires_at: str
    labels: Mapping[str, Any] = field(default_factory=dict)

    @property
    def query(self) -> str:
        """The envelope as a query; empty if a query cannot say it."""
        found = urlencode([("mail_from", self.sender), *(("rcpt_to", x) for x in self.to)])
        return "" if self.options or self.expires_at or self.labels or len(found) > QUERY else found

    @property
    def envelope(self) -> bytes:
        """The envelope as JSON."""
        destinations = [{"address": address, **self.options} for address in self.to]
        body: dict[str, Any] = {"mail_from": self.sender, "destinations": destinations, **self.labels}
        return codec.dumps(body | ({"expires_at": self.expires_at} if self.expires_at else {})).encode()


@contextmanager
def readable(file: Path, *, normalise: bool) -> Iterator[Path]:
    """Give a file that may be read more than once; it may be a copy, which is removed afterwards.

    Args:
        file: the message; `-` for stdin.
        normalise: make every line end CRLF.
    """
    piped = str(file) == "-"
    if not piped:
        measured(file, MAX_BYTES, WHAT)
    if not piped and not normalise:
        yield file
        return
    with TemporaryDirectory() as folder:
        copy = Path(folder) / ("stdin" if piped else file.name)
        try:
            with nullcontext(sys.stdin.buffer) if piped else file.open("rb") as source, copy.open("wb") as target:
                target.writelines(normalised(_blocks(source)) if normalise else _blocks(source))
        except OSError as error:
            raise Misused(f"cannot read {file}: {error.strerror}") from None
        measured(copy, MAX_BYTES, WHAT)
        yield copy


def _blocks(source: BinaryIO) -> Iterable[bytes]:
    """Walk a stream, a little beyond what a mail may have at the most."""
    left = MAX_BYTES + 1
    while left > 0 and (block := source.read(min(BLOCK, left))):
        left -= len(block)
        yield block


def handed(api: ApiClient, around: Surroundings, plan: MailPlan, *, key: str, json: bool) -> dict[str, Any]:
    """Hand in a mail; return the API's answer, `mail_id` and the number of `destinations`.

    Args:
        around: the time, and whether somebody looks at the progress.
        key: the Idempotency-Key: a repeat queues nothing more.
        json: show no progress.
    """
    if plan.query and measured(plan.file, MAX_BYTES, WHAT) <= AT_ONCE:
        return api.post(f"/mails?{plan.query}", plan.file.read_bytes(), key=key, media=MEDIA)
    place = api.post("/mails/uploads", plan.envelope, key=key)
    mail = place.get("mail_id")
    if not isinstance(mail, str):
        raise Failed("the answer does not describe a mail: does POSTHASTE_URL name a Posthaste API?")
    with meter(f"uploading {plan.file.name}", terminal=around.terminal and not json, quiet=json) as shown:
        etag = upload(
            plan.file, place, around.clock, lambda done, size: shown(done / size, f"of {size_of(size)}"), again=True
        )
    return api.post(path_of("mails", mail, "/commit"), {"etag": etag} if etag else {}, again=True)
