"""The parts of the API, in the order in which the document and its page list them."""

from collections.abc import Mapping
from typing import Final

TAGS: Final[Mapping[str, str]] = {
    "Batches": "One message to up to 5,000 recipients in one call, through the credentials of a route.",
    "Campaigns": "One message with placeholders, an uploaded list of any size, and one credential at your own rate.",
    "Approvals": "Lists that wait until another key or person approves them.",
    "Templates": "Messages that are kept for many campaigns, with all their versions.",
    "Jobs": "Each call and each list makes a job: figures, messages, stop, resume, retry and export.",
    "Messages": "Messages of all jobs, by recipient, reference, tag, day, state or credential.",
    "Schedules": "Jobs that wait for their time.",
    "Events": "Events that collect in windows. When a window closes, people get a digest.",
    "Digest policies": "For which events people get digests, how often, and how a digest looks.",
    "Mails": "Finished messages (RFC 5322), sent byte for byte, with a schedule for each destination.",
    "Notices": "Texts and calls that machines behind unreliable links upload, and whose updates they poll.",
    "Notifiers": "The machines that upload notices.",
    "Programs": "Recommended schedules of notices.",
    "Hooks": "Endpoints of yours, to which Posthaste posts what happens.",
    "Suppressions": "Recipients who get no messages: after a bounce, a complaint, or by your word.",
    "Unsubscribe": "The page behind the link of an e-mail, for recipients.",
    "Guests": "The only people to whom team keys send.",
    "Senders": "Domains and addresses from which the account may send.",
    "Stats": "Figures of each day.",
    "Audit": "Changes in the account, and who made them.",
    "Credentials": "Providers through which the account may send, with their rates.",
    "Other services": "Operations of other services, for programs that were written for them.",
    "Webhooks": "Events of providers. Providers call this, not clients.",
    "Service": "The document, its page, errors and health.",
}
"""Name → what belongs to it, a sentence."""
