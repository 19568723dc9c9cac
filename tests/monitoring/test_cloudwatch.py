"""The evaluator agrees with the examples of CloudWatch's user guide."""

import pytest

from tests.monitoring.cloudwatch import Series, documents, evaluate, fires

# "How alarm state is evaluated when data is missing": a 0 is within the threshold, an X beyond it, a - is missing; the
# newest comes last. Columns: the alarm with missing data as breaching, and as not breaching.
ALL_OF_THREE = [
    ("0 - X - X", False, False),
    ("- - - - 0", False, False),
    ("- - - - -", True, False),
    ("0 X X - X", True, True),
    ("- - X - -", True, False),
]
TWO_OF_THREE = [
    ("0 - X - X", True, True),
    ("0 0 X 0 X", True, True),
    ("0 - X - -", True, False),
    ("- - - - 0", True, False),
    ("- - - X -", True, False),
]


def points(drawn: str) -> list[float | None]:
    return [{"0": 0.0, "X": 1.0, "-": None}[c] for c in drawn.split()]


@pytest.mark.parametrize(
    ("drawn", "enough", "breaching", "not_breaching"),
    [(d, 3, a, b) for d, a, b in ALL_OF_THREE] + [(d, 2, a, b) for d, a, b in TWO_OF_THREE],
)
def test_missing_data(drawn: str, enough: int, *, breaching: bool, not_breaching: bool) -> None:
    def state(missing: str) -> bool:
        return fires(points(drawn), breaches=bool, periods=3, enough=enough, missing=missing)

    assert (state("breaching"), state("notBreaching")) == (breaching, not_breaching)


@pytest.mark.parametrize("missing", ["missing", "ignore"])
def test_what_no_alarm_here_uses_is_not_judged(missing: str) -> None:
    with pytest.raises(KeyError):
        fires([1.0], breaches=bool, periods=1, enough=1, missing=missing)


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("a + 2 * b", 10.0),
        ("100 * a / b", 50.0),
        ("a / 0", None),
        ("a + gone", None),
        ("FILL(gone, 7) - a", 5.0),
        ("SUM([a, b, FILL(gone, 0)])", 6.0),
        ("MAX([a, b])", 4.0),
        ("IF(a < b, 1, 0)", 1.0),
        ("IF(a > b AND b >= 4, 1, 0)", 0.0),
        ("IF(b >= 4 AND a <= 2, a, b)", 2.0),
        ("IF(gone > 1, 1, 0)", None),
    ],
)
def test_expressions(expression: str, value: float | None) -> None:
    assert evaluate(expression, {"a": 2.0, "b": 4.0, "gone": None}) == value


@pytest.mark.parametrize("expression", ["SEARCH('x', 'Sum')", "a ** 2", "MIN([a])", "a OR a"])
def test_what_is_not_built_is_refused(expression: str) -> None:
    with pytest.raises((AssertionError, KeyError, SyntaxError)):
        evaluate(expression, {"a": 2.0})


def test_a_line_is_a_point_for_each_set_of_dimensions_and_each_value() -> None:
    line = (
        '{"_aws": {"Timestamp": 1, "CloudWatchMetrics": [{"Namespace": "N", "Dimensions": [["service"], []], '
        '"Metrics": [{"Name": "Sent", "Unit": "Count"}]}]}, "service": "send", "Sent": [2.0, 3.0]}'
    )
    series = Series()
    (document,) = documents(f'text\n{{"message": "sent"}}\n{line}\n')
    series.read(document, 59.0)
    for dimensions in ({"service": "send"}, {}):
        key = ("N", "Sent", frozenset(dimensions.items()))
        assert series.statistic(key, "Sum", 0, 60) == 5.0
        assert series.statistic(key, "Maximum", 0, 60) == 3.0
        assert series.statistic(key, "Sum", 60, 120) is None
