"""`make proofs`: the long form of every proof, one after the other, and a table of what each found at the end.

`python -m tests.proofs model pace` runs only these. What a proof prints is in `.local/proofs/NAME.log`.
"""

import argparse
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from infra.local.paths import ROOT

PROOFS: Final = {
    "model": "every state of small worlds, then each rule left out",
    "pace": "every rate, while workers stall and die",
    "quota-days": "forty days of quotas and of a warm-up, while workers die",
    "crash": "a process killed at each of its calls",
    "chaos": "a storm on a local cloud",
    "kill": "senders killed on a local cloud",
    "storm": "two campaigns through a failing provider and kills, in time",
    "singles-proof": "single messages through a failing provider and kills",
    "recovery": "how soon jobs of killed senders go on",
    "campaign-proof": "a campaign through kills, stops and resumes",
    "link-proof": "a notifier over a bad link",
    "digest-proof": "a flood of events through kills",
    "mail-proof": "mails by SMTP through kills",
    "hooks-proof": "webhooks through kills",
    "restore-proof": "each table lost in the middle of sending, and restored from a copy of before",
    "ingest-proof": "a list whose reader is stopped every two seconds",
    "soak": "a random adversary for HOURS",
}
"""Target of `make` → what it proves, in the order of the runs: first those without a cloud."""
LOGS: Final = ROOT / ".local" / "proofs"
WIDTH: Final = 150
"""Characters of a figure in the table."""


@dataclass(frozen=True, slots=True)
class Proof:
    """What came of a proof: exit code, seconds, and the last line that it printed."""

    name: str
    code: int
    seconds: float
    figure: str

    def row(self) -> str:
        """Return its row of the table."""
        return f"{self.name:<15} {'ok' if not self.code else 'FAILED':<6} {self.seconds:>7.0f} s  {self.figure}"


def prove(name: str, make: Sequence[str], logs: Path) -> Proof:
    """Run a proof, with its output in a log.

    Args:
        name: target of `make`.
        make: the command before the target.
        logs: folder of the log.
    """
    log, began = logs / f"{name}.log", time.monotonic()
    with log.open("wb") as output:
        words = [*make, name]
        done = subprocess.run(
            words, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, check=False
        )
    return Proof(name, done.returncode, time.monotonic() - began, figure_of(log.read_text("utf-8", "replace")))


def figure_of(printed: str) -> str:
    """Return the line that sums a proof up: the last one, but for those about the cloud and about make."""
    lines = (line.strip() for line in printed.splitlines())
    return next((x[:WIDTH] for x in reversed([*lines]) if x and not x.startswith(("[", "make"))), "printed nothing")


def main(words: Sequence[str]) -> int:
    """Run all proofs, or those that are named; return the exit code, 1 if one failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.proofs", description=__doc__)
    parser.add_argument("only", nargs="*", choices=[*PROOFS, []], help="all but soak if there are none")
    wanted = parser.parse_args(words).only or [name for name in PROOFS if name != "soak"]
    LOGS.mkdir(parents=True, exist_ok=True)
    found = []
    for name in wanted:
        sys.stdout.write(f"{name}: {PROOFS[name]} (output: {LOGS.relative_to(ROOT) / name}.log)\n")
        sys.stdout.flush()
        found.append(prove(name, [shutil.which("make") or "make"], LOGS))
    failed = sum(bool(proof.code) for proof in found)
    table = "\n".join(proof.row() for proof in found)
    sys.stdout.write(f"\n{table}\n\n{len(found)} proofs, {failed} failed, {sum(x.seconds for x in found):.0f} s\n")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
