"""The deployment as its operators see and change it, made once per process."""

from dataclasses import replace

from shared.adapters.dynamo.accounts.accounts import Accounts
from shared.adapters.dynamo.homes import Homes
from shared.bootstrap import Deployment
from shared.lazy import PartOf

part = PartOf["OperateServices"]()


class OperateServices(Deployment):
    """The parts of a deployment, and what only operators use."""

    @property
    def homes(self) -> Homes:
        """Where identities and the audit log are. An operator's entry is also where an older version reads it."""
        return replace(super().homes, both=True)

    accounts = part(
        lambda d: Accounts(d.dynamo.client, d.records_table, d.clock, audit_days=d.settings.audit_days, homes=d.homes)
    )
