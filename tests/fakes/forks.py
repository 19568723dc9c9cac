"""Processes that tests start and kill: forked of one that has imported what they need, so that each begins at once."""

import multiprocessing
import threading
from collections.abc import Callable
from multiprocessing.connection import wait
from typing import Any, Final

FORKS: Final = multiprocessing.get_context("forkserver")
PRELOADED: Final = ("tests.fakes.descriptions", "tests.crash.script", "tests.crash.mail_script", "tests.lists.reader")
FORKS.set_forkserver_preload(list(PRELOADED))  # one server for all tests of a process
_TURN: Final = threading.Lock()


class HungError(Exception):
    """A process did not end in its time, and was killed."""


def run(target: Callable[..., object], *args: Any, limit: float) -> int:
    """Run a function in a process of its own and return its exit code; several threads may do so at once.

    To start a process is to ask after all others, whoever waits for them, and a process's end can be read only once:
    a second reader takes it for the death of the server, code 255. So threads start and end them one at a time.

    Raises:
        HungError: it ran for more than `limit` seconds.
    """
    process = FORKS.Process(target=target, args=args)
    with _TURN:
        process.start()
    ended = wait([process.sentinel], limit)
    if not ended:
        process.kill()
    with _TURN:
        process.join()
    code = process.exitcode
    if not ended or code is None:
        raise HungError(f"it did not end within {limit:g} s")
    return code
