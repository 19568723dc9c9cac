"""Every minute: leases that ran out, pointers that were lost, jobs left unfinished, schedules that came due."""

from dataclasses import asdict
from typing import Any

from aws_lambda_powertools import Logger

from functions.dispatch import services

logger = Logger()
MARGIN = 5.0
"""Seconds kept for the job in hand."""


def handler(_event: Any, context: Any) -> dict[str, Any]:
    """Walk all open jobs once."""
    d = services.deployment()
    done = asdict(d.sweeper.sweep(d.clock.now() + context.get_remaining_time_in_millis() / 1000 - MARGIN))
    logger.info("swept", **done)
    return done
