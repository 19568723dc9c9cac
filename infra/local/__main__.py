"""`python -m infra.local up | down | run | demo | status | with -- COMMAND`: the laptop cloud from the command line."""

import argparse
import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import FrameType

from infra.local import cloud, digests, newsletter, notices, sign_in
from infra.local.cloud import Cloud
from infra.local.console import LocalCloudError, say, step
from infra.local.paths import ENV_CLOUDS, ENV_LOCAL, Paths, paths, several


def main(arguments: Sequence[str]) -> int:
    """Run one command; return the exit code. Errors a developer can act on are shown in one message."""
    options = _options(arguments)
    _forget_the_developers_aws()
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        return _carried_out(options, paths())
    except LocalCloudError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    """Return the command, and what is given with it."""
    parser = argparse.ArgumentParser(prog="python -m infra.local", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, meaning in (
        ("up", "start the local cloud, or bring it up to date"),
        ("down", "stop it"),
        ("run", "start it, send the example newsletter, stay up until Ctrl-C"),
        ("demo", "start it, send the example newsletter, notices and digests, check the result, stop it"),
        ("status", "show what runs"),
    ):
        commands.add_parser(name, help=meaning)
    within = commands.add_parser("with", help="start it, run a command, stop it")
    for parsed in (commands.choices["up"], within):
        parsed.add_argument(
            "--lanes",
            type=Path,
            help="a JSON list of credentials beside those of cdk.json",
        )
    within.add_argument(
        "--clouds",
        type=int,
        default=1,
        help=f"start so many, each in a folder of its own; the command finds them in {ENV_CLOUDS}",
    )
    within.add_argument("words", nargs=argparse.REMAINDER)
    return parser.parse_args(arguments)


def _carried_out(options: argparse.Namespace, where: Paths) -> int:
    """Carry out a command; return the exit code."""
    match options.command:
        case "up":
            _show(cloud.up(where, options.lanes))
        case "down":
            cloud.down(where)
        case "status":
            return 0 if cloud.status(where) else 1
        case "run":
            _run(where)
        case "demo":
            _demo(where)
        case _:
            words = [w for w in options.words if w != "--"] or ["true"]
            return run_with(several(where, options.clouds), words, options.lanes)
    return 0


@contextlib.contextmanager
def _lent(where: Paths, notice_clock: str = "") -> Iterator[Cloud]:
    """Bring the cloud up, and stop it afterwards if it did not run before."""
    with _ended(where):
        yield cloud.up(where, notice_clock=notice_clock)


@contextlib.contextmanager
def _ended(where: Paths) -> Iterator[None]:
    """Stop a cloud afterwards if it did not run before."""
    ran_before = cloud.runs(where)
    try:
        yield
    finally:
        if not ran_before:
            cloud.down(where)


def _run(where: Paths) -> None:
    with _lent(where) as running:
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
        _show(running)
        with contextlib.suppress(KeyboardInterrupt):
            say("\nCtrl-C stops the local cloud.")  # within: it may be pressed at once
            while cloud.runs(where):
                time.sleep(1)
            raise LocalCloudError("the local cloud has ended; see its logs")


def _demo(where: Paths) -> None:
    where.demo.unlink(missing_ok=True)
    with _lent(where, notice_clock=notices.fast()) as running, ThreadPoolExecutor(1) as pool:
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


def _notices(running: Cloud) -> str:
    """Deliver the notices while the newsletter is sent; return their results in words."""
    story = notices.begin(running)
    return notices.summary(story, notices.watch(story))


def run_with(wheres: Sequence[Paths], words: Sequence[str], lanes: Path | None) -> int:
    """Run a command with the settings of the first cloud; the folders of all are in ENV_CLOUDS.

    Args:
        wheres: the clouds; those that did not run before end with the command.
        lanes: a file with credentials that each cloud has beside those of `cdk.json`.

    Returns:
        The command's exit code.
    """
    with contextlib.ExitStack() as stack:
        for where in wheres:
            stack.enter_context(_ended(where))
        with ThreadPoolExecutor(len(wheres)) as pool:
            first, *_ = list(pool.map(lambda where: cloud.up(where, lanes), wheres))
        environment = {
            **os.environ,
            **first.env,
            ENV_LOCAL: str(first.paths.home),
            ENV_CLOUDS: os.pathsep.join(str(x.home) for x in wheres),
        }
        return subprocess.run(words, env=environment, check=False).returncode


def _show(running: Cloud) -> None:
    say(f"\nAPI        {running.api}")
    say(f"Console    {running.api}/console (sign in as {sign_in.OPERATOR})")
    say(f"Docs       {running.api}/docs")
    say(f"Inbox      {running.env['SIMULATOR_URL']}/")
    say(f"Settings   {running.paths.env}")
    say("Commands   .venv/bin/posthaste")


def _forget_the_developers_aws() -> None:
    """Drop profiles, keys and endpoints of the developer's own: nothing here may ever talk to real AWS."""
    for name in [n for n in os.environ if n.startswith("AWS_") and n != "AWS_CA_BUNDLE"]:
        del os.environ[name]
    os.environ["AWS_CONFIG_FILE"] = os.environ["AWS_SHARED_CREDENTIALS_FILE"] = os.devnull


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
