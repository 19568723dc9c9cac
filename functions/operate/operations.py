"""All routes of operators."""

from typing import Final

from functions.operate import (
    accounts,
    audit,
    credentials,
    hooks,
    jobs,
    logs,
    senders,
    switches,
)
from functions.operate.access import keys, leaving, limits, members, moving, notifiers, pictures
from functions.operate.personal import erasing, hashes
from functions.operate.queues import routes as queues
from shared.web.routing import Route

ROUTES: Final[tuple[Route, ...]] = (
    *audit.ROUTES,
    *queues.ROUTES,
    *switches.ROUTES,
    *credentials.ROUTES,
    *jobs.ROUTES,
    *erasing.ROUTES,
    *leaving.ROUTES,
    *moving.ROUTES,
    *hashes.ROUTES,
    *logs.ROUTES,
    *accounts.ROUTES,
    *limits.ROUTES,
    *pictures.ROUTES,
    *senders.ROUTES,
    *keys.ROUTES,
    *members.ROUTES,
    *notifiers.ROUTES,
    *hooks.ROUTES,
)
