"""The zones of phone numbers: those of their country that differ, each once."""

import pytest

from shared.domain.recipients.number_zones import NumberZones, zones_of


@pytest.mark.parametrize(
    ("number", "zones"),
    [
        ("+33612345678", ["Europe/Paris"]),
        ("+819012345678", ["Asia/Tokyo"]),
        ("+447400123456", ["Europe/London"]),
        ("+447911123456", ["Europe/Guernsey"]),
        ("+87077123456", []),  # by satellite
    ],
)
def test_a_number_has_the_zones_of_its_country(number: str, zones: list[str]) -> None:
    found = NumberZones().of(number)
    assert [x for x in found.split(",") if x] == zones


def test_zones_of_a_country_whose_clocks_agree_are_one() -> None:
    america = zones_of("US").split(",")
    assert {"America/New_York", "America/Los_Angeles", "America/Phoenix", "Pacific/Honolulu"} <= set(america)
    assert len(america) == 8
    assert zones_of("DE") == "Europe/Berlin"
    assert zones_of("XX") == ""


def test_a_country_code_of_several_countries_is_told_apart() -> None:
    zones = NumberZones()
    assert zones.of("+16045550100") == zones_of("CA")
    assert zones.of("+12125550100") == zones_of("US")
    assert zones.of("+77012345678") == zones_of("KZ")
    assert zones.of("+79161234567") == zones_of("RU")
