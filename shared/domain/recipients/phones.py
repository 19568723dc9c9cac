"""Phone numbers: what a list says, made into E.164, by the metadata of Google's libphonenumber."""

import re
from dataclasses import field
from typing import Any, Final

from shared.domain.characters.invisible import without_invisible
from shared.frozen import dataclass

MAX_TEXT: Final = 250
"""Characters of a number as written; libphonenumber reads no more."""
_LETTERS: Final = re.compile("[0-9].*[A-Za-z]", re.ASCII | re.DOTALL)
"""Letters behind a digit, which libphonenumber reads as keys of a phone."""
_TWO_WAYS: Final = "The number can be read with and without a country code. Write it with + and its country code."


@dataclass(frozen=True, slots=True)
class Phone:
    """A number that exists by its country's numbering plan.

    Attributes:
        e164: `+`, country code, number, digits only.
        landline: whether the plan says that it is a fixed line, or another number that takes no texts, such as a
            toll-free one. Plans that do not tell fixed from mobile numbers, as North America's, say the latter only.
    """

    e164: str
    landline: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class InvalidPhone:
    """A text that cannot be called; `reason` is a sentence for people that does not quote it."""

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
        kinds = phonenumbers.PhoneNumberType
        self._landlines = frozenset({kinds.FIXED_LINE, kinds.TOLL_FREE, kinds.SHARED_COST, kinds.UAN, kinds.VOICEMAIL})
        self._region = region or None

    def read(self, text: str) -> Phone | InvalidPhone:
        """Read one number. Never raises on any string."""
        if len(text) > MAX_TEXT:
            return InvalidPhone("The number is too long.")
        text = without_invisible(text)
        library = self._library
        try:
            number = library.parse(text, self._region)
        except library.NumberParseException as error:
            return InvalidPhone(_reason(library, error, self._region))
        if number.extension:
            return InvalidPhone("The number has an extension.")
        if _LETTERS.search(text):
            return InvalidPhone("The number has letters.")
        kind = library.number_type(number)
        if kind == library.PhoneNumberType.UNKNOWN:
            return InvalidPhone("No such number exists in its country's numbering plan.")
        if kind == library.PhoneNumberType.PREMIUM_RATE:
            return InvalidPhone("The number has a premium rate.")
        return self._meant(text, number, kind)

    def _meant(self, text: str, number: Any, kind: int) -> Phone | InvalidPhone:
        """Return a valid number, or the mobile number that it is if only its plus is missing.

        A spreadsheet takes the plus away, and the rest may be a fixed line of the region. A number that begins with the
        region's own country code is then the mobile number. One that may be of another country is reported.

        Args:
            kind: its type (`PhoneNumberType`).
        """
        library = self._library
        here = library.format_number(number, library.PhoneNumberFormat.E164)
        digits = library.normalize_digits_only(text)
        there = None if here == f"+{digits}" else self._mobile_without_plus(text, digits)
        landline = kind in self._landlines
        if there is None:
            return Phone(here, landline)
        if there.country_code == library.country_code_for_region(self._region):
            return InvalidPhone(_TWO_WAYS) if kind == library.PhoneNumberType.MOBILE else Phone(f"+{digits}")
        lacks_prefix = kind == library.PhoneNumberType.FIXED_LINE and self._has_trunk_prefix()
        return InvalidPhone(_TWO_WAYS) if lacks_prefix else Phone(here, landline)

    def _mobile_without_plus(self, text: str, digits: str) -> Any:
        """Return the mobile number that a text is if only its plus is missing; None if it is none."""
        whole = "+" in text or "\uff0b" in text or digits.startswith("0")
        return self._mobile(digits) if self._region and not whole else None

    def _mobile(self, digits: str) -> Any:
        """Return the mobile number that digits are behind a plus; None if they are none."""
        library = self._library
        try:
            found = library.parse(f"+{digits}", None)
        except library.NumberParseException:
            return None
        return found if library.number_type(found) == library.PhoneNumberType.MOBILE else None

    def _has_trunk_prefix(self) -> bool:
        """Return whether the region writes a prefix before its numbers."""
        return bool(self._library.PhoneMetadata.metadata_for_region(self._region).national_prefix)


def country_of(e164: str) -> str:
    """Return the country (ISO 3166) of a valid number; empty if it is of none, as satellite numbers are."""
    import phonenumbers  # noqa: PLC0415 - as `PhoneReader`

    region = phonenumbers.region_code_for_number(phonenumbers.parse(e164, None)) or ""
    return "" if region == "001" else region


def _reason(library: Any, error: Any, region: str | None) -> str:
    if error.error_type == library.NumberParseException.INVALID_COUNTRY_CODE:
        return "The country code is unknown." if region else "The number has no country code, or an unknown one."
    return "It is not a phone number."
