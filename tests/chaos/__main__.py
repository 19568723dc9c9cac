"""`python -m tests.chaos`: storms over deployments in memory; a line each.

Exits with 1 if a promise broke, or if no message was taken and then answered with a 500, 502 or 504: such a run proves
too little.
"""

import argparse
import logging
import secrets
import sys
from collections import Counter

from tests.chaos.storm import Storm


def main() -> int:
    """Blow and report."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--seed", type=int, help="replay this storm only")
    parser.add_argument("--storms", type=int, default=20, help="how many, each from a fresh seed")
    parser.add_argument("--messages", type=int, default=500, help="in each")
    parser.add_argument("--outage", type=float, default=7200.0, help="seconds without the only provider, after each")
    asked = parser.parse_args()
    seeds = [asked.seed] if asked.seed is not None else [secrets.randbits(32) for _ in range(asked.storms)]
    faulty = 0
    broken: Counter[str] = Counter()
    for seed in seeds:
        report = Storm(seed, asked.messages, asked.outage).run()
        faulty += bool(report.faults)
        broken += report.broken
        sys.stdout.write("\n".join([report.line(), *(f"  {x}" for x in (*report.faults, *report.unknown))]) + "\n")
        sys.stdout.flush()
    vendors = ", ".join(f"{name} {n}" for name, n in sorted(broken.items()))
    sys.stdout.write(f"taken and answered with 500, 502 or 504 in a vendor's own words: {vendors or 'none'}\n")
    return 1 if faulty or not broken else 0


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)  # thousands of faults that were meant
    sys.exit(main())
