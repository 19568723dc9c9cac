"""Send a batch and wait for its end.

POSTHASTE_URL=https://… POSTHASTE_API_KEY=ph_live_… python send.py invoice-17 billing@example.com ann@example.org
"""

import asyncio
import json
import sys

from posthaste_sdk import AsyncPosthaste, Posthaste, models


def batch_of(sender: str, addresses: list[str]) -> models.NewBatch:
    """Return the message."""
    return {"from": sender, "to": addresses, "subject": "Your invoice", "text": "Hello!"}


def send(event: str, sender: str, addresses: list[str]) -> list[models.LogLineView]:
    """Send a batch for something that happened, once, however often this runs; return the line of each recipient."""
    with Posthaste() as api:
        batch = api.create_batch(batch_of(sender, addresses), idempotency_key=event)
        api.wait(batch["job_id"], timeout=120)
        return list(api.iter_batch_logs(batch["batch_id"], limit=1))


async def send_async(event: str, sender: str, addresses: list[str]) -> list[models.LogLineView]:
    """Do the same in asyncio."""
    async with AsyncPosthaste() as api:
        batch = await api.create_batch(batch_of(sender, addresses), idempotency_key=event)
        await api.wait(batch["job_id"], timeout=120)
        return [line async for line in api.iter_batch_logs(batch["batch_id"], limit=1)]


if __name__ == "__main__":
    event, sender, *addresses = sys.argv[1:]
    lines = send(event, sender, addresses)
    again = asyncio.run(send_async(event, sender, addresses))
    print(json.dumps({"sync": lines, "async": again}))
