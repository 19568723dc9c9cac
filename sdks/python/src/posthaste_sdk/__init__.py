"""A typed client of Posthaste: mail, texts and calls, each message once.

```
with Posthaste("https://api.example.com", "ph_live_…") as api:
    batch = api.create_batch({"from": "news@example.com", "to": "ann@example.org", "subject": "Hi", "text": "Hi!"})
    job = api.wait(batch["job_id"])
```
"""

from posthaste_sdk import errors
from posthaste_sdk._generated import VERSION, models
from posthaste_sdk._generated.codes import ErrorCode
from posthaste_sdk.client import AsyncPosthaste, Posthaste
from posthaste_sdk.errors import (
    ApiError,
    AuthenticationError,
    ConflictError,
    ConnectionFailedError,
    ForbiddenError,
    IdempotencyMismatchError,
    InvalidRequestError,
    NotFoundError,
    PosthasteError,
    RateLimitedError,
    ServerError,
    WebhookError,
)
from posthaste_sdk.retries import RetryPolicy
from posthaste_sdk.webhooks import Webhook, WebhookEvent

__version__ = VERSION
__all__ = [
    "ApiError",
    "AsyncPosthaste",
    "AuthenticationError",
    "ConflictError",
    "ConnectionFailedError",
    "ErrorCode",
    "ForbiddenError",
    "IdempotencyMismatchError",
    "InvalidRequestError",
    "NotFoundError",
    "Posthaste",
    "PosthasteError",
    "RateLimitedError",
    "RetryPolicy",
    "ServerError",
    "Webhook",
    "WebhookError",
    "WebhookEvent",
    "errors",
    "models",
]
