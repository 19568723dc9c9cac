"""What happened, in a few words."""

import pytest

from shared.domain.digests.summary import counts, summary


def many(**amounts: int) -> list[str]:
    return [name.replace("__", ".") for name, n in amounts.items() for _ in range(n)]


def test_a_summary_names_the_thing_once_and_the_place() -> None:
    types = many(task_failed=12, task_succeeded=3)
    assert summary(types, "acme/production") == "12 tasks failed in production, 3 succeeded"
    assert counts(types) == "12 tasks failed, 3 succeeded"


@pytest.mark.parametrize(
    ("types", "said"),
    [
        (["task.failed"], "1 task failed"),
        (2 * ["entry-created"], "2 entries created"),
        (2 * ["batch/lost"], "2 batches lost"),
        (2 * ["taskFailed"], "2 tasks failed"),
        (2 * ["CPU.exceeded"], "2 CPUs exceeded"),
        (2 * ["order item shipped"], "2 order items shipped"),
        (3 * ["CloudWatch Alarm State Change"], "CloudWatch Alarm State Change (3)"),
        (["failed"], "failed (1)"),
        (["x1.failed"], "x1.failed (1)"),
        (["a" * 100], f"{'a' * 57}... (1)"),
        (["a.failed", "b.failed", "c.failed", "d.failed", "e.failed"], "1 a failed, 1 b failed, 1 c failed and 2 more"),
        ([], ""),
    ],
)
def test_counts_read_as_words(types: list[str], said: str) -> None:
    assert counts(types) == said


@pytest.mark.parametrize(("key", "place"), [("production", "production"), ("acme/", "acme"), ("/", "/")])
def test_the_place_is_the_last_part_of_the_key(key: str, place: str) -> None:
    assert summary(["task.failed"], key) == f"1 task failed in {place}"
    assert summary([], key) == ""
