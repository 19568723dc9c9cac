"""All pages of the console. The first that fits is taken: names of pages come before names of accounts."""

from typing import Final

from functions.console import files
from functions.console.pages.accounts import routes as accounts
from functions.console.pages.approvals import routes as approvals
from functions.console.pages.audit import routes as audit
from functions.console.pages.campaigns import routes as campaigns
from functions.console.pages.credentials import changes as credential_changes
from functions.console.pages.credentials import routes as credentials
from functions.console.pages.credentials import warmup
from functions.console.pages.dead_letters import changes as redrives
from functions.console.pages.dead_letters import routes as dead_letters
from functions.console.pages.digests import routes as digests
from functions.console.pages.hooks import changes as hook_changes
from functions.console.pages.hooks import routes as hooks
from functions.console.pages.images import routes as images
from functions.console.pages.jobs import changes as job_changes
from functions.console.pages.jobs import rescheduling as job_times
from functions.console.pages.jobs import routes as jobs
from functions.console.pages.keys import changes as key_changes
from functions.console.pages.keys import routes as keys
from functions.console.pages.mails import routes as mails
from functions.console.pages.manage import routes as manage
from functions.console.pages.members import routes as members
from functions.console.pages.messages import routes as messages
from functions.console.pages.notices import routes as notices
from functions.console.pages.overview import view as overview
from functions.console.pages.results import routes as results
from functions.console.pages.senders import routes as senders
from functions.console.pages.sign_in import routes as sign_in
from functions.console.pages.style import routes as style
from functions.console.pages.suppressions import routes as suppressions
from functions.console.pages.templates import routes as templates
from functions.console.screen import PageRoute

ROUTES: Final[tuple[PageRoute, ...]] = (
    *files.ROUTES,
    *style.ROUTES,
    *sign_in.ROUTES,
    *accounts.ROUTES,
    *manage.ROUTES,
    *credentials.ROUTES,
    *credential_changes.ROUTES,
    *warmup.ROUTES,
    *dead_letters.ROUTES,
    *redrives.ROUTES,
    *overview.ROUTES,
    *jobs.ROUTES,
    *job_changes.ROUTES,
    *job_times.ROUTES,
    *results.ROUTES,
    *messages.ROUTES,
    *campaigns.ROUTES,
    *approvals.ROUTES,
    *templates.ROUTES,
    *images.ROUTES,
    *members.ROUTES,
    *senders.ROUTES,
    *suppressions.ROUTES,
    *digests.ROUTES,
    *notices.ROUTES,
    *mails.ROUTES,
    *hooks.ROUTES,
    *hook_changes.ROUTES,
    *keys.ROUTES,
    *key_changes.ROUTES,
    *audit.ROUTES,
)
