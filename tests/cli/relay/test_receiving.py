"""The content of a mail on its way from the wire into a file."""

import asyncio
import smtplib
import socket
import threading
import tracemalloc
from pathlib import Path

import pytest

from cli.relay.receiving import BLOCK, IN_MEMORY, DataFault, received
from tests.cli.relay.serving import Serving

LINE = b"x" * 70 + b"\r\n"
LARGE = LINE * (IN_MEMORY // len(LINE) + BLOCK)
MANY = 10_000_000
"""Bytes; 1,000,000 of memory are a tenth of it."""


def read(blocks: list[bytes], times: int = 1, folder: Path | None = None, most: int = MANY * 2) -> bytes | DataFault:
    """Read a content that comes over a wire in blocks, these several times over; return its end, or the fault."""
    ours, theirs = socket.socketpair()

    def write() -> None:
        for _ in range(times):
            for block in blocks:
                theirs.sendall(block)
        theirs.sendall(b".\r\nNOOP\r\n")

    async def run() -> bytes | DataFault:
        reader, writer = await asyncio.open_connection(sock=ours, limit=1001)
        found = await received(reader, most, folder)
        assert await reader.readline() == b"NOOP\r\n"
        writer.close()
        if isinstance(found, DataFault):
            return found
        with found:
            found.seek(-min(found.tell(), 4000), 2)
            return found.read()

    sending = threading.Thread(target=write)
    sending.start()
    with theirs:
        found = asyncio.run(run())
        sending.join(30)
    return found


@pytest.mark.parametrize(
    ("content", "arrives"),
    [
        (b"", b""),
        (b"..\r\n", b".\r\n"),
        (b"..\r\n...\r\n. \r\nx.\r\n", b".\r\n..\r\n \r\nx.\r\n"),
        (b"a\n.\n\r\n", b"a\n.\n\r\n"),
        (b"x" * 998 + b"\r\n" + b"." * 999 + b"\r\n", b"x" * 998 + b"\r\n" + b"." * 998 + b"\r\n"),
    ],
)
@pytest.mark.parametrize("step", [1, 3, 10_000])
def test_a_content_is_read_up_to_its_dot(content: bytes, arrives: bytes, step: int) -> None:
    assert read([content[n : n + step] for n in range(0, len(content), step)]) == arrives


@pytest.mark.parametrize("line", [b"x" * 1000 + b"\r\n", b"x" * 5000 + b"\r\n", b"x" * 1001 + b".\r\n", b"y" * 4000])
def test_a_line_that_is_too_long_is_read_and_not_kept(line: bytes) -> None:
    assert read([b"a\r\n", line, b"\r\nb\r\n"]) is DataFault.LINE_TOO_LONG


def test_a_content_that_is_too_large_is_read_and_not_kept() -> None:
    assert read([LINE], 14, most=len(LINE) * 14) == LINE * 14
    assert read([LINE], 15, most=len(LINE) * 14) is DataFault.TOO_LARGE


@pytest.mark.slow
def test_a_large_content_takes_little_memory() -> None:
    block = LINE * 100
    read([block])
    tracemalloc.start()
    try:
        assert read([block], MANY // len(block)) == (block * 2)[-4000:]
        assert tracemalloc.get_traced_memory()[1] < MANY // 10
    finally:
        tracemalloc.stop()


@pytest.mark.slow
def test_a_disk_that_fails_is_a_refusal_for_now(tmp_path: Path) -> None:
    with Serving(folder=tmp_path / "missing") as relay, smtplib.SMTP("127.0.0.1", relay.port, timeout=30) as smtp:
        with pytest.raises(smtplib.SMTPDataError) as caught:
            smtp.sendmail("a@b.example", ["c@d.example"], LARGE)
        assert caught.value.smtp_code == 452
        smtp.sendmail("a@b.example", ["c@d.example"], LINE)
    assert [x[2] for x in relay.taken] == [LINE]


@pytest.mark.slow
def test_a_file_of_a_mail_goes_with_it(tmp_path: Path) -> None:
    def take(*_: object) -> str:
        assert not list(tmp_path.iterdir()), "it has no name"
        return "250 2.0.0 accepted"

    with Serving(folder=tmp_path, take=take) as relay, smtplib.SMTP("127.0.0.1", relay.port, timeout=30) as smtp:
        smtp.sendmail("a@b.example", ["c@d.example"], LARGE)
    assert relay.taken[0][2] == LARGE
