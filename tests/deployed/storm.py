"""`python -m tests.deployed.storm`: chaos on a running local cloud; prints the seed first, and what came of it."""

import argparse
import secrets
import sys

from infra.local import cloud as local_cloud
from infra.local import deploy
from infra.local.console import LocalCloudError, say
from infra.local.paths import paths
from simulator.client import ControlClient
from tests.deployed import chaos
from tests.deployed.api import Api
from tests.deployed.inside import Inside, NoLane


def main() -> int:
    """Run and report; 1 if a promise was broken."""
    parser = argparse.ArgumentParser(prog="python -m tests.deployed.storm", description=__doc__)
    parser.add_argument("--messages", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=secrets.randbits(32))
    options = parser.parse_args()
    say(f"seed {options.seed}")
    try:
        cloud = local_cloud.current(paths())
        port = int(cloud.env["AWS_ENDPOINT_URL"].rpartition(":")[2])
        inside = Inside.of(cloud, deploy.stacks(cloud.paths, port), port)
        inside.lane(chaos.CREDENTIALS[1][1])
    except (LocalCloudError, NoLane) as error:
        say(f"error: {error}")
        return 1
    api, control = Api(cloud.api, cloud.env["POSTHASTE_API_KEY"]), ControlClient(cloud.env["SIMULATOR_URL"])
    report = chaos.run(inside, api, control, messages=options.messages, seed=options.seed)
    say(report.text())
    for what in report.wrong:
        say(f"WRONG: {what}")
    return 1 if report.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
