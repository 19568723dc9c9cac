"""`kill -9` of the sync at random moments, over a link that drops answers and cuts uploads: spool and hub agree."""

import json
import os
import random
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from cli.notifier.messages import Messages
from cli.notifier.store import SpoolFile
from shared.domain.notices.notice import Verb
from shared.domain.notices.updates import UpdateEntry
from tests.cli.notifier.link import NOW_MS, BadLink, Mood, applied

SYNC = """
import sys
from cli.notifier import outbox, syncing
outbox.QUIET_MS = 1  # this hub takes nothing after its connection has ended
syncing.FIRST_PAUSE, syncing.LONGEST_PAUSE = 0.01, 0.1  # as many tries of a bad link, sooner after one another
from cli.main import main
sys.argv = ["posthaste", "notifier", "sync", "--spool", sys.argv[1]]
main()
"""


class Fate:
    """Decides about calls, by a seed; `kill` is called in the middle of some."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)  # noqa: S311
        self.calm = False
        self.child: subprocess.Popen[bytes] | None = None
        self.kills = 0

    def __call__(self, method: str, about: Any) -> Mood:
        if self.calm:
            return Mood()
        dice = self.rng.random()
        if dice < 0.25:
            return Mood(keep=self.rng.choice((0, 0, 10, 60)))
        if dice < 0.4 and method == "PUT":
            return Mood(carry=self.rng.randrange(about))
        if dice < 0.5:
            return Mood(status=503)
        if dice < 0.75:
            self.kill()
        return Mood()

    def kill(self) -> None:
        """Kill the client while its call is under way: at once, or after a moment."""
        child = self.child
        if child and child.poll() is None:
            self.kills += 1
            if self.rng.random() < 0.5:
                child.send_signal(signal.SIGKILL)
            else:
                threading.Timer(self.rng.random() * 0.02, child.send_signal, (signal.SIGKILL,)).start()


def asked(rng: random.Random, spool: SpoolFile, wanted: dict[str, tuple[bool, dict[str, str]]], turn: int) -> None:
    """Do random things offline, and note what must come of them."""
    messages = Messages(spool)
    for n in range(40):
        name = f"m{rng.randrange(60)}"
        data = {"first_name": "x" * rng.randrange(1, 300), "preferred_time": str(turn * 100 + n)}
        _, known = wanted.get(name, (False, {}))
        if not known:
            messages.ask(Verb.NEW, [{"id": name, **data}], NOW_MS)
            wanted[name] = (False, data)
        elif rng.random() < 0.6:
            messages.ask(Verb.UPDATE, [{"id": name, **data}], NOW_MS)
            wanted[name] = (False, data)
        else:
            messages.cancel([name], NOW_MS)
            wanted[name] = (True, known)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_spool_and_hub_agree_after_kills_at_random_moments(seed: int, link: BadLink, folder: Path) -> None:
    rng = random.Random(seed)  # noqa: S311
    fate = Fate(seed)
    link.mood, link.page_bytes = fate, 400
    file = folder / "s.db"
    wanted: dict[str, tuple[bool, dict[str, str]]] = {}
    environ = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
    spool = SpoolFile(file)
    for turn in range(8):
        asked(rng, spool, wanted, turn)
        link.updates += [
            UpdateEntry("clinic", "u", f"m{n % 60}", NOW_MS - 4_000_000 + turn * 5_000 + n * 250, "SUCCESS")
            for n in range(15)
        ]
        fate.calm = turn == 7
        fate.child = subprocess.Popen(
            [sys.executable, "-c", SYNC, str(file)], env=environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        out, _ = fate.child.communicate(timeout=120)
        assert fate.child.returncode in (0, 5, -signal.SIGKILL), out.decode()
    assert fate.child is not None
    assert fate.child.returncode == 0, out.decode()
    assert fate.kills
    said = {x.id: (x.action == Verb.CANCEL, dict(x.data)) for x in Messages(spool).walk() if x.action}
    spool.close()
    assert applied(link.records) == wanted == said
    assert in_order([body for body, mood in link.puts if mood.status == 200])
    stored = updates(file)
    assert stored == [(x.id, x.stamp) for x in link.updates]


def in_order(bodies: list[bytes]) -> bool:
    """Tell whether no record is taken again once a later one of its message was."""
    latest: dict[str, int] = {}
    for record in (record for body in bodies for record in json.loads(body) if "preferred_time" in record):
        name, number = record["id"], int(record["preferred_time"])
        if number < latest.get(name, 0):
            return False
        latest[name] = number
    return True


def updates(file: Path) -> list[tuple[str, int]]:
    spool = SpoolFile(file)
    found = spool.db.execute("SELECT id, stamp FROM entry ORDER BY n").fetchall()
    spool.close()
    return found
