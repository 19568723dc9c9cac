"""The `ops` stream: ledgers that changed and that nobody works on are folded into their jobs."""

import base64
from collections.abc import Mapping
from typing import Any

from aws_lambda_powertools import Logger

from functions.dispatch import services
from shared.adapters.dynamo import codec

logger = Logger()


def handler(event: Mapping[str, Any], _context: Any) -> dict[str, list[dict[str, str]]]:
    """Fold the newest image of each ledger in the batch.

    A fault is raised, so that the stream repeats the batch; the sweeper repairs what it gives up.
    """
    newest: dict[tuple[str, str], Mapping[str, Any]] = {}
    for record in event["Records"]:
        image = record["dynamodb"].get("NewImage")
        if image is not None and "cells" in image:
            newest[image["pk"]["S"], image["sk"]["S"]] = image
    fold = services.deployment().logger.fold
    states = {}
    for image in newest.values():
        ledger = codec.ledger(codec.from_stream(image, base64.b64decode))
        state = fold(ledger).state
        states[ledger.job] = state.value if state else None
    logger.info("folded", ledgers=len(newest), jobs=states)
    return {"batchItemFailures": []}
