"""What a later version has added to an item outlives the writes of this one, which does not know it."""

import pytest

from tests.api.conftest import Api
from tests.api.lists import as_body

LATER = {"S": "x"}
KINDS = {"JOB", "L", "CAMPAIGN", "U"}


def items(api: Api) -> dict[str, tuple[str, dict[str, object]]]:
    """Return jobs, ledgers, campaigns and uploads by their keys, each with its table."""
    found = {}
    for table in (api.tables.records, api.tables.ops):
        for item in api.client.scan(TableName=table)["Items"]:
            if item["pk"]["S"][0] in "JM" and item["sk"]["S"].partition("#")[0] in KINDS:
                found[item["pk"]["S"] + item["sk"]["S"]] = (table, item)
    return found


def upgrade(api: Api) -> None:
    """Add to every item what a later version might."""
    for table, item in items(api).values():
        api.client.update_item(
            TableName=table,
            Key={"pk": item["pk"], "sk": item["sk"]},
            UpdateExpression="SET later = :x",
            ExpressionAttributeValues={":x": LATER},
        )


@pytest.mark.slow
def test_after_a_rollback_nothing_of_the_later_version_is_lost(api: Api) -> None:
    """All that happens to a batch and to a campaign, from before their first write on."""
    world = api.world
    batch = api.accepted(["a@example.org", "b@example.org"])
    campaign = api.campaign()
    list_ = as_body([{"recipient": f"{x}@example.org", "name": x} for x in "abc"])
    assert api.call("PUT", f"/campaigns/{campaign}/recipients", list_).status == 202
    upgrade(api)
    began = {key: item["version"] for key, (_, item) in items(api).items()}
    api.lists.read()
    assert api.call("PATCH", f"/campaigns/{campaign}", {"name": "November"}).status == 200
    upgrade(api)
    job = api.sent(campaign)
    upgrade(api)
    world.send("one")
    assert api.call("POST", f"/jobs/{job}/stop").status == 200
    world.settle()
    world.track("one", world.word(batch, 0, "bounced"))
    left = items(api)
    assert len(left) == 2 + 3 + 2, "jobs, ledgers, campaign and list"
    assert all(item["later"] == LATER for _, item in left.values())
    assert all(left[key][1]["version"] != version for key, version in began.items()), "each was written meanwhile"
