"""All operations of the API, in the order in which the documentation shows them."""

from typing import Final

from functions.api import meta
from functions.api.access import tokens
from functions.api.access.areas import with_areas
from functions.api.account import audit, credentials, quota, senders, stats
from functions.api.batches import routes as batches
from functions.api.campaigns import approvals, sending, trials
from functions.api.campaigns import exports as campaign_exports
from functions.api.campaigns import routes as campaigns
from functions.api.digests import policies as digest_policies
from functions.api.digests import routes as digests
from functions.api.doors import routes as doors
from functions.api.events import routes as events
from functions.api.hooks import deliveries as hook_deliveries
from functions.api.hooks import listening as hook_listening
from functions.api.hooks import routes as hooks
from functions.api.images import routes as images
from functions.api.jobs import exports, logs, schedules
from functions.api.jobs import routes as jobs
from functions.api.mails import routes as mails
from functions.api.messages import routes as found
from functions.api.notices import messages
from functions.api.notices import routes as notices
from functions.api.notifiers import routes as notifiers
from functions.api.programs import routes as programs
from functions.api.recipients import guests, suppressions, texts, unsubscribe
from functions.api.templates import routes as templates
from functions.api.uploads import routes as uploads
from shared.web.routing import Operation

_ALL: Final[tuple[Operation, ...]] = (
    *batches.ROUTES,
    *logs.ROUTES,
    *campaigns.ROUTES,
    *uploads.ROUTES,
    *trials.ROUTES,
    *sending.ROUTES,
    *approvals.ROUTES,
    *templates.ROUTES,
    *images.ROUTES,
    *jobs.ROUTES,
    *found.ROUTES,
    *exports.ROUTES,
    *campaign_exports.ROUTES,
    *schedules.ROUTES,
    *events.ROUTES,
    *digests.ROUTES,
    *digest_policies.ROUTES,
    *mails.ROUTES,
    *doors.ROUTES,
    *hook_listening.ROUTES,
    *hooks.ROUTES,
    *hook_deliveries.ROUTES,
    *messages.ROUTES,
    *notifiers.ROUTES,
    *notices.ROUTES,
    *programs.ROUTES,
    *stats.ROUTES,
    *quota.ROUTES,
    *suppressions.ROUTES,
    *guests.ROUTES,
    *senders.ROUTES,
    *texts.ROUTES,
    *unsubscribe.ROUTES,
    *credentials.ROUTES,
    *audit.ROUTES,
    *tokens.ROUTES,
    *meta.ROUTES,
)
ROUTES: Final[tuple[Operation, ...]] = tuple(with_areas(_ALL))
