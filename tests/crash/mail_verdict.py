"""What must hold of a mail after any crash; the simulator's log is the oracle."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final

from tests.crash.mail_script import DATA, PEOPLE, UNWANTED
from tests.crash.script import SENDER

ACCEPTED: Final = frozenset({"SENT", "RELAYED", "SENT_CLOSED", "DELIVERED"})
GIVEN_UP: Final = "UNKNOWN_CLOSED"


@dataclass(frozen=True, slots=True)
class MailVerdict:
    """Judges what became of a mail.

    Attributes:
        result: as `mail_script.after` wrote it.
        rows: what the provider has accepted of this run.
        text: the text of a message by its number in the provider's log.
    """

    result: Mapping[str, Any]
    rows: Sequence[Mapping[str, Any]]
    text: Callable[[int], str]

    def unknown(self) -> int:
        """Count the destinations whose fate no provider could tell."""
        return sum(cell == GIVEN_UP for mail in self.result["mails"] for cell in mail["cells"].values())

    def faults(self) -> Iterator[str]:
        """Yield what does not hold."""
        own = [mail for mail in self.result["mails"] if not mail["notification"]]
        if [mail["id"] for mail in own] != [self.result["mail"]]:
            yield f"{len(own)} mails"
        if self.result["early"]:
            yield f"content gone before the last destination: {self.result['early']}"
        for mail in self.result["mails"]:
            yield from self._ended(mail)
            yield from self._reached(mail)
        for mail in own:
            yield from self._whole(mail)
            yield from self._reported(mail)

    def _ended(self, mail: Mapping[str, Any]) -> Iterator[str]:
        if mail["state"] != "cleaned" or mail["reporting"] or not mail["logged"]:
            yield f"no end: {mail}"
        if mail["content"]:
            yield f"content left: {mail}"
        if set(mail["states"].values()) != {"gone"}:
            yield f"destinations left: {mail['states']}"

    def _reached(self, mail: Mapping[str, Any]) -> Iterator[str]:
        accepted = Counter(row["recipient"] for row in self._of(mail))
        doubled = [x for x, n in accepted.items() if n > 1]
        if doubled:
            yield f"accepted twice: {doubled}"
        strangers = accepted.keys() - mail["cells"].keys()
        if strangers:
            yield f"accepted, and no destination: {strangers}"
        for address, cell in mail["cells"].items():
            if cell in ACCEPTED and address not in accepted:
                yield f"{address} is {cell}, but no provider has it"
            if cell not in ACCEPTED and cell != GIVEN_UP and address in accepted:
                yield f"{address} is {cell}, but a provider has it"
            if address in accepted and self.result["proven"][mail["job"]][address] != "DELIVERED":
                yield f"{address} was delivered, and is not shown so"

    def _whole(self, mail: Mapping[str, Any]) -> Iterator[str]:
        if mail["cells"].keys() != {*PEOPLE, UNWANTED} or mail["cells"][UNWANTED] != "SKIPPED":
            yield f"not all destinations: {mail['cells']}"
        lost = [x for x in PEOPLE if mail["cells"].get(x) not in (*ACCEPTED, GIVEN_UP)]
        if lost:
            yield f"lost: {lost}"
        if any(row["finished_hash"] != sha256(DATA).hexdigest() for row in self._of(mail)):
            yield "other bytes"

    def _reported(self, mail: Mapping[str, Any]) -> Iterator[str]:
        """Check that each destination that failed is in one notification, and no other one is in any."""
        notifications = [x for x in self.result["mails"] if x["notification"]]
        failed = {x for x, cell in mail["cells"].items() if cell not in ACCEPTED}
        if len(notifications) != mail["reports"] or any(x["cells"].keys() != {SENDER} for x in notifications):
            yield f"{len(notifications)} notifications of {mail['reports']}"
        texts = [self.text(row["seq"]) for x in notifications for row in self._of(x)]
        named = Counter(x for x in mail["cells"] for text in texts if x in text)
        if any(n > 1 for n in named.values()) or named.keys() - failed:
            yield f"notified of {named}, failed are {failed}"
        in_doubt = any(x["cells"].get(SENDER) == GIVEN_UP for x in notifications)
        if failed - named.keys() and not in_doubt:
            yield f"not notified of {failed - named.keys()}"

    def _of(self, mail: Mapping[str, Any]) -> list[Mapping[str, Any]]:
        return [row for row in self.rows if row["ref"].startswith(mail["job"])]
