"""The bills assume for each invocation as many bytes of log as the functions write."""

import logging
from collections.abc import Callable
from contextlib import redirect_stdout
from io import StringIO

import pytest
from aws_lambda_powertools import Logger

from benchmarks.counting import cost
from benchmarks.rig.scenarios import BODY, lane_of, warm, words
from benchmarks.rig.world import REQUEST, World, world
from functions.webhooks import receive
from shared.adapters import logs
from tests.providers.test_sendgrid_events import event
from tests.webhooks.test_receive import body_of, post

LINE = 26
"""Bytes that CloudWatch counts beside a line's own."""
WITHIN = 0.8
"""Names differ in length, so what is assumed may be a little more."""


def written(lines: Logger, does: Callable[[], object], w: World | None = None) -> int:
    """Return the bytes that CloudWatch counts of what a function logs."""
    out, handler = StringIO(), lines.registered_handler
    if not isinstance(handler, logging.StreamHandler):
        raise TypeError(f"lines go to {handler}")
    before, level = handler.stream, lines.log_level
    handler.setStream(out)
    lines.setLevel(logging.INFO)
    if w is not None:
        w.printed = StringIO()
    try:
        with redirect_stdout(out):
            does()
    finally:
        handler.setStream(before)
        lines.setLevel(level)
    text = out.getvalue() + (w.printed.getvalue() if w is not None else "")
    return sum(len(line.encode()) + LINE for line in text.splitlines())


def test_the_bills_assume_what_functions_log() -> None:
    with world(rate=1500, spread=False) as w:
        warm(w)
        from functions.api import handler as api  # noqa: PLC0415 - the world has made the environment
        from functions.dispatch import send, track  # noqa: PLC0415

        names: list[str] = []
        accepted = written(api.logger, lambda: names.extend(w.post_each(1, BODY)), w)
        sent = written(send.logger, lambda: w.send(1), w)
        tracked = written(track.logger, lambda: w.track(lane_of(w, names[0]), [words(names[0], 0, range(1))]), w)
        w.post_each(10, BODY)
        ten = written(send.logger, lambda: w.send(10), w)
    assert cost.API_LINES * WITHIN <= accepted <= cost.API_LINES
    for each in (sent, tracked):
        assert cost.WORKER_LINES * WITHIN <= each <= cost.WORKER_LINES
    assert (ten - sent) / 9 == pytest.approx(cost.PLACE_BYTES, rel=0.1)


def test_the_bills_assume_what_the_end_of_webhooks_logs() -> None:
    def take() -> None:
        logs.begin(receive.logger, REQUEST)
        assert post(body_of(event(event="delivered")))[0] == 200

    assert cost.EDGE_LINES * WITHIN <= written(receive.logger, take) <= cost.EDGE_LINES
