"""An account whose lists wait, with two keys and whatever is asked of them."""

from dataclasses import dataclass
from typing import Any

from shared.domain.accounts import ALL_SCOPES
from shared.domain.hooks.fields import iso
from tests.api.conftest import Api, Reply

OPERATOR = "operator:123456789012:role/ops"


@dataclass
class Desk:
    """An API with two keys. `asks`: the first one's text; `approves`: the other's, with its id."""

    api: Api
    asks: str
    approves: str
    approver: str
    campaign: str = ""
    upload: str = ""

    def send(self, **order: Any) -> Reply:
        """Ask for the campaign to be sent."""
        return self.api.call("POST", f"/campaigns/{self.campaign}/send", order, key=self.asks)

    def waiting(self, **order: Any) -> str:
        """Have the campaign wait, and return the id of the request."""
        found = self.send(**order)
        assert (found.status, found.json.get("waiting_for")) == (202, "approval")
        return str(found.json["approval_id"])

    def approve(self, name: str, *, key: str = "", **more: Any) -> Reply:
        """Approve what was shown, by the other key unless another is named."""
        body = {"approval_id": name}
        return self.api.call("POST", f"/campaigns/{self.campaign}/approve", body, key=key or self.approves, **more)

    def refuse(self, name: str, *, key: str = "", **more: Any) -> Reply:
        """Refuse what was shown, as `approve`."""
        body = {"approval_id": name, **more}
        return self.api.call("POST", f"/campaigns/{self.campaign}/refuse", body, key=key or self.approves)

    def shown(self) -> Any:
        """Return the campaign."""
        return self.api.call("GET", f"/campaigns/{self.campaign}", key=self.asks).json

    def later(self, seconds: float) -> str:
        """Return a moment that is some seconds away."""
        return iso(self.api.world.clock.ms + int(seconds * 1000))

    def listed(self, *rows: dict[str, Any]) -> None:
        """Upload a list and have it read; by default of two rows."""
        self.upload = self.api.listed(self.campaign, *rows, key=self.asks)

    def sent(self) -> list[str]:
        """Have everything sent that may be, and return who got a message."""
        if self.api.world.records.job(self.upload) is not None:
            self.api.world.jobs = [self.upload]
            self.api.world.settle()
        return sorted(x.address for x in self.api.world.oracle.taken)


def desk(api: Api, above: int | None = 0) -> Desk:
    """Return a desk with a list that is read. `above`: the account's limit; None: it has none."""
    keys = [api.services.accounts.create_key(api.account, scopes=ALL_SCOPES, by=OPERATOR) for _ in range(2)]
    found = Desk(api, keys[0][0], keys[1][0], keys[1][1].id)
    if above is not None:
        assert api.call("PUT", "/approval-limit", {"above": above}, key=found.asks).status == 200
    found.campaign = api.campaign(key=found.asks)
    found.listed()
    return found
