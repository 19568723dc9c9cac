"""A list of a hundred thousand whose readers are killed, each at another request: the same chunks in the end."""

import random
from collections.abc import Iterator

import pytest

from benchmarks.upload import blocks
from shared.domain.campaigns import UploadState
from shared.domain.uploads import Options
from tests.lists.stage import Cloud, Stage, kill, uninterrupted

ROWS = 100_000
KILLS = 5


@pytest.fixture
def cloud() -> Iterator[Cloud]:
    made = Cloud()
    yield made
    made.stop()


@pytest.mark.promise(3)
def test_a_list_whose_readers_are_killed_again_and_again_gives_the_same_chunks(cloud: Cloud) -> None:
    stage = Stage(cloud, ROWS)
    rng = random.Random(7)  # noqa: S311 - where to kill
    progress = []
    for number in range(KILLS):
        left, refuse, after = rng.randrange(5, 90), rng.random() < 0.3, rng.random() < 0.5
        with stage.reader() as child:
            seen = 0

            def hook(done: bool, left: int = left, refuse: bool = refuse, after: bool = after) -> bool:  # noqa: FBT001
                nonlocal seen
                if done is not after:
                    return False
                seen += 1
                if seen == left:
                    kill(child)
                return seen >= left and refuse and not after

            cloud.hook = hook
            assert child.wait() == -9, f"killed in round {number}"
        cloud.hook = lambda _after: False
        mark = stage.upload.checkpoint
        progress.append(mark.chunk if mark else 0)
    assert progress == sorted(progress)
    assert progress[-1] > 0
    assert stage.upload.progress < 1, "killed before its end"
    with stage.reader() as child:
        assert child.wait() == 0
    assert stage.upload.state is UploadState.READY
    options = Options("email", drop_duplicates=True)
    assert stage.read() == uninterrupted(blocks(ROWS, "email"), options)
