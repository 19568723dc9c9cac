"""The README shows a run of `make demo`, and one command renews it."""

import io
from pathlib import Path

import pytest

from tools import demo

PRINTED = """added 2 packages
[   3.2 s] deploy (1.1 s)
           SENDING  queued 1
           SENDING  queued 2
           SENDING  queued 3
           SENDING  queued 4
           SENDING  queued 5
           SENDING  queued 6
           LOGGED   sent 7
[   9.0 s] every message has its final state (5.8 s)
996 recipients, each exactly once, and the logs agree: {root}/.local/demo.json

"""


def test_a_run_takes_the_place_of_the_one_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "README.md"
    page.write_text(f"# Title\n\n{demo.FIRST}\nold\n\n{demo.LAST}\nThe end.\n")
    monkeypatch.setattr("sys.stdin", io.StringIO(PRINTED.format(root=tmp_path)))
    demo.main(tmp_path)
    assert capsys.readouterr().out == PRINTED.format(root=tmp_path)
    assert page.read_text() == (
        f"# Title\n\n{demo.FIRST}\n```text\n[   3.2 s] deploy (1.1 s)\n"
        "           SENDING  queued 1\n           SENDING  queued 2\n           SENDING  queued 3\n           …\n"
        "           SENDING  queued 5\n           SENDING  queued 6\n           LOGGED   sent 7\n"
        "[   9.0 s] every message has its final state (5.8 s)\n"
        f"996 recipients, each exactly once, and the logs agree: .local/demo.json\n```\n\n{demo.LAST}\nThe end.\n"
    )


@pytest.mark.parametrize("printed", ["", "error: no port", "[   3.2 s] deploy: failed\nerror: no port\n"])
def test_a_run_that_failed_changes_nothing(printed: str) -> None:
    with pytest.raises(ValueError, match="did not succeed"):
        demo.block(printed)


def test_the_readme_shows_a_whole_run() -> None:
    page = (demo.ROOT / "README.md").read_text("utf-8")
    _, rest = page.split(demo.FIRST)
    shown, _ = rest.split(demo.LAST)
    assert demo.block(shown.strip().removeprefix("```text\n").removesuffix("```")) in shown
    assert "each exactly once" in shown
