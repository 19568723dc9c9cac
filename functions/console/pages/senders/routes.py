"""Senders: what operators have granted, and domains that the account proves to be its own by a DNS record."""

from typing import Final

from functions.console.call import ConsoleCall
from functions.console.listing import Asked, Filters, ListRows, listed, states
from functions.console.pages.asking import Question, ask
from functions.console.screen import Denial, PageRoute, absent, redirect
from shared.domain import senders as rules
from shared.domain.accounts import Scope, sender_of
from shared.domain.senders import MAX_CLAIMS, DnsCheck, SenderClaim
from shared.engine.intake.sender_checks import sender_checks
from shared.frozen import dataclass
from shared.ports import DnsUnanswered
from shared.web.http import Answer

SECTION: Final = "Senders"
GRANTED: Final = "granted"
PENDING: Final = "pending"
STATES: Final = (GRANTED, "proven", PENDING)
MAX_DOMAIN: Final = 253
NO_DOMAIN: Final = Denial(422, "This is no domain", "Type a domain without an address, as in news.example.com.")
TOO_MANY: Final = Denial(
    409, "The account claims too many domains", f"It may claim {MAX_CLAIMS}. Give up one that it does not use."
)
NO_DNS: Final = Denial(503, "DNS did not answer", "Nothing was changed. Try again in a minute.")


@dataclass(frozen=True, slots=True)
class SenderRow:
    """A sender. `state`: granted, proven or pending; `proven_at`: Unix milliseconds, 0 for never, like `since`."""

    sender: str
    state: str
    since: int = 0
    proven_at: int = 0


FILTERS: Final[Filters[SenderRow]] = (states(STATES, lambda x: x.state),)


def _senders(at: Asked) -> ListRows[SenderRow]:
    """Return what the account sends from."""
    services, account = at.call.services, at.call.account
    granted = services.accounts.list_senders(account)
    rows = [SenderRow(sender, GRANTED) for sender in granted]
    rows += [_row(claim) for claim in services.use_cases.senders().claims.list(account) if claim.domain not in granted]
    return ListRows(rows, whole=True, bare=not rows)


def add(call: ConsoleCall) -> Answer:
    """Claim a domain, and show the record to publish."""
    domain = _domain(call.form.get("domain", ""))
    if call.services.use_cases.senders().claims.add(call.account, domain, by=call.who.person.user.actor) is None:
        raise TOO_MANY
    return redirect(f"{call.home}{call.account}/senders/{domain}")


def sender(call: ConsoleCall) -> Answer:
    """Show a domain that is granted or claimed, a claimed one with its record, and what DNS says now."""
    room, domain = call.services.use_cases.senders(), _named(call)
    granted = domain in call.services.accounts.list_senders(call.account)
    found = SenderRow(domain, GRANTED) if granted else _row(_claim(call))
    checks = sender_checks(room.dns(), domain, each=call.services.reads.map)
    context = {
        "row": found,
        "granted": granted,
        "record": rules.record_name(domain),
        "value": rules.record_value(call.account),
        "checks": checks,
        "missing": _missing(checks),
        "identities": [] if found.state == PENDING else room.identities().shown(call.account, domain),
    }
    return call.services.pages.page(call, "senders/sender.html", context)


def verify(call: ConsoleCall) -> Answer:
    """Look for the record, note that it was found, and have providers sign for the domain."""
    room, claim = call.services.use_cases.senders(), _claim(call)
    try:
        texts = room.dns().texts(rules.record_name(claim.domain))
    except DnsUnanswered:
        raise NO_DNS from None
    if not rules.proves(texts, call.account):
        said = f"It has {len(texts)} other TXT records." if texts else "It has no TXT record."
        raise Denial(
            409,
            "DNS does not show the record yet",
            f"{said} A new record of {rules.record_name(claim.domain)} can take an hour. Go back, and look again.",
        )
    room.claims.prove(call.account, claim, by=call.who.person.user.actor)
    room.identities().ensure(call.account, claim.domain)
    return redirect(f"{call.home}{call.account}/senders/{claim.domain}")


def ask_to_give_up(call: ConsoleCall) -> Answer:
    """Ask whether the account gives up a domain."""
    claim = _claim(call)
    question = Question(
        section=SECTION,
        title=f"Give up {claim.domain}?",
        count=None,
        what="Messages from it are refused within half a minute. Its scheduled jobs do not start: each is stopped when "
        "its time comes. Jobs that are being sent go on.",
        label="Give it up",
        back=f"{call.account}/senders/{claim.domain}",
    )
    return ask(call, question)


def give_up(call: ConsoleCall) -> Answer:
    """Give up a domain; one that was given up is no fault."""
    domain = _domain(call.path["domain"])
    call.services.use_cases.senders().claims.remove(call.account, domain, by=call.who.person.user.actor)
    return redirect(f"{call.home}{call.account}/senders")


def _claim(call: ConsoleCall) -> SenderClaim:
    """Return the claim that the path names."""
    claim = call.services.use_cases.senders().claims.get(call.account, _named(call))
    if claim is None:
        raise absent("sender")
    return claim


def _named(call: ConsoleCall) -> str:
    """Return the domain that the path names."""
    try:
        return _domain(call.path["domain"])
    except Denial:
        raise absent("sender") from None


def _domain(typed: str) -> str:
    """Return a domain in the form it is compared."""
    try:
        found = sender_of(typed.strip()[: MAX_DOMAIN + 1])
    except ValueError:
        raise NO_DOMAIN from None
    if "@" in found or "." not in found:
        raise NO_DOMAIN
    return found


def _row(claim: SenderClaim) -> SenderRow:
    state = "proven" if claim.proven_at else PENDING
    return SenderRow(claim.domain, state, claim.created_at, claim.proven_at)


def _missing(checks: list[DnsCheck]) -> int:
    return sum(1 for check in checks if check.advice)


_PATH: Final = "/console/{account}/senders"
_ONE: Final = f"{_PATH}/{{domain}}"
ROUTES: Final = (
    listed(_PATH, "senders", "senders/senders.html", FILTERS, _senders),
    PageRoute("POST", f"{_PATH}/add", "claim a domain", add, Scope.ADMIN),
    PageRoute("GET", _ONE, "sender", sender),
    PageRoute("POST", f"{_ONE}/verify", "look for a domain's record", verify, Scope.ADMIN),
    PageRoute("GET", f"{_ONE}/give-up", "ask to give up a domain", ask_to_give_up, Scope.ADMIN),
    PageRoute("POST", f"{_ONE}/give-up", "give up a domain", give_up, Scope.ADMIN, ends=True),
)
