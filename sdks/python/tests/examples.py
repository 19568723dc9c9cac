"""Calls each operation that it is given, of a server that answers the example; it prints as JSON what came back."""

import json
import sys
from typing import Any

import httpx
from posthaste_sdk import Posthaste


def called(case: dict[str, Any]) -> dict[str, Any]:
    """Return what a method returned, and the items of its iterator if there is one."""
    answers = [case["answer"], case["last"]]

    def answer(_: httpx.Request) -> httpx.Response:
        return httpx.Response(case["status"], json=answers.pop(0))

    with Posthaste("https://api.example.com", "ph_test_x", transport=httpx.MockTransport(answer)) as api:
        returned = getattr(api, case["method"])(*case["given"], **case["query"])
        answers = [case["answer"], case["last"]]
        each = getattr(api, case["iterator"])(*case["given"], **case["query"]) if case["iterator"] else []
        return {"returned": returned, "items": list(each)}


if __name__ == "__main__":
    sys.stdout.write(json.dumps([called(case) for case in json.load(sys.stdin)]))
