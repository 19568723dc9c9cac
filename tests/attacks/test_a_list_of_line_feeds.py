"""An account uploads five gigabytes of which one row is a recipient: line feeds, separators, junk, one row repeated.

Then: it was read to its end, by 15,000 seconds of a processor, and other lists waited behind it.
"""

import time
from typing import Final

import pytest

from shared.domain.campaigns.campaign import UploadState
from shared.engine.lists import ingest as module
from shared.engine.lists.ingest import Code
from shared.engine.work import WorkResult
from tests import budgets
from tests.fakes.intake import Intake

SIZE: Final = 5 * 1024**3
BLOCK: Final = 64 * 1024
HEAD: Final = b"recipient,name\nann@example.com,Ann\n"
SECONDS: Final = 60.0
"""Of a processor, that such a list may take."""
PART: Final = 100
"""The tests take this part of the bound, and of the seconds."""


class Junk(Intake):
    """An intake with a file of five gigabytes that is nowhere: a head, then one line again and again."""

    def __init__(self, line: bytes) -> None:
        super().__init__()
        self.read = 0
        self._line = line
        self.files._block = self._block  # type: ignore[method-assign]

    def _block(self, name: str, etag: str, at: int) -> bytes:
        self.read = max(self.read, at)
        if at == 0:
            return HEAD
        skip = (at - len(HEAD)) % len(self._line)
        return (self._line * (BLOCK // len(self._line) + 2))[skip : skip + BLOCK] if at < SIZE else b""


@pytest.mark.promise(9)
@pytest.mark.parametrize("line", [b"\n", b"\r\n", b" \n", b",\n", b'"",""\n', b"x,y\n", b"ann@example.com,Ann\n"])
def test_it_is_read_no_further_than_a_minute_of_a_processor(monkeypatch: pytest.MonkeyPatch, line: bytes) -> None:
    monkeypatch.setattr(module, "MOST_JUNK", module.MOST_JUNK // PART)
    intake = Junk(line)
    upload = intake.take(HEAD, drop_duplicates=True)
    began = time.process_time()
    assert intake.serve() == [WorkResult.FAILED]
    took = time.process_time() - began
    end = intake.now(upload)
    assert (end.state, end.code) == (UploadState.FAILED, Code.TOO_MUCH_JUNK)
    assert end.detail.startswith("Of its first ")
    assert intake.read <= (module.MOST_JUNK + 1) * len(line) + len(HEAD) + BLOCK
    assert budgets.kept(took, SECONDS / PART), took


@pytest.mark.parametrize(("recipients", "read"), [(1, 20), (10, 29)])
def test_a_list_may_have_as_many_junk_rows_as_recipients_and_a_sheet_full_more(
    monkeypatch: pytest.MonkeyPatch, recipients: int, read: int
) -> None:
    monkeypatch.setattr(module, "MOST_JUNK", 20)
    people = b"".join(b"p%d@example.com\n" % i for i in range(recipients))
    results = []
    for junk in (read, read + 1):
        intake = Intake()
        intake.files.block = len(b"recipient\n" + people) + 2 * junk
        intake.take(b"recipient\n" + people + b"x\n" * junk + b"y\n")
        results += intake.serve()
    assert results == [WorkResult.READY, WorkResult.FAILED]
