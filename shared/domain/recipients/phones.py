"""Phone numbers: what a list says, made into E.164, by the metadata of Google's libphonenumber."""

from dataclasses import dataclass
from typing import Any, Final

MAX_TEXT: Final = 250
"""Characters of a number as written; libphonenumber reads no more."""


@dataclass(frozen=True, slots=True)
class Phone:
    """A number that exists by its country's numbering plan, in E.164: `+`, country code, number, digits only."""

    e164: str


@dataclass(frozen=True, slots=True)
class InvalidPhone:
    """What cannot be called; `reason` is a sentence for people that does not quote it."""

    reason: str
    code: str = "invalid_number"


class PhoneReader:
    """Reads numbers, those without a country code as the region's. Made when needed: the library takes 50 ms and 6 MB.

    Raises:
        ValueError: libphonenumber knows no such region. Empty means that every number needs its country code.
    """

    def __init__(self, region: str) -> None:
        import phonenumbers  # noqa: PLC0415 - only lists of numbers need it

        if region and region not in phonenumbers.SUPPORTED_REGIONS:
            raise ValueError(f"no region {region!r}")
        self._library: Any = phonenumbers
        self._region = region or None

    def read(self, text: str) -> Phone | InvalidPhone:
        """Read one number. Never raises on any string."""
        if len(text) > MAX_TEXT:
            return InvalidPhone("The number is too long.")
        library = self._library
        try:
            number = library.parse(text, self._region)
        except library.NumberParseException as error:
            return InvalidPhone(_reason(library, error, self._region))
        if number.extension:
            return InvalidPhone("The number has an extension.")
        if not library.is_valid_number(number):
            return InvalidPhone("No such number exists in its country's numbering plan.")
        return Phone(library.format_number(number, library.PhoneNumberFormat.E164))


def _reason(library: Any, error: Any, region: str | None) -> str:
    if error.error_type == library.NumberParseException.INVALID_COUNTRY_CODE:
        return "The country code is unknown." if region else "The number has no country code, or an unknown one."
    return "It is not a phone number."
