"""CloudWatch, as far as our alarms need it: series, statistics, metric math, and when an alarm fires.

Sources: CloudWatch's user guide, "Using metric math", "Evaluating an alarm", "Configuring how CloudWatch alarms treat
missing data", and the specification of the embedded metric format. Whatever is not built here is an error, so that no
alarm is judged by rules that are not CloudWatch's.
"""

import ast
import json
import operator
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.infra.template import text

Key = tuple[str, str, frozenset[tuple[str, str]]]
"""Namespace, name, dimensions."""
EXTRA = 2
"""Periods looked at beside those of the alarm, where some have no data: the guide's examples look at 5 for 3."""
STATISTICS: dict[str, Callable[[Sequence[float]], float]] = {"Sum": sum, "Maximum": max}
COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "GreaterThanThreshold": operator.gt,
    "GreaterThanOrEqualToThreshold": operator.ge,
    "LessThanThreshold": operator.lt,
    "LessThanOrEqualToThreshold": operator.le,
}
MISSING = {"breaching": True, "notBreaching": False}
"""What a period without data counts as; `missing` and `ignore` are not used here."""
_OPERATORS: dict[type, Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Gt: operator.gt,
    ast.Lt: operator.lt,
    ast.GtE: operator.ge,
    ast.LtE: operator.le,
}
_MATH: dict[str, Callable[[Sequence[float]], float]] = {"SUM": sum, "MAX": max}


@dataclass
class Series:
    """All metrics of an account; times are seconds."""

    points: dict[Key, list[tuple[float, float]]] = field(default_factory=dict)

    def put(self, namespace: str, name: str, dimensions: dict[str, str], at: float, value: float) -> None:
        key = (namespace, name, frozenset(dimensions.items()))
        self.points.setdefault(key, []).append((at, value))

    def read(self, document: dict[str, Any], at: float) -> None:
        """Take in a line of the embedded metric format, as if it had been written at a time."""
        for directive in document["_aws"]["CloudWatchMetrics"]:
            for names in directive["Dimensions"]:
                dimensions = {name: document[name] for name in names}
                for metric in directive["Metrics"]:
                    value = document[metric["Name"]]
                    for one in value if isinstance(value, list) else [value]:
                        self.put(directive["Namespace"], metric["Name"], dimensions, at, one)

    def statistic(self, key: Key, name: str, start: float, end: float) -> float | None:
        """Return a statistic of what lies in [start, end); None without data."""
        values = [value for at, value in self.points.get(key, ()) if start <= at < end]
        return STATISTICS[name](values) if values else None


@dataclass(frozen=True)
class Alarm:
    """An alarm as the template has it."""

    properties: dict[str, Any]

    @property
    def name(self) -> str:
        return str(self.properties["AlarmName"])

    def metrics(self) -> list[Key]:
        """Return the metrics that it looks at."""
        return [_key(stat["Metric"]) for _, stat in self._stats()]

    @property
    def period(self) -> int:
        (period,) = {stat["Period"] for _, stat in self._stats()}
        return int(period)

    def fires(self, series: Series, now: float) -> bool:
        """Tell whether it is in ALARM at a time; the last period ends then."""
        p = self.properties
        periods = p["EvaluationPeriods"]
        ends = [now - self.period * i for i in reversed(range(periods + EXTRA))]
        values = [self.value(series, end - self.period, end) for end in ends]
        return fires(
            values,
            breaches=lambda value: COMPARISONS[p["ComparisonOperator"]](value, p["Threshold"]),
            periods=periods,
            enough=p.get("DatapointsToAlarm", periods),
            missing=p.get("TreatMissingData", "missing"),
        )

    def value(self, series: Series, start: float, end: float) -> float | None:
        """Return what it watches, over one period."""
        values = {
            name: series.statistic(_key(stat["Metric"]), stat["Stat"], start, end) for name, stat in self._stats()
        }
        if "Metrics" not in self.properties:
            return values["m"]
        (shown,) = (row for row in self.properties["Metrics"] if row.get("ReturnData", True))
        return evaluate(shown["Expression"], values)

    def _stats(self) -> Iterable[tuple[str, dict[str, Any]]]:
        p = self.properties
        if "Metrics" in p:
            return [(row["Id"], row["MetricStat"]) for row in p["Metrics"] if "MetricStat" in row]
        metric = {k: p[k] for k in ("Namespace", "MetricName", "Dimensions")}
        return [("m", {"Metric": metric, "Stat": p["Statistic"], "Period": p["Period"]})]


def fires(
    values: Sequence[float | None], *, breaches: Callable[[float], bool], periods: int, enough: int, missing: str
) -> bool:
    """Tell whether an alarm is in ALARM.

    If there is data for as many periods as it has, wherever in the range, the newest of these decide. Else the rest is
    filled by how missing data is to be treated.

    Args:
        values: of all periods looked at, oldest first; None: no data.
        breaches: whether a value is beyond the threshold.
        periods: how many the alarm evaluates.
        enough: how many of them must breach.
        missing: how a period without data is treated.
    """
    filling = MISSING[missing]
    found = [breaches(value) for value in values if value is not None][-periods:]
    return sum(found) + filling * (periods - len(found)) >= enough


def evaluate(expression: str, values: dict[str, float | None]) -> float | None:
    """Return the value of an expression for one period; None if it has none, as where it divides by zero."""
    return _value(ast.parse(expression.replace(" AND ", " and "), mode="eval").body, values)


def _value(node: ast.expr, values: dict[str, float | None]) -> float | None:
    match node:
        case ast.Constant(value=int() | float() as number):
            return float(number)
        case ast.Name(id=name):
            return values[name]
        case ast.Call(func=ast.Name(id="FILL"), args=[what, instead]):
            found = _value(what, values)
            return _value(instead, values) if found is None else found
        case ast.Call(func=ast.Name(id="IF"), args=[condition, then, otherwise]):
            held = _value(condition, values)
            return None if held is None else _value(then if held else otherwise, values)
        case ast.Call(func=ast.Name(id=name), args=[ast.List(elts=items)]) if name in _MATH:
            found_all = [x for item in items if (x := _value(item, values)) is not None]
            return float(_MATH[name](found_all)) if found_all else None
        case ast.BoolOp(op=ast.And(), values=[left, right]):
            return _both(lambda a, b: float(bool(a) and bool(b)), left, right, values)
        case ast.Compare(left=left, ops=[operation], comparators=[right]):
            return _both(_OPERATORS[type(operation)], left, right, values)
        case ast.BinOp(left=left, op=ast.Div(), right=right):
            return _both(lambda a, b: a / b if b else None, left, right, values)
        case ast.BinOp(left=left, op=operation, right=right):
            return _both(_OPERATORS[type(operation)], left, right, values)
    raise AssertionError(f"not built here: {ast.dump(node)}")


def _both(
    operation: Callable[[float, float], float | None], left: ast.expr, right: ast.expr, values: dict[str, float | None]
) -> float | None:
    a, b = _value(left, values), _value(right, values)
    if a is None or b is None:
        return None
    found = operation(a, b)
    return None if found is None else float(found)


def _key(metric: dict[str, Any]) -> Key:
    dimensions = {d["Name"]: text(d["Value"]) for d in metric.get("Dimensions", [])}
    return metric["Namespace"], metric["MetricName"], frozenset(dimensions.items())


def documents(output: str) -> list[dict[str, Any]]:
    """Return the lines of the embedded metric format in a function's output."""
    lines = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    return [line for line in lines if "_aws" in line]
