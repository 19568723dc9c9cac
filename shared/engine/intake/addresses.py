"""Addresses of a request, with the field that each came from, and what is a recipient's own."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from shared.domain.content.content import Mailbox
from shared.domain.content.personal import Personal
from shared.domain.jobs.chunks import Recipient
from shared.domain.recipients.addresses import Address, Invalid, parse, split_list
from shared.domain.recipients.names import addresses_in, is_near, turns
from shared.engine.intake.declined import INVALID, Decline, FieldFault, invalid, no_sender
from shared.engine.intake.request import OwnPart, SendRequest
from shared.ports import Senders

MAX_RECIPIENTS: Final = 5000
MAX_COPIES: Final = 50
TURNED: Final = "The name has a character that turns the direction of its letters. Remove it."
ANOTHERS: Final = "The name has an address from which this account may not send. Use a name without an address."


def address_of(field: str, text: str) -> Address:
    """Return an address; `Decline` for what is none."""
    found = parse(text)
    if isinstance(found, Invalid):
        raise invalid(field, found.reason)
    return found


def mailbox(address: Address) -> Mailbox:
    """Return an address as contents have it."""
    return Mailbox(address.address, address.display)


def entries(field: str, given: str | Sequence[str], most: int, code: str = INVALID) -> list[str]:
    """Return the addresses of a field. Raises Decline unless there are from 1 to `most`.

    Args:
        field: the field's path in the request.
        given: a list, or one text with commas between the addresses.
        most: the most addresses allowed.
        code: the problem's code if there are more.
    """
    found = split_list(given) if isinstance(given, str) else list(given)
    if len(found) > most:
        raise Decline(code, FieldFault(field, f"At most {most} addresses."))
    if not found:
        raise invalid(field, "At least one address is needed.")
    return found


def _needs_one_recipient(given: Iterable[tuple[str, object]]) -> Decline:
    faults = (FieldFault(field, "Use this field only with exactly one recipient.") for field, _ in given)
    return Decline("cc_needs_one_recipient", *faults)


def copies_of(
    fields: Sequence[tuple[str, str | Sequence[str] | None]], recipients: Sequence[Address | Invalid]
) -> list[tuple[str, Address]]:
    """Return (field, address) of cc and bcc, each address once: a provider refuses one that a call has twice."""
    given = [(field, text) for field, text in fields if text is not None]
    if given and len(recipients) != 1:
        raise _needs_one_recipient(given)
    seen = {r.key for r in recipients if isinstance(r, Address)}
    out: list[tuple[str, Address]] = []
    for field, text in given:
        for i, entry in enumerate(entries(field, text, MAX_COPIES)):
            found = address_of(f"{field}.{i}", entry)
            if found.key not in seen:
                seen.add(found.key)
                out.append((field, found))
    return out


def check_sender(senders: Senders, account: str, sender: Address, field: str) -> None:
    """Raise Decline unless an account may send from an address.

    Args:
        senders: which addresses it may send from.
        sender: the address. Its name is not checked here.
        field: its path in the request.
    """
    check = senders.check_sender(account, sender.key)
    if check.suspended:
        raise Decline("account_suspended")
    if not check.allowed:
        raise no_sender(field, sender.key)


def misleading(senders: Senders, account: str, sender: Address) -> str:
    """Return why the name of a sender misleads people, as a sentence; empty if it does not.

    A reader shows the name and often nothing else (docs/adr/0182-a-name-is-no-other-s-address.md).

    Args:
        senders: which addresses the account may send from.
        sender: an address from which the account may send, with its name.
    """
    if turns(sender.display):
        return TURNED
    domain = sender.key.rpartition("@")[2]
    for text in addresses_in(sender.display):
        found = parse(text)
        other = found.key if isinstance(found, Address) else text
        if not is_near(other.rpartition("@")[2], domain) and not senders.check_sender(account, other).allowed:
            return ANOTHERS
    return ""


def with_own(asked: SendRequest, recipients: Sequence[Recipient], places: Sequence[int]) -> tuple[Recipient, ...]:
    """Return recipients with what is their own; `Decline` for one that is there twice, with something else.

    Args:
        places: of each entry of `to`, the place of its recipient.
    """
    if not asked.own:
        return tuple(recipients)
    first: dict[int, OwnPart] = {}
    for entry, place in enumerate(places):
        own = asked.own.get(entry, OwnPart())
        if first.setdefault(place, own) != own:
            said = "This recipient is there before, with something else of its own. Send it in another batch."
            raise invalid(f"to.{entry}", said)
    return tuple(_given(one, first[place]) for place, one in enumerate(recipients))


def _given(one: Recipient, own: OwnPart) -> Recipient:
    values = Personal(metadata=own.metadata).values()
    return replace(one, values=values) if values else one
