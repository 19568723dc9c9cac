"""`python -m tests.deployed.storm`: chaos on a running local cloud; prints the seed first, and what came of it."""

import argparse
import secrets
import sys

from infra.local.console import say
from tests.deployed import chaos
from tests.deployed.drill import judged
from tests.deployed.inside import running


def main() -> int:
    """Run and report; 1 if a promise was broken."""
    parser = argparse.ArgumentParser(prog="python -m tests.deployed.storm", description=__doc__)
    parser.add_argument("--messages", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=secrets.randbits(32))
    options = parser.parse_args()
    say(f"seed {options.seed}")

    def storm() -> chaos.Report:
        inside, api, control = running()
        inside.lane(chaos.CREDENTIALS[1][1])
        return chaos.run(inside, api, control, messages=options.messages, seed=options.seed)

    return judged(storm)


if __name__ == "__main__":
    sys.exit(main())
