"""The export of a campaign: the messages of all its jobs in one file."""

from typing import Final

from functions.api.call import Call
from functions.api.campaigns.rules import jobs_of, owned
from functions.api.jobs.exports import answer, route
from shared.web.http import Answer
from shared.web.problems import Problem
from shared.web.routing import Nothing, section


def campaign(call: Call[Nothing, Nothing]) -> Answer:
    """Return the export of all of a campaign's jobs, oldest first."""
    found = owned(call)
    if not found.jobs:
        raise Problem("nothing_sent")
    there = jobs_of(call, found)
    return answer(call, "campaign", found.id, [there[job] for job in found.jobs if job in there])


ROUTES: Final = section("Campaigns", route("/campaigns/{id}", "Campaign", campaign, "nothing_sent"))
