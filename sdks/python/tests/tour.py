"""A tour through a real API, run by the repository's tests; it prints what it saw as JSON."""

import asyncio
import json
import os
import sys

from posthaste_sdk import (
    ApiError,
    AsyncPosthaste,
    IdempotencyMismatchError,
    InvalidRequestError,
    NotFoundError,
    Posthaste,
    Webhook,
    models,
)

PERSON = "o'hara+x/y@example.org"


def mail(subject: str, sender: str = "news@example.com") -> models.NewBatch:
    return {"from": sender, "to": [PERSON], "subject": subject, "text": "Hello!"}


def code_of(api: Posthaste, kind: type[ApiError], body: models.NewBatch, key: str | None = None) -> str:
    """Return the code of a refused batch."""
    try:
        api.create_batch(body, idempotency_key=key)
    except kind as error:
        return error.code
    raise AssertionError("the batch was accepted")


def tour(signed: dict[str, str]) -> dict[str, object]:
    with Posthaste() as api:
        made = [api.create_batch(mail(f"{n}"), idempotency_key=f"key-{n}")["batch_id"] for n in range(3)]
        again = api.create_batch(mail("0"), idempotency_key="key-0")["batch_id"]
        listed = [batch["batch_id"] for batch in api.iter_batches(limit=1)]
        codes = [
            code_of(api, IdempotencyMismatchError, mail("other"), "key-0"),
            code_of(api, InvalidRequestError, mail("x", "stranger@elsewhere.example")),
        ]
        try:
            api.get_job("nothing")
        except NotFoundError as error:
            codes.append(error.code)
        api.put_suppression(PERSON)
        address = api.get_suppression(PERSON)["address"]
        api.delete_suppression(PERSON)
        lines = [line["recipient"] for line in api.iter_job_logs(made[0], state=["queued", "sending"])]
    events = Webhook(signed["secret"]).events(signed["body"], json.loads(signed["headers"]))
    return {
        "same": again == made[0],
        "listed": sorted(map(str, listed)) == sorted(made),
        "codes": codes,
        "address": address,
        "lines": lines,
        "events": [event["id"] for event in events],
        "async": asyncio.run(ids()) == listed,
        "updates": updates(signed),
    }


def updates(given: dict[str, str]) -> list[str]:
    with Posthaste(os.environ["POSTHASTE_URL"], notifier=(given["notifier"], given["password"])) as api:
        return [update["id"] for update in api.iter_message_updates(given["range"])]


async def ids() -> list[str | None]:
    async with AsyncPosthaste() as api:
        return [batch["batch_id"] async for batch in api.iter_batches(limit=2)]


if __name__ == "__main__":
    sys.stdout.write(json.dumps(tour(json.load(sys.stdin))))
