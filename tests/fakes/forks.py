"""Processes that tests start and kill: forked of one that has imported what they need, so that each begins at once."""

import multiprocessing
from typing import Final

FORKS: Final = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(["tests.crash.script", "tests.lists.reader"])  # one server for all tests of a process
