"""For how long entries are kept: as the settings of a function say."""

from typing import Any

import pytest

from shared import contracts
from shared.adapters.dynamo.audit import puts
from shared.bootstrap import Deployment
from shared.contracts import Settings
from shared.domain.audit import Act, Event, audited

DAY = 86_400
AT = 1_790_000_000_000
STOPPED = audited("acc_1", AT, "job-1", Act.JOB_STOPPED, "key_1")
TOLD = Event("acc_1", AT, "job-1", "job.stopped", "key_1", {})


def kept(deployment: Deployment, event: Event) -> list[int]:
    made: list[dict[str, Any]] = puts(deployment.dynamo, "records", event)
    return [(int(x["Put"]["Item"]["ttl"]["N"]) - AT // 1000) // DAY for x in made]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("settings", "days"), [(Settings("dev", (), {}), 400), (Settings("dev", (), {}, audit_days=2557), 2557)]
)
def test_an_entry_of_the_audit_log_is_kept_as_the_settings_say(
    monkeypatch: pytest.MonkeyPatch, settings: Settings, days: int
) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    deployment = Deployment({contracts.ENV_SETTINGS: settings.dumps()})
    assert kept(deployment, STOPPED) == [days]
    assert kept(deployment, TOLD) == [days, 30]
