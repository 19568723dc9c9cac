"""The values of examples and samples. A body that is not here has the example of its schema.

Ids, names and times are literals that a reader replaces by their own, and so do the tests that run the samples.
"""

from collections.abc import Mapping
from typing import Any, Final

from shared.domain.channels.email import EMAIL

JOB: Final = "01m3250v00htjargbc8xxb75pm"
CAMPAIGN: Final = "01m3250v00wh742j0vm8wb7anm"
UPLOAD: Final = "01m3250v00j026b1skeaxv11tw"
TEMPLATE: Final = "01m3250v00n197k5j0fjpyam13"
IMAGE: Final = "3c6e0b8a9c15224a8228b9a98ca1531d"
MAIL: Final = "01m3250v00d8r2kq6b1x5n7t4e"
HOOK: Final = "01m3250v00k6y7zq4d9w0c2r5h"
DELIVERY: Final = "01m3250v00v3c8m1t6q2b9x4ga"
WINDOW: Final = "5d1f0c2b7e4a9d63-1"
NOTICE: Final = "A-1"
NOTIFIER: Final = "clinic-1"
PROGRAM: Final = "vaccination"
PREFIX: Final = "acme/"
ADDRESS: Final = "ann@example.org"
APPROVAL: Final = "5b7c1f0e9d3a48267c1b0f5e9d3a4826"
LINK: Final = "kO3vJ8Qm2xT5"
"""The token of a link."""
RANGE: Final = "20261123000000-20261124000000"
TIME: Final = "2026-12-01T09:00:00Z"
"""A time to come."""
PAST: Final = "2026-11-23T09:00:00Z"
DAY: Final = "2026-12-01"
KEY: Final = "order-4711"
"""The value of the header Idempotency-Key in samples: `samples.js` has it as well."""
MESSAGE: Final = "From: Acme <news@example.com>\r\nTo: ann@example.org\r\nSubject: Your ticket\r\n\r\nWe are on it.\r\n"
"""A finished message."""
_SAYS: Final = {
    "from": "Ann's shop <news@example.com>",
    "subject": "News for {{ first_name }}",
    "body": "<p>Hello {{ first_name }}!</p>",
}
_ENVELOPE: Final = {
    "mail_from": "bounces@example.com",
    "destinations": [{"address": ADDRESS, "metadata": {"ticket": 7}}],
}

_RETRY: Final = {"include": ["unsent", "failed"]}
_LATER: Final = {"scheduled_at": TIME}

PATHS: Final[Mapping[str, str]] = {
    "id": JOB,
    "upload_id": UPLOAD,
    "message": "0.0",
    "message_id": NOTICE,
    "prefix": PREFIX,
    "domain": "news.example.com",
    "hook_id": HOOK,
    "delivery_id": DELIVERY,
    "mail_id": MAIL,
    "window_id": WINDOW,
    "program": PROGRAM,
    "range": RANGE,
    "name": NOTIFIER,
    "address": ADDRESS,
    "token": LINK,
}
"""Parameter of a path → its value."""
OF_RESOURCES: Final[Mapping[str, str]] = {"campaigns": CAMPAIGN, "templates": TEMPLATE, "images": IMAGE}
"""First part of a path → the value of `id` there."""


def values(path: str) -> dict[str, str]:
    """Return the values of the parameters of a path: name → value."""
    resource = path.split("/")[1]
    return {**PATHS, "id": OF_RESOURCES.get(resource, JOB)}


_POSTMARK: Final = {"From": "news@example.com", "To": ADDRESS, "Subject": "Your order", "TextBody": "It is on its way."}
_RESEND: Final = {"from": "news@example.com", "to": ADDRESS, "subject": "Your order", "text": "It is on its way."}
BODIES: Final[Mapping[str, Any]] = {
    "changeCampaign": {"name": "October, second try"},
    "putCampaignTemplate": _SAYS,
    "createSender": {"domain": "news.example.com"},
    "createUpload": {"duplicates": "drop"},
    "completeUpload": {},
    "putRecipients": {
        "recipients": [
            {"recipient": "ada@example.com", "first_name": "Ada"},
            {"recipient": "Grace <grace@example.org>", "first_name": "Grace"},
        ]
    },
    "useList": {"list_of": CAMPAIGN, "duplicates": "drop"},
    "testCampaign": {"recipient": "me@example.com", "params": {"first_name": "Ada"}},
    "sendCampaign": {"rate": 20},
    **dict.fromkeys(("rescheduleBatch", "rescheduleJob", "rescheduleCampaign"), _LATER),
    **dict.fromkeys(("retryBatch", "retryJob", "retryCampaign"), _RETRY),
    "createTemplate": {"name": "Newsletter", "channel": EMAIL.name, **_SAYS},
    "putTemplate": _SAYS,
    "postEvents": {
        "event_type": "task.failed",
        "batch_key": "acme/production",
        "recipients": [ADDRESS, "ben@example.org"],
        "data": {"task": "nightly-import", "reason": "Timed out after 300 s."},
        "event_id": "run-4711",
    },
    "postMail": {**_ENVELOPE, "content": MESSAGE},
    "createMail": _ENVELOPE,
    "commitMail": {},
    "rescheduleDestination": {"at": TIME},
    "createHookListener": {"events": ["message.failed"]},
    "endPendingDelivery": {"status": 200, "ms": 12},
    "changeHook": {"events": ["message.failed", "message.bounced"]},
    "replayHook": {"since": PAST, "state": "failed"},
    "putMessages": [
        {
            "id": NOTICE,
            "action": "MESSAGE_NEW",
            "first_name": "Ann",
            "phone_number": "+61491570156",
            "template_id": TEMPLATE,
            "delivery_method": "SMS",
            "delivery_date": DAY,
        }
    ],
    "changeNotifier": {"reasonable_hours": {"from": 8, "to": 20}},
    "rotateNotifier": {"overlap_hours": 24},
    "createProgram": {"name": PROGRAM, "steps": [{"template_id": TEMPLATE, "offset_days": 28}]},
    "putProgram": {"steps": [{"template_id": TEMPLATE, "offset_days": 21}]},
    "putSuppression": {"reason": "asked by telephone"},
    "sendEmailAsPostmark": _POSTMARK,
    "sendBatchAsPostmark": [_POSTMARK],
    "sendEmailAsResend": _RESEND,
    "sendBatchAsResend": [_RESEND],
}
"""Operation → the example of its body."""
