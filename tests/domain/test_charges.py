"""The part of a day's limits that a request takes, and whose limits they are."""

from shared.domain.spending.limits import UNLIMITED, Charge, Rules, charge

NOON = 1_795_176_000_000
DEFAULT = {"email": 100, "sms": 50}


def asked(rules: Rules, key: str = "key_a") -> Charge | None:
    return charge("acc_a", NOON, {"email": 3, "sms": 2}, DEFAULT, rules, key)


def test_limits_that_operators_have_not_set_are_the_deployment_s() -> None:
    found = asked(Rules({"email": 10}))
    assert found is not None
    assert found.limits == {"email": 10, "sms": 50}
    assert found.defaults == {"sms"}
    assert (found.key, dict(found.key_limits)) == ("", {})


def test_an_unlimited_measure_is_no_default() -> None:
    found = asked(Rules({"email": UNLIMITED}, {"key_a": {"email": 5}}))
    assert found is not None
    assert found.limits == {"sms": 50}
    assert found.defaults == {"sms"}
    assert found.key_limits == {"email": 5}
    assert charge("acc_a", NOON, {"email": 3}, {}, Rules(), "") is None
