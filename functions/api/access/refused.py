"""Figures of requests whose API key is refused, for the alarms. A request that is taken costs nothing here."""

from collections.abc import Mapping
from typing import Final

from shared.domain.accounts import KeyRefusal
from shared.metrics import Metric, Service

FIGURES: Final[Mapping[KeyRefusal, Metric]] = {
    KeyRefusal.WRONG: Metric.KEYS_WRONG,
    KeyRefusal.REVOKED: Metric.KEYS_REVOKED,
    KeyRefusal.PROOF: Metric.KEYS_WRONG,
    KeyRefusal.EXPIRED: Metric.KEYS_EXPIRED,
    KeyRefusal.NETWORK: Metric.KEYS_ELSEWHERE,
    KeyRefusal.LIMITED: Metric.KEYS_LIMITED,
}
"""Reason → its figure. Texts that have not the form of a key are not counted: scanners send them to any address."""


def count(stage: str, reason: KeyRefusal) -> None:
    """Tell that a key of a stage was refused."""
    if reason in FIGURES:
        from shared.adapters import metrics  # noqa: PLC0415 - a cold start does not wait for it

        metrics.tell(stage, Service.API, {FIGURES[reason]: 1})
