import sys

import pytest

from tests.chaos.__main__ import main


@pytest.mark.slow
def test_a_run_without_a_broken_answer_fails(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It would prove too little."""
    monkeypatch.setattr(sys, "argv", ["chaos", "--seed=1", "--messages=1", "--outage=0"])
    assert main() == 1
    assert "in a vendor's own words: none" in capsys.readouterr().out
