from collections import Counter

import pytest

from tests.crash import matrix
from tests.crash.script import SHAPES


@pytest.mark.slow
@pytest.mark.promise(1)
@pytest.mark.promise(3)
@pytest.mark.timeout(600)
def test_a_process_killed_at_any_call_neither_repeats_nor_loses_a_message(capsys: pytest.CaptureFixture[str]) -> None:
    results = matrix.run([SHAPES["small"]], ends=True)

    cells = results["small"]
    with capsys.disabled():
        print("\n" + matrix.table(results))  # noqa: T201 - the proof's table belongs into CI's output
    kinds = {c.point for c in cells}
    assert {"provider before", "provider after", "TransactWriteItems after", "UpdateItem before"} <= kinds
    assert len(cells) >= 36, "fewer points than calls: the recording run missed some"
    assert any(c.outcome != "all known" for c in cells), "no crash left a doubt: the matrix cannot have hit a call"


@pytest.mark.slow
@pytest.mark.promise(1)
@pytest.mark.promise(3)
@pytest.mark.timeout(600)
def test_a_campaign_whose_process_is_killed_starts_later_and_frees_its_credential() -> None:
    cells = matrix.run([SHAPES["campaign"]], points=[1, 8, 9])["campaign"]

    assert [c.outcome for c in cells] == ["all known"] * 3


@pytest.mark.slow
@pytest.mark.promise(1)
@pytest.mark.promise(3)
@pytest.mark.timeout(600)
def test_a_process_killed_on_a_mails_way_loses_no_destination_and_leaves_no_content(
    capsys: pytest.CaptureFixture[str],
) -> None:
    results = matrix.run([SHAPES["mail"]], named={"provider after", "DeleteObject before"})
    results |= matrix.run([SHAPES["uploaded mail"]], named={"CopyObject after", "DeleteObject before"})

    with capsys.disabled():
        print("\n" + matrix.table(results))  # noqa: T201 - as above
    removed = {"DeleteObject before": 2}  # the mail, and its notification
    assert {name: Counter(c.point for c in cells) for name, cells in results.items()} == {
        "mail": {"provider after": 3, **removed},
        "uploaded mail": {"CopyObject after": 1, **removed},
    }
