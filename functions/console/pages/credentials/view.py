"""Credentials of the deployment as operators read them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from functions.console.call import Look
from functions.console.desks import Setting
from functions.console.pages.overview.view import CredentialRow, credential_row
from functions.console.screen import absent
from shared.contracts import Credential
from shared.domain.lanes.switches import EVERYTHING, Switch

CONDITIONS: Final = ("in use", "slowed", "avoided", "tried again", "paused")


@dataclass(frozen=True, slots=True)
class LaneRow:
    """A credential, and how it does.

    Attributes:
        declared: as in cdk.json.
        shown: its figures.
        setting: how its switch is set.
    """

    declared: Credential
    shown: CredentialRow
    setting: Setting

    @property
    def slowed(self) -> bool:
        """Tell whether something holds its rate below the declared one."""
        return self.shown.rate < self.shown.declared or self.setting.switches.rate > 0


def lanes(look: Look, credentials: Sequence[Credential]) -> tuple[Sequence[LaneRow], Setting]:
    """Return credentials with their states, and the switch of everything.

    Args:
        look: the visit.
        credentials: as declared.
    """
    services = look.services
    states = services.reads.submit(services.credentials.read, [c.id for c in credentials])
    asked = {c.id: Switch(credential=c.id) for c in credentials}
    settings = services.desks.switches.read(EVERYTHING, *asked.values())
    found = states.result()
    rows = [LaneRow(c, credential_row(c, found[c.id]), settings[asked[c.id]]) for c in credentials]
    return rows, settings[EVERYTHING]


def named_lane(look: Look) -> LaneRow:
    """Return the credential that the path names; Denial if none is declared under that name."""
    found = [c for c in look.services.settings.credentials if c.id == look.path["credential"]]
    if not found:
        raise absent("credential")
    return lanes(look, found)[0][0]
