"""`posthaste batch send --channel`: texts and calls from files."""

from pathlib import Path

import pytest

from cli.errors import Misused
from cli.sending.batches import _body_of_text
from shared.domain.channels.lookup import channel_of

GIVEN = {"--from": "", "--subject": "", "--html": None, "--name": "Parcels"}


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    people, text = tmp_path / "people.txt", tmp_path / "text.txt"
    people.write_text("+14155550100\n\n+14155550101\n")
    text.write_text("Hello\n")
    return people, text


@pytest.mark.parametrize(
    ("channel", "part"),
    [("sms", {"text": "Hello"}), ("whatsapp", {"text": "Hello"}), ("voice", {"voice": {"say": "Hello"}})],
)
def test_numbers_and_a_text_make_a_batch(files: tuple[Path, Path], channel: str, part: dict[str, object]) -> None:
    people, text = files
    found = _body_of_text(channel_of(channel), people, text, GIVEN)
    assert found == {"channel": channel, "to": ["+14155550100", "+14155550101"], "name": "Parcels", **part}


def test_what_a_text_does_not_have_is_refused(files: tuple[Path, Path]) -> None:
    people, text = files
    with pytest.raises(Misused, match="An SMS has no --from, --html"):
        _body_of_text(channel_of("sms"), people, text, {**GIVEN, "--from": "a@example.com", "--html": text})
    with pytest.raises(Misused, match="--to-file and --text"):
        _body_of_text(channel_of("sms"), None, text, GIVEN)
    people.write_text("\n")
    with pytest.raises(Misused, match="names no recipients"):
        _body_of_text(channel_of("sms"), people, text, GIVEN)
