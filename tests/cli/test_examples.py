"""What help and pages show is taken as it is shown."""

import re
import shlex
from pathlib import Path
from typing import Final

import pytest

from shared.domain.recipients.phones import Phone, PhoneReader
from tests.cli.fakes import Run
from tests.cli.test_defaults import Case, case

__all__ = ["case"]

ROOT: Final = Path(__file__).parents[2]
FILES: Final = sorted([*ROOT.glob("cli/**/*.py"), *ROOT.glob("docs/*.md"), ROOT / "README.md"])
STAGING: Final = (ROOT / "docs/staging.md").read_text(encoding="utf-8")
MAGIC: Final = "+1500555"
"""How the test numbers begin: docs/api.md lists them, and only test messages go there."""


@pytest.mark.parametrize(
    "command", re.findall(r"^ +posthaste (guest .*)$", (ROOT / "docs/staging.md").read_text(), re.MULTILINE)
)
def test_the_page_about_staging_is_followed(run: Run, case: Case, command: str) -> None:
    done = run(*shlex.split(command))
    assert done.code == 0, done.err


def test_a_key_for_staging_is_made_as_its_page_says(run: Run, case: Case) -> None:
    (command,) = re.findall(r"^ +posthaste (key create .*)$", STAGING, re.MULTILINE)
    done = run(*shlex.split(command.replace("Acme", case.account)))
    assert (done.code, "ph_team_" in done.out + done.err) == (0, True)
    assert {x.kind for x in case.api.services.accounts.list_keys(case.account)} >= {"team", "live"}


def test_the_numbers_of_examples_exist() -> None:
    reader = PhoneReader("")
    shown = {(f.name, n) for f in FILES for n in re.findall(r"\+[1-9]\d{9,13}\b", f.read_text(encoding="utf-8"))}
    wrong = [x for x in shown if not x[1].startswith(MAGIC) and not isinstance(reader.read(x[1]), Phone)]
    assert len(shown) > 3
    assert wrong == []
