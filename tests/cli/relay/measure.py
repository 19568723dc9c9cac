"""What the relay's page says of its pace and its memory: `python -m tests.cli.relay.measure`.

The API is a stand-in in this process, which answers after a time. `POSTHASTE_URL` and `POSTHASTE_API_KEY` name a real
one, such as the local cloud's: then only the pace from the spool is measured.
"""

import argparse
import os
import smtplib
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from tests.cli.relay.api import KEY, FakeMailApi, Mood

ROOT: Final = Path(__file__).parents[3]
SENDER: Final = "news@example.com"
PROGRAMS: Final = 8
LARGE: Final = 40 * 1024 * 1024 - 1000
"""Bytes of a large mail."""
PATIENCE: Final = 600.0


@contextmanager
def relaying(url: str, key: str, *options: str) -> Iterator[tuple[int, int]]:
    """Run a relay; return its process and its port."""
    environment = {**os.environ, "POSTHASTE_URL": url, "POSTHASTE_API_KEY": key}
    command = [sys.executable, "-c", "from cli.main import main; main()", "relay", "--listen", "127.0.0.1:0", *options]
    process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield process.pid, int(process.stdout.readline().rpartition(":")[2])
    finally:
        process.terminate()
        process.communicate()


def letter(n: int, size: int) -> bytes:
    """Return a mail of about so many bytes."""
    head = f"From: {SENDER}\r\nMessage-ID: <{n}.{time.time_ns()}@example.com>\r\n\r\n".encode()
    return head + (b"x" * 70 + b"\r\n") * ((size - len(head)) // 72)


def send(port: int, content: bytes) -> None:
    """Send as a program does, in a session of its own."""
    with smtplib.SMTP("127.0.0.1", port, timeout=PATIENCE) as smtp:
        smtp.sendmail(SENDER, ["silent@example.org"], content)


def sent(port: int, mails: int, size: int) -> float:
    """Send mails from several programs; return the seconds."""
    letters = [letter(n, size) for n in range(mails)]
    began = time.monotonic()
    with ThreadPoolExecutor(min(PROGRAMS, mails)) as pool:
        list(pool.map(lambda x: send(port, x), letters))
    return time.monotonic() - began


def peak(process: int) -> float:
    """Return the most memory that a process has had, in MB."""
    status = Path(f"/proc/{process}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def emptied(spool: Path) -> float:
    """Wait until a spool holds nothing; return the seconds since it had fewer mails than at first."""
    wait, folder = threading.Event(), spool / "data"
    whole = len(list(folder.iterdir()))
    end = time.monotonic() + PATIENCE
    began = 0.0
    while (left := len(list(folder.iterdir()))) and time.monotonic() < end:
        began = began or (time.monotonic() if left < whole else 0.0)
        wait.wait(0.01)
    return time.monotonic() - began


def closed_port() -> int:
    """Return a port that refuses connections."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


def show(what: str, figure: str) -> None:
    print(f"{what:<60}{figure:>12}", flush=True)  # noqa: T201 - this is its answer


def held(url: str, key: str, mails: int, size: int, folder: Path) -> float:
    """Hold mails in a spool while no API is there, then post them; return the seconds of the posts."""
    spool = folder / f"{mails}.{size}"
    with relaying(f"http://127.0.0.1:{closed_port()}", key, "--spool", str(spool)) as (process, port):
        seconds = sent(port, mails, size)
        show(f"{mails} mails of {size} bytes into the spool, a second", f"{mails / seconds:.1f}")
        show("  the relay's memory at most, MB", f"{peak(process):.0f}")
    with relaying(url, key, "--spool", str(spool)) as (process, _):
        seconds = emptied(spool)
        show(f"{mails} mails of {size} bytes from the spool, a second", f"{mails / seconds:.1f}")
        show("  the relay's memory at most, MB", f"{peak(process):.0f}")
    return seconds


def main() -> None:
    """Measure, and print the figures."""
    parser = argparse.ArgumentParser(prog="python -m tests.cli.relay.measure")
    parser.add_argument("--mails", type=int, default=400)
    parser.add_argument("--latency", type=float, default=0.06, help="seconds until the stand-in answers")
    options = parser.parse_args()
    if "POSTHASTE_URL" in os.environ:
        with TemporaryDirectory(dir=ROOT) as folder:
            held(os.environ["POSTHASTE_URL"], os.environ["POSTHASTE_API_KEY"], options.mails, 1000, Path(folder))
        return

    def mood(_: str) -> Mood:
        threading.Event().wait(options.latency)
        return Mood()

    api = FakeMailApi(mood)
    try:
        with TemporaryDirectory(dir=ROOT) as folder:
            with relaying(api.url, KEY) as (process, port):
                send(port, letter(0, 1000))
                show("the relay's memory after one small mail, MB", f"{peak(process):.0f}")
                seconds = sent(port, options.mails, 1000)
                show(f"{options.mails} mails of 1000 bytes to the API, a second", f"{options.mails / seconds:.1f}")
            for count in (1, PROGRAMS):
                with relaying(api.url, KEY) as (process, port):
                    sent(port, count, LARGE)
                    show(f"the relay's memory at most, {count} mails of 40 MB, MB", f"{peak(process):.0f}")
            held(api.url, KEY, options.mails, 1000, Path(folder))
            held(api.url, KEY, PROGRAMS, LARGE, Path(folder))
    finally:
        api.close()


if __name__ == "__main__":
    main()
