"""What DNS says of a domain's mail."""

import pytest

from shared.domain.senders import CheckState, dkim, dmarc, dmarc_names, proves, record_value, spf


@pytest.mark.parametrize(
    ("texts", "state"),
    [
        ([], CheckState.MISSING),
        (["google-site-verification=x"], CheckState.MISSING),
        (["v=spf10 -all"], CheckState.MISSING),
        (["v=spf1"], CheckState.FOUND),
        (["V=SPF1 include:amazonses.com ~all"], CheckState.FOUND),
        (["v=spf1 -all", "v=spf1 ~all"], CheckState.WRONG),
    ],
)
def test_spf_is_one_record(texts: list[str], state: CheckState) -> None:
    assert spf(texts).state is state


@pytest.mark.parametrize(
    ("texts", "state"),
    [
        ([], CheckState.MISSING),
        (["v=spf1 -all"], CheckState.MISSING),
        (["v=DMARC1; p=none"], CheckState.FOUND),
        (["v = DMARC1 ;p=reject"], CheckState.FOUND),
        (["v=DMARC1; rua=mailto:a@example.com"], CheckState.WRONG),
        (["v=DMARC1; p=none", "v=DMARC1; p=reject"], CheckState.WRONG),
    ],
)
def test_dmarc_is_one_record_with_a_policy(texts: list[str], state: CheckState) -> None:
    assert dmarc(texts, "example.com").state is state


def test_dmarc_is_looked_for_at_the_domains_above() -> None:
    assert dmarc_names("a.example.com") == ["_dmarc.a.example.com", "_dmarc.example.com"]
    assert dmarc_names("example.com") == ["_dmarc.example.com"]


def test_what_is_missing_says_what_to_do() -> None:
    for check in (spf([]), dmarc([], "example.com"), dkim(exists=False)):
        assert check.advice
    assert dkim(exists=True).advice == ""


def test_other_records_stand_beside_the_proof() -> None:
    assert proves(["x", record_value("acc_1")], "acc_1")
    assert not proves([record_value("acc_1") + "2"], "acc_1")
    assert not proves([f"x {record_value('acc_1')}"], "acc_1")
