"""The main job, end to end: one newsletter to many recipients through the HTTP API, watched and checked.

The check compares three independent sources:

- the fixture (who should get it)
- the simulator's raw log (who was handed over, when, how often)
- the API's log lines (what Posthaste believes)
"""

import json
import time
import urllib.error
import uuid
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from hashlib import sha256
from itertools import count
from typing import Any, Final
from urllib.parse import quote

from infra.local.cloud import Cloud
from infra.local.console import PATIENCE_SECONDS, LocalCloudError, Patience, say
from infra.local.emulator import direct
from infra.local.paths import ROOT
from simulator.client import ControlClient

FIXTURE: Final = ROOT / "tests" / "fixtures" / "newsletter"
SENDER: Final = "Posthaste News <news@example.com>"
SUBJECT: Final = "The Example Gazette, spring"
OUTAGE: Final = ("mailgun", "mailgun-main")
"""The provider and credential that are down while the newsletter begins."""
OUTAGE_SECONDS: Final = 8
PROBE: Final = "probe+{}@example.org"
"""Gets a message while it is looked whether the provider is back."""
STATES: Final = ("queued", "sending", "sent", "delivered", "failed", "skipped", "unknown")
OPEN: Final = ("queued", "sending", "sent")
"""States that sending or feedback can still change."""
HANDED_OVER: Final = ("sent", "delivered", "failed")
API_SECONDS: Final = 35.0
"""A little more than the HTTP API's own limit."""


@dataclass(frozen=True, slots=True)
class SentNewsletter:
    """An accepted batch: the API's answer, what the fixture expects of each row, and when it was posted (Unix s)."""

    batch_id: str
    job_id: str
    answer: Mapping[str, Any]
    rows: list[dict[str, Any]]
    posted_at: float


def call(cloud: Cloud, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None) -> Any:
    """Call the HTTP API with the demo account's live key and return its JSON.

    Args:
        cloud: the local cloud's address and environment.
        path: the path, with its query.
        body: sent as JSON; None for no body.

    Raises:
        LocalCloudError: an answer that is not 2xx, with the problem's text.
    """
    wanted = {"Authorization": f"Bearer {cloud.env['POSTHASTE_API_KEY']}", **(headers or {})}
    try:
        with direct(f"{cloud.api}{path}", timeout=API_SECONDS, body=body, method=method, headers=wanted) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        raise LocalCloudError(f"{method} {path}: {error.code} {error.read().decode(errors='replace')[:500]}") from error


def send(cloud: Cloud) -> SentNewsletter:
    """Post the newsletter to every recipient of the fixture as one batch.

    Suppressions that an earlier newsletter's bounces left are lifted first: the fixture expects a first send.
    """
    rows: list[dict[str, Any]] = json.loads((FIXTURE / "recipients.json").read_text(encoding="utf-8"))
    body = {
        "from": SENDER,
        "to": [row["to"] for row in rows],
        "subject": SUBJECT,
        "body": (FIXTURE / "newsletter.html").read_text(encoding="utf-8"),
        "text": (FIXTURE / "newsletter.txt").read_text(encoding="utf-8"),
        "name": "newsletter",
    }
    _forgive(cloud, {row["expect"]["key"] for row in rows})
    posted_at = time.time()
    answer = call(cloud, "POST", "/batches", body, {"Idempotency-Key": uuid.uuid4().hex})
    return SentNewsletter(answer["batch_id"], answer["job_id"], answer, rows, posted_at)


def strike(cloud: Cloud) -> None:
    """Take a provider down for the newsletter's first seconds: what it would have carried goes through the next one."""
    ControlClient(cloud.env["SIMULATOR_URL"]).faults(*OUTAGE, mode="503", seconds=OUTAGE_SECONDS)


def carried(found: Mapping[str, Any]) -> str:
    """Return in words which providers carried a batch, and how many messages more than one of them tried.

    `found`: as `evidence` returns it.
    """
    by_provider = Counter(row["provider"] for row in found["accepted"])
    moved = sum(sum(line["providers"].values()) > 1 for line in found["logs"])
    through = ", ".join(f"{n} through {name}" for name, n in sorted(by_provider.items()))
    return f"{through}; {moved} that {OUTAGE[0]} refused while it was down went out through another provider"


def left_out(sent: SentNewsletter, found: Mapping[str, Any]) -> str:
    """Return in words why not every row of the list became a delivered message.

    `found`: as `evidence` returns it.
    """
    states = Counter(line["state"] for line in found["logs"])
    return (
        f"of the {len(sent.rows)} rows of the list {sent.answer['duplicates']} repeat an address and are one message "
        f"with it; {states['skipped']} are no valid address; {states['failed']} mailboxes do not exist. "
        "All of these are in the example on purpose."
    )


def recovered(cloud: Cloud) -> None:
    """Send single messages until the provider that was down is used again, and its breaker is closed.

    Raises:
        LocalCloudError: the breaker's state has not changed for `PATIENCE_SECONDS`.
    """
    patience = Patience()
    for n in count():
        found = {item["id"]: item["breaker"]["state"] for item in call(cloud, "GET", "/credentials")["items"]}
        if found[OUTAGE[1]] == "closed":
            return
        if patience.over(found[OUTAGE[1]]):
            break
        probe = {"from": SENDER, "to": [PROBE.format(n)], "subject": "Are you back?", "text": "A probe."}
        call(cloud, "POST", "/batches", {**probe, "route": [OUTAGE[1]]}, {"Idempotency-Key": uuid.uuid4().hex})
        time.sleep(1)
    raise LocalCloudError(f"{OUTAGE[1]} is {found[OUTAGE[1]]} for {patience.seconds:.0f} s")


def _forgive(cloud: Cloud, keys: set[str]) -> None:
    suppressed = {item["address"] for item in call(cloud, "GET", "/suppressions?limit=1000")["items"]}
    for address in suppressed & keys:
        call(cloud, "DELETE", f"/suppressions/{quote(address, safe='')}")


def watch(
    cloud: Cloud, sent: SentNewsletter, *, show: Callable[[str], None] = say, seconds: float = PATIENCE_SECONDS
) -> dict[str, Any]:
    """Follow a job until no message is open; return its last description.

    Args:
        cloud: the local cloud's address and environment.
        sent: the newsletter's job and the answer that accepted it.
        show: prints a line for each change.
        seconds: the most that the counts may stay the same.

    Raises:
        LocalCloudError: the counts do not add up, or stay the same for longer.
    """
    last = ""
    patience = Patience(seconds)
    while True:
        job: dict[str, Any] = call(cloud, "GET", f"/jobs/{sent.job_id}")
        counts = {state: int(job["counts"].get(state, 0)) for state in STATES}
        if sum(counts.values()) != sent.answer["recipients"]:
            raise LocalCloudError(f"the counts do not add up to {sent.answer['recipients']}: {counts}")
        words = "done" if job["state"] == "LOGGED" else "sending"
        line = f"           {words:8} " + "  ".join(f"{state} {n}" for state, n in counts.items() if n)
        if line != last:
            show(line)
            last = line
        if job["state"] == "LOGGED" and not any(counts[state] for state in OPEN):
            return job
        if patience.over(line):
            raise LocalCloudError(f"the job is not finished, and nothing changes for {seconds:.0f} s: {line.strip()}")
        time.sleep(0.25)


def log_lines(cloud: Cloud, sent: SentNewsletter) -> list[dict[str, Any]]:
    """Return all log lines of the batch, in list order."""
    lines: list[dict[str, Any]] = []
    cursor = ""
    while True:
        page = call(cloud, "GET", f"/batches/{sent.batch_id}/logs?limit=1000" + (f"&cursor={cursor}" if cursor else ""))
        lines += page["items"]
        cursor = page["next_cursor"] or ""
        if not cursor:
            return lines


def evidence(cloud: Cloud, sent: SentNewsletter) -> dict[str, Any]:
    """Return what the providers accepted and what the API's logs say, addresses replaced by their SHA-256.

    Returns:
        `{"accepted": [{recipient_hash, provider, at, ref}], "logs": [{recipient_hash, state, providers, attempts}]}`;
        `at` in Unix seconds by the simulator's arrival clock.
    """
    # A second's margin: the simulator's clock is this machine's, but never runs backwards.
    raw = ControlClient(cloud.env["SIMULATOR_URL"]).log(since=sent.posted_at - 1)
    mine = [row for row in raw if row["ref"].startswith(f"{sent.job_id}-")]
    accepted = [{key: row[key] for key in ("recipient_hash", "provider", "at", "ref")} for row in mine]
    logs = [
        {
            "recipient_hash": sha256(line["recipient"].lower().encode()).hexdigest(),
            "state": line["state"],
            "providers": line["providers"],
            "attempts": line["attempts"],
        }
        for line in log_lines(cloud, sent)
    ]
    return {"accepted": accepted, "logs": logs}


def faults(sent: SentNewsletter, found: Mapping[str, Any], excused: Collection[str] = ()) -> list[str]:
    """Return what is wrong with a finished batch, in words; empty if every message arrived exactly once.

    Args:
        found: as `evidence` returns it.
        excused: hashes of recipients who need not have been sent their message.
    """
    return [*_wrong_numbers(sent, found), *_wrong_recipients(sent, found, frozenset(excused))]


def _wrong_numbers(sent: SentNewsletter, found: Mapping[str, Any]) -> list[str]:
    """Return which numbers differ from the newsletter's."""
    by_state = Counter(row["expect"]["state"] for row in sent.rows)
    numbers = (
        ("recipients announced", by_state["sent"] + by_state["skipped"], sent.answer["recipients"]),
        ("duplicates announced", by_state["duplicate"], sent.answer["duplicates"]),
        ("skipped announced", by_state["skipped"], sent.answer["skipped"]),
        ("log lines", by_state["sent"] + by_state["skipped"], len(found["logs"])),
        ("log lines skipped", by_state["skipped"], sum(row["state"] == "skipped" for row in found["logs"])),
    )
    return [f"{what}: {expected} expected, {number} found" for what, expected, number in numbers if expected != number]


def _handed_over(line: Mapping[str, Any]) -> bool:
    """Tell whether a log line says that a provider has the message."""
    return line["state"] in HANDED_OVER and any(line["providers"].values())


def _ended_otherwise(wanted: Mapping[str, str], logs: Mapping[str, Mapping[str, Any]]) -> set[str]:
    """Return the recipients whose log ends in another state than is wanted."""
    return {n for n in wanted if n in logs and logs[n]["state"] != wanted[n]}


def _wrong_recipients(sent: SentNewsletter, found: Mapping[str, Any], excused: frozenset[str]) -> list[str]:
    """Return how many recipients were not sent their message, or not as they should be."""
    wanted = {x["hash"]: x["final"] for x in (row["expect"] for row in sent.rows) if x["state"] == "sent"}
    times = Counter(row["recipient_hash"] for row in found["accepted"])
    logs = {line["recipient_hash"]: line for line in found["logs"]}
    over = {name for name, line in logs.items() if _handed_over(line)}
    groups = (
        ("were never accepted by a provider", set(wanted) - set(times) - excused),
        ("were accepted though nobody asked", set(times) - set(wanted)),
        ("were accepted more than once", {name for name, n in times.items() if n > 1}),
        ("were handed over, but their log does not say so", set(times) - over),
        ("are logged as handed over, but were not", over - set(times)),
        ("have a log that ends otherwise", _ended_otherwise(wanted, logs) - excused),
    )
    return [f"{len(names)} recipients {what}" for what, names in groups if names]
