"""How a benchmark runs by itself: its options, the processor time that it takes, and the line that it prints."""

import argparse
import json
import os
import resource
import sys
import time
from collections.abc import Callable, Mapping
from statistics import mean
from typing import Any, Final, Self

import functions  # noqa: F401 - the garbage collector is set as in a function
from benchmarks.rig.machine import REFERENCE_S, calibrate
from benchmarks.start import peak_kb

ENVIRONMENT: Final = {
    "AWS_ACCESS_KEY_ID": "bench",
    "AWS_SECRET_ACCESS_KEY": "bench",
    "AWS_DEFAULT_REGION": "us-east-1",
}
"""Without which AWS's clients are not made."""


class Spent:
    """What a `with` takes.

    Attributes:
        cpu_s: processor time of this process.
        seconds: on the clock.
        rss_mb: the most memory of this process so far.
        slowness: time of the calibration loop, just before and after, of the reference's time. A neighbour on the same
            core or cache makes the same work cost more, so divide processor time by it.
    """

    cpu_s: float
    seconds: float
    rss_mb: float
    slowness: float

    def __enter__(self) -> Self:
        """Begin."""
        self._loop = calibrate(1)
        self._before = resource.getrusage(resource.RUSAGE_SELF)
        self._began = time.perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        """End."""
        self.seconds = time.perf_counter() - self._began
        after = resource.getrusage(resource.RUSAGE_SELF)
        self.cpu_s = after.ru_utime + after.ru_stime - self._before.ru_utime - self._before.ru_stime
        self.rss_mb = after.ru_maxrss / 1024
        self.slowness = mean([self._loop, calibrate(1)]) / REFERENCE_S

    def of(self, messages: int) -> dict[str, float]:
        """Return the figures of having sent so many messages."""
        return {
            "per_second": messages / self.seconds,
            "cpu_us": self.cpu_s / messages * 1e6,
            "slowness": self.slowness,
            "rss_mb": self.rss_mb,
        }


def calibrated(run: Callable[..., Mapping[str, float]]) -> Callable[..., Mapping[str, float]]:
    """Return a benchmark whose figures have the `slowness` of the machine, the better of before and after."""

    def both(**options: Any) -> Mapping[str, float]:
        loop = calibrate()
        found = run(**options)
        return {**found, "slowness": min(loop, calibrate()) / REFERENCE_S}

    return both


def peak_mb() -> float:
    """Return the greatest memory of this process."""
    return peak_kb() / (1024 if sys.platform != "darwin" else 2**20)


def script(name: str, meaning: str | None, run: Callable[..., Mapping[str, float] | None], **options: Any) -> None:
    """Run a benchmark by its command line, and print its figures as a line of JSON.

    Args:
        name: of its module in `benchmarks`.
        meaning: what `--help` says.
        run: gets the options; None: it has printed what it found.
        **options: option → its value if it is not given; False is a switch, a tuple takes several values.
    """
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks.{name}", description=meaning)
    for option, value in options.items():
        flag = f"--{option.replace('_', '-')}"
        if value is False:
            parser.add_argument(flag, action="store_true")
        elif isinstance(value, tuple):
            parser.add_argument(flag, type=type(value[0]), nargs="+", default=value)
        else:
            parser.add_argument(flag, type=type(value), default=value)
    given = vars(parser.parse_args())
    os.environ |= ENVIRONMENT
    found = run(**given)
    if found is not None:
        print(json.dumps(found))
