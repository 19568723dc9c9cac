"""`python -m tests.deployed.proof`: the campaign proof in its long form on a running local cloud; prints figures."""

import argparse
import sys
import tempfile
import uuid
from pathlib import Path
from typing import Final

from infra.local.console import LocalCloudError, say
from tests.deployed.campaign import Proof
from tests.deployed.inside import NoLane, running

KILLS: Final = (0.1, 0.75)
"""Shares of the messages at which all senders are killed: in the first list, and after stop and resume."""


def main() -> int:
    """Run and report; 1 if a promise was broken."""
    parser = argparse.ArgumentParser(prog="python -m tests.deployed.proof", description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000, help="recipients of the list")
    options = parser.parse_args()
    tag = uuid.uuid4().hex[:10]
    say(f"tag {tag}")
    try:
        with tempfile.TemporaryDirectory() as folder:
            report = Proof(*running(), Path(folder), tag).run(options.rows, KILLS)
    except (LocalCloudError, NoLane) as error:
        say(f"error: {error}")
        return 1
    say(report.table())
    for what in report.wrong:
        say(f"WRONG: {what}")
    if not report.wrong:
        say("\nEvery recipient exactly once, but for those that a kill left unknown.")
    return 1 if report.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
