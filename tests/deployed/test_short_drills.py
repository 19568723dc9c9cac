"""The short form of each drill: promises hold through failures and kills, all of which happened."""

import pytest

from infra.local.console import say
from tests.deployed.drill import Running
from tests.deployed.drills import SCENARIOS, Scenario

pytestmark = pytest.mark.deployed


def marked(name: str, scenario: Scenario) -> object:
    """Return a case of the test: a scenario with its promises and its time."""
    promises = [pytest.mark.promise(n) for n in scenario.promises]
    return pytest.param(scenario, id=name, marks=[pytest.mark.timeout(scenario.seconds), *promises])


@pytest.mark.parametrize("scenario", [marked(*x) for x in SCENARIOS.items() if x[1].short])
def test_a_drill_breaks_no_promise(scenario: Scenario, running: Running) -> None:
    report = scenario.run(running, **scenario.short)
    say(report.text())
    assert report.wrong == [], report.text()
    assert [name for name in scenario.happens if not report.happened(name)] == [], report.text()
