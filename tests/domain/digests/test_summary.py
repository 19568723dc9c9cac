"""What happened, by type, and where."""

import pytest

from shared.domain.digests.summary import counts, summary

FAILED = [*12 * ["task.failed"], *3 * ["task.succeeded"]]


def test_a_summary_names_the_place_and_each_type_with_its_count() -> None:
    assert summary(FAILED, "acme/production") == "production: task.failed x12, task.succeeded x3"
    assert counts(FAILED) == "task.failed x12, task.succeeded x3"


@pytest.mark.parametrize(
    ("types", "said"),
    [
        (["task.failed"], "task.failed x1"),
        (3 * ["CloudWatch Alarm State Change"], "CloudWatch Alarm State Change x3"),
        (["a" * 100], f"{'a' * 57}... x1"),
        (["b", "a", "a"], "a x2, b x1"),
        (["a", "b", "c", "d", "e"], "a x1, b x1, c x1, +2"),
        ([], ""),
    ],
)
def test_types_are_counted_as_they_are_named_the_most_frequent_first(types: list[str], said: str) -> None:
    assert counts(types) == said


@pytest.mark.parametrize(("key", "place"), [("production", "production"), ("acme/", "acme"), ("/", "/")])
def test_the_place_is_the_last_part_of_the_key(key: str, place: str) -> None:
    assert summary(["task.failed"], key) == f"{place}: task.failed x1"
    assert summary([], key) == ""
