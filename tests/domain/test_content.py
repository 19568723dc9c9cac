"""What a job's messages have in common, as it is stored."""

import json
import zlib
from dataclasses import replace
from typing import Any

import pytest

from shared.domain.content.content import Content, DigestLines, Mailbox, Speech, pack, unpack

PLAIN = Content(Mailbox("news@example.com", "News"), "Hello", text="Hello!")
LINES = DigestLines(
    html=("<p>1</p>", "<p>2</p>"),
    text=("1", "2"),
    types=("failed", "done"),
    times=("10:00", "10:01"),
    key="acme/production",
    max_lines=100,
    groups=((0, 1), (1,)),
    policy="acme/",
)


def test_contents_are_read_as_they_were_written() -> None:
    own = replace(PLAIN, beside=(Mailbox("b@example.org", "B"),), personal=True)
    spoken = replace(PLAIN, speech=Speech("en", keys=(("9", "stop"),)))
    for content in (PLAIN, spoken, replace(PLAIN, digest=LINES), own):
        assert unpack(pack(content)) == content


def test_a_content_without_calls_and_digests_is_stored_as_before_there_were_any() -> None:
    document = json.loads(zlib.decompress(pack(PLAIN)))
    assert not {"speech", "digest", "beside", "personal"} & document.keys()


@pytest.mark.parametrize("changes", [{"personal": True}, {"beside": (Mailbox("b@example.org"),)}])
def test_an_older_sender_fails_on_a_content_of_which_it_would_send_only_a_part(changes: Any) -> None:
    for merge in (False, True):
        content = replace(PLAIN, merge=merge, **changes)
        document = json.loads(zlib.decompress(pack(content)))
        assert "merge" not in document, "it reads this name, whatever else there is"
        assert unpack(pack(content)) == content
