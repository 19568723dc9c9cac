"""`python -m tests.chaos`: storms over deployments in memory; a line each, and exit code 1 if a promise broke."""

import argparse
import logging
import secrets
import sys

from tests.chaos.storm import Storm


def main() -> int:
    """Blow and report."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--seed", type=int, help="replay this storm only")
    parser.add_argument("--storms", type=int, default=20, help="how many, each from a fresh seed")
    parser.add_argument("--messages", type=int, default=500, help="in each")
    parser.add_argument("--outage", type=float, default=7200.0, help="seconds without the only provider, after each")
    asked = parser.parse_args()
    logging.disable(logging.CRITICAL)  # thousands of faults that were meant
    seeds = [asked.seed] if asked.seed is not None else [secrets.randbits(32) for _ in range(asked.storms)]
    broken = 0
    for seed in seeds:
        report = Storm(seed, asked.messages, asked.outage).run()
        broken += bool(report.faults)
        sys.stdout.write("\n".join([report.line(), *(f"  {x}" for x in (*report.faults, *report.unknown))]) + "\n")
        sys.stdout.flush()
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
