"""Which operations read personal data, and what the audit log says of them: one entry for each hour, key and operation.

Exports have an entry for each job or campaign.
"""

from collections.abc import Mapping
from typing import Final

from functions.api.services import ApiServices
from shared.domain.audit import Act
from shared.web.authentication import KeyRefused
from shared.web.routing import Principal, Route

EXPORTS: Final = frozenset({"exportBatch", "exportJob", "exportCampaign"})
"""Operations that lead to a file with all recipients of what their path names."""
PERSONAL: Final = frozenset(
    {
        "listMessages",
        *("listBatchLogs", "getBatchLog", "listJobLogs", "getJobLog", "listCampaignMessages", "previewCampaign"),
        *("getUpload", "listSuppressions", "getSuppression", "listGuests", "getGuest", "listTexts"),
        *("listMails", "getMail", "getPendingDeliveries", "listHookDeliveries", "getHookDelivery"),
        *("listBouncesAsSendGrid", "listUnsubscribesAsSendGrid"),
    }
)
"""Operations whose answers have addresses, numbers or values of recipients."""


def note_read(services: ApiServices, route: Route, caller: Principal, path: Mapping[str, str]) -> None:
    """Note that a key reads personal data, before it gets the answer; raises Retriable if that is not possible.

    Notifiers poll only the notices that they have uploaded themselves.
    """
    key = caller.key
    if caller.notifier is not None:
        return
    if route.name in EXPORTS:
        services.acceptances.note(key.namespace, Act.EXPORTED, path["id"], key.id)
    elif route.name in PERSONAL:
        services.acceptances.note(key.namespace, Act.READ, route.name, key.id)


def note_refused(services: ApiServices, refused: KeyRefused) -> None:
    """Note that a key was refused that an account has or had; of an unknown one it is not known whose it is."""
    key = refused.key
    if key is not None:
        services.acceptances.note(key.namespace, Act.KEY_REFUSED, key.id, key.id, why=refused.reason.value)
