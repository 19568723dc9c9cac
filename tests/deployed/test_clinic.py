"""A notifier's spool over a bad link, on the deployed stack: its records in, its updates out, each once."""

import pytest

from infra.local.console import say
from tests.deployed import clinic
from tests.deployed.inside import Inside

pytestmark = pytest.mark.deployed
NOTICES = 30
KILLS = 1
SEED = 7


@pytest.mark.promise(1)
def test_spool_and_hub_agree_over_a_bad_link_with_kills_on_both_sides(inside: Inside) -> None:
    report = clinic.run(inside, count=NOTICES, seed=SEED, kills=KILLS)
    say(report.text())
    assert report.wrong == [], report.text()
    assert {"sync", "take", "notices"} <= set(report.kills), report.text()
    assert {"refused", "upload cut", "answer lost", "answer cut"} <= set(report.fates), report.text()
