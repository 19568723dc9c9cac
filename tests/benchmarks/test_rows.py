"""The table of `make bench`: short names, units and goals that a person reads, and how many goals were met."""

from benchmarks.rig import rows
from benchmarks.rig.rows import Row, counted, named, summary, table

METRICS = {value for name, value in vars(rows).items() if name.isupper() and isinstance(value, str)}


def test_every_metric_has_a_distinct_short_name() -> None:
    assert set(rows.SHORT) == METRICS
    assert len(set(rows.SHORT.values())) == len(rows.SHORT)
    assert max(map(len, rows.SHORT.values())) <= 48


def test_a_row_has_its_name_result_and_goal_with_their_units() -> None:
    shown = table(
        [
            counted(named(rows.WRITES, "window 50"), 0.13861, 0.2, "WRU"),
            Row(rows.SPEED_MANY, 5119.6, 5000, "messages/s", more=True),
            Row(rows.FEEDBACK_CPU, 120, 100, "us"),
            counted(named(rows.COST, "batched feedback"), 0.414, 0.4, "$"),
            Row(rows.CPU, 199.4, 250, "us (221 as measured)"),
            counted(named(rows.SWEEP, "pointers sent again"), 5, 7, ""),
        ]
    ).splitlines()[2:]
    assert [" | ".join(part.strip() for part in line.split("  ") if part) for line in shown] == [
        "write units per message of a batch: window 50 | 0.1386 write units | at most 0.2 write units | met",
        (
            "speed of a worker, many messages per call | 5,120 messages per second | at least 5,000 messages per second"
            " | met"
        ),
        "CPU per event, feedback | 120 µs | at most 100 µs | missed (timed: depends on the machine)",
        "cost per million messages: batched feedback | $0.41 | at most $0.40 | MISSED",
        "CPU per message, sender | 199.4 µs | at most 250 µs | met; 221 as measured",
        "sweeper: pointers sent again | 5 | at most 7 | met",
    ]


def test_the_last_line_counts_the_rows_that_met_their_goals() -> None:
    met, missed = Row(rows.CPU, 1, 2, "us"), Row(rows.SPEED, 1, 2, "messages/s", more=True)
    assert summary([met, missed, met]) == "2 of 3 rows met"
    assert missed.document()["metric"] == rows.SPEED
