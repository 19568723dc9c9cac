"""Finished messages on disk: read once, in blocks, and never more of them than was agreed."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from shared.adapters.s3.spooled import SpooledMessages
from shared.domain.content.content import Finished
from shared.ports import FileChanged, Retriable
from tests.fakes.faults import Tap
from tests.fakes.files import FakeFiles

DATA = bytes(range(256)) * 16_000
"""About four blocks of 1 MB."""


class CountingFiles(FakeFiles):
    """Files that count how often one is read from its start."""

    starts = 0

    def read(self, name: str, *, etag: str, start: int) -> Iterator[bytes]:
        self.starts += 1
        return super().read(name, etag=etag, start=start)


def stored(files: FakeFiles, name: str = "contents/m", data: bytes = DATA) -> Finished:
    files.put(name, data)
    facts = files.facts(name)
    assert facts is not None
    return Finished("a@b.example", name, facts.etag, facts.size)


def test_a_message_is_read_once_for_all_its_destinations() -> None:
    files = CountingFiles()
    finished = stored(files)
    messages = SpooledMessages(files)
    for _ in range(3):
        with messages.open(finished) as message:
            assert message.size == len(DATA)
            assert b"".join(message) == DATA
            assert b"".join(message) == DATA, "each walk gives the same"
            assert max(map(len, message)) <= 1 << 20
    assert files.starts == 1


def test_calls_at_once_share_one_reading() -> None:
    files = CountingFiles()
    finished = stored(files)
    messages = SpooledMessages(files)
    together = threading.Barrier(4, timeout=10)

    def call(_: int) -> bytes:
        with messages.open(finished) as message:
            together.wait()
            return b"".join(message)

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(call, range(4))) == {DATA}
    assert files.starts == 1


@pytest.mark.slow
def test_the_oldest_messages_make_room() -> None:
    files = CountingFiles()
    finished = [stored(files, f"contents/{n}") for n in range(3)]
    messages = SpooledMessages(files, kept=2 * len(DATA))
    for one in finished:
        with messages.open(one):
            pass
    for one in (*finished[1:], finished[0]):
        with messages.open(one) as message:
            assert b"".join(message) == DATA
    assert files.starts == 4, "only the first was read again"


def test_a_message_in_use_is_not_removed() -> None:
    files = CountingFiles()
    first, second = (stored(files, f"contents/{n}") for n in range(2))
    messages = SpooledMessages(files, kept=0)
    with messages.open(first) as message:
        with messages.open(second):
            pass
        assert b"".join(message) == DATA


@pytest.mark.parametrize("change", ["gone", "changed", "shorter"])
def test_another_file_is_not_taken_for_the_message(change: str) -> None:
    files = FakeFiles()
    finished = stored(files)
    if change == "gone":
        files.items.clear()
    elif change == "changed":
        files.put(finished.name, DATA[1:])
    else:
        finished = Finished("", finished.name, finished.etag, finished.size + 1)
    with pytest.raises(FileChanged), SpooledMessages(files).open(finished):
        pytest.fail("it is not the message")


def test_a_bucket_out_of_reach_is_tried_again_later() -> None:
    tap = Tap()
    files = FakeFiles(tap)
    finished = stored(files)
    tap.arm_at("files.read", error=lambda: Retriable("no bucket"))
    messages = SpooledMessages(files)
    with pytest.raises(Retriable), messages.open(finished):
        pytest.fail("it was not read")
    with messages.open(finished) as message:
        assert b"".join(message) == DATA
