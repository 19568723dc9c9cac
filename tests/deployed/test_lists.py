"""What a made list says of itself is what the ingest finds in it. Needs no cloud."""

from pathlib import Path

from shared.domain.jobs import chunks
from shared.domain.lists.ingest import Ingest
from shared.domain.lists.uploads import DUPLICATE, Options
from tests.deployed.lists import BAD, make


def test_a_made_list_is_as_it_says(tmp_path: Path) -> None:
    made = make(tmp_path / "list.csv", "t", 2_000, known=("first@example.com",))
    ingest = Ingest(Options("email", drop_duplicates=True), all_utf8=False)
    step, last = ingest.feed(made.file.read_bytes()), ingest.finish()
    problems = {p.row: p.code for p in (*step.problems, *last.problems)}
    assert problems == made.invalid | dict.fromkeys(made.duplicates, DUPLICATE)
    assert sorted(made.invalid.values()) == sorted(code for _, code in BAD.values())
    counts = last.checkpoint.counts
    assert (counts.rows, counts.accepted) == (made.rows, len(made.names)) == (made.rows, 2_000)
    read = [r for c in (*step.chunks, *last.chunks) for r in chunks.unpack(c.data)]
    assert {r.address: r.values["name"] for r in read} == made.names
    assert read[0].address == "first@example.com"
