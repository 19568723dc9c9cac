"""`python -m examples.demo run | check`: the example newsletter, notices and digests on the local cloud."""

import argparse
import contextlib
import json
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from examples.demo import digests, newsletter, notices
from infra.local import cloud
from infra.local.cloud import Cloud
from infra.local.command import at_terminal, show
from infra.local.console import LocalCloudError, say, step
from infra.local.paths import Paths


def main(arguments: Sequence[str]) -> int:
    """Run one command; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m examples.demo", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, command, meaning in (
        ("run", _run, "start the cloud, send the newsletter, stay up until Ctrl-C"),
        ("check", _check, "start the cloud, send the newsletter, notices and digests, check the result, stop it"),
    ):
        commands.add_parser(name, help=meaning).set_defaults(carry_out=command)
    return at_terminal(parser.parse_args(arguments).carry_out)


def _run(where: Paths) -> int:
    with cloud.lent(where) as running:
        newsletter.strike(running)
        sent = newsletter.send(running)
        say(f"           {newsletter.OUTAGE[1]} is down for {newsletter.OUTAGE_SECONDS} s")
        say(f"           newsletter posted: {sent.answer['recipients']} recipients, batch {sent.batch_id}")
        newsletter.watch(running, sent)
        found = newsletter.evidence(running, sent)
        say(f"           {newsletter.carried(found)}")
        say(f"           {newsletter.left_out(sent, found)}")
        with step(f"{newsletter.OUTAGE[1]} is used again"):
            newsletter.recovered(running)
        show(running)
        with contextlib.suppress(KeyboardInterrupt):
            say("\nCtrl-C stops the local cloud.")  # within: it may be pressed at once
            while cloud.runs(where):
                time.sleep(1)
            raise LocalCloudError("the local cloud has ended; see its logs")
    return 0


def _check(where: Paths) -> int:
    where.demo.unlink(missing_ok=True)
    with cloud.lent(where, notice_clock=notices.fast()) as running, ThreadPoolExecutor(1) as pool:
        with step(f"post the newsletter while {newsletter.OUTAGE[1]} is down"):
            newsletter.strike(running)
            sent = newsletter.send(running)
        told = pool.submit(_notices, running)
        with step("every message has its final state"):
            newsletter.watch(running, sent)
        with step("compare fixture, providers' log and API logs"):
            found = newsletter.evidence(running, sent)
            where.demo.write_text(json.dumps(found, indent=1), encoding="utf-8")
            wrong = newsletter.faults(sent, found)
        with step(f"{newsletter.OUTAGE[1]} is used again"):
            newsletter.recovered(running)
        with step(f"{digests.FAILURES} failures at once become a few mails"):
            mails = digests.delivered(running)
        with step(f"{notices.NOTICES} notices of a notifier in Sydney have their final status"):
            summary = told.result()
        if wrong:
            raise LocalCloudError("the demo failed:\n  " + "\n  ".join(wrong))
        say(
            f"{sent.answer['recipients']} recipients, {sent.answer['skipped']} skipped, "
            f"{len(found['accepted'])} accepted by a provider, each exactly once, and the logs agree: {where.demo}\n"
            f"{newsletter.carried(found)}\n{newsletter.left_out(sent, found)}\n{summary}\n{mails}"
        )
    return 0


def _notices(running: Cloud) -> str:
    """Have the notices delivered while the newsletter is sent; return the result in words."""
    story = notices.begin(running)
    return notices.summary(story, notices.watch(story))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
