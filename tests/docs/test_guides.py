"""Each call of a guide is followed by its answer, on the page."""

import re
from pathlib import Path

import pytest

from tests.deployed import guides

DOCS = Path(__file__).parents[2] / "docs"
GUIDES = ("tutorial", "campaigns", "mails", "hooks", "digests-guide", "notices", "first-deploy")
PARTS = re.compile(r"^(?:## [^\n]*|```(\w*)\n(.*?)^```)$", re.MULTILINE | re.DOTALL)
CALL = re.compile(r"^curl .*\$POSTHASTE_URL", re.MULTILINE)
WORDS = (
    re.compile(r"304 without a body"),
    re.compile(r"The answer is (?:202 with the upload, )?as below"),
    re.compile(r'returns the campaign with `"bounce_guard": false`'),
)
"""Sentences that take the place of an answer which the page already shows, or which is empty."""


def unanswered(text: str) -> list[str]:
    """Return the blocks with a call after which neither an answer nor a sentence about it comes."""
    parts = list(PARTS.finditer(text))
    found = []
    for i, part in enumerate(parts):
        if part[1] != "sh" or not CALL.search(part[2]) or "| python3" in part[2]:
            continue
        following = parts[i + 1] if i + 1 < len(parts) else None
        between = text[part.end() : following.start() if following else len(text)]
        answered = following is not None and following[1] in ("", "json") and following[2] is not None
        if not answered and not any(words.search(between) for words in WORDS):
            found.append(part[2])
    return found


@pytest.mark.parametrize("name", GUIDES)
def test_each_call_of_a_guide_is_followed_by_its_answer(name: str) -> None:
    text = (DOCS / f"{name}.md").read_text("utf-8")
    assert CALL.search(text)
    assert unanswered(text) == []


def test_a_call_without_an_answer_is_found() -> None:
    call = '```sh\ncurl -s "$POSTHASTE_URL/health"\n```\n'
    assert unanswered(f"{call}\n## Next\n") != []
    assert unanswered(f"{call}\n{call}\n```json\n{{}}\n```\n") == ['curl -s "$POSTHASTE_URL/health"\n']
    assert unanswered(f"{call}\n```json\n{{}}\n```\n") == []


def test_each_page_with_commands_is_followed_or_looked_up() -> None:
    pages = {file.stem for file in DOCS.glob("*.md") if guides.blocks(file.read_text("utf-8"))}
    assert pages == guides.FOLLOWED | guides.FOLLOWED_ELSEWHERE | guides.LOOKED_UP


def test_what_runs_on_aws_only_says_why() -> None:
    marked = [guides.MARK.findall(file.read_text("utf-8")) for file in DOCS.rglob("*.md")]
    reasons = [reason for found in marked for reason in found]
    assert reasons
    assert all(len(reason.split()) > 4 for reason in reasons), reasons


def test_commands_are_found_with_their_marks() -> None:
    text = "A\n\n<!-- only on AWS: it needs an account -->\n\n```sh\naws x\n```\n\n```sh\nls\n```\n\n```json\n{}\n```\n"
    assert guides.blocks(text) == [guides.Commands("aws x\n", "it needs an account"), guides.Commands("ls\n", "")]
    assert guides.local(text) == ["ls\n"]
    line = "Run `posthaste doctor`, or `make up`. "
    line += "`posthaste logs --job JOB` <!-- only on AWS: it needs an account -->\n"
    assert [x.text for x in guides.spans(line)] == ["posthaste doctor", "posthaste logs --job JOB"]
    assert all(x.reason for x in guides.spans(line))
    assert guides.filled("x --job JOB $JOB [JOB, B] JOBS", {"JOB": "1"}) == "x --job 1 $JOB [JOB, B] JOBS"
