"""`posthaste batch export` and `posthaste campaign export`: waited for, fetched, and never half there."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli import honest
from tests.cli.fakes import Answer, FakeApi, FakeClock, Run
from tests.cli.scripts import AT, CAMPAIGN, JOB, problem

ROWS = b"\xef\xbb\xbfjob,message\r\n" + b"j,m\r\n" * 1_000


@pytest.fixture(autouse=True)
def told_honestly(api: FakeApi) -> Iterator[None]:
    """Afterwards the scripted API must have been one that there could be."""
    yield
    honest.check(api)


def preparing(progress: float) -> Answer:
    return Answer({"state": "preparing", "progress": progress, "waiting_for": None, "as_of": AT}, status=202)


def ready(api: FakeApi) -> Answer:
    url = f"{api.url}/bucket/export?X-Amz-Signature=s"
    return Answer({"state": "ready", "url": url, "expires_at": AT, "rows": 1_000, "as_of": AT})


def test_it_says_that_another_export_is_made_first(run: Run, api: FakeApi, folder: Path) -> None:
    waits = Answer({"state": "preparing", "progress": 0.0, "waiting_for": "another_export", "as_of": AT}, status=202)
    api.answers(waits, ready(api), Answer(raw=ROWS))
    assert "making the file: 0%  another export of the account is made first" in run("batch", "export", JOB).out
    assert list(folder.iterdir())


@pytest.mark.parametrize(("kind", "root", "name"), [("batch", "batches", JOB), ("campaign", "campaigns", CAMPAIGN)])
def test_it_waits_for_the_file_and_stores_it(
    run: Run, api: FakeApi, clock: FakeClock, folder: Path, kind: str, root: str, name: str
) -> None:
    api.answers(preparing(0.0), preparing(0.4), ready(api), Answer(raw=ROWS))
    done = run(kind, "export", name)
    assert done.code == 0, done.err
    assert (folder / f"{kind}-{name}.csv").read_bytes() == ROWS
    *asked, fetched = api.asked
    assert {a.path for a in asked} == {f"/{root}/{name}/export"}
    assert "Authorization" not in fetched.headers
    assert clock.slept == [0.5, 0.5]
    assert "making the file: 40%" in done.out
    assert "making the file: 100%  1,000 messages\n" in done.out
    assert done.out.endswith(f"{kind}-{name}.csv: 1,000 messages, as of {AT}\n")


def test_a_file_that_is_there_is_replaced_only_if_that_is_said(run: Run, api: FakeApi, folder: Path) -> None:
    file = folder / "mine.csv"
    file.write_text("kept")
    for target in (file, folder):
        done = run("batch", "export", JOB, "--out", str(target))
        assert done.code == 2, done.err
    assert "--force" in run("batch", "export", JOB, "--out", str(file)).err
    assert (api.asked, file.read_text()) == ([], "kept")

    api.answers(ready(api), Answer(raw=ROWS))
    done = run("batch", "export", JOB, "--out", str(file), "--force", "--json")
    assert done.code == 0, done.err
    assert json.loads(done.out) == {"file": str(file), "rows": 1_000, "as_of": AT}
    assert file.read_bytes() == ROWS


def test_what_cannot_be_exported_leaves_no_file(run: Run, api: FakeApi, folder: Path) -> None:
    api.answers(problem(409, "nothing_sent", "The campaign has not sent a list yet."))
    before = set(folder.iterdir())
    done = run("campaign", "export", CAMPAIGN)
    assert done.code == 1
    assert "nothing_sent" in done.err
    assert set(folder.iterdir()) == before
