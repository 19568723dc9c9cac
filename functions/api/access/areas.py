"""The areas of operations: a key with only an area may call these, and no others.

Each operation also has a wide scope, `Route.scope`: `send`, `read` or `admin`. A key needs one of the two. So a key
with a wide scope can do what it could before there were areas.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final

from shared.domain.accounts import Scope
from shared.web.routing import Operation, Route

# change: which operations a key with a narrow scope may call
AREAS: Final[Mapping[Scope, frozenset[str]]] = {
    Scope.STATS: frozenset({"getStats", "getCampaignStats", "getNotifierStats", "listCredentials"}),
    Scope.RECIPIENTS: frozenset(
        {
            *("createUpload", "completeUpload", "getUpload", "deleteUpload", "putRecipients", "useList"),
            *("listGuests", "getGuest", "putGuest", "deleteGuest"),
        }
    ),
    Scope.SUPPRESSIONS: frozenset(
        {
            *("listSuppressions", "getSuppression", "putSuppression", "deleteSuppression"),
            *("listBouncesAsSendGrid", "deleteBounceAsSendGrid"),
            *("listUnsubscribesAsSendGrid", "deleteUnsubscribeAsSendGrid"),
        }
    ),
    Scope.TEMPLATES: frozenset(
        {
            *("createTemplate", "listTemplates", "getTemplate", "putTemplate", "deleteTemplate"),
            "listTemplateVersions",
            *("createImage", "listImages", "deleteImage"),
            *("createProgram", "listPrograms", "getProgram", "putProgram", "deleteProgram"),
        }
    ),
    Scope.APPROVE: frozenset(
        {
            *("listCampaigns", "getCampaign", "previewCampaign", "getCampaignStats"),
            *("sendCampaign", "stopCampaign", "overrideBounceGuard"),
        }
    ),
}
"""Area → the operations that a key with only it may call."""


def with_areas(operations: Iterable[Operation]) -> Iterator[Operation]:
    """Yield operations, those that take a key with their areas."""
    for found in operations:
        areas = tuple(area for area, names in AREAS.items() if found.name in names)
        yield replace(found, areas=areas) if areas and isinstance(found, Route) else found
