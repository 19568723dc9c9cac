"""Forked processes: their ends are told truly, to whichever thread waits for them."""

import os
import select
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.fakes.forks import HungError, run


def test_each_thread_learns_how_its_own_process_ended() -> None:
    codes = [n % 7 for n in range(60)]
    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(lambda code: run(os._exit, code, limit=60), codes)) == codes


def test_a_process_that_hangs_is_killed_and_said_so() -> None:
    with pytest.raises(HungError, match=r"within 0\.2 s"):
        run(select.select, [], [], [], limit=0.2)
