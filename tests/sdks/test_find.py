"""The search of both SDKs' examples: a person's messages, with the reason why one did not arrive."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.cli.real import RealApi
from tests.sdks.test_shop import api, environment
from tools.sdks.__main__ import PYTHON, TYPESCRIPT

__all__ = ["api"]
pytestmark = pytest.mark.slow  # generates both SDKs


@pytest.mark.parametrize(
    ("folder", "words"),
    [(PYTHON, ("python", "examples/find.py")), (TYPESCRIPT, ("node", "examples/find.ts"))],
    ids=["python", "typescript"],
)
def test_a_persons_messages_are_found_in_all_jobs(api: RealApi, folder: Path, words: tuple[str, ...]) -> None:
    jobs = [api.api.logged(["ann@example.org", "ben@example.org"], subject=x) for x in ("First", "Second")]
    api.api.call("PUT", "/suppressions/ann@example.org", {"reason": "asked"})
    skipped = api.api.accepted(["ann@example.org", "ben@example.org"], subject="Third")
    env = environment(POSTHASTE_URL=api.url, POSTHASTE_API_KEY=api.api.key)

    def found(*asked: str) -> Any:
        done = subprocess.run(
            [*words, *asked], cwd=folder, env=env, capture_output=True, text=True, check=False, timeout=120
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    every = found("Ann@Example.org")
    assert {x["subject"]: (x["state"], bool(x["why"])) for x in every} == {
        "First": ("sent", False),
        "Second": ("sent", False),
        "Third": ("skipped", True),
    }
    assert {x["log"] for x in every} == {f"/jobs/{job}/logs/0.0" for job in (*jobs, skipped)}
    assert [x["subject"] for x in found("ann@example.org", "skipped,failed")] == ["Third"]
    assert found("nobody@example.org") == []
