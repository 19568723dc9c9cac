"""The programs on the page for clients of Postmark and Resend, as a reader runs them."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.api.conftest import Api
from tests.api.site import pages

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "doors.md").read_text("utf-8")
PROGRAMS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.slow
@pytest.mark.parametrize("program", PROGRAMS, ids=["postmark", "resend"])
def test_a_program_of_the_page_sends(api: Api, program: str) -> None:
    with pages(api) as address:
        done = subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "POSTHASTE_URL": address, "POSTHASTE_API_KEY": api.key},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    job = api.world.job(done.stdout.strip())
    assert (job.total, job.subject, job.test) == (1, "Your order", False)
