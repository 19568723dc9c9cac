"""Answers of the API about campaigns, as openapi.json describes them."""

from typing import Any, Final

from tests.cli.fakes import Answer, FakeApi

CAMPAIGN: Final = "c" * 26
UPLOAD: Final = "u" * 26
JOB: Final = UPLOAD
TEMPLATE: Final = "t" * 26
AT: Final = "2026-11-20T00:00:00.000Z"
SAYING: Final = {
    "subject": "Hi {{ name }}",
    "body": "<p>Hi</p>",
    "text": None,
    "from": "news@example.com",
    "reply_to": None,
    "speech": None,
}
NULL: Final = (
    "batch_id",
    "name",
    "from",
    "subject",
    "unacknowledged",
    "deferred_after",
    "eta",
    "waiting_for",
    "until",
    "hours",
    "scheduled_at",
    "stopped_at",
    "stop_reason",
    "finished_at",
    "created_by",
    "reference",
    "template_id",
    "template_version",
)
"""What a job may lack."""
STATES: Final = ("queued", "sending", "sent", "delivered", "failed", "skipped", "unknown")


def counts(**some: int) -> dict[str, int]:
    return {**dict.fromkeys(STATES, 0), **some}


def campaign_item(state: str = "draft") -> dict[str, Any]:
    return {
        "campaign_id": CAMPAIGN,
        "name": "list.csv",
        "channel": "email",
        "state": state,
        "test": False,
        "key_kind": "live",
        "credential_id": "sendgrid-main",
        "template_id": None,
        "template_version": None,
        "unsubscribe": True,
        "hours": None,
        "bounce_guard": True,
        "uploading": None,
        "upload_id": None,
        "columns": [],
        "jobs": [],
        "waiting_for": None,
        "created_at": AT,
        "updated_at": AT,
    }


def campaign(state: str = "draft", status: int = 200, **more: Any) -> Answer:
    known = {**campaign_item(state), "template": SAYING, "variables": ["name"], "missing": []}
    known |= {"approval": None, "decision": None}
    return Answer({**known, **more}, status)


def place(api: FakeApi, sent_before: dict[str, str] | None = None) -> Answer:
    return Answer(
        {
            "upload_id": UPLOAD,
            "url": f"{api.url}/bucket/list?X-Amz-Signature=s",
            "method": "PUT",
            "headers": {"Content-Type": "text/csv"},
            "expires_at": AT,
            "sent_before": sent_before,
        },
        201,
    )


def listed(state: str, status: int = 200, **more: Any) -> Answer:
    known = {
        "campaign_id": CAMPAIGN,
        "upload_id": UPLOAD,
        "state": state,
        "progress": 0.0,
        "waiting_for": None,
        "eta": None,
        "size": None,
        "rows": 0,
        "accepted": 0,
        "invalid": 0,
        "duplicates": 0,
        "hidden_rows": 0,
        "skipped": {},
        "columns": [],
        "header_row": None,
        "recipient_column": None,
        "code": None,
        "detail": None,
        "missing": [],
        "empty_values": [],
        "landlines": None,
        "countries": None,
        "price": None,
        "errors": [],
        "next_cursor": None,
        "created_at": AT,
        "finished_at": None,
    }
    return Answer({**known, **more}, status)


def bad_row(number: int, code: str, detail: str, value: str | None = None) -> dict[str, Any]:
    """What is said of a row, which has one line above it that no row is counted for: the header."""
    return {"row": number, "sheet_row": number + 1, "code": code, "detail": detail, "value": value}


def preview(row: int = 1, **more: Any) -> Answer:
    known = {
        "row": row,
        "sheet_row": row + 1,
        "recipient": "ann@example.org",
        "skip": None,
        "error": None,
        "from": "news@example.com",
        "reply_to": None,
        "subject": "Hi Ann",
        "html": "<p>Hi Ann</p>",
        "text": "Hi Ann",
        "headers": {},
        "sms": None,
    }
    return Answer({**known, **more})


def job_view(state: str, **some: int) -> dict[str, Any]:
    return dict.fromkeys(NULL) | {
        "job_id": JOB,
        "kind": "campaign",
        "channel": "email",
        "state": state,
        "test": False,
        "key_kind": "live",
        "total": sum(some.values()),
        "duplicates": 0,
        "counts": counts(**some),
        "exact": True,
        "as_of": AT,
        "route": [],
        "max_attempts": 6,
        "retry_on": [],
        "on_ambiguous": "hold",
        "rate": 50.0,
        "created_at": AT,
        "tags": [],
        "metadata": {},
    }


def job(state: str, **some: int) -> Answer:
    return Answer(job_view(state, **some))


def credentials(rate: float = 100.0) -> Answer:
    breaker = {"state": "closed", "reason": None, "since": None}
    known = {"id": "sendgrid-main", "provider": "sendgrid", "channel": "email", "rate": rate, "declared_rate": rate}
    return Answer({"items": [known | {"in_flight": 0, "breaker": breaker, "paused": False}], "next_cursor": None})


def stats(state: str, **some: int) -> Answer:
    """The figures of a campaign of one job."""
    view = job_view(state, **some)
    same = ("state", "total", "duplicates", "counts", "exact", "unacknowledged", "as_of", "route", "eta")
    return Answer({"campaign_id": CAMPAIGN, "jobs": [view], **{name: view[name] for name in same}})


def deleted() -> Answer:
    return Answer({"deleted": True})


def sent() -> Answer:
    return Answer({"campaign_id": CAMPAIGN, "job_id": JOB, "state": "READY", "recipients": 1, "skipped": 0}, 202)


def template(version: int = 1, status: int = 200) -> Answer:
    known = {"template_id": TEMPLATE, "name": "October", "channel": "email", "version": version, "created_at": AT}
    more: dict[str, object] = {"sms": None, "voice": None, "delivery_methods": []}
    return Answer({**known, "saved_at": AT, **SAYING, **more, "variables": ["name"]}, status)


def problem(status: int, code: str, detail: str) -> Answer:
    what = {"type": f"/errors#{code}", "title": "No", "status": status, "detail": detail, "code": code}
    return Answer({**what, "request_id": "r"}, status)
