"""SendGrid's lists of bounces and unsubscribes, from the suppressions that are stored here.

Source: github.com/twilio/sendgrid-oai (tsg_suppressions_v3.json, commit dbe0e0d).
"""

from collections.abc import Mapping

from shared.domain.jobs.feedback import ProviderEventKind
from shared.domain.recipients.suppressions import Reach, Suppression
from shared.providers.doors import ListDoor, Voice


def _bounced(found: Suppression) -> bool:
    """Tell whether an entry is of an e-mail address to which a message bounced; complaints are another list there."""
    return bool(found.job) and "@" in found.address and found.reason != ProviderEventKind.COMPLAINED


def _bounce(found: Suppression) -> Mapping[str, object]:
    return {"created": found.at // 1000, "email": found.address, "reason": found.reason, "status": ""}


def _unsubscribe(found: Suppression) -> Mapping[str, object]:
    return {"created": found.at // 1000, "email": found.address}


def lists_of(voice: Voice) -> tuple[ListDoor, ...]:
    """Return the lists. `voice`: of SendGrid's refusals."""
    return (
        ListDoor(
            path="/v3/suppression/bounces",
            list_name="listBouncesAsSendGrid",
            entry_path="/v3/suppression/bounces/{address}",
            delete_name="deleteBounceAsSendGrid",
            summary="Addresses that bounced, as by SendGrid's API",
            reach=Reach.ALL,
            holds=_bounced,
            shown=_bounce,
            voice=voice,
        ),
        ListDoor(
            path="/v3/suppression/unsubscribes",
            list_name="listUnsubscribesAsSendGrid",
            entry_path="/v3/asm/suppressions/global/{address}",
            delete_name="deleteUnsubscribeAsSendGrid",
            summary="Addresses that have unsubscribed, as by SendGrid's API",
            reach=Reach.CAMPAIGNS,
            holds=lambda found: "@" in found.address,
            shown=_unsubscribe,
            voice=voice,
        ),
    )
