"""Approvals: what waits, one request as it is approved or refused, and from how many rows on lists wait."""

from typing import Any, Final

from functions.console import lists
from functions.console.call import ConsoleCall
from functions.console.listing import Asked as Visit
from functions.console.listing import Filters, ListRows, listed, states
from functions.console.pages.asking import MAX_REASON, Question, ask
from functions.console.pages.campaigns.drafting import shown_mailbox
from functions.console.pages.campaigns.view import conflict, in_the_way, list_view, owned
from functions.console.screen import Denial, PageRoute, absent, leave_for
from shared.domain.accounts import Scope
from shared.domain.audit import checked_reason
from shared.domain.campaigns.approval import MOST_ROWS, ApprovalLimit, ApprovalPolicy, PendingApproval, Who
from shared.domain.campaigns.campaign import Campaign
from shared.domain.channels.lookup import channel_of
from shared.engine.campaigns.approving import ApprovalControl
from shared.engine.campaigns.campaigns import Refused, Sent
from shared.engine.intake.declined import Declined
from shared.frozen import dataclass
from shared.web.http import Answer
from shared.web.problems import CODES

SECTION: Final = "Approvals"
STATES: Final = ("waiting", "lapsed")
ROW_DIGITS: Final = 10
"""Of a number of rows."""


@dataclass(frozen=True, slots=True)
class ApprovalRow:
    """A campaign that waits. `state`: one of STATES; `own`: the visitor has asked."""

    campaign: Campaign
    asked: PendingApproval
    state: str
    own: bool


FILTERS: Final[Filters[ApprovalRow]] = (states(STATES, lambda x: x.state),)


def _service(call: ConsoleCall) -> ApprovalControl:
    return call.services.campaigns().campaigns.approvals


def who(call: ConsoleCall) -> Who:
    """Return the visitor, for the rule of who may approve."""
    return Who(call.actor, call.who.person.user.id)


def _approvals(at: Visit) -> ListRows[ApprovalRow]:
    """Return what waits, and the account's limit."""
    call = at.call
    rows = [_row(call, x, x.waiting) for x in _service(call).waiting(call.account) if x.waiting]
    policy = _service(call).policy(call.account)
    used = policy.sent_at(call.services.now)
    more = {"policy": policy, "used": used, "own": policy.proposed and policy.proposer == who(call)}
    return ListRows(rows, whole=True, bare=not rows, more=more)


def _row(call: ConsoleCall, campaign: Campaign, asked: PendingApproval) -> ApprovalRow:
    state = STATES[asked.lapsed_at(call.services.now)]
    return ApprovalRow(campaign, asked, state, asked.who == who(call))


def _asked(call: ConsoleCall) -> tuple[Campaign, PendingApproval]:
    """Return the campaign that the path names, and its request."""
    found = owned(call)
    if found.waiting is None:
        raise conflict("not_waiting")
    return found, found.waiting


def ask_to_approve(call: ConsoleCall) -> Answer:
    """Show all that is approved, with the button that sends it."""
    found, asked = _asked(call)
    service = call.services.campaigns()
    upload = service.campaigns.uploads.get(found.id, found.ready)
    if upload is None:
        raise absent("list")
    view = list_view(upload)
    context = {
        "campaign": found,
        "asked": asked,
        "row": _row(call, found, asked),
        "list": view,
        "sender": shown_mailbox(found.message.sender),
        "rich": channel_of(found.channel).rich,
        "obstacles": in_the_way(call, found, view),
    }
    return call.services.pages.page(call, "approvals/approve.html", context)


def approve(call: ConsoleCall) -> Answer:
    """Send what the page has shown, and show its job."""
    found = owned(call)
    declined = call.services.campaigns().intake.sendable(found)
    if isinstance(declined, Declined):
        raise conflict(declined.code, " ".join(fault.text for fault in declined.faults))
    sent = _service(call).approve(found, call.form.get("approval", ""), who(call))
    if isinstance(sent, Refused):
        raise conflict(sent.reason.value, " ".join(text for _, text in sent.errors))
    if not isinstance(sent, Sent):
        raise conflict("not_waiting")
    return leave_for(call, f"jobs/{sent.job.id}")


def ask_to_refuse(call: ConsoleCall) -> Answer:
    """Ask whether a request is refused, or withdrawn by the one who asked."""
    found, asked = _asked(call)
    own = asked.who == who(call)
    title = f"Withdraw the request for {found.name}?" if own else f"Refuse {found.name}?"
    what = "messages are not sent. The list stays: the campaign can be corrected and sent again."
    back, fields = f"{call.account}/campaigns/{found.id}/approve", {"approval": asked.id}
    label = "Withdraw" if own else "Refuse"
    return ask(call, Question(SECTION, title, asked.rows, what, label, back, fields, reason=not own))


def refuse(call: ConsoleCall) -> Answer:
    """Refuse a request, or withdraw it."""
    found, reason = owned(call), call.form.get("reason", "").strip()
    try:
        said = checked_reason(reason) if reason else ""
    except ValueError:
        said = f"Type up to {MAX_REASON} characters, without an address or a number."
        raise Denial(422, "Nothing was refused", said) from None
    done = _service(call).refuse(found, call.form.get("approval", ""), who(call), said)
    if isinstance(done, Refused):
        raise conflict(done.reason.value)
    return leave_for(call, f"campaigns/{found.id}")


# The limit


def _limit(fields: Any) -> ApprovalLimit:
    """Return the limit that a form asks for. Raises Denial if it is none."""
    if fields.get("which") == "none":
        return ApprovalLimit()
    above = 0 if fields.get("which") == "every" else lists.number(fields.get("above", "").strip(), ROW_DIGITS)
    if above is None or above > MOST_ROWS:
        raise Denial(422, "This is no limit", "Type a number of rows, as in 1000.")
    return ApprovalLimit(True, above)


def _words(limit: ApprovalLimit) -> str:
    if not limit.on:
        return "no list waits for approval"
    return (
        f"a list waits once the account has sent {limit.above:,} rows in a day" if limit.above else "every list waits"
    )


def ask_for_limit(call: ConsoleCall) -> Answer:
    """Ask whether the account gets another limit."""
    limit, policy = _limit(call.request.query), _service(call).policy(call.account)
    looser = limit.looser_than(policy.limit)
    what = f"Then {_words(limit)}. Now {_words(policy.limit)}."
    what += " This is looser: another admin or key has to approve it." if looser else " It counts at once."
    which = ("some" if limit.above else "every") if limit.on else "none"
    label, fields = "Propose it" if looser else "Set the limit", {"which": which, "above": str(limit.above)}
    title = "Set another limit?"
    return ask(call, Question(SECTION, title, None, what, label, _back(call), fields, danger=looser))


def set_limit(call: ConsoleCall) -> Answer:
    """Set the limit, or propose a looser one."""
    _service(call).limit(call.account, _limit(call.form), who(call))
    return leave_for(call, "approvals")


def _proposal(call: ConsoleCall) -> ApprovalPolicy:
    policy = _service(call).policy(call.account)
    if not policy.proposed:
        raise Denial(409, "No limit is proposed", CODES["not_waiting"][1])
    return policy


def ask_to_agree(call: ConsoleCall) -> Answer:
    """Ask whether a looser limit is approved."""
    policy = _proposal(call)
    what = f"{policy.proposed_by} asks for it. Then {_words(policy.proposal)}. Now {_words(policy.limit)}."
    fields = {"approval": policy.proposal_id}
    return ask(call, Question(SECTION, "Approve a looser limit?", None, what, "Approve", _back(call), fields))


def ask_to_disagree(call: ConsoleCall) -> Answer:
    """Ask whether a looser limit is dropped."""
    policy = _proposal(call)
    what, fields = f"The limit stays: {_words(policy.limit)}.", {"approval": policy.proposal_id}
    return ask(call, Question(SECTION, "Drop the proposal?", None, what, "Drop it", _back(call), fields))


def agree(call: ConsoleCall) -> Answer:
    """Approve a looser limit."""
    return _decided(call, _service(call).approve_limit(call.account, call.form.get("approval", ""), who(call)))


def disagree(call: ConsoleCall) -> Answer:
    """Drop a looser limit."""
    return _decided(call, _service(call).refuse_limit(call.account, call.form.get("approval", ""), who(call)))


def _decided(call: ConsoleCall, found: ApprovalPolicy | Refused) -> Answer:
    if isinstance(found, Refused):
        raise Denial(409, "The limit stays as it is", CODES[found.reason.value][1])
    return leave_for(call, "approvals")


def _back(call: ConsoleCall) -> str:
    return f"{call.account}/approvals"


_PATH: Final = "/console/{account}/approvals"
_ONE: Final = "/console/{account}/campaigns/{campaign}"
ROUTES: Final = (
    listed(_PATH, "approvals", "approvals/approvals.html", FILTERS, _approvals),
    PageRoute("GET", f"{_ONE}/approve", "ask to approve a list", ask_to_approve, Scope.SEND),
    PageRoute("POST", f"{_ONE}/approve", "approve a list", approve, Scope.SEND),
    PageRoute("GET", f"{_ONE}/refuse", "ask to refuse a list", ask_to_refuse, Scope.SEND),
    PageRoute("POST", f"{_ONE}/refuse", "refuse a list", refuse, Scope.SEND, ends=True),
    PageRoute("GET", f"{_PATH}/limit", "ask for a limit", ask_for_limit, Scope.ADMIN),
    PageRoute("POST", f"{_PATH}/limit", "set a limit", set_limit, Scope.ADMIN),
    PageRoute("GET", f"{_PATH}/agree", "ask to approve a limit", ask_to_agree, Scope.ADMIN),
    PageRoute("POST", f"{_PATH}/agree", "approve a limit", agree, Scope.ADMIN),
    PageRoute("GET", f"{_PATH}/disagree", "ask to drop a limit", ask_to_disagree, Scope.ADMIN),
    PageRoute("POST", f"{_PATH}/disagree", "drop a limit", disagree, Scope.ADMIN),
)
