"""Approvals: a list that waits until somebody else than its asker has looked at what is sent.

A request names its content by a digest. Any change of the campaign afterwards takes the request back, so an approval
is of exactly what was shown. Source: docs/approvals.md, ADR 236.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from enum import StrEnum
from typing import Any, Final

from shared.domain.times import DAY_MS, Millis
from shared.frozen import dataclass

MOST_ROWS: Final = 1_000_000_000
"""The highest limit of a policy: far above any list."""
ID_DIGITS: Final = 32
"""Hexadecimal digits of a request's id."""


@dataclass(frozen=True, slots=True)
class Who:
    """Who asks or approves.

    Attributes:
        actor: as the audit log names them: a key's id, or a person by their login.
        person: the id of a person of the console, which a new login does not change; empty: it is a key.
    """

    actor: str
    person: str = ""


class Decision(StrEnum):
    """How a request has ended."""

    APPROVED = "approved"
    REFUSED = "refused"
    WITHDRAWN = "withdrawn"
    """By the one who asked."""


@dataclass(frozen=True, slots=True)
class PendingApproval:
    """A request for approval. Times are Unix milliseconds.

    Attributes:
        id: names exactly what was shown, with the moment of the request.
        version: of the campaign when it was asked; a request of another version counts no more.
        by: who asked, as in `Who`, and `person`.
        rows: accepted rows of the list; `skipped`: those of them that get nothing.
        rate: messages per second; 0: the credential's.
        not_before: when sending begins, 0: at the approval.
    """

    id: str
    version: int
    by: str
    at: Millis
    rows: int
    skipped: int = 0
    person: str = ""
    rate: float = 0
    not_before: Millis = 0

    @property
    def who(self) -> Who:
        """Who asked."""
        return Who(self.by, self.person)

    def lapsed_at(self, now: Millis) -> bool:
        """Tell whether its time has passed without an approval: then it is never sent."""
        return bool(self.not_before) and self.not_before <= now

    def pack(self) -> str:
        """Serialise: JSON."""
        return json.dumps(asdict(self), separators=(",", ":"))

    @classmethod
    def unpack(cls, text: str) -> "PendingApproval":
        """Read what `pack` wrote."""
        return cls(**json.loads(text))


@dataclass(frozen=True, slots=True)
class Decided:
    """The end of a campaign's last request, until the campaign changes again.

    Attributes:
        id: of the request.
        by: who decided, as the audit log names them.
        asked_by: likewise.
        upload: the list.
        reason: of a refusal; empty: none was given.
        at: Unix milliseconds.
    """

    id: str
    decision: Decision
    by: str
    asked_by: str
    upload: str
    at: Millis
    reason: str = ""

    def pack(self) -> str:
        """Serialise: JSON."""
        return json.dumps(asdict(self), separators=(",", ":"))

    @classmethod
    def unpack(cls, text: str) -> "Decided":
        """Read what `pack` wrote."""
        raw = json.loads(text)
        return cls(**{**raw, "decision": Decision(raw["decision"])})


def approval_id(shown: Mapping[str, Any]) -> str:
    """Return the id of a request. `shown`: all that is approved, in values of JSON."""
    text = json.dumps(shown, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:ID_DIGITS]


@dataclass(frozen=True, slots=True)
class ApprovalLimit:
    """Which lists wait for approval.

    Attributes:
        on: False: none does.
        above: rows that an account may send without approval in a day; 0: every list waits.
    """

    on: bool = False
    above: int = 0

    def looser_than(self, other: "ApprovalLimit") -> bool:
        """Tell whether it lets something through that the other one holds."""
        return other.on and (not self.on or self.above > other.above)


@dataclass(frozen=True, slots=True)
class ApprovalPolicy:
    """The limit of an account, and how far it is used. Times are Unix milliseconds.

    Attributes:
        since: when the day began in which `rows` were sent without approval.
        proposed: whether somebody asks for the looser `proposal`, which another one has to approve.
        proposed_by: who asks, as in `Who`, with `proposed_as` and `proposed_at`.
        version: counts the writes; 0: there is none yet.
    """

    account: str
    limit: ApprovalLimit = ApprovalLimit()
    since: Millis = 0
    rows: int = 0
    proposed: bool = False
    proposal: ApprovalLimit = ApprovalLimit()
    proposed_by: str = ""
    proposed_as: str = ""
    proposed_at: Millis = 0
    version: int = 0

    @property
    def proposer(self) -> Who:
        """The one who asks for the looser limit."""
        return Who(self.proposed_by, self.proposed_as)

    @property
    def proposal_id(self) -> str:
        """Names the proposal, so that an approval is of exactly this one; empty: there is none."""
        shown = [self.account, self.proposed_by, self.proposed_at, self.proposal.on, self.proposal.above]
        return approval_id({"proposal": shown}) if self.proposed else ""

    def sent_at(self, now: Millis) -> int:
        """Return the rows that were sent without approval in the day that runs at a moment."""
        return self.rows if now < self.since + DAY_MS else 0

    def holds(self, rows: int, now: Millis) -> bool:
        """Tell whether a list of so many rows waits.

        Other rows that were sent without approval that day count as well: else a list in parts would pass.
        """
        return self.limit.on and (self.limit.above == 0 or self.sent_at(now) + rows > self.limit.above)

    def spent(self, rows: int, now: Millis) -> "ApprovalPolicy":
        """Return it after a list that was sent without approval."""
        running = now < self.since + DAY_MS
        return self._next(since=self.since if running else now, rows=self.sent_at(now) + rows)

    def limited(self, limit: ApprovalLimit) -> "ApprovalPolicy":
        """Return it with another limit; a proposal is dropped."""
        return self._next(
            limit=limit, proposed=False, proposal=ApprovalLimit(), proposed_by="", proposed_as="", proposed_at=0
        )

    def with_proposal(self, limit: ApprovalLimit, who: Who, now: Millis) -> "ApprovalPolicy":
        """Return it with a looser limit that waits for another's approval."""
        return self._next(proposed=True, proposal=limit, proposed_by=who.actor, proposed_as=who.person, proposed_at=now)

    def _next(self, **changes: Any) -> "ApprovalPolicy":
        return replace(self, version=self.version + 1, **changes)
