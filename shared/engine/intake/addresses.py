"""Addresses of a request, with the field that each came from, what is a recipient's own, and why each is left out."""

from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Final

from shared.domain.channels.channel import Channel
from shared.domain.content.content import Mailbox
from shared.domain.content.personal import MAX_BYTES, Personal
from shared.domain.jobs.chunks import Recipient
from shared.domain.jobs.outcomes import NOT_A_GUEST
from shared.domain.recipients.addresses import Address, Invalid, parse, split_list
from shared.domain.recipients.names import addresses_in, is_near, turns
from shared.domain.recipients.reader import RecipientFault
from shared.domain.recipients.suppressions import CODES, AnyReach, reaches
from shared.engine.intake.declined import INVALID, NO_GUEST, Decline, FieldFault, invalid, no_sender
from shared.engine.intake.request import OwnPart, SendRequest
from shared.frozen import dataclass
from shared.ports import Senders, SuppressionList

MAX_RECIPIENTS: Final = 5000
MAX_COPIES: Final = 50
TURNED: Final = "The name has a character that turns the direction of its letters. Remove it."
MAX_VALUES: Final = 10 * 1024 * 1024
"""Bytes of the values of a batch's recipients: values for all are stored with each of them."""
MAX_FAULTS: Final = 20
"""Values that a refusal names."""
STRANGE: Final = "The template has no such placeholder."
MISSING: Final = "The template needs this value. It may be empty."
_NOTHING: Final = OwnPart()
ANOTHERS: Final = "The name has an address from which this account may not send. Use a name without an address."

MAX_NAMED: Final = 100
"""Recipients that a refusal names: so many entries are read in one call for each list."""
MAX_SHOWN: Final = 250
"""Characters that are shown of a text that is no recipient."""
_SAID: Final = {
    NOT_A_GUEST: "is no guest of the account",
    "no_recipient": "nobody is left in `to` whose message it would copy",
}


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


@dataclass(frozen=True, slots=True)
class LeftOutRecipient:
    """A recipient that is not to be sent to.

    Attributes:
        field: its path in the request.
        name: as it was given.
        code: why, stable.
        key: the normalised address or number; empty: it is none.
        fault: what is wrong with it, as a sentence; empty: it is an address or number.
    """

    field: str
    name: str
    code: str
    key: str = ""
    fault: str = ""


def shown(text: str) -> str:
    """Return a text that is no recipient as it can be stored and shown."""
    return "".join([c if c.isprintable() else "\ufffd" for c in text[:MAX_SHOWN]])


def read_again(
    by: Channel, region: str, texts: Sequence[str], codes: dict[str, str], field: str
) -> Sequence[LeftOutRecipient]:
    """Return the recipients of a request of which none is left, each entry by itself.

    Args:
        region: country whose numbers need no country code.
        texts: as the client wrote them.
        codes: why each is left out, by normalised address or number.
        field: the path of their list.
    """
    read, found = by.reader(region), list[LeftOutRecipient]()
    for i, text in enumerate(texts):
        one = read(text)
        if isinstance(one, RecipientFault):
            found.append(LeftOutRecipient(f"{field}.{i}", shown(text).strip(), one.code, fault=one.detail))
        else:
            found.append(LeftOutRecipient(f"{field}.{i}", one[0], codes[one[1]], one[1]))
    return found


def none_left(
    left: Sequence[LeftOutRecipient],
    unwanted: SuppressionList,
    namespace: str,
    channel: str,
    *,
    field: str,
    offered: bool = False,
) -> Decline:
    """Return the refusal of a request of which no recipient is left. It has a fault for each of the first of them.

    Suppressed ones are read again, to say since when and why. The reason that somebody wrote is not repeated:
    a key that sends need not read suppressions.

    Args:
        left: at least one.
        field: the path of their list in the request.
        offered: whether the messages offer an unsubscription.
    """
    named = left[:MAX_NAMED]
    since = _since(named, unwanted, namespace, reaches(channel, unsubscribable=offered))
    faults = [FieldFault(x.field, f"{x.name}: {_sentence(x, since.get(x.key, ''))}", x.code) for x in named]
    if all(x.code == NOT_A_GUEST for x in left):
        faults.insert(0, FieldFault(field, NO_GUEST, NOT_A_GUEST))
    if len(left) > MAX_NAMED:
        faults.append(FieldFault(field, f"{len(left) - MAX_NAMED:,} more are left out."))
    return Decline("no_valid_recipient", *faults)


def _since(
    named: Sequence[LeftOutRecipient], unwanted: SuppressionList, namespace: str, lists: Collection[AnyReach]
) -> dict[str, str]:
    """Return normalised address → since when and why it is on a list."""
    listed = {x.key for x in named if x.code in CODES.values()}
    found = unwanted.entries(namespace, listed, lists) if listed else {}
    return {key: entry.since for key, (_, entry) in found.items()}


def _sentence(left: LeftOutRecipient, since: str) -> str:
    if left.fault:
        return left.fault if left.fault.endswith(".") else f"{left.fault}."
    said = _SAID.get(left.code) or left.code.replace("_", " ")
    return f"{said} {since}." if since else f"{said}."


def with_own(
    asked: SendRequest, recipients: Sequence[Recipient], places: Sequence[int], names: Sequence[str]
) -> tuple[Recipient, ...]:
    """Return recipients with what is their own; `Decline` for one that is there twice, with something else.

    Args:
        places: of each entry of `to`, the place of its recipient.
        names: of the values that the message needs of each recipient; `Decline` if one is missing, or is another.
    """
    if not asked.own and not asked.params and not names:
        return tuple(recipients)
    first: dict[int, tuple[int, OwnPart]] = {}
    for entry, place in enumerate(places):
        own = asked.own.get(entry, _NOTHING)
        if first.setdefault(place, (entry, own))[1] != own:
            said = "This recipient is there before, with something else of its own. Send it in another batch."
            raise invalid(f"to.{entry}", said)
    faults = tuple(islice(_faults(asked, first.values(), names), MAX_FAULTS))
    if faults:
        raise Decline(INVALID, *faults)
    given = [_values(own, asked.params, names) for _, own in first.values()]
    _check_sizes(first.values(), given)
    return tuple(replace(one, values=values) for one, values in zip(recipients, given, strict=True))


def _faults(asked: SendRequest, given: Iterable[tuple[int, OwnPart]], names: Sequence[str]) -> Iterator[FieldFault]:
    """Yield what is wrong with values: those that the template does not have, then those that are missing."""
    parts = [(f"to.{entry}.params", own.params) for entry, own in given]
    for field, params in (("params", asked.params), *parts):
        yield from _each(field, params, names, STRANGE)
    needed = [name for name in names if name not in asked.params]
    for field, params in parts:
        yield from _each(field, needed, params, MISSING)


def _each(field: str, names: Iterable[str], known: Container[str], said: str) -> Iterator[FieldFault]:
    return (FieldFault(f"{field}.{name}", said) for name in names if name not in known)


def _values(own: OwnPart, params: Mapping[str, str], names: Sequence[str]) -> dict[str, str]:
    values = {name: own.params[name] if name in own.params else params[name] for name in names}
    return {**values, **Personal(metadata=own.metadata).values()}


def _check_sizes(given: Iterable[tuple[int, OwnPart]], values: Iterable[Mapping[str, str]]) -> None:
    """Decline values that no chunk has room for, or that all chunks together have none for."""
    whole = 0
    for (entry, _), mine in zip(given, values, strict=True):
        size = sum(len(name.encode()) + len(value.encode()) for name, value in mine.items())
        whole += size
        if size > MAX_BYTES:
            raise invalid(f"to.{entry}.params", f"What is a message's own has at most {MAX_BYTES // 1024} KB.")
    if whole > MAX_VALUES:
        raise invalid("params", f"The values of all recipients have at most {MAX_VALUES // 1024 // 1024} MB together.")
