"""`python -m benchmarks.largest PROVIDER`: the memory of a sender with two of the largest mails in work.

Prints one JSON line. The process loads all that the sender's function loads, with the real clients of the bucket and of
the provider. It has two threads, as an invocation has two pointers. The bucket and the provider are another process
(`forgetful`).
"""

import argparse
import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import TYPE_CHECKING, Any, Final

from benchmarks import starts
from benchmarks.start import peak_kb

if TYPE_CHECKING:
    from shared.ports import FinishedSender

MAILS: Final = 2
SECRET: Final = {"api_key": "k", "domain": "mg.sender.example", "auth": "none"}
SECONDS: Final = 120


def sender(name: str, ports: dict[str, int]) -> "FinishedSender":
    """Return a provider as a sender's function makes it, with the far end at these ports."""
    from shared.adapters.clock import SystemClock  # noqa: PLC0415 - after the function's own imports
    from shared.adapters.http.transport import HttpClient  # noqa: PLC0415
    from shared.adapters.smtp.transport import SmtpClient  # noqa: PLC0415
    from shared.contracts import Credential  # noqa: PLC0415
    from shared.ports import FinishedSender  # noqa: PLC0415
    from shared.providers.needs import Transport, needs_of  # noqa: PLC0415
    from shared.providers.registry import AwsAccount, Needs, provider  # noqa: PLC0415
    from shared.sigv4 import AwsKeys  # noqa: PLC0415

    clock = SystemClock()
    plain = needs_of(name).transport is Transport.SMTP
    url = f"smtp+plain://127.0.0.1:{ports['smtp']}" if plain else f"http://127.0.0.1:{ports['http']}"
    account = AwsAccount("eu-west-1", lambda: AwsKeys("AKID", "secret"))
    made = provider(name)(
        Needs(
            HttpClient(clock),
            clock,
            {} if needs_of(name).role_signs else SECRET,
            url,
            smtp=SmtpClient(clock),
            credential=Credential("bench", name, "email", 100.0, url),
            aws=account,
        )
    )
    if not isinstance(made, FinishedSender):
        raise TypeError(f"{name} takes no finished messages")
    return made


def run(name: str, ports: dict[str, int]) -> dict[str, Any]:
    """Send the mails; returns MB of memory before and at the most, and what was sent."""
    from benchmarks.rig.cases import CASES  # noqa: PLC0415 - after the environment is set

    CASES["send"]()
    by = sender(name, ports)
    before = peak_kb()

    from functions.dispatch import services  # noqa: PLC0415
    from shared.adapters.s3.spooled import SpooledMessages  # noqa: PLC0415
    from shared.domain.content.content import Content, Finished, Mailbox  # noqa: PLC0415
    from shared.domain.jobs.chunks import Recipient  # noqa: PLC0415
    from shared.domain.jobs.outcomes import Accepted, Outcome  # noqa: PLC0415
    from shared.ports import Target  # noqa: PLC0415

    both = Barrier(MAILS)
    messages = SpooledMessages(services.deployment().files)

    def send(n: int) -> Outcome:
        finished = Finished("ann@sender.example", f"contents/{n}-{by.finished_bytes}", "etag", by.finished_bytes)
        content = Content(Mailbox("ann@sender.example"), "", finished=finished)
        to = f"p{n}@example.org"
        with messages.open(finished) as message:
            both.wait(SECONDS)
            return by.send_finished(
                content, message, Target(f"ref{n}", Recipient(to, to)), deadline=time.time() + SECONDS
            )

    began = time.monotonic()
    with ThreadPoolExecutor(MAILS) as pool:
        outcomes = list(pool.map(send, range(MAILS)))
    if not all(isinstance(x, Accepted) for x in outcomes):
        raise RuntimeError(f"not sent: {outcomes}")
    return {
        "provider": name,
        "bytes": MAILS * by.finished_bytes,
        "before_mb": before / 1024,
        "rss_mb": peak_kb() / 1024,
        "seconds": time.monotonic() - began,
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("provider", choices=("smtp", "ses", "mailgun"))
    options = parser.parse_args()
    far = [sys.executable, "-m", "benchmarks.forgetful"]
    with subprocess.Popen(far, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as end:
        if end.stdin is None or end.stdout is None:
            raise RuntimeError("a pipe is missing")
        try:
            ports = json.loads(end.stdout.readline())
            os.environ |= starts.environment() | {"AWS_ENDPOINT_URL_S3": f"http://127.0.0.1:{ports['http']}"}
            print(json.dumps(run(options.provider, ports)))
        finally:
            end.stdin.close()


if __name__ == "__main__":
    main()
