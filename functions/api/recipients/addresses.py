"""The address that a path names."""

from typing import Any

from functions.api.call import Call
from shared.domain.recipients import addresses, reader
from shared.web.problems import invalid


def address_of(call: Call[Any, Any]) -> str:
    """Return the normalised key of an e-mail address, or of a telephone number with its country code."""
    text = call.path["address"]
    if text.startswith("+") and "@" not in text:
        found = reader.number_reader()(text)
        if isinstance(found, reader.RecipientFault):
            raise invalid("address", found.detail)
        return found[1]
    parsed = addresses.parse(text)
    if isinstance(parsed, addresses.Invalid):
        raise invalid("address", parsed.reason)
    return parsed.key
