"""Polls the emulator's event sources side by side, as AWS does.

MiniStack polls all in one loop, and waits in it for the function of each stream. A slow function, or one that starts,
holds up all queues and all other streams. Here each stream has a thread of its own, and the queues have one. The code
of a poll is MiniStack's. It hands the batches of queues to threads of their own by itself.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final

from ministack.core.concurrency import esm_wake
from ministack.services import lambda_svc

PAUSE: Final = 0.005
"""Seconds before the queues are polled after a change: each write of any table and each message makes one."""
WINDOW: Final = 0.04
"""The same for a stream: records that come meanwhile share a call of the function."""
IDLE: Final = 0.25
"""Seconds between two looks without a change: a delayed message becomes visible by itself."""
STREAM: Final = ":dynamodb:"
Sources = Callable[[], Iterator[tuple[str, str, dict[str, Any]]]]
logger = logging.getLogger("emulated")
_mine = threading.local()


class Poller:
    """A thread that polls.

    Args:
        name: of the thread.
        poll: polls once; returns whether it found work.
        ended: ends the thread.
        only: the id of the one event source that this thread sees; empty: it sees all.
    """

    def __init__(self, name: str, poll: Callable[[], bool], ended: threading.Event, only: str = "") -> None:
        self._poll = poll
        self._pause = WINDOW if only else PAUSE
        self._ended = ended
        self._only = only
        self._woken = threading.Event()
        threading.Thread(target=self._run, name=name, daemon=True).start()

    def wake(self) -> None:
        """Have it look."""
        self._woken.set()

    def _run(self) -> None:
        _mine.only = self._only
        while not self._ended.is_set():
            self._woken.clear()
            try:
                found = self._poll()
            except Exception:  # the emulator's own; the next poll may do better
                logger.exception("event sources are not polled")
                found = False
            if not found:
                self._woken.wait(IDLE)
                time.sleep(self._pause)


def install(ended: threading.Event | None = None) -> None:
    """Replace the emulator's loop.

    Args:
        ended: ends what replaces it; None: it runs as long as the process.
    """
    lambda_svc._iter_all_esms = _seen(lambda_svc._iter_all_esms)  # noqa: SLF001
    lambda_svc._poll_loop = partial(_lead, ended or threading.Event())  # noqa: SLF001


def _seen(every: Sources) -> Sources:
    """Return what iterates over those event sources that the current thread sees."""

    def some() -> Iterator[tuple[str, str, dict[str, Any]]]:
        only = getattr(_mine, "only", "")
        return (x for x in every() if not only or x[2]["UUID"] == only)

    return some


def _lead(ended: threading.Event) -> None:
    """Start a thread for the queues, and one for each stream as it comes; wake all of them when something changes."""
    pollers = {"": Poller("queues", lambda_svc._poll_sqs, ended)}  # noqa: SLF001
    while not ended.is_set():
        esm_wake.wait(1)
        esm_wake.clear()
        for _, _, source in lambda_svc._iter_all_esms():  # noqa: SLF001
            name = source["UUID"]
            if name not in pollers and STREAM in source["EventSourceArn"]:
                pollers[name] = Poller(f"stream {name}", lambda_svc._poll_dynamodb_streams, ended, name)  # noqa: SLF001
        for poller in pollers.values():
            poller.wake()
