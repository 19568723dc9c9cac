"""A list of a hundred thousand whose readers are killed, each at another request: the same chunks in the end."""

import random
from collections.abc import Iterator
from multiprocessing.process import BaseProcess

import pytest

from benchmarks.upload import blocks
from shared.domain.campaigns.campaign import UploadState
from shared.domain.lists.uploads import Options
from tests.lists.stage import Cloud, Stage, uninterrupted

ROWS = 100_000
KILLS = 6
MOST_KILLS = 30
"""How many requests a reader makes before its first chunk depends on its threads. So some may all be killed before."""
BLOCK = 1 << 19
"""Bytes read at a time, half of what they are: so there are more steps between which to die."""


class Killer:
    """Kills a process at one of its requests, before or after its effect; from then on it may refuse what comes."""

    def __init__(self, child: BaseProcess, left: int, *, refuse: bool, after: bool) -> None:
        self._child = child
        self._left = left
        self._refuse = refuse
        self._after = after

    def __call__(self, after: bool) -> bool:  # noqa: FBT001 - the hook's form
        if after is not self._after:
            return False
        self._left -= 1
        if self._left == 0:
            self._child.kill()
        return self._left <= 0 and self._refuse and not after


@pytest.fixture
def cloud() -> Iterator[Cloud]:
    made = Cloud()
    yield made
    made.stop()


@pytest.mark.slow
@pytest.mark.promise(3)
def test_a_list_whose_readers_are_killed_again_and_again_gives_the_same_chunks(cloud: Cloud) -> None:
    stage = Stage(cloud, ROWS)
    rng = random.Random(7)  # noqa: S311 - where to kill
    progress: list[int] = []
    for number in range(MOST_KILLS):
        if number >= KILLS and progress[-1]:
            break
        left, refuse, after = rng.randrange(4, 24), rng.random() < 0.3, rng.random() < 0.5
        child = stage.reader(block=BLOCK)
        cloud.hook = Killer(child, left, refuse=refuse, after=after)
        child.start()
        child.join()
        cloud.hook = lambda _after: False
        assert child.exitcode == -9, f"killed in round {number}"
        mark = stage.upload.checkpoint
        progress.append(mark.chunk if mark else 0)
    assert progress == sorted(progress)
    assert progress[-1] > 0
    assert stage.upload.progress < 1, "killed before its end"
    last = stage.reader(block=BLOCK)
    last.start()
    last.join()
    assert last.exitcode == 0
    upload = stage.upload
    assert upload.state is UploadState.READY
    assert stage.read() == uninterrupted(blocks(ROWS, "email"), Options("email", drop_duplicates=True), upload)
