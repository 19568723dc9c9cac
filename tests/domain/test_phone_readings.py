"""Numbers that can be read in two ways are read as they are meant, or reported; none goes to a stranger."""

import phonenumbers
import pytest

from shared.domain.recipients.phones import InvalidPhone, Phone, PhoneReader


@pytest.mark.parametrize(
    ("region", "text", "number"),
    [
        ("DE", "4915123456789", "+4915123456789"),
        ("DE", "491701234567", "+491701234567"),
        ("DE", "49 170 1234567", "+491701234567"),
        ("AT", "436641234567", "+436641234567"),
        ("DE", "015123456789", "+4915123456789"),
        ("DE", "15123456789", "+4915123456789"),
        ("DE", "030 901820", "+4930901820"),
        ("DE", "0491 92770", "+4949192770"),
        ("DE", "0049 170 1234567", "+491701234567"),
        ("US", "4155550132", "+14155550132"),
        ("GB", "447400123456", "+447400123456"),
        ("IT", "3911234567", "+393911234567"),
        ("DE", "\u200b+49 170 1234567\u200e", "+491701234567"),
    ],
)
def test_a_number_is_read_as_it_is_meant(region: str, text: str, number: str) -> None:
    assert PhoneReader(region).read(text) == Phone(number)


@pytest.mark.parametrize(
    ("region", "text"),
    [
        ("DE", "436641234567"),  # an Austrian mobile number without its plus, or a fixed line on the Baltic
        ("GB", "+449012345678"),  # premium rate
        ("US", "1-800-FLOWERS"),
        ("US", "+1 800 FLOWERS"),
    ],
)
def test_a_number_that_may_reach_a_stranger_is_reported(region: str, text: str) -> None:
    assert isinstance(PhoneReader(region).read(text), InvalidPhone)


def _mobile(region: str) -> str:
    example = phonenumbers.example_number_for_type(region, phonenumbers.PhoneNumberType.MOBILE)
    return "" if example is None else phonenumbers.format_number(example, phonenumbers.PhoneNumberFormat.E164)


@pytest.mark.slow
def test_a_mobile_number_without_its_plus_is_itself_in_every_country() -> None:
    wrong = {}
    for region in phonenumbers.SUPPORTED_REGIONS:
        number = _mobile(region)
        found = PhoneReader(region).read(number[1:]) if number else None
        if isinstance(found, Phone) and found.e164 != number:
            wrong[region] = (number, found)
    assert not wrong
